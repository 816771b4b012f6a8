"""What is best for an epsilon: every way to a private answer, at one promise, ranked.

A way is a protocol, a preparation and what is publicly known. All are run at the same exact
(epsilon, delta), on the same people and from the first row on; pure protocols promise the same
epsilon without the delta. The numbers are those of the runs themselves: there are no others.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

from dpcore.data.loading import entry_of
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Points
from dpcore.experiments.pca.public_knowledge import NO_KNOWLEDGE, kept_features, say_knowledge
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca.protocols.protocol import Protocol
from dpcore.pca.protocols.register import PROTOCOLS, protocol

# Preparations that are private from the first row, best first as a rule.
PRIVATE_PREPARATIONS = ("sphere", "bounded", "none")
KNOWN_OF_PICTURES = "dct:20"
# Draws that a ranking begins with.
FEW_DRAWS = 2


class Trusted(StrEnum):
    """Who has to be trusted beside one's own site, least first, as a sentence's end."""

    NOBODY = "nobody"
    OTHER_SITES = "enough other sites, to keep their masks to themselves"
    HOLDER = "whoever is sent everybody's rows"

    @property
    def rank(self) -> int:
        """0 for nobody, and more for more."""
        return list(Trusted).index(self)


def trusted_by(entry: Protocol) -> Trusted:
    """Who a protocol needs trusted."""
    if not entry.is_distributed:
        return Trusted.HOLDER
    masked = entry.noise is not None and "honest_sites" in entry.noise.settings
    return Trusted.OTHER_SITES if masked else Trusted.NOBODY


@dataclass(frozen=True)
class Way:
    """A way to a private answer.

    preparation: {"sphere", "bounded", "none"}
    """

    protocol: str
    preparation: str
    knowledge: str

    @property
    def prepared(self) -> str:
        """The preparation and what is known, as in "sphere, lowest 20 % of frequencies"."""
        known = "" if self.knowledge == NO_KNOWLEDGE else f", {say_knowledge(self.knowledge)}"
        return f"{'not centred' if self.preparation == 'none' else self.preparation}{known}"

    @property
    def label(self) -> str:
        """As in "DPdisPCA (sphere)"."""
        return f"{protocol(self.protocol).title} ({self.prepared})"

    def spec(self, base: RunSpec) -> RunSpec:
        """The base run this way, calibrated so that it keeps exactly what it promises.

        R is at most the dimensions that a public subspace leaves.

        Raises `ParameterError` if epsilon is infinite, which promises nothing.
        """
        if math.isinf(base.epsilon):
            raise ParameterError(
                "epsilon", "finite: without noise nothing is private", base.epsilon
            )
        left = kept_features(self.knowledge, entry_of(base.dataset).n_features)
        rank = base.intermediate_dim
        return replace(
            base,
            intermediate_dim=None if rank is None else min(rank, left),
            protocols=(self.protocol,),
            preparation=self.preparation,
            knowledge=self.knowledge,
            calibration="analytic",
        )


def ways_for(dataset: str, protocols: Collection[str] | None = None) -> tuple[Way, ...]:
    """Every way there is for a data set; of these protocols alone where some are given."""
    pictures = entry_of(dataset).image_shape is not None
    left_out = reasons_left_out()
    return tuple(
        Way(key, preparation, knowledge)
        for preparation in PRIVATE_PREPARATIONS
        for knowledge in (NO_KNOWLEDGE, KNOWN_OF_PICTURES)[: 1 + pictures]
        for key in PROTOCOLS
        if key not in left_out and (protocols is None or key in protocols)
    )


def reasons_left_out() -> dict[str, str]:
    """Protocols of the register that no ranking has, with the reason."""
    reasons: dict[str, str] = {}
    seen: dict[object, str] = {}
    for key, entry in PROTOCOLS.items():
        if entry.noise is None:
            reasons[key] = "reads no noise: it promises nothing, or never looks at the rows"
        elif (same := seen.setdefault((entry.release, entry.noise.name), key)) != key:
            reasons[key] = f"is the same release as {PROTOCOLS[same].title}"
    return reasons


def ranking_points(base: RunSpec, ways: Sequence[Way]) -> tuple[Points, ...]:
    """Sweeps that rank ways: a few draws of each, then all of them, and Markov chains last.

    base: Its repetitions are the draws; its protocols, preparation, knowledge and calibration give
        way.
    """
    specs = [way.spec(base) for way in ways]
    quick = tuple(spec for spec in specs if not _runs_chains(spec))
    slow = tuple(spec for spec in specs if _runs_chains(spec))
    few = tuple(replace(spec, repetitions=min(FEW_DRAWS, spec.repetitions)) for spec in quick)
    return tuple(Points(part) for part in (few, quick, slow) if part)


def _runs_chains(spec: RunSpec) -> bool:
    noise = protocol(spec.protocols[0]).noise
    return noise is not None and "chains" in noise.settings


@dataclass(frozen=True)
class Ranked:
    """A way and its draws.

    rows: One a draw.
    """

    way: Way
    rows: tuple[Row, ...]

    @property
    def protocol(self) -> str:
        return self.way.protocol

    @property
    def prepared(self) -> str:
        return self.way.prepared

    @property
    def energies(self) -> tuple[float, ...]:
        """Energy ratio of each draw."""
        return tuple(row["energy_ratio"] for row in self.rows)

    @property
    def mean(self) -> float:
        return fmean(self.energies)

    @property
    def trusted(self) -> Trusted:
        return trusted_by(protocol(self.protocol))

    @property
    def bytes_per_site(self) -> int:
        return max(int(row["bytes_per_site"]) for row in self.rows)

    @property
    def n_rounds(self) -> int:
        return max(int(row["n_rounds"]) for row in self.rows)


def ranked(rows: Iterable[Row]) -> tuple[Ranked, ...]:
    """Ways by the mean energy of their draws, most first; of equals whoever trusts least.

    rows: Of one base; a draw that is there twice counts once.
    """
    draws: dict[Way, dict[int, Row]] = {}
    for row in rows:
        way = Way(row["protocol"], row["preparation"], row["knowledge"])
        draws.setdefault(way, {})[row["repetition"]] = row
    found = [Ranked(way, tuple(own[n] for n in sorted(own))) for way, own in draws.items()]
    return tuple(sorted(found, key=lambda each: (-each.mean, *cheapness(each))))


def cheapness(each: Ranked) -> tuple[float, ...]:
    """What makes one of several dear, beside epsilon: trust first, then bytes; then energy."""
    return each.trusted.rank, each.bytes_per_site, -each.mean
