"""What private canonical pairs cost, as `dpcore.experiments.ledger.pca_charges` says it."""

from __future__ import annotations

from collections.abc import Mapping

from dpcore.experiments.cca.sentences import TITLES
from dpcore.experiments.cca.spec import CcaSpec
from dpcore.experiments.cca.views import CutViews, ViewSource
from dpcore.experiments.ledger.account import Charge
from dpcore.experiments.ledger.pca_charges import (
    held_stream,
    identity,
    is_charged,
    joined,
    label_of,
    matrix_of,
    people_of,
    together,
)
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import EVERYONE, Guarantee, Release


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
