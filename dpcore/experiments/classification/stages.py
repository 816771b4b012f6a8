"""Guarantees and charges of the stages of a classification pipeline.

A pipeline has up to three private stages: a mean, a PCA and the training of a classifier. The mean
and a Gaussian PCA compose as one Gaussian release: their mu squared add up exactly, and together
they cost the sum of their shares of epsilon at the full delta. Training and a pure PCA have a pure
guarantee, and their epsilons are added (basic composition).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from dpcore.data.catalog import entry_of
from dpcore.experiments.classification.problem import LearningProblem
from dpcore.experiments.classification.spec import (
    PRIVATE,
    RANDOM_PRIVATE,
    SUBSPACE,
    P,
    PipelineSpec,
    budget_of_mu,
    canonical,
    row_norm_bound,
    stage_budgets,
    training_epsilon,
)
from dpcore.experiments.engine.charge_keys import COMPONENTS, describe_matrix, get_noise_identity
from dpcore.experiments.engine.fields import noise_settings
from dpcore.experiments.engine.spec import join_key
from dpcore.pca import ReleaseSettings
from dpcore.pca.protocols.protocol import EVERY_SITE, HOLDER
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import with_mean_share
from dpcore.privacy import Accountant, Charge, Guarantee, PrivacyBudget, Release

CENTRING, PCA, TRAINING = "centring", "PCA", "training"
_A_MODEL = {"svm": "an SVM", "logistic": "a logistic regression"}


def stage_guarantees(spec: PipelineSpec, problem: LearningProblem) -> dict[str, Guarantee]:
    """Return the guarantees of an `Outcome` without running the pipeline.

    The guarantee of training has neither sensitivity nor assumptions.
    """
    guarantees, spec = {}, with_centring_share(spec, problem)
    reads_rows = spec.pipeline in (SUBSPACE, PRIVATE)
    if reads_rows and spec.centring_share:
        guarantees[CENTRING] = mean_guarantee(spec, problem)
    budget = stage_budgets(spec)[1] if reads_rows else None
    if budget is not None:
        settings = pca_settings(spec, problem, budget)
        guarantees[PCA] = PROTOCOLS[spec.protocol].guarantee(
            settings, problem.moments.n_samples.tolist(), problem.X.shape[1]
        )
    epsilon = training_epsilon(spec)
    if math.isfinite(epsilon):
        guarantees[TRAINING] = Guarantee(
            PrivacyBudget(epsilon), epsilon, 0.0, "objective perturbation", "the curator"
        )
    return guarantees


def with_centring_share(spec: P, problem: LearningProblem) -> P:
    """Return the spec with the mean's share as a number.

    If a rule chooses the share, it is the part that PCA would reserve for the mean if it had the
    budget of both. No row is read.
    """
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


def mean_guarantee(spec: PipelineSpec, problem: LearningProblem) -> Guarantee:
    """Return the guarantee of the private mean."""
    mu, _ = stage_budgets(spec)
    smallest = int(problem.moments.n_samples.min())
    budget = budget_of_mu(mu)
    distributed = PROTOCOLS[spec.protocol].is_distributed
    trust = EVERY_SITE if distributed else HOLDER
    return Guarantee(
        requested=budget,
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
    spec: PipelineSpec, problem: LearningProblem, budget: PrivacyBudget
) -> ReleaseSettings:
    """Return the PCA settings for rows that are centred already."""
    n_components = spec.components or problem.default_components
    entry = entry_of(spec.dataset)
    return ReleaseSettings(
        budget=budget,
        n_components=n_components,
        intermediate_dim=min(2 * n_components, problem.X.shape[1]),
        **noise_settings(spec, entry.image_shape, entry.picture),
        row_norm_bound=row_norm_bound(spec),
    )


def charge_stage(
    spec: PipelineSpec, stage: str, guarantee: Guarantee, draws: frozenset[int]
) -> Charge:
    """Return the charge of one private stage in `stage_guarantees`."""
    spec = canonical(spec)
    entry = PROTOCOLS[spec.protocol]
    is_distributed = entry.is_distributed
    people = ("classification", *vars(spec.problem_key()).values(), is_distributed)
    if stage == TRAINING:
        settings = tuple(value for name, value in vars(spec).items() if name != "repetitions")
        components = "random" if spec.pipeline == RANDOM_PRIVATE else "private"
        label = f"training {_A_MODEL[spec.model]} on {components} components"
        quantity, algorithm, stream, by_sites = "classifier", "training", TRAINING, False
    else:
        # The rule derives the share of the mean from the budget of the mean and the PCA together.
        by_rule = spec.centring_share is None
        mean_mu, pca = stage_budgets(replace(spec, centring_share=0.0) if by_rule else spec)
        budget = () if pca is None else (pca.epsilon, pca.delta)
        settings = ("by rule", *budget) if by_rule else (mean_mu,)
        label, quantity, algorithm, stream = (
            "the mean of those who learn",
            "mean",
            "centring",
            stage,
        )
        by_sites = is_distributed
    if stage == PCA:
        noise = get_noise_identity({}, spec.protocol)
        matrix = describe_matrix(vars(spec), spec.protocol)
        reads = (getattr(spec, name, None) for name in noise.settings)
        settings = ("by rule" if by_rule else mean_mu, matrix, *budget, *reads)
        label, quantity = f"{matrix} of those who learn", COMPONENTS
        algorithm, stream = entry.title, noise.words
    release = Release.of(
        guarantee,
        key=join_key(stage, *people, *settings),
        label=f"{label}, ε = {spec.epsilon:g} in all, seed {spec.seed}",
        dataset=spec.dataset,
    )
    algorithms = (f"Classification: {algorithm}",)
    return Charge(release, draws, (quantity,), algorithms, by_sites, join_key(stream, spec.seed))


def total_guarantee(spec: PipelineSpec, guarantees: Mapping[str, Guarantee]) -> Guarantee:
    """Return the guarantee of all private stages together, at the requested delta.

    The accountant takes the smaller of basic composition and the privacy loss distribution. A
    non-private stage that reads the training rows makes epsilon infinite.
    """
    requested = PrivacyBudget(spec.epsilon, spec.delta)
    if spec.pipeline not in (PRIVATE, RANDOM_PRIVATE):
        return Guarantee(requested, math.inf, 0.0, "none", "no one")
    accountant = Accountant(spec.dataset)
    for stage, guarantee in guarantees.items():
        release = Release.of(guarantee, key=stage, label=stage, dataset=spec.dataset)
        accountant.charge(Charge(release))
    pure = all(g.delta == 0 for g in guarantees.values())
    delta = 0.0 if pure else spec.delta
    assumed = (one for guarantee in guarantees.values() for one in guarantee.assumptions)
    added = "; ".join(
        f"{guarantee.noise_added_by} ({stage})" for stage, guarantee in guarantees.items()
    )
    epsilon = accountant.total(delta)
    return Guarantee(
        requested,
        epsilon,
        delta,
        "composed",
        added,
        assumptions=tuple(dict.fromkeys(assumed)),
        # The curator who trains the classifier holds all rows.
        against=HOLDER.against(dict.fromkeys(HOLDER.sees, epsilon)),
    )
