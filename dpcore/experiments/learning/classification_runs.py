"""Centre, find a subspace, train in it, count the mistakes: tidy rows, one a repetition."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from dpcore.classification import PrivateLogisticRegression, PrivateSVM
from dpcore.data.preparation import shorten
from dpcore.experiments.engine.experiment import Experiment, each_alone, row_from
from dpcore.experiments.learning.classification_promises import (
    CENTRING,
    PCA,
    TRAINING,
    mean_guarantee,
    pca_settings,
    row_norm_bound,
    stage_budgets,
    training_epsilon,
    with_centring_share,
)
from dpcore.experiments.learning.classification_spec import (
    EXACT,
    PRIVATE,
    RANDOM,
    SUBSPACE,
    ClassificationSpec,
    LearningKey,
    LearningProblem,
    local_learning_problem,
)
from dpcore.pca import Draw
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.site import centre_of_sphere
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.spectra import site_moments
from dpcore.spectra.moments import directions
from dpcore.streams import Purpose, Repetition


class ClassificationRow(TypedDict):
    """One repetition of a pipeline: its spec with K and N filled in, and the test error.

    `chance_error` is that of always saying the commonest class; `tested` how many people tested.
    """

    dataset: str
    classes: str
    pipeline: str
    protocol: str
    epsilon: float
    delta: float
    preparation: str
    pca_share: float
    centring_share: float | None
    training_share: float
    components: int
    sites: int
    samples: int
    model: str
    regularization: float
    calibration: str
    noise: str
    truncation: str
    seed: int
    repetition: int
    tested: int
    test_error: float
    chance_error: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """A trained pipeline and how it does on the test people.

    components: shape (n_components, n_features)
    origin: shape (n_features,). What was taken from rows before projecting; zeros without centring.
    row_norm_bound: What rows were cut to after that.
    on_sphere: Whether each was brought to length 1 instead.
    predicted: ndarray of int of shape (n_test,)
    test_error: Share of the test people whose class is not the predicted one.
    guarantees: Of each stage that reads the people who learn.
    """

    components: np.ndarray
    origin: np.ndarray
    row_norm_bound: float
    model: PrivateSVM | PrivateLogisticRegression
    predicted: np.ndarray
    test_error: float
    guarantees: dict[str, Guarantee]
    on_sphere: bool = False

    def project(self, X: np.ndarray) -> np.ndarray:
        """Rows of X as the classifier sees them, float64 of shape (n, n_components)."""
        rows = _around(X, self.origin, self.row_norm_bound, on_sphere=self.on_sphere)
        return _project(rows, self.components)


def run_pipeline(
    spec: ClassificationSpec, problem: LearningProblem, repetition: int = 0
) -> Outcome:
    """One repetition of a pipeline.

    Raises `ParameterError` if the spec cannot run on these people.
    """
    spec = with_centring_share(spec, problem)
    stages, bound = Repetition(spec.seed, repetition), row_norm_bound(spec)
    guarantees: dict[str, Guarantee] = {}
    origin, on_sphere = np.zeros(problem.X.shape[1]), spec.preparation == "sphere"
    if spec.centring_share and spec.pipeline in (EXACT, SUBSPACE, PRIVATE):
        origin = problem.moments.weights @ problem.moments.means
        if spec.pipeline != EXACT:
            noise, guarantees[CENTRING] = _mean_noise(spec, problem, stages)
            origin = origin + noise
    if on_sphere and not origin.any():
        problem = problem.around_public_middle
        rows = problem.X
    else:
        rows = _around(problem.X, origin, bound, on_sphere=on_sphere)
    components = _components(spec, problem, stages, rows, guarantees)
    estimator = {"svm": PrivateSVM, "logistic": PrivateLogisticRegression}[spec.model](
        epsilon=training_epsilon(spec),
        regularization=spec.regularization,
        row_norm_bound=bound,
    )
    # Held while epsilon moves, like all streams of a repetition.
    feature_rng, noise_rng = stages.rng(Purpose.TRAINING).spawn(2)
    model = estimator.fit_drawing(
        _project(rows, components),
        problem.y,
        feature_rng=feature_rng,
        noise_rng=noise_rng,
    )
    if model.guarantee_.is_private:
        guarantees[TRAINING] = model.guarantee_
    tested = _around(problem.test_X, origin, bound, on_sphere=on_sphere)
    predicted = model.predict(_project(tested, components))
    return Outcome(
        components,
        origin,
        bound,
        model,
        predicted,
        float(np.mean(predicted != problem.test_y)),
        guarantees,
        on_sphere,
    )


def run_repetition(
    spec: ClassificationSpec, problem: LearningProblem, repetition: int
) -> ClassificationRow:
    """One tidy row: the whole spec, the test error, and where the budget went."""
    started = time.perf_counter()
    outcome = run_pipeline(spec, problem, repetition)
    return row_from(
        ClassificationRow,
        spec,
        classes=" against ".join(problem.class_names) if spec.classes else "all",
        components=len(outcome.components),
        samples=len(problem.X),
        repetition=repetition,
        tested=len(problem.test_X),
        test_error=outcome.test_error,
        chance_error=problem.chance_error,
        seconds=time.perf_counter() - started,
    )


def _mean_noise(
    spec: ClassificationSpec, problem: LearningProblem, stages: Repetition
) -> tuple[np.ndarray, Guarantee]:
    """Noise on the mean of rows of norm 1, and what it promises.

    Replacing a row moves a mean of n by at most 2 / n. Each site of a distributed protocol adds
    its own noise to its own mean; else it is added once.
    """
    mu, _ = stage_budgets(spec)
    moments = problem.moments
    noise = np.zeros(moments.n_features)
    for site, (weight, n_samples) in enumerate(
        zip(moments.weights, moments.n_samples, strict=True)
    ):
        rng = stages.rng(Purpose.PREPARATION, site)
        noise += weight * (2 / n_samples / mu) * rng.standard_normal(moments.n_features)
    return noise, mean_guarantee(spec, problem)


def _components(
    spec: ClassificationSpec,
    problem: LearningProblem,
    stages: Repetition,
    rows: np.ndarray,
    guarantees: dict[str, Guarantee],
) -> np.ndarray:
    budget = stage_budgets(spec)[1] if spec.pipeline in (SUBSPACE, PRIVATE) else None
    key = EXACT if spec.pipeline == EXACT else RANDOM if budget is None else spec.protocol
    chosen = PROTOCOLS[key]
    settings = pca_settings(spec, problem, budget or PrivacyBudget(math.inf))
    moments = problem.moments
    if rows is not problem.X:
        moments = site_moments(rows, problem.sites)
    draw = Draw(
        moments,
        settings,
        stages,
        proxies=chosen.wants_proxies,
        average=chosen.wants_average,
    )
    subspace = chosen.release(draw)
    if key not in (EXACT, RANDOM):
        guarantees[PCA] = subspace.guarantee
    return subspace.components


def _around(
    X: np.ndarray, origin: np.ndarray, bound: float, *, on_sphere: bool = False
) -> np.ndarray:
    """Rows around the origin at length 1, or those longer than the bound shortened to it; in X's
    precision."""
    if on_sphere:
        return directions(X, centre_of_sphere(origin).astype(X.dtype))
    if not origin.any():
        return X
    return shorten(X - origin.astype(X.dtype), bound)[0]


def _project(rows: np.ndarray, components: np.ndarray) -> np.ndarray:
    return np.asarray(rows @ components.T.astype(rows.dtype), dtype=np.float64)


@dataclass(frozen=True)
class Plane:
    """Test people and predictions in the plane of two components.

    points: shape (n, 2)
    classes: ndarray of int of shape (n,)
    regions: ndarray of int of shape (n_vertical, n_horizontal)
    axes: (horizontal, vertical) grid positions
    """

    points: np.ndarray
    classes: np.ndarray
    regions: np.ndarray
    axes: tuple[np.ndarray, np.ndarray]


def confusion_matrix(outcome: Outcome, problem: LearningProblem) -> np.ndarray:
    """Counts of test people, rows what they are, columns what was predicted."""
    size = len(problem.class_names)
    pairs = problem.test_y * size + outcome.predicted
    return np.bincount(pairs, minlength=size * size).reshape(size, size)


def mistakes(outcome: Outcome, problem: LearningProblem, most: int) -> np.ndarray:
    """Row numbers of the first test people who were taken for somebody else."""
    return np.flatnonzero(outcome.predicted != problem.test_y)[:most]


def plane_of(outcome: Outcome, problem: LearningProblem, *, most: int = 400) -> Plane:
    """The plane a pipeline of two components works in, with at most `most` test people."""
    points = outcome.project(problem.test_X[:most])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.08 * np.maximum(high - low, 1e-9)
    horizontal, vertical = np.linspace(low - margin, high + margin, 160).T
    grid = np.stack(np.meshgrid(horizontal, vertical), axis=-1)
    regions = outcome.model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    return Plane(points, problem.test_y[:most], regions, (horizontal, vertical))


CLASSIFICATION: Experiment[ClassificationSpec, LearningKey, LearningProblem] = Experiment(
    row=ClassificationRow,
    outline=lambda spec: [{"pipeline": spec.pipeline}],
    run=each_alone(lambda *cell: [run_repetition(*cell)]),
    problem_key=lambda spec, _: spec.key(),
    problem=local_learning_problem,
    dataset=lambda spec: spec.dataset,
    data_of=lambda key: key.dataset,
)
