"""Ranking of every private configuration of PCA, at one epsilon and delta.

A configuration is a protocol, a preparation and public knowledge. All configurations are run at the
same exact (epsilon, delta), on the same people, and are private from the first row on; protocols
with pure epsilon are run at the same epsilon without the delta.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

from dpcore.data.catalog import entry_of
from dpcore.errors import ParameterError
from dpcore.experiments.engine.grid import Points
from dpcore.experiments.engine.knowledge import NO_KNOWLEDGE, count_directions, describe_knowledge
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.pca import RunSpec
from dpcore.pca.protocols.protocol import Protocol
from dpcore.pca.protocols.register import PROTOCOLS, protocol

# Preparations that are private from the first row on, usually best first.
PRIVATE_PREPARATIONS = ("sphere", "bounded", "none")
KNOWN_OF_PICTURES = "dct:20"
# Draws of each configuration in the first sweep of a ranking.
FEW_DRAWS = 2


class Trusted(StrEnum):
    """Parties that have to be trusted in addition to the own site, least trust first."""

    NOBODY = "no other party"
    OTHER_SITES = "enough other sites, which keep their masks secret"
    HOLDER = "the holder of all rows"

    @property
    def rank(self) -> int:
        """Position in the order of trust: 0 where no other party is trusted."""
        return list(Trusted).index(self)


def trusted_by(entry: Protocol) -> Trusted:
    """Return the parties that a protocol needs trusted."""
    if not entry.is_distributed:
        return Trusted.HOLDER
    masked = entry.noise is not None and "honest_sites" in entry.noise.settings
    return Trusted.OTHER_SITES if masked else Trusted.NOBODY


@dataclass(frozen=True)
class Configuration:
    """Protocol, preparation and public knowledge of a private answer.

    preparation: {"sphere", "bounded", "none"}
    """

    protocol: str
    preparation: str
    knowledge: str

    @property
    def preparation_in_words(self) -> str:
        """Preparation and public knowledge in words: "sphere, lowest 20 % of frequencies"."""
        subspace = (
            "" if self.knowledge == NO_KNOWLEDGE else f", {describe_knowledge(self.knowledge)}"
        )
        return f"{'not centred' if self.preparation == 'none' else self.preparation}{subspace}"

    @property
    def label(self) -> str:
        """Name of the configuration: "DPdisPCA (sphere)"."""
        return f"{protocol(self.protocol).title} ({self.preparation_in_words})"

    def spec(self, base: RunSpec) -> RunSpec:
        """Return the base spec with this configuration and the exact calibration.

        R is at most the dimension of the public subspace.

        Raises `ParameterError` if epsilon is infinite.
        """
        if math.isinf(base.epsilon):
            raise ParameterError(
                "epsilon", "finite: without noise nothing is private", base.epsilon
            )
        most = count_directions(self.knowledge, entry_of(base.dataset).n_features)
        rank = base.intermediate_dim
        return replace(
            base,
            intermediate_dim=None if rank is None else min(rank, most),
            protocols=(self.protocol,),
            preparation=self.preparation,
            knowledge=self.knowledge,
            calibration="analytic",
        )


def list_configurations(
    dataset: str, protocols: Collection[str] | None = None
) -> tuple[Configuration, ...]:
    """Return every configuration for a data set, restricted to `protocols` if given."""
    pictures = entry_of(dataset).image_shape is not None
    left_out = reasons_left_out()
    return tuple(
        Configuration(key, preparation, knowledge)
        for preparation in PRIVATE_PREPARATIONS
        for knowledge in (NO_KNOWLEDGE, KNOWN_OF_PICTURES)[: 1 + pictures]
        for key in PROTOCOLS
        if key not in left_out and (protocols is None or key in protocols)
    )


def reasons_left_out() -> dict[str, str]:
    """Return the protocols that no ranking contains, each with the reason."""
    reasons: dict[str, str] = {}
    first_keys: dict[object, str] = {}
    for key, entry in PROTOCOLS.items():
        if entry.noise is None:
            reasons[key] = "reads no noise: it has no guarantee, or does not read the rows"
        elif (same := first_keys.setdefault((entry.release, entry.noise.name), key)) != key:
            reasons[key] = f"is the same release as {PROTOCOLS[same].title}"
    return reasons


def ranking_points(base: RunSpec, configurations: Sequence[Configuration]) -> tuple[Points, ...]:
    """Return the sweeps of a ranking: a few draws of each, then all, Markov chains last.

    base: Spec whose repetitions are the draws; its protocols, preparation, knowledge and
        calibration are replaced.
    """
    specs = [configuration.spec(base) for configuration in configurations]
    quick = tuple(spec for spec in specs if not _runs_chains(spec))
    slow = tuple(spec for spec in specs if _runs_chains(spec))
    of_few_draws = tuple(
        replace(spec, repetitions=min(FEW_DRAWS, spec.repetitions)) for spec in quick
    )
    return tuple(Points(part) for part in (of_few_draws, quick, slow) if part)


def _runs_chains(spec: RunSpec) -> bool:
    noise = protocol(spec.protocols[0]).noise
    return noise is not None and "chains" in noise.settings


@dataclass(frozen=True)
class Ranked:
    """A configuration and its draws.

    rows: One row per draw.
    """

    configuration: Configuration
    rows: tuple[Row, ...]

    @property
    def protocol(self) -> str:
        return self.configuration.protocol

    @property
    def preparation_in_words(self) -> str:
        return self.configuration.preparation_in_words

    @property
    def energies(self) -> tuple[float, ...]:
        """Captured energy of each draw, relative to exact PCA."""
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


def rank_configurations(rows: Iterable[Row]) -> tuple[Ranked, ...]:
    """Return the configurations by mean captured energy, largest first, and then by cost.

    rows: Rows of one base; a repeated draw counts once.
    """
    draws: dict[Configuration, dict[int, Row]] = {}
    for row in rows:
        configuration = Configuration(row["protocol"], row["preparation"], row["knowledge"])
        draws.setdefault(configuration, {})[row["repetition"]] = row
    ranked = [
        Ranked(configuration, tuple(rows_by_draw[n] for n in sorted(rows_by_draw)))
        for configuration, rows_by_draw in draws.items()
    ]
    return tuple(sorted(ranked, key=lambda option: (-option.mean, *cost_key(option))))


def cost_key(option: Ranked) -> tuple[float, ...]:
    """Return the sort key of the cost at equal epsilon: trust, then bytes, then captured energy."""
    return option.trusted.rank, option.bytes_per_site, -option.mean
