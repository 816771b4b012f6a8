"""What private statistics and classifiers cost, as `ledger.pca_charges` says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from dpcore.experiments.learning.classification_promises import (
    CENTRING,
    PCA,
    TRAINING,
    stage_budgets,
)
from dpcore.experiments.learning.classification_spec import (
    RANDOM_PRIVATE,
    ClassificationSpec,
    canonical,
)
from dpcore.experiments.learning.statistic_spec import HISTOGRAM, StatisticSpec
from dpcore.experiments.ledger.account import Charge
from dpcore.experiments.ledger.pca_charges import (
    COMPONENTS,
    is_charged,
    joined,
    matrix_of,
    noise_of,
)
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Guarantee, Release

TYPED_NUMBERS = "the typed numbers"

_MODELS = {"svm": "an SVM", "logistic": "a logistic regression"}


def of_statistic(
    dataset: str | None,
    identity: tuple[object, ...],
    name: str,
    spec: StatisticSpec,
    guarantee: Guarantee,
) -> Charge:
    """What one mean, variance or histogram costs.

    dataset: None stands for numbers that somebody typed.
    identity: Tells the column, or the numbers, from any other.
    name: What a person calls the column.
    """
    settings: tuple[object, ...] = (
        spec.kind,
        spec.low,
        spec.high,
        spec.epsilon,
        spec.mechanism,
        spec.seed,
    )
    if spec.kind == HISTOGRAM:
        settings += (spec.bins,)
    if spec.mechanism == "gaussian":
        settings += (spec.delta,)
    # Typed numbers are their own identity, and may be many.
    column = sha256(repr(identity).encode()).hexdigest()
    release = Release.of(
        guarantee,
        key=joined("statistic", column, *settings),
        label=f"the {spec.kind} of {name}, ε = {spec.epsilon:g}, seed {spec.seed}",
        dataset=dataset or TYPED_NUMBERS,
    )
    # Of typed numbers nothing keys the noise but how many there are.
    stream = "" if dataset else joined("typed", len(identity), *settings)
    return Charge(release, what=(spec.kind,), seen=(name,), stream=stream)


def of_pipeline(
    spec: ClassificationSpec, guarantees: Mapping[str, Guarantee], draws: int
) -> list[Charge]:
    """What the stages of a classifier cost: a mean, a noisy moment, the training.

    guarantees: mapping of stage to Guarantee. As in
        `dpcore.experiments.learning.classification_runs.Outcome`.
    draws: The first so many repetitions.
    """
    if not guarantees:
        return []
    spec = canonical(spec)
    entry = PROTOCOLS[spec.protocol]
    # What the rule gives the mean follows from what it and the PCA have together.
    by_rule = spec.centring_share is None
    mean_mu, pca = stage_budgets(replace(spec, centring_share=0.0) if by_rule else spec)
    mean = "by rule" if by_rule else mean_mu
    people = ("classification", *vars(spec.key()).values(), entry.is_distributed)
    noise: tuple[object, ...] = ()
    if pca is not None:
        reads = {name: getattr(spec, name, None) for name in noise_of({}, spec.protocol).settings}
        noise = (matrix_of(vars(spec), spec.protocol), pca.epsilon, pca.delta, *reads.values())
    everything = tuple(value for name, value in vars(spec).items() if name != "repetitions")
    matrix = matrix_of(vars(spec), spec.protocol)
    found = "random" if spec.pipeline == RANDOM_PRIVATE else "private"
    stages = {
        CENTRING: (
            (mean, *(noise[1:3] if by_rule else ())),
            "the mean of those who learn",
            "mean",
            "centring",
        ),
        PCA: ((mean, *noise), f"{matrix} of those who learn", COMPONENTS, entry.title),
        TRAINING: (
            everything,
            f"training {_MODELS[spec.model]} on {found} components",
            "classifier",
            "training",
        ),
    }
    charges = []
    for stage, guarantee in guarantees.items():
        if not is_charged(guarantee):
            continue
        settings, label, what, seen_as = stages[stage]
        release = Release.of(
            guarantee,
            key=joined(stage, *people, *settings),
            label=f"{label}, ε = {spec.epsilon:g} in all, seed {spec.seed}",
            dataset=spec.dataset,
        )
        by_sites = stage != TRAINING and entry.is_distributed
        seen = (f"Classification: {seen_as}",)
        stream = joined(noise_of({}, entry.key).words if stage == PCA else stage, spec.seed)
        charges.append(Charge(release, frozenset(range(draws)), (what,), seen, by_sites, stream))
    return charges
