"""Centre, find a subspace, train in it, count the mistakes: tidy rows, one a repetition.

The stages compose. Centring and a Gaussian PCA are one Gaussian release: their mu squared add up
exactly, and together they cost the sum of their shares of epsilon at the whole delta. Training is
pure, so its epsilon is added to theirs (basic composition), and so is a pure PCA's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np

from dpcore.classification import PrivateLogisticRegression, PrivateSVM
from dpcore.data.row_norms import shorten
from dpcore.experiments.learning.classification_spec import (
    CENTRED_NORM_BOUND,
    EXACT,
    PRIVATE,
    RANDOM,
    RANDOM_PRIVATE,
    SUBSPACE,
    ClassificationSpec,
    LearningKey,
    LearningProblem,
    build_learning_problem,
)
from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca.protocols.entry import Kind
from dpcore.pca.protocols.guarantees import EVERY_SITE, HOLDER
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import (
    Guarantee,
    Ledger,
    PrivacyBudget,
    Release,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    guarantee_mu,
)
from dpcore.spectra import site_moments
from dpcore.streams import Purpose, Repetition

Row = dict[str, object]

CENTRING, PCA, TRAINING = "centring", "PCA", "training"
_MEAN_STREAM = 1


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


@lru_cache(maxsize=4)
def local_learning_problem(key: LearningKey) -> LearningProblem:
    """Problems of this process, the latest kept."""
    return build_learning_problem(key)


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


def promised_stages(spec: ClassificationSpec, problem: LearningProblem) -> dict[str, Guarantee]:
    """The guarantees of an `Outcome` without running the pipeline.

    Training says what it promises and no more: neither sensitivity nor assumptions.
    """
    guarantees, bound = {}, 1.0
    reads_rows = spec.pipeline in (SUBSPACE, PRIVATE)
    if reads_rows and spec.centring_share > 0:
        guarantees[CENTRING], bound = _mean_guarantee(spec, problem), CENTRED_NORM_BOUND
    budget = stage_budgets(spec)[1] if reads_rows else None
    if budget is not None:
        settings = _settings(spec, problem, budget, bound)
        guarantees[PCA] = PROTOCOLS[spec.protocol].promise(
            settings, problem.moments.n_samples.tolist(), problem.X.shape[1]
        )
    epsilon = training_epsilon(spec)
    if math.isfinite(epsilon):
        guarantees[TRAINING] = Guarantee(
            PrivacyBudget(epsilon), epsilon, 0.0, "objective perturbation", "the curator"
        )
    return guarantees


def training_epsilon(spec: ClassificationSpec) -> float:
    """What training is asked to keep; infinite where it is not private."""
    if spec.pipeline == RANDOM_PRIVATE:
        return spec.epsilon
    return spec.training_share * spec.epsilon if spec.pipeline == PRIVATE else math.inf


def run_repetition(spec: ClassificationSpec, problem: LearningProblem, repetition: int) -> Row:
    """One tidy row: the whole spec, the test error, and where the budget went."""
    started = time.perf_counter()
    outcome = run_pipeline(spec, problem, repetition)
    seconds = time.perf_counter() - started
    return asdict(spec) | {
        "classes": "all" if not spec.classes else " against ".join(problem.class_names),
        "components": len(outcome.components),
        "samples": len(problem.X),
        "tested": len(problem.test_X),
        "repetition": repetition,
        "test_error": outcome.test_error,
        "chance_error": problem.chance_error,
        "training_share": spec.training_share,
        "seconds": seconds,
    }


def run(spec: ClassificationSpec) -> Iterator[Row]:
    """Rows of a spec, as they are finished."""
    for repetition in range(spec.repetitions):
        yield run_repetition(spec, local_learning_problem(spec.key()), repetition)


def total_guarantee(spec: ClassificationSpec, outcome: Outcome) -> Guarantee:
    """What all private stages promise together, at the asked delta.

    The smaller of basic composition and the privacy loss distribution, by the ledger. A stage
    that is not private and reads the people makes it infinite.
    """
    asked = PrivacyBudget(spec.epsilon, spec.delta)
    if spec.pipeline not in (PRIVATE, RANDOM_PRIVATE):
        return Guarantee(asked, math.inf, 0.0, "none", "nobody")
    ledger = Ledger()
    for stage, guarantee in outcome.guarantees.items():
        release = Release.of(guarantee, key=stage, label=stage, dataset=spec.dataset)
        ledger = ledger.add(release)
    pure = all(g.delta == 0 for g in outcome.guarantees.values())
    delta = 0.0 if pure else spec.delta
    assumed = (one for guarantee in outcome.guarantees.values() for one in guarantee.assumptions)
    added = "; ".join(
        f"{guarantee.noise_added_by} ({stage})" for stage, guarantee in outcome.guarantees.items()
    )
    epsilon = ledger.spent_by_person(spec.dataset).epsilon(delta)
    return Guarantee(
        asked,
        epsilon,
        delta,
        "composed",
        added,
        assumptions=tuple(dict.fromkeys(assumed)),
        # Whoever trains holds all rows.
        against=HOLDER.against(dict.fromkeys(HOLDER.sees, epsilon)),
    )


def at_delta(guarantee: Guarantee, delta: float) -> Guarantee:
    """A Gaussian guarantee as it reads at another delta, nothing asked; any other as it is.

    The parts of one Gaussian release are calibrated by their mu, at a point of the profile that
    suits the solver and nobody else.
    """
    if guarantee_mu(guarantee) is None or guarantee.delta == delta:
        return guarantee

    def moved(epsilon: float) -> float:
        mu = guarantee_mu(replace(guarantee, epsilon=epsilon))
        return gaussian_epsilon(delta, 1.0, mu) if math.isfinite(mu) else math.inf

    against = tuple(replace(each, epsilon=moved(each.epsilon)) for each in guarantee.against)
    return replace(
        guarantee, asked=None, epsilon=moved(guarantee.epsilon), delta=delta, against=against
    )


def stage_budgets(spec: ClassificationSpec) -> tuple[float, PrivacyBudget | None]:
    """mu of the private mean (0 without one), and the budget of the PCA (None without one).

    Centring and Gaussian PCA share one Gaussian release in proportion to their shares, counted
    in mu squared, which is what adds up. A pure PCA takes its epsilon, and the mean its own.
    """
    centring, pca = spec.centring_share * spec.epsilon, spec.pca_share * spec.epsilon
    if PROTOCOLS[spec.protocol].kind is Kind.PURE:
        mean_mu = gaussian_mu(PrivacyBudget(centring, spec.delta)) if centring > 0 else 0.0
        return mean_mu, PrivacyBudget(pca) if pca > 0 else None
    if centring == 0:
        return 0.0, PrivacyBudget(pca, spec.delta) if pca > 0 else None
    together = gaussian_mu(PrivacyBudget(centring + pca, spec.delta))
    part = pca / (centring + pca)
    mean_mu, pca_mu = together * math.sqrt(1 - part), together * math.sqrt(part)
    return mean_mu, _budget_of(pca_mu) if pca > 0 else None


def _budget_of(mu: float) -> PrivacyBudget:
    # A point of the exact profile of this mu: analytic calibration goes back to the same noise.
    # This far along, its delta is neither lost to rounding nor too large.
    epsilon = mu * mu / 2 + mu
    return PrivacyBudget(epsilon, gaussian_delta(epsilon, 1.0, mu))


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
    return noise, _mean_guarantee(spec, problem)


def _mean_guarantee(spec: ClassificationSpec, problem: LearningProblem) -> Guarantee:
    mu, _ = stage_budgets(spec)
    smallest = int(problem.moments.n_samples.min())
    budget = _budget_of(mu)
    distributed = PROTOCOLS[spec.protocol].is_distributed
    trust = EVERY_SITE if distributed else HOLDER
    return Guarantee(
        asked=budget,
        epsilon=budget.epsilon,
        delta=budget.delta,
        mechanism="gaussian",
        noise_added_by="every site, to its own mean" if distributed else "the curator, to the mean",
        l2_sensitivity=2 / smallest,
        sigma=2 / smallest / mu,
        assumptions=trust.assumptions,
        against=trust.against(dict.fromkeys(trust.sees, budget.epsilon)),
    )


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
    settings = _settings(spec, problem, budget or PrivacyBudget(math.inf), bound)
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


def _settings(
    spec: ClassificationSpec, problem: LearningProblem, budget: PrivacyBudget, bound: float
) -> ReleaseSettings:
    n_components = spec.components or problem.default_components
    return ReleaseSettings(
        budget=budget,
        n_components=n_components,
        intermediate_dim=min(2 * n_components, problem.X.shape[1]),
        calibration=spec.calibration,
        noise=spec.noise,
        truncation=spec.truncation,
        row_norm_bound=bound,
    )


def _bounded(X: np.ndarray, origin: np.ndarray, bound: float) -> np.ndarray:
    """Rows around the origin, those longer than the bound shortened to it; in X's precision."""
    if not origin.any():
        return X
    return shorten(X - origin.astype(X.dtype), bound)[0]


def _project(X: np.ndarray, origin: np.ndarray, bound: float, components: np.ndarray) -> np.ndarray:
    rows = _bounded(X, origin, bound)
    return (rows @ components.T.astype(X.dtype)).astype(np.float64)
