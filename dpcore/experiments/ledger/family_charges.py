"""What canonical pairs, statistics and classifiers cost, as `ledger.pca_charges` says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from dpcore.experiments.cca.sentences import TITLES
from dpcore.experiments.cca.spec import CcaSpec
from dpcore.experiments.cca.views import CutViews, ViewSource
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
    held_stream,
    identity,
    is_charged,
    joined,
    label_of,
    matrix_of,
    noise_of,
    people_of,
    together,
)
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import EVERYONE, Guarantee, Release

TYPED_NUMBERS = "the typed numbers"

_MODELS = {"svm": "an SVM", "logistic": "a logistic regression"}


def of_pairs(
    source: ViewSource,
    spec: CcaSpec,
    guarantees: Mapping[str, Guarantee],
    n_samples: int,
    draws: int,
) -> list[Charge]:
    """What canonical pairs cost: one charge for each noisy joint moment, as `of_run`."""
    charges = []
    cell = vars(spec) | {"samples": n_samples, "resample": False}
    bounds = (source, spec.x_share, spec.x_norm_bound, spec.y_norm_bound)
    for protocol, guarantee in guarantees.items():
        if not is_charged(guarantee):
            continue
        entry = PROTOCOLS[protocol]
        matrix = matrix_of(cell, protocol).replace("moment", "joint moment")
        key = ("pairs", *bounds, *identity(cell | {"norm_bound": None}, protocol))
        release = Release.of(
            guarantee,
            key=joined(*key),
            label=label_of(cell, protocol, matrix),
            dataset=dataset_of(source),
            partition=joined("pairs", source, *people_of(cell)) if entry.is_alone else EVERYONE,
            sites=(0,) if entry.is_alone else None,
        )
        charges.append(
            Charge(
                release,
                frozenset(range(draws)),
                ("canonical pairs",),
                (f"CCA: {TITLES[protocol]}",),
                entry.is_distributed,
                held_stream(cell, protocol),
            )
        )
    return together(charges)


def dataset_of(source: ViewSource) -> str:
    """The data set whose people two views are of."""
    if isinstance(source, CutViews):
        return source.dataset
    return (
        f"two drawn views of {source.people:,} people ({source.columns} columns each, "
        f"{source.shared} shared, noise {source.noise:g})"
    )


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
