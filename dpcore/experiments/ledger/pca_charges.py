"""What private components cost: which draws of which noise they were computed from.

DPdisPCA, whole matrices and one site alone read the same noisy second moments, and K, R,
truncation and encoding only cut them differently, so all of those share a payment. A key names
the people, the settings of the noise and the seed, and nothing that is chosen afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.ledger.account import Payment
from dpcore.experiments.ledger.promises import promised
from dpcore.experiments.pca.methods import METHODS, PURE
from dpcore.experiments.pca.sentences import counted
from dpcore.experiments.pca.spec import RunSpec
from dpcore.privacy import EVERYONE, Guarantee, Release

COMPONENTS = "components"

# Whose noisy matrix a protocol reads. PPCA reads none: it draws its subspace.
_NOISY_MATRIX = {
    "dpdis": "the moments of {sites}",
    "full": "the moments of {sites}",
    "local": "the moments of {sites}",
    "pooled": "the pooled moment",
    "ag": "the pooled moment",
    "cape": "the average moment of {sites}",
    "sulq": "the pooled moment, by SuLQ",
    "modsulq": "the pooled moment, by MOD-SuLQ",
    "ppca": "the choice of a subspace",
}
# What shapes the noise besides the people and epsilon: most protocols read the first, others
# have formulas of their own. Chains that ran together are another draw in other company.
GAUSSIAN = ("delta", "calibration", "noise", "mean_share")
READS = {
    "cape": (*GAUSSIAN, "masks", "honest_sites"),
    "sulq": ("delta",),
    "modsulq": ("delta",),
    "ppca": ("components", "chains"),
}


def of_run(
    spec: RunSpec,
    guarantees: Mapping[str, Guarantee],
    n_samples: int,
    draws: int,
    what: tuple[str, ...] = (COMPONENTS,),
) -> list[Payment]:
    """What a spec's protocols cost: one payment for each noisy matrix they read.

    Parameters
    ----------
    spec : RunSpec
    guarantees : mapping of protocol to Guarantee
    n_samples : int
        People who take part.
    draws : int
        The first so many repetitions.
    what : tuple of str
        What was released.
    """
    cell = vars(spec) | {"samples": n_samples}
    return together(
        Payment(
            _release_of_components(cell, protocol, guarantee),
            frozenset(range(draws)),
            what,
            (METHODS[protocol].title,),
            METHODS[protocol].distributed,
            held_stream(protocol, spec.seed),
        )
        for protocol, guarantee in guarantees.items()
        if is_paid(guarantee)
    )


def of_plan(specs: Iterable[RunSpec]) -> list[Payment]:
    """What runs will cost, no row being read; those that cannot run cost nothing."""
    payments = []
    for spec in specs:
        dataset = dataset_status(spec.dataset)
        n_samples = dataset.n_samples if spec.samples is None else spec.samples
        spec = replace(spec, components=spec.components or dataset.default_components)
        try:
            guarantees = {key: promised(spec, key, dataset) for key in spec.protocols}
        except ParameterError:
            continue
        payments += of_run(spec, guarantees, n_samples, spec.repetitions)
    return together(payments)


def of_rows(rows: Iterable[Row], what: tuple[str, ...] = (COMPONENTS,)) -> list[Payment]:
    """What the runs behind some tidy rows cost, over all their data sets."""
    numbers: dict[tuple, set[int]] = {}
    examples: dict[tuple, Row] = {}
    for row in rows:
        # Settings after the noise differ from row to row of a sweep; one of each will do.
        same = (row["protocol"], row["dataset"], row.get("task"), row["exact_epsilon"],
                row["epsilon"], *identity(row, row["protocol"]))  # fmt: skip
        numbers.setdefault(same, set()).add(row["repetition"])
        examples.setdefault(same, row)
    payments = []
    for same, row in examples.items():
        guarantee = _guarantee_of(row)
        if is_paid(guarantee):
            method = METHODS[row["protocol"]]
            release = _release_of_components(row, method.key, guarantee)
            drawn = frozenset(numbers[same])
            stream = held_stream(method.key, row["seed"])
            payments.append(
                Payment(release, drawn, what, (method.title,), method.distributed, stream)
            )
    return together(payments)


def is_paid(guarantee: Guarantee) -> bool:
    """Whether anything is promised, and anything spent: neither exact nor random components are."""
    return guarantee.is_private and (guarantee.epsilon, guarantee.delta) != (0, 0)


def together(payments: Iterable[Payment]) -> list[Payment]:
    """One payment for each noise; equal keys in two data sets are two."""
    found: dict[tuple[str, str], Payment] = {}
    for payment in payments:
        key = payment.release.identity
        found[key] = found[key].merged(payment) if key in found else payment
    return list(found.values())


def identity(cell: Mapping[str, object], protocol: str) -> tuple:
    """What tells this noise on these people from any other."""
    is_private = cell["preparation"] == "private"
    reads = (
        cell.get(name) if is_private or name != "mean_share" else 0.0
        for name in READS.get(protocol, GAUSSIAN)
    )
    return (
        matrix_of(cell, protocol),
        cell.get("task"),
        cell["preparation"],
        cell["norm_bound"] if is_private else None,
        cell["epsilon"],
        *reads,
        *(people_of(cell) if METHODS[protocol].distributed else people_of(cell)[:3]),
    )


def people_of(cell: Mapping[str, object]) -> tuple:
    """Who takes part, and, from the fourth on, who is where."""
    skew = cell["concentration"] if cell["split"] == "dirichlet" else None
    who = (cell["samples"], cell["seed"], cell["resample"])
    return (*who, cell["sites"], cell["split"], skew)


def matrix_of(cell: Mapping[str, object], protocol: str) -> str:
    """What a protocol adds its noise to, in words that tell its noise from that of others."""
    return _NOISY_MATRIX.get(protocol, protocol).format(sites=counted(cell["sites"], "site"))


def label_of(cell: Mapping[str, object], protocol: str, matrix: str) -> str:
    """What a person would call draws of one noise."""
    reads = READS.get(protocol, GAUSSIAN)
    settings = [cell[name] for name in ("calibration", "noise") if name in reads]
    told = ", ".join([*settings, f"seed {cell['seed']}"])
    return f"{matrix}, {cell['samples']:,} people, ε = {cell['epsilon']:g}, {told}"


def held_stream(protocol: str, seed: int) -> str:
    """The unit noise that repetitions of a seed scale, whatever people and settings it is for."""
    return joined(_NOISY_MATRIX.get(protocol, protocol), seed)


def joined(*parts: object) -> str:
    """A key from what identifies a draw."""
    return "|".join(map(str, parts))


def _release_of_components(
    cell: Mapping[str, object], protocol: str, guarantee: Guarantee
) -> Release:
    # Where every site releases, everybody pays through one; only a site alone spares the others,
    # unless who is there is drawn anew each time.
    alone = protocol == "local" and not cell["resample"]
    return Release.of(
        guarantee,
        key=joined(*identity(cell, protocol)),
        label=label_of(cell, protocol, matrix_of(cell, protocol)),
        dataset=cell["dataset"],
        partition=joined(*people_of(cell)) if alone else EVERYONE,
        sites=(0,) if alone else None,
    )


def _guarantee_of(row: Row) -> Guarantee:
    if METHODS[row["protocol"]].promise == PURE:
        return Guarantee(None, row["exact_epsilon"], 0.0, "exponential", "")
    # Draws stored before rows had it are charged by their epsilon.
    mu = row.get("mu")
    return Guarantee(None, row["exact_epsilon"], row["delta"], "gaussian", "", mu=mu)
