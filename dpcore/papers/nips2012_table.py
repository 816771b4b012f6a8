"""Table 1 of the 2012 paper: accuracy of a linear SVM in private subspaces.

The subspace is computed from half of the people. A tenth of the others trains and tunes a linear
SVM in this subspace, and the remaining people test it. Only the subspace is private.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcore.data import Dataset, Prepared, load_dataset, prepare
from dpcore.data.kddcup99 import KDDCUP_COLUMNS
from dpcore.data.table_encoding import CodedNumber
from dpcore.errors import ParameterError
from dpcore.experiments.central import central_problem, run_batch
from dpcore.experiments.engine.blas_threads import one_blas_thread
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.fields import ProblemKey
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.pca.problem import Problem, sites_of
from dpcore.papers.nips2012_draws import NORM_BOUNDS, PROTOCOLS, DrawRow, DrawsSpec
from dpcore.streams import Purpose, stream

# C of the SVM, for features of standard deviation 1.
COSTS = (0.1, 1.0, 10.0, 100.0)
_HINGE_WIDTH = 0.1
_TRAINING_SHARE, _TUNING_SHARE = 0.1, 0.2


@dataclass(frozen=True)
class TableSpec(DrawsSpec):
    """Spec of draws on half of the rows, with the accuracy of an SVM on the others.

    task: Title of a `Task`.
    """

    experiment = "nips2012-table"

    task: str = ""

    @classmethod
    def row_type(cls) -> type:
        return TableRow

    def outline(self) -> Sequence[Row]:
        return [{"protocol": self.protocol, "task": self.task}] * self.draws

    def problem_key(self, repetition: int = 0) -> TaskKey:
        return self.task, self.run_spec().problem_key(repetition)

    @classmethod
    def load(cls, key: TaskKey) -> TaskProblem:
        return _table_problems(key)

    @classmethod
    def data_of(cls, key: TaskKey) -> Hashable:
        return key[0]

    def check(self) -> None:
        """Do nothing: settings that cannot run are found when the labels are read."""

    def rows(self, problem: TaskProblem, repetition: int) -> Sequence[Row]:
        batch = run_batch(self.run_spec(), problem.half, first=repetition * self.draws)
        rows: list[TableRow] = []
        for number, (row, subspace) in enumerate(zip(batch.rows, batch.subspaces, strict=True)):
            # Every algorithm gets the same training rows.
            rng = stream(self.seed, Purpose.TRAINING, repetition, number)
            # Use the precision of the rows, so that they are not copied.
            components = subspace.components.astype(problem.X.dtype)
            accuracy, cost = classify(problem.X @ components.T, problem.labels, rng=rng)
            rows.append(
                {
                    **row,
                    "task": self.task,
                    "permutation": repetition,
                    "accuracy": accuracy,
                    "cost": cost,
                }
            )
        return rows

    def charge_cell(self) -> dict[str, Any]:
        return super().charge_cell() | {"task": self.task}

    def draw_seconds(self) -> float:
        return 0.3 * self.draws


class TableRow(DrawRow):
    """Row of a draw and its SVM: accuracy on the other rows, and the cost C that was chosen."""

    task: str
    accuracy: float
    cost: float


# A task's title, and a permutation of the people.
TaskKey = tuple[str, ProblemKey]


@dataclass(frozen=True, eq=False)
class TaskProblem:
    """PCA problem of half of the rows, and the rows and labels of the other half."""

    half: Problem
    X: np.ndarray
    labels: np.ndarray


def without_label_columns(dataset: Dataset) -> Dataset:
    """Return the features without those that encode the label."""
    columns = np.arange(dataset.X.shape[1])[dataset.label_columns]
    return replace(
        dataset,
        X=np.delete(dataset.X, columns, axis=1),
        feature_names=tuple(np.delete(np.array(dataset.feature_names), columns).tolist()),
        label_columns=None,
    )


def kddcup_in_recorded_units(dataset: Dataset) -> Dataset:
    """Return kddcup99 in the units of its file, with every row divided by its own norm.

    The norm of a row depends on that row only, so this is as private as dividing by a public bound.
    """
    X = np.array(dataset.X)
    start = 0
    for column in KDDCUP_COLUMNS:
        stop = start + len(column.feature_names)
        if isinstance(column, CodedNumber):
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

    components: Number of components k.
    features: Function from a data set to one with other features or units; None keeps them as in
        Figure 1.
    published: Tuples of protocol, mean and standard deviation: printed accuracies in percent.
    """

    dataset: str
    title: str
    components: int
    features: Callable[[Dataset], Dataset] | None = None
    published: tuple[tuple[str, float, float], ...] = ()

    def specs(self) -> Iterator[TableSpec]:
        """Return the draws of the task, one specification per algorithm."""
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


def classify(
    features: np.ndarray, labels: np.ndarray, *, rng: np.random.Generator
) -> tuple[float, float]:
    """Train and tune a linear SVM on a tenth of the rows; test it on the others.

    features: shape (n_samples, n_components)
    labels: shape (n_samples,). 0 or 1.
    rng: Chooses the training rows and, among them, the tuning rows. Returns the accuracy on the
        other rows and the cost C that was chosen.
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
    """Return weights (n_costs, n_columns) of SVMs with a slightly rounded hinge."""
    # Import here: scikit-learn would slow down the start of the command line.
    from dpcore.classification.minimization import huber_hinge, minimize

    shape = len(costs), rows.shape[1]
    strength = 1 / (np.array(costs) * len(rows))
    with one_blas_thread():
        return minimize(
            rows,
            signs[:, None],
            huber_hinge(_HINGE_WIDTH),
            strength=strength,
            tilt=np.zeros(shape),
            start=np.zeros(shape),
            # Weights within 1 % of the minimisers.
            gradient_norm=0.01 * strength,
            norm_bound=float(np.linalg.norm(rows, axis=1).max()),
        )


def _accuracy(weights: np.ndarray, rows: np.ndarray, signs: np.ndarray) -> np.ndarray:
    return np.asarray(np.mean((rows @ weights.T > 0) == (signs > 0)[:, None], axis=0))


def _prepare(title: str) -> Prepared:
    task = next(task for task in TASKS if task.title == title)
    dataset = load_dataset(task.dataset)
    if task.features is None:
        return prepare(dataset, mode="bounded", norm_bound=NORM_BOUNDS.get(task.dataset))
    # Rows in other units have another bound.
    return prepare(task.features(dataset), mode="bounded")


def _table_problem(key: TaskKey) -> TaskProblem:
    task, whole = key
    data = _task_sets(task)
    half = replace(whole, samples=len(data.X) // 2)
    others = np.ones(len(data.X), dtype=bool)
    others[sites_of(half, data)[0]] = False
    if data.labels is None:
        raise ParameterError("task", "one of a data set with labels", task)
    return TaskProblem(central_problem(half, data), data.X[others], data.labels[others])


# Run one after the other: kddcup99 takes a quarter of a gigabyte.
_task_sets: OnceCache[Prepared] = OnceCache(_prepare, keep=1)
_table_problems = OnceCache(_table_problem, keep=1)
