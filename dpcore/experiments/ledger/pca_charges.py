"""What private components cost: which draws of which noise they were computed from.

Protocols whose entries name the same noise read the same draw of it, and K, R, truncation and
encoding only cut it differently, so all of those share a charge. A key names the people, the
settings of the noise and the seed, and nothing that is chosen afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpcore.data import DatasetStatus, dataset_status, split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.ledger.account import Charge
from dpcore.experiments.pca.public_knowledge import NO_KNOWLEDGE, kept_features
from dpcore.experiments.pca.sentences import counted
from dpcore.experiments.pca.spec import BUYING, RunSpec
from dpcore.pca.protocols.protocol import Kind, NoiseIdentity
from dpcore.pca.protocols.register import protocol
from dpcore.pca.settings import sites_that_answer
from dpcore.privacy import EVERYONE, Guarantee, Release
from dpcore.streams import Purpose, Repetition, stream

COMPONENTS = "components"

# A spec or a row: the settings of a release by the names of their fields.
Cell = Mapping[str, Any]


def promised(spec: RunSpec, key: str, dataset: DatasetStatus) -> Guarantee:
    """The guarantee that a run of the spec's first draw would come with, no row being read.

    Raises `ParameterError` if the spec cannot run.
    """
    n_samples = dataset.n_samples if spec.samples is None else spec.samples
    sizes = dataset.site_sizes
    # Sites skewed by label have equal sizes.
    sites = split_sites(
        n_samples,
        spec.sites,
        how="equal" if spec.split == "dirichlet" else spec.split,
        labels=np.repeat(np.arange(len(sizes)), sizes) if sizes else None,
        rng=stream(spec.seed, Purpose.SPLIT, 0),
    )
    components = spec.components or dataset.default_components
    if components is None:
        raise ParameterError("components", f"given for {spec.dataset}", None)
    settings = spec.settings(dataset.n_features, components)
    there = sites_that_answer(settings, spec.sites, Repetition(spec.seed))
    n_there = [len(sites[number]) for number in there]
    n_features = kept_features(spec.knowledge, dataset.n_features)
    return protocol(key).promise(settings, n_there, n_features)


def of_run(
    spec: RunSpec,
    guarantees: Mapping[str, Guarantee],
    n_samples: int,
    draws: int,
    what: tuple[str, ...] = (COMPONENTS,),
) -> list[Charge]:
    """What a spec's protocols cost: one charge for each noise they read.

    guarantees: mapping of protocol to Guarantee
    n_samples: People who take part.
    draws: The first so many repetitions.
    what: What was released.
    """
    cell = vars(spec) | {"samples": n_samples}
    return together(
        _of_components(cell, key, guarantee, frozenset(range(draws)), what)
        for key, guarantee in guarantees.items()
        if is_charged(guarantee)
    )


def of_plan(specs: Iterable[RunSpec]) -> list[Charge]:
    """What runs will cost, no row being read; those that cannot run cost nothing."""
    charges: list[Charge] = []
    for asked in specs:
        dataset = dataset_status(asked.dataset)
        n_samples = dataset.n_samples if asked.samples is None else asked.samples
        spec = replace(asked, components=asked.components or dataset.default_components)
        try:
            guarantees = {key: promised(spec, key, dataset) for key in spec.protocols}
        except ParameterError:
            continue
        charges += of_run(spec, guarantees, n_samples, spec.repetitions)
    return together(charges)


def of_rows(rows: Iterable[Cell], what: tuple[str, ...] = (COMPONENTS,)) -> list[Charge]:
    """What the runs behind some tidy rows cost, over all their data sets."""
    numbers: dict[tuple[object, ...], set[int]] = {}
    examples: dict[tuple[object, ...], Cell] = {}
    for row in rows:
        # Settings after the noise differ from row to row of a sweep; one of each will do.
        same = (row["protocol"], row["dataset"], row["exact_epsilon"],
                *identity(row, row["protocol"]))  # fmt: skip
        numbers.setdefault(same, set()).add(row["repetition"])
        examples.setdefault(same, row)
    return together(
        _of_components(row, row["protocol"], guarantee, frozenset(numbers[same]), what)
        for same, row in examples.items()
        if is_charged(guarantee := _guarantee_of(row))
    )


def is_charged(guarantee: Guarantee) -> bool:
    """Whether anything is promised, and anything spent: neither exact nor random components are."""
    return guarantee.is_private and (guarantee.epsilon, guarantee.delta) != (0, 0)


def together(charges: Iterable[Charge]) -> list[Charge]:
    """One charge for each noise; equal keys in two data sets are two."""
    found: dict[tuple[str, str], Charge] = {}
    for charge in charges:
        key = charge.release.identity
        found[key] = found[key].merged(charge) if key in found else charge
    return list(found.values())


def identity(cell: Cell, key: str) -> tuple[object, ...]:
    """What tells this noise on these people from any other."""
    preparation = cell["preparation"]
    buys_mean = preparation in BUYING
    knowledge = cell.get("knowledge", NO_KNOWLEDGE)
    reads = (
        cell.get(name) if buys_mean or name != "mean_share" else 0.0
        for name in noise_of(cell, key).settings
    )
    return (
        matrix_of(cell, key),
        cell.get("task"),
        preparation,
        cell["norm_bound"] if preparation != "published" else None,
        *([] if knowledge == NO_KNOWLEDGE else [knowledge]),
        *filter(None, [cell.get("limits") if preparation != "published" else None]),
        cell["epsilon"],
        *reads,
        *(people_of(cell) if protocol(key).is_distributed else people_of(cell)[:3]),
    )


def noise_of(cell: Cell, key: str) -> NoiseIdentity:
    """What a protocol reads under a cell's preparation."""
    return protocol(key).reads(on_sphere=cell.get("preparation") == "sphere")


def people_of(cell: Cell) -> tuple[object, ...]:
    """Who takes part, and, from the fourth on, who is where."""
    skew = cell["concentration"] if cell["split"] == "dirichlet" else None
    who = (cell["samples"], cell["seed"], cell["resample"])
    return (*who, cell["sites"], cell["split"], skew)


def matrix_of(cell: Cell, key: str) -> str:
    """What a protocol adds its noise to, in words that tell its noise from that of others."""
    return noise_of(cell, key).of(counted(cell["sites"], "site"))


def label_of(cell: Cell, key: str, matrix: str) -> str:
    """What a person would call draws of one noise; the usual preparation goes without saying."""
    reads = noise_of(cell, key).settings
    settings = [cell[name] for name in ("calibration", "noise") if name in reads]
    prepared = [
        said
        for name, usual in (("preparation", "sphere"), ("knowledge", NO_KNOWLEDGE), ("limits", ""))
        if (said := cell.get(name, usual)) != usual
    ]
    told = ", ".join([*settings, *prepared, f"seed {cell['seed']}"])
    return f"{matrix}, {cell['samples']:,} people, ε = {cell['epsilon']:g}, {told}"


def held_stream(cell: Cell, key: str) -> str:
    """The unit noise that repetitions of a seed scale, whatever people and settings it is for."""
    return joined(noise_of(cell, key).words, cell["seed"])


def joined(*parts: object) -> str:
    """A key from what identifies a draw."""
    return "|".join(map(str, parts))


def _of_components(
    cell: Cell, key: str, guarantee: Guarantee, drawn: frozenset[int], what: tuple[str, ...]
) -> Charge:
    entry = protocol(key)
    # Where every site releases, everybody pays through one; only a site alone spares the others,
    # unless who is there, or which site is the first to be there, is drawn anew each time.
    alone = entry.is_alone and not cell["resample"] and not cell["dropped_sites"]
    release = Release.of(
        guarantee,
        key=joined(*identity(cell, key)),
        label=label_of(cell, key, matrix_of(cell, key)),
        dataset=cell["dataset"],
        partition=joined(*people_of(cell)) if alone else EVERYONE,
        sites=(0,) if alone else None,
    )
    stream_held = held_stream(cell, key)
    return Charge(release, drawn, what, (entry.title,), entry.is_distributed, stream_held)


def _guarantee_of(row: Cell) -> Guarantee:
    if protocol(row["protocol"]).kind is Kind.PURE:
        mechanism = "exponential" if row["sigma"] is None else "laplace"
        return Guarantee(None, row["exact_epsilon"], 0.0, mechanism, "")
    return Guarantee(None, row["exact_epsilon"], row["delta"], "gaussian", "", mu=row["mu"])
