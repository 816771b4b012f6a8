"""Centre, find a subspace, train in it, count the mistakes: tidy rows, one a repetition."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from dpcore.classification import PrivateLogisticRegression, PrivateSVM
from dpcore.data.row_norms import shorten
from dpcore.experiments.engine.experiment import Experiment
from dpcore.experiments.learning.classification_problem import (
    LearningProblem,
    local_learning_problem,
)
from dpcore.experiments.learning.classification_promises import (
    CENTRING,
    PCA,
    TRAINING,
    mean_guarantee,
    pca_settings,
    stage_budgets,
    training_epsilon,
)
from dpcore.experiments.learning.classification_spec import (
    CENTRED_NORM_BOUND,
    EXACT,
    PRIVATE,
    RANDOM,
    SUBSPACE,
    ClassificationSpec,
    LearningKey,
)
from dpcore.pca import Draw
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.spectra import site_moments
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
    pca_share: float
    centring_share: float
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

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
    origin : ndarray of shape (n_features,)
        What was taken from rows before projecting; zeros without centring.
    row_norm_bound : float
        What rows were cut to after that.
    model : PrivateSVM or PrivateLogisticRegression
    predicted : ndarray of int of shape (n_test,)
    test_error : float
        Share of the test people whose class is not the predicted one.
    guarantees : dict of str to Guarantee
        Of each stage that reads the people who learn.
    """

    components: np.ndarray
    origin: np.ndarray
    row_norm_bound: float
    model: PrivateSVM | PrivateLogisticRegression
    predicted: np.ndarray
    test_error: float
    guarantees: dict[str, Guarantee]

    def project(self, X: np.ndarray) -> np.ndarray:
        """Rows of X as the classifier sees them, float64 of shape (n, n_components)."""
        return _project(X, self.origin, self.row_norm_bound, self.components)


def run_pipeline(
    spec: ClassificationSpec, problem: LearningProblem, repetition: int = 0
) -> Outcome:
    """One repetition of a pipeline.

    Raises
    ------
    ParameterError
        If the spec cannot run on these people.
    """
    stages = Repetition(spec.seed, repetition)
    guarantees: dict[str, Guarantee] = {}
    origin, bound = np.zeros(problem.X.shape[1]), 1.0
    if spec.centring_share > 0 and spec.pipeline in (EXACT, SUBSPACE, PRIVATE):
        origin = problem.moments.weights @ problem.moments.means
        if spec.pipeline != EXACT:
            noise, guarantees[CENTRING] = _mean_noise(spec, problem, stages)
            origin = origin + noise
        bound = CENTRED_NORM_BOUND
    components = _components(spec, problem, stages, origin, bound, guarantees)
    estimator = {"svm": PrivateSVM, "logistic": PrivateLogisticRegression}[spec.model](
        epsilon=training_epsilon(spec),
        regularization=spec.regularization,
        row_norm_bound=bound,
    )
    # Held while epsilon moves, like all streams of a repetition.
    feature_rng, noise_rng = stages.rng(Purpose.TRAINING).spawn(2)
    model = estimator.fit_drawing(
        _project(problem.X, origin, bound, components),
        problem.y,
        feature_rng=feature_rng,
        noise_rng=noise_rng,
    )
    if model.guarantee_.is_private:
        guarantees[TRAINING] = model.guarantee_
    predicted = model.predict(_project(problem.test_X, origin, bound, components))
    return Outcome(
        components,
        origin,
        bound,
        model,
        predicted,
        float(np.mean(predicted != problem.test_y)),
        guarantees,
    )


def run_repetition(
    spec: ClassificationSpec, problem: LearningProblem, repetition: int
) -> ClassificationRow:
    """One tidy row: the whole spec, the test error, and where the budget went."""
    started = time.perf_counter()
    outcome = run_pipeline(spec, problem, repetition)
    return {
        "dataset": spec.dataset,
        "classes": " against ".join(problem.class_names) if spec.classes else "all",
        "pipeline": spec.pipeline,
        "protocol": spec.protocol,
        "epsilon": spec.epsilon,
        "delta": spec.delta,
        "pca_share": spec.pca_share,
        "centring_share": spec.centring_share,
        "training_share": spec.training_share,
        "components": len(outcome.components),
        "sites": spec.sites,
        "samples": len(problem.X),
        "model": spec.model,
        "regularization": spec.regularization,
        "calibration": spec.calibration,
        "noise": spec.noise,
        "truncation": spec.truncation,
        "seed": spec.seed,
        "repetition": repetition,
        "tested": len(problem.test_X),
        "test_error": outcome.test_error,
        "chance_error": problem.chance_error,
        "seconds": time.perf_counter() - started,
    }


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
    origin: np.ndarray,
    bound: float,
    guarantees: dict[str, Guarantee],
) -> np.ndarray:
    budget = stage_budgets(spec)[1] if spec.pipeline in (SUBSPACE, PRIVATE) else None
    key = EXACT if spec.pipeline == EXACT else RANDOM if budget is None else spec.protocol
    chosen = PROTOCOLS[key]
    settings = pca_settings(spec, problem, budget or PrivacyBudget(math.inf), bound)
    moments = problem.moments
    if origin.any():
        moments = site_moments(_bounded(problem.X, origin, bound), problem.sites)
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


def _bounded(X: np.ndarray, origin: np.ndarray, bound: float) -> np.ndarray:
    """Rows around the origin, those longer than the bound shortened to it; in X's precision."""
    if not origin.any():
        return X
    return shorten(X - origin.astype(X.dtype), bound)[0]


def _project(X: np.ndarray, origin: np.ndarray, bound: float, components: np.ndarray) -> np.ndarray:
    rows = _bounded(X, origin, bound)
    return np.asarray(rows @ components.T.astype(X.dtype), dtype=np.float64)


def _run(
    specs: Sequence[ClassificationSpec],
    problem: LearningProblem,
    repetition: int,
    **_: object,
) -> list[list[ClassificationRow]]:
    return [[run_repetition(spec, problem, repetition)] for spec in specs]


CLASSIFICATION: Experiment[ClassificationSpec, LearningKey, LearningProblem] = Experiment(
    row=ClassificationRow,
    outline=lambda spec: [{"pipeline": spec.pipeline}],
    run=_run,
    problem_key=lambda spec, _: spec.key(),
    problem=local_learning_problem,
    dataset=lambda spec: spec.dataset,
    data_of=lambda key: key.dataset,
)
