"""Keys and charges of the noise that a run draws.

The unit of a charge is one draw of noise. Everything computed from one noisy matrix is
post-processing and costs nothing. Protocols whose entries name the same noise read the same draw,
and K, R and the message are applied to it afterwards, so they share one charge. A key names the
people, the settings of the noise and the seed, and no setting that is applied afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dpcore.experiments.engine.fields import PRIVATE_MEAN_MODES
from dpcore.experiments.engine.knowledge import NO_KNOWLEDGE
from dpcore.experiments.engine.spec import is_charged, join_key, merge_charges
from dpcore.pca.protocols.protocol import Kind, NoiseIdentity
from dpcore.pca.protocols.register import protocol
from dpcore.privacy import EVERYONE, Charge, Guarantee, Release

# Name of the released quantity in a charge.
COMPONENTS = "components"


# Spec or row: settings of a release by the names of their fields.
Cell = Mapping[str, Any]


def compute_charges(rows: Iterable[Cell]) -> list[Charge]:
    """Return the charges of the runs behind tidy rows, over all their data sets."""
    numbers: dict[tuple[object, ...], set[int]] = {}
    examples: dict[tuple[object, ...], Cell] = {}
    for row in rows:
        # Rows of a sweep that differ in settings after the noise share one charge.
        same = (row["protocol"], row["dataset"], row["exact_epsilon"],
                *noise_key(row, row["protocol"]))  # fmt: skip
        numbers.setdefault(same, set()).add(row["repetition"])
        examples.setdefault(same, row)
    return merge_charges(
        make_charge(row, row["protocol"], guarantee, frozenset(numbers[same]))
        for same, row in examples.items()
        if is_charged(guarantee := _guarantee_of(row))
    )


def noise_key(cell: Cell, key: str) -> tuple[object, ...]:
    """Return the values that identify one draw of noise and the rows that it is added to.

    Cells with equal keys have equal noise scales, of the matrix and of the private mean at every
    site. One unit noise at two scales would reveal the exact moment.
    """
    is_distributed, as_published = protocol(key).is_distributed, reads_rows_first(cell)
    knowledge = cell.get("knowledge", NO_KNOWLEDGE)
    settings = (
        cell.get(name) if _may_buy_mean(cell) or name != "mean_share" else 0.0
        for name in get_noise_identity(cell, key).settings
    )
    return (
        describe_matrix(cell, key),
        cell.get("task"),
        cell["preparation"],
        None if as_published else cell["norm_bound"],
        *([] if knowledge == NO_KNOWLEDGE else [knowledge]),
        *filter(None, [None if as_published else cell.get("limits")]),
        cell["epsilon"],
        *settings,
        *(make_people_key(cell) if is_distributed else make_people_key(cell)[:3]),
        *_make_dropout_key(cell, is_distributed),
    )


def _may_buy_mean(cell: Cell) -> bool:
    return cell["preparation"] in PRIVATE_MEAN_MODES


def _make_dropout_key(cell: Cell, is_distributed: bool) -> tuple[object, ...]:
    """Return the fields on sites that drop out, where these change the noise.

    A holder of all rows gets fewer rows, and the split decides which. If a rule chooses the share
    of the private mean, it depends on the number of sites that answer.
    """
    dropped = cell.get("dropped_sites", 0)
    if not dropped:
        return ()
    if not is_distributed:
        return make_people_key(cell)[3:]
    is_settled_by_rule = _may_buy_mean(cell) and cell.get("mean_share") is None
    return ("dropped sites", dropped) if is_settled_by_rule else ()


def reads_rows_first(cell: Cell) -> bool:
    """Return whether centring and scaling read every row, before any guarantee applies."""
    return bool(cell["preparation"] == "published")


def get_noise_identity(cell: Cell, key: str) -> NoiseIdentity:
    """Return the identity of the noise that a protocol reads under a cell's preparation."""
    return protocol(key).reads(on_sphere=cell.get("preparation") == "sphere")


def make_people_key(cell: Cell) -> tuple[object, ...]:
    """Return the values that select the people. Those after the third assign them to sites."""
    skew = cell["concentration"] if cell["split"] == "dirichlet" else None
    who = (cell["samples"], cell["seed"], cell["resample"])
    return (*who, cell["sites"], cell["split"], skew)


def describe_matrix(cell: Cell, key: str) -> str:
    """Return the name of the matrix that a protocol adds noise to, unique per noise identity."""
    return get_noise_identity(cell, key).of(cell["sites"])


def describe_noise(cell: Cell, key: str, matrix: str) -> str:
    """Return the label of the draws of one noise, without settings that have their default."""
    reads = get_noise_identity(cell, key).settings
    settings = [cell[name] for name in ("calibration", "noise") if name in reads]
    prepared = [
        value
        for name, usual in (("preparation", "sphere"), ("knowledge", NO_KNOWLEDGE), ("limits", ""))
        if (value := cell.get(name, usual)) != usual
    ]
    details = ", ".join([*settings, *prepared, f"seed {cell['seed']}"])
    return f"{matrix}, {cell['samples']:,} rows, ε = {cell['epsilon']:g}, {details}"


def make_stream_key(cell: Cell, key: str) -> str:
    """Return the key of the unit noise that the repetitions of a seed scale."""
    return join_key(get_noise_identity(cell, key).words, cell["seed"])


def make_charge(cell: Cell, key: str, guarantee: Guarantee, draws: frozenset[int]) -> Charge:
    """Return the charge for the numbered draws of one noise."""
    entry = protocol(key)
    # A protocol of the first site is charged only to its people, unless the people, or the first
    # site that answers, differ from repetition to repetition.
    is_first_site = (
        entry.reads_first_site_only and not cell["resample"] and not cell["dropped_sites"]
    )
    release = Release.of(
        guarantee,
        key=join_key(*noise_key(cell, key)),
        label=describe_noise(cell, key, describe_matrix(cell, key)),
        dataset=cell["dataset"],
        partition=join_key(*make_people_key(cell)) if is_first_site else EVERYONE,
        sites=(0,) if is_first_site else None,
    )
    stream = make_stream_key(cell, key)
    return Charge(release, draws, (COMPONENTS,), (entry.title,), entry.is_distributed, stream)


def _guarantee_of(row: Cell) -> Guarantee:
    if protocol(row["protocol"]).kind is Kind.PURE:
        mechanism = "exponential" if row["sigma"] is None else "laplace"
        return Guarantee(None, row["exact_epsilon"], 0.0, mechanism, "")
    return Guarantee(None, row["exact_epsilon"], row["delta"], "gaussian", "", mu=row["mu"])
