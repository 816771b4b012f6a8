"""How a pipeline's budget is split over its stages, and what they promise.

The stages compose. Centring and a Gaussian PCA are one Gaussian release: their mu squared add up
exactly, and together they cost the sum of their shares of epsilon at the whole delta. Training is
pure, so its epsilon is added to theirs (basic composition), and so is a pure PCA's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from dpcore.errors import ParameterError
from dpcore.experiments.learning.classification_spec import (
    CENTRED_NORM_BOUND,
    PRIVATE,
    RANDOM_PRIVATE,
    SUBSPACE,
    ClassificationSpec,
    LearningProblem,
)
from dpcore.pca import ReleaseSettings
from dpcore.pca.protocols.protocol import EVERY_SITE, HOLDER, Kind
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import with_mean_share
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

CENTRING, PCA, TRAINING = "centring", "PCA", "training"


def promised_stages(spec: ClassificationSpec, problem: LearningProblem) -> dict[str, Guarantee]:
    """The guarantees of an `Outcome` without running the pipeline.

    Training says what it promises and no more: neither sensitivity nor assumptions.
    """
    guarantees, spec = {}, with_centring_share(spec, problem)
    reads_rows = spec.pipeline in (SUBSPACE, PRIVATE)
    if reads_rows and spec.centring_share:
        guarantees[CENTRING] = mean_guarantee(spec, problem)
    budget = stage_budgets(spec)[1] if reads_rows else None
    if budget is not None:
        settings = pca_settings(spec, problem, budget)
        guarantees[PCA] = PROTOCOLS[spec.protocol].promise(
            settings, problem.moments.n_samples.tolist(), problem.X.shape[1]
        )
    epsilon = training_epsilon(spec)
    if math.isfinite(epsilon):
        guarantees[TRAINING] = Guarantee(
            PrivacyBudget(epsilon), epsilon, 0.0, "objective perturbation", "the curator"
        )
    return guarantees


def with_centring_share(spec: ClassificationSpec, problem: LearningProblem) -> ClassificationSpec:
    """The spec with the mean's share as a number, where it was left to the rule: that which the
    PCA would give it of the budget for both. No row is read."""
    if spec.centring_share is not None:
        return spec
    if not (spec.may_buy_mean and spec.pca_share > 0 and spec.calibration == "analytic"):
        return replace(spec, centring_share=0.0)
    both = PrivacyBudget(spec.pca_share * spec.epsilon, spec.delta)
    people = problem.moments.n_samples.tolist()
    settings = replace(pca_settings(spec, problem, both), mean_share=None)
    share = with_mean_share(settings, people, problem.X.shape[1], n_noises=len(people)).mean_share
    centring = spec.pca_share * (share or 0.0)
    return replace(spec, centring_share=centring, pca_share=spec.pca_share - centring)


def row_norm_bound(spec: ClassificationSpec) -> float:
    """What rows are no longer than once they are centred."""
    is_cut = spec.preparation == "bounded" and spec.centring_share
    return CENTRED_NORM_BOUND if is_cut else 1.0


def training_epsilon(spec: ClassificationSpec) -> float:
    """What training is asked to keep; infinite where it is not private."""
    if spec.pipeline == RANDOM_PRIVATE:
        return spec.epsilon
    return spec.training_share * spec.epsilon if spec.pipeline == PRIVATE else math.inf


def total_guarantee(spec: ClassificationSpec, guarantees: Mapping[str, Guarantee]) -> Guarantee:
    """What all private stages promise together, at the asked delta.

    The smaller of basic composition and the privacy loss distribution, by the ledger. A stage
    that is not private and reads the people makes it infinite.
    """
    asked = PrivacyBudget(spec.epsilon, spec.delta)
    if spec.pipeline not in (PRIVATE, RANDOM_PRIVATE):
        return Guarantee(asked, math.inf, 0.0, "none", "nobody")
    ledger = Ledger()
    for stage, guarantee in guarantees.items():
        release = Release.of(guarantee, key=stage, label=stage, dataset=spec.dataset)
        ledger = ledger.add(release)
    pure = all(g.delta == 0 for g in guarantees.values())
    delta = 0.0 if pure else spec.delta
    assumed = (one for guarantee in guarantees.values() for one in guarantee.assumptions)
    added = "; ".join(
        f"{guarantee.noise_added_by} ({stage})" for stage, guarantee in guarantees.items()
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
        if mu is None or not math.isfinite(mu):
            return math.inf
        return gaussian_epsilon(delta, 1.0, mu)

    against = tuple(replace(each, epsilon=moved(each.epsilon)) for each in guarantee.against)
    return replace(
        guarantee, asked=None, epsilon=moved(guarantee.epsilon), delta=delta, against=against
    )


def stage_budgets(spec: ClassificationSpec) -> tuple[float, PrivacyBudget | None]:
    """mu of the private mean (0 without one), and the budget of the PCA (None without one).

    Centring and Gaussian PCA share one Gaussian release in proportion to their shares, counted
    in mu squared, which is what adds up. A pure PCA takes its epsilon, and the mean its own.
    """
    if spec.centring_share is None:
        raise ParameterError("centring_share", "settled before noise is calibrated", None)
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


def mean_guarantee(spec: ClassificationSpec, problem: LearningProblem) -> Guarantee:
    """What the private mean promises."""
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


def pca_settings(
    spec: ClassificationSpec, problem: LearningProblem, budget: PrivacyBudget
) -> ReleaseSettings:
    """The PCA's settings, for rows that are centred already."""
    n_components = spec.components or problem.default_components
    return ReleaseSettings(
        budget=budget,
        n_components=n_components,
        intermediate_dim=min(2 * n_components, problem.X.shape[1]),
        calibration=spec.calibration,
        noise=spec.noise,
        truncation=spec.truncation,
        row_norm_bound=row_norm_bound(spec),
    )
