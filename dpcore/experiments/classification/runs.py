"""Private classifiers as a family of the experiment engine: specs, pipelines and tidy rows."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.row_bounds import shorten
from dpcore.experiments.classification.problem import (
    LearningKey,
    LearningProblem,
    local_learning_problem,
)
from dpcore.experiments.classification.spec import (
    EXACT,
    PRIVATE,
    RANDOM,
    SUBSPACE,
    PipelineSpec,
    row_norm_bound,
    stage_budgets,
    training_epsilon,
)
from dpcore.experiments.classification.stages import (
    CENTRING,
    PCA,
    TRAINING,
    charge_stage,
    mean_guarantee,
    pca_settings,
    with_centring_share,
)
from dpcore.experiments.engine.fields import PrivateRow
from dpcore.experiments.engine.grid import Points
from dpcore.experiments.engine.spec import Row, Spec, row_from
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.publish.export import Recipe, imports_of, source_of
from dpcore.pca import Draw
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.site import centre_of_sphere
from dpcore.privacy import Charge, Guarantee, PrivacyBudget
from dpcore.spectra import site_moments
from dpcore.spectra.site_rows import directions
from dpcore.streams import Purpose, Repetition

if TYPE_CHECKING:
    from dpcore.classification import PrivateLogisticRegression, PrivateSVM


@dataclass(frozen=True)
class ClassificationSpec(PipelineSpec, Spec):
    """Cell of a classification experiment: one pipeline with all its repetitions."""

    experiment = "classification"

    @classmethod
    def row_type(cls) -> type:
        return ClassificationRow

    def outline(self) -> Sequence[Row]:
        return [{"pipeline": self.pipeline}]

    @classmethod
    def load(cls, key: LearningKey) -> LearningProblem:
        return local_learning_problem(key)

    @classmethod
    def data_of(cls, key: LearningKey) -> Hashable:
        return key.dataset

    def rows(self, problem: LearningProblem, repetition: int) -> Sequence[Row]:
        """Run one repetition and return its tidy row."""
        started = time.perf_counter()
        outcome = run_pipeline(self, problem, repetition)
        row = row_from(
            ClassificationRow,
            self,
            classes=" against ".join(problem.class_names) if self.classes else "all",
            components=len(outcome.components),
            samples=len(problem.X),
            repetition=repetition,
            tested=len(problem.test_X),
            test_error=outcome.test_error,
            chance_error=problem.chance_error,
            seconds=time.perf_counter() - started,
        )
        return [row]

    def charge(self, name: str, guarantee: Guarantee, draws: frozenset[int]) -> Charge:
        return charge_stage(self, name, guarantee, draws)


class ClassificationRow(PrivateRow):
    """Row of one repetition of a pipeline: its spec with K and N filled in, and the test error.

    `chance_error` is the error of a constant prediction; `tested` is the number of test rows.
    """

    classes: str
    pipeline: str
    preparation: str
    pca_share: float
    centring_share: float | None
    training_share: float
    model: str
    regularization: float
    seed: int
    repetition: int
    tested: int
    test_error: float
    chance_error: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """Trained pipeline with its predictions on the test rows.

    components: shape (n_components, n_features)
    origin: shape (n_features,). Centre subtracted before the projection; zeros without centring.
    row_norm_bound: Norm to which rows were clipped after centring.
    predicted: ndarray of int of shape (n_test,)
    test_error: Share of the test rows with a wrong prediction.
    guarantees: Guarantee of each stage that reads the training rows.
    """

    components: np.ndarray
    origin: np.ndarray
    row_norm_bound: float
    model: PrivateSVM | PrivateLogisticRegression
    predicted: np.ndarray
    test_error: float
    guarantees: dict[str, Guarantee]


def run_pipeline(spec: PipelineSpec, problem: LearningProblem, repetition: int = 0) -> Outcome:
    """Run one repetition of a pipeline.

    Raises `ParameterError` if the spec cannot run on these rows.
    """
    spec = with_centring_share(spec, problem)
    stages, bound = Repetition(spec.seed, repetition), row_norm_bound(spec)
    guarantees: dict[str, Guarantee] = {}
    origin, on_sphere = np.zeros(problem.X.shape[1]), spec.on_sphere
    if spec.centring_share and spec.pipeline in (EXACT, SUBSPACE, PRIVATE):
        origin = problem.moments.weights @ problem.moments.means
        if spec.pipeline != EXACT:
            noise, guarantees[CENTRING] = _mean_noise(spec, problem, stages)
            origin = origin + noise
    if on_sphere and not origin.any():
        problem = problem.around_public_middle
        rows = problem.X
    else:
        rows = centre_rows(problem.X, origin, bound, on_sphere=on_sphere)
    components, guarantee = _find_subspace(spec, problem, stages, rows)
    if guarantee is not None:
        guarantees[PCA] = guarantee
    # scikit-learn is slower to import than all of dpcore, and specs do not need it.
    from dpcore.classification import PrivateLogisticRegression, PrivateSVM

    estimator = {"svm": PrivateSVM, "logistic": PrivateLogisticRegression}[spec.model](
        epsilon=training_epsilon(spec),
        regularization=spec.regularization,
        row_norm_bound=bound,
    )
    # The second child stream: any other would change all rows.
    rng = stages.rng(Purpose.TRAINING).spawn(2)[1]
    model = estimator.fit_with_noise(_project(rows, components), problem.y, rng=rng)
    if model.guarantee_.is_private:
        guarantees[TRAINING] = model.guarantee_
    test_rows = centre_rows(problem.test_X, origin, bound, on_sphere=on_sphere)
    predicted = model.predict(_project(test_rows, components))
    return Outcome(
        components,
        origin,
        bound,
        model,
        predicted,
        float(np.mean(predicted != problem.test_y)),
        guarantees,
    )


def _mean_noise(
    spec: PipelineSpec, problem: LearningProblem, stages: Repetition
) -> tuple[np.ndarray, Guarantee]:
    """Draw noise for the mean of rows of norm 1, and return it with its guarantee.

    Replacing a row moves a mean of n rows by at most 2 / n. Each site of a distributed protocol
    adds its own noise to its own mean; otherwise noise is added once.
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


def _find_subspace(
    spec: PipelineSpec, problem: LearningProblem, stages: Repetition, rows: np.ndarray
) -> tuple[np.ndarray, Guarantee | None]:
    """Return components and, if they read the rows privately, their guarantee."""
    budget = stage_budgets(spec)[1] if spec.pipeline in (SUBSPACE, PRIVATE) else None
    key = EXACT if spec.pipeline == EXACT else RANDOM if budget is None else spec.protocol
    chosen = PROTOCOLS[key]
    moments = problem.moments if rows is problem.X else site_moments(rows, problem.sites)
    draw = Draw(
        moments,
        pca_settings(spec, problem, budget or PrivacyBudget(math.inf)),
        stages,
        proxies=chosen.wants_proxies,
        average=chosen.wants_average,
    )
    subspace = chosen.release(draw)
    return subspace.components, None if budget is None else subspace.guarantee


def centre_rows(X: np.ndarray, origin: np.ndarray, bound: float, *, on_sphere: bool) -> np.ndarray:
    """Return rows around the origin, scaled to length 1 or clipped to the bound."""
    if on_sphere:
        return directions(X, centre_of_sphere(origin).astype(X.dtype))
    if not origin.any():
        return X
    return shorten(X - origin.astype(X.dtype), bound)[0]


def _project(rows: np.ndarray, components: np.ndarray) -> np.ndarray:
    return np.asarray(rows @ components.T.astype(rows.dtype), dtype=np.float64)


def confusion_matrix(outcome: Outcome, problem: LearningProblem) -> np.ndarray:
    """Count test rows by true class (rows) and predicted class (columns)."""
    size = len(problem.class_names)
    pairs = problem.test_y * size + outcome.predicted
    return np.bincount(pairs, minlength=size * size).reshape(size, size)


def mistakes(outcome: Outcome, problem: LearningProblem, most: int) -> np.ndarray:
    """Return the row numbers of the first wrongly classified test rows."""
    return np.flatnonzero(outcome.predicted != problem.test_y)[:most]


_CLASSIFICATION_IMPORTS = imports_of(
    "from statistics import fmean", Points, collect, ClassificationSpec
)
_CLASSIFICATION_RUN = """\
rows = collect(Points((spec,))).rows
errors = [row["test_error"] for row in rows]
print(f"test error {fmean(errors):.4f}, mean of {len(errors)} draws")"""


def classification_recipe(spec: ClassificationSpec) -> Recipe:
    """Return a recipe that runs the pipeline and prints its test error."""
    cells = _CLASSIFICATION_IMPORTS, f"spec = {source_of(spec)}", _CLASSIFICATION_RUN
    return Recipe("Test error of a private pipeline", cells)
