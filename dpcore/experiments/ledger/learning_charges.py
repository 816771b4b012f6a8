"""What private statistics and classifiers cost, as `ledger.pca_charges` says it."""

from __future__ import annotations

from collections.abc import Mapping
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
from dpcore.experiments.ledger.account import Payment
from dpcore.experiments.ledger.pca_charges import (
    COMPONENTS,
    GAUSSIAN,
    READS,
    held_stream,
    is_paid,
    joined,
    matrix_of,
)
from dpcore.experiments.pca.methods import METHODS
from dpcore.privacy import Guarantee, Release

TYPED_NUMBERS = "the typed numbers"

_MODELS = {"svm": "an SVM", "logistic": "a logistic regression"}


def of_statistic(
    dataset: str | None, identity: tuple, name: str, spec: StatisticSpec, guarantee: Guarantee
) -> Payment:
    """What one mean, variance or histogram costs.

    Parameters
    ----------
    dataset : str or None
        None stands for numbers that somebody typed.
    identity : tuple
        Tells the column, or the numbers, from any other.
    name : str
        What a person calls the column.
    spec : StatisticSpec
    guarantee : Guarantee
    """
    settings = (spec.kind, spec.low, spec.high, spec.epsilon, spec.mechanism, spec.seed)
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
    return Payment(release, what=(spec.kind,), seen=(name,), stream=stream)


def of_pipeline(
    spec: ClassificationSpec, guarantees: Mapping[str, Guarantee], draws: int
) -> list[Payment]:
    """What the stages of a classifier cost: a mean, a noisy moment, the training.

    Parameters
    ----------
    spec : ClassificationSpec
    guarantees : mapping of stage to Guarantee
        As in `dpcore.experiments.learning.classification_runs.Outcome`.
    draws : int
        The first so many repetitions.
    """
    if not guarantees:
        return []
    spec = canonical(spec)
    mean_mu, pca = stage_budgets(spec)
    people = ("classification", *vars(spec.key()).values(), METHODS[spec.protocol].distributed)
    noise = ()
    if pca is not None:
        reads = {name: getattr(spec, name, None) for name in READS.get(spec.protocol, GAUSSIAN)}
        noise = (matrix_of(vars(spec), spec.protocol), pca.epsilon, pca.delta, *reads.values())
    everything = tuple(value for name, value in vars(spec).items() if name != "repetitions")
    matrix, title = matrix_of(vars(spec), spec.protocol), METHODS[spec.protocol].title
    found = "random" if spec.pipeline == RANDOM_PRIVATE else "private"
    stages = {
        CENTRING: ((mean_mu,), "the mean of those who learn", "mean", "centring"),
        PCA: ((mean_mu, *noise), f"{matrix} of those who learn", COMPONENTS, title),
        TRAINING: (
            everything,
            f"training {_MODELS[spec.model]} on {found} components",
            "classifier",
            "training",
        ),
    }
    payments = []
    for stage, guarantee in guarantees.items():
        if not is_paid(guarantee):
            continue
        settings, label, what, seen = stages[stage]
        release = Release.of(
            guarantee,
            key=joined(stage, *people, *settings),
            label=f"{label}, ε = {spec.epsilon:g} in all, seed {spec.seed}",
            dataset=spec.dataset,
        )
        by_sites = stage != TRAINING and METHODS[spec.protocol].distributed
        seen = (f"Classification: {seen}",)
        stream = held_stream(spec.protocol if stage == PCA else stage, spec.seed)
        payments.append(Payment(release, frozenset(range(draws)), (what,), seen, by_sites, stream))
    return payments
