"""Table 1 of the 2012 paper: how well a linear SVM does in private subspaces.

Half of the people give the subspace. The others are projected onto it; a tenth of them trains and
tunes a linear SVM, the rest tests it: five subspaces of each algorithm in each of five
permutations of the people. Only the subspace is private; the SVM is not, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcore.data import Dataset, Prepared, load_dataset, prepare
from dpcore.data.tables import KDDCUP_COLUMNS, Number
from dpcore.errors import ParameterError
from dpcore.experiments.central.runs import central_problem, run_batch
from dpcore.experiments.engine.experiment import Experiment, each_alone
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.engine.work_units import one_blas_thread
from dpcore.experiments.papers.nips2012_runs import NORM_BOUNDS, DrawRow, DrawsSpec
from dpcore.experiments.pca.problem import Problem, sites_of
from dpcore.experiments.pca.spec import ProblemKey
from dpcore.streams import Purpose, stream

PROTOCOLS = ("exact", "ppca", "modsulq", "random")
# C of the SVM, for features of standard deviation 1.
COSTS = (0.1, 1.0, 10.0, 100.0)
_HINGE_WIDTH = 0.1
_TRAINING_SHARE, _TUNING_SHARE = 0.1, 0.2


@dataclass(frozen=True)
class TableSpec(DrawsSpec):
    """Draws on half of the people, judged by an SVM on the others; `task` is a `Task`'s title."""

    experiment = "dpcore.experiments.papers.nips2012_table1:TABLE"

    task: str = ""


class TableRow(DrawRow):
    """A draw and its SVM: the share of the others labelled rightly, and the C that was chosen."""

    task: str
    accuracy: float
    cost: float


# A task's title, and a permutation of the people.
TaskKey = tuple[str, ProblemKey]


@dataclass(frozen=True, eq=False)
class TaskProblem:
    """Half of the people as a problem of PCA, and the rows and labels of the others."""

    half: Problem
    X: np.ndarray
    labels: np.ndarray


def as_encoded(dataset: Dataset) -> Dataset:
    """The features as in Figure 1."""
    return dataset


def without_label_columns(dataset: Dataset) -> Dataset:
    """The features without those that spell out the label."""
    columns = np.arange(dataset.X.shape[1])[dataset.label_columns]
    return replace(
        dataset,
        X=np.delete(dataset.X, columns, axis=1),
        feature_names=tuple(np.delete(np.array(dataset.feature_names), columns).tolist()),
        label_columns=None,
    )


def kddcup_in_recorded_units(dataset: Dataset) -> Dataset:
    """kddcup99 with numbers as the file has them, and every row divided by its own length.

    A row's length is its own affair, so that this is as private as dividing by a public bound.
    """
    X = np.array(dataset.X)
    start = 0
    for column in KDDCUP_COLUMNS:
        stop = start + len(column.feature_names)
        if isinstance(column, Number):
            x = X[:, start]
            if column.logarithmic:
                X[:, start] = np.expm1(x * np.log1p(column.highest))
            else:
                X[:, start] = column.lowest + x * (column.highest - column.lowest)
        start = stop
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return replace(dataset, X=X, public_norm_bound=1.0)


@dataclass(frozen=True)
class Task:
    """One line of the table.

    components: k.
    features: Dataset -> Dataset: which features, in which units.
    published: tuple of (protocol, mean, standard deviation). Printed accuracies in percent.
    """

    dataset: str
    title: str
    components: int
    features: Callable[[Dataset], Dataset] = as_encoded
    published: tuple[tuple[str, float, float], ...] = ()

    def specs(self) -> Iterator[TableSpec]:
        """Its draws, an algorithm at a time."""
        for protocol in PROTOCOLS:
            yield TableSpec(
                dataset=self.dataset,
                protocol=protocol,
                epsilon=0.1,
                delta=0.01,
                components=self.components,
                reference="sites",
                draws=5,
                permutations=5,
                task=self.title,
            )


_KDDCUP = (
    ("exact", 98.97, 0.05),
    ("ppca", 98.95, 0.05),
    ("modsulq", 98.18, 0.65),
    ("random", 98.23, 0.49),
)
_LOCALIZATION = (
    ("exact", 100.0, 0.0),
    ("ppca", 100.0, 0.0),
    ("modsulq", 97.06, 2.17),
    ("random", 96.28, 2.34),
)
TASKS = (
    Task(
        "kddcup99",
        "kddcup, normal against all, rows of length 1 in recorded units",
        4,
        kddcup_in_recorded_units,
        published=_KDDCUP,
    ),
    Task(
        "kddcup99",
        "kddcup, normal against all, encoded as in Figure 1",
        4,
        published=_KDDCUP,
    ),
    Task(
        "localization",
        "localization, falling against all",
        10,
        published=_LOCALIZATION,
    ),
    Task(
        "localization",
        "localization without its activity columns, falling against all",
        10,
        without_label_columns,
    ),
)


def _rows(spec: TableSpec, problem: TaskProblem, permutation: int) -> Iterator[TableRow]:
    batch = run_batch(spec.run_spec(), problem.half, first=permutation * spec.draws)
    for number, (row, subspace) in enumerate(zip(batch.rows, batch.subspaces, strict=True)):
        # The same people train whatever the algorithm.
        rng = stream(spec.seed, Purpose.TRAINING, permutation, number)
        # In the precision of the rows: else a copy of all of them is made in another.
        components = subspace.components.astype(problem.X.dtype)
        accuracy, cost = classify(problem.X @ components.T, problem.labels, rng=rng)
        yield {
            **row,
            "task": spec.task,
            "permutation": permutation,
            "accuracy": accuracy,
            "cost": cost,
        }


def classify(
    features: np.ndarray, labels: np.ndarray, *, rng: np.random.Generator
) -> tuple[float, float]:
    """Train and tune a linear SVM on a tenth of the rows; test it on the others.

    features: shape (n_samples, n_components)
    labels: shape (n_samples,). 0 or 1.
    rng: Says who trains and, among them, who tunes.
    Returns: (float, float). Share of the others labelled rightly, and the cost C that was chosen.
    """
    order = rng.permutation(len(features))
    training, testing = np.split(order, [max(2, int(_TRAINING_SHARE * len(order)))])
    # One scale for all directions, so that C means the same in every subspace.
    centre = features[training].mean(axis=0)
    scale = features[training].std() or 1.0
    rows = np.ones((len(features), features.shape[1] + 1))
    rows[:, :-1] = (features - centre) / scale
    signs = np.where(labels == 1, 1.0, -1.0)
    tuning, fitting = np.split(training, [max(1, int(_TUNING_SHARE * len(training)))])
    scores = _accuracy(_weights(rows[fitting], signs[fitting], COSTS), rows[tuning], signs[tuning])
    cost = COSTS[int(np.argmax(scores))]
    weights = _weights(rows[training], signs[training], (cost,))
    return float(_accuracy(weights, rows[testing], signs[testing])[0]), cost


def _weights(rows: np.ndarray, signs: np.ndarray, costs: Sequence[float]) -> np.ndarray:
    """Weights (n_costs, n_columns) of SVMs with a slightly rounded hinge."""
    # Its room brings scikit-learn, without which the command line starts.
    from dpcore.classification.minimise import huber_hinge, minimise

    shape = len(costs), rows.shape[1]
    strength = 1 / (np.array(costs) * len(rows))
    with one_blas_thread():
        return minimise(
            rows,
            signs[:, None],
            huber_hinge(_HINGE_WIDTH),
            strength=strength,
            tilt=np.zeros(shape),
            start=np.zeros(shape),
            # Weights within a hundredth of the minimisers.
            gradient_norm=0.01 * strength,
            norm_bound=float(np.linalg.norm(rows, axis=1).max()),
        )


def _accuracy(weights: np.ndarray, rows: np.ndarray, signs: np.ndarray) -> np.ndarray:
    return np.asarray(np.mean((rows @ weights.T > 0) == (signs > 0)[:, None], axis=0))


def _prepare(title: str) -> Prepared:
    task = next(task for task in TASKS if task.title == title)
    dataset = task.features(load_dataset(task.dataset))
    # In other units rows have a bound of their own.
    bound = NORM_BOUNDS.get(task.dataset) if task.features is as_encoded else None
    return prepare(dataset, mode="bounded", norm_bound=bound)


def _problem(key: TaskKey) -> TaskProblem:
    task, everybody = key
    data = _prepared(task)
    people = replace(everybody, samples=len(data.X) // 2)
    others = np.ones(len(data.X), dtype=bool)
    others[sites_of(people, data)[0]] = False
    if data.labels is None:
        raise ParameterError("task", "one of a data set with labels", task)
    return TaskProblem(central_problem(people, data), data.X[others], data.labels[others])


# One at a time: kddcup99 takes a quarter of a gigabyte.
_prepared: OnceCache[Prepared] = OnceCache(_prepare, keep=1)
TABLE: Experiment[TableSpec, TaskKey, TaskProblem] = Experiment(
    row=TableRow,
    outline=lambda spec: [{"protocol": spec.protocol, "task": spec.task}] * spec.draws,
    run=each_alone(lambda *cell: list(_rows(*cell))),
    problem_key=lambda spec, permutation: (spec.task, spec.run_spec().problem_key(permutation)),
    problem=OnceCache(_problem, keep=1),
    dataset=lambda spec: spec.dataset,
    data_of=lambda key: key[0],
    repetitions="permutations",
    draw_seconds=lambda spec: 0.3 * spec.draws,
)
