"""Rows as curves that share their draws, and differences between them beyond luck."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.special import stdtrit

from dpcore.experiments.engine.experiment import Row

_LEVEL = 0.001


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences and how far luck alone could bring it."""

    mean: float
    luck: float

    @property
    def sign(self) -> int:
        """1 or -1 where it is beyond luck, else 0."""
        return (self.mean > self.luck) - (self.mean < -self.luck)


def paired(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Difference of two series that share their draws, in order."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    n = len(differences)
    if n < 2:
        return Difference(fmean(differences), math.inf)
    luck = float(stdtrit(n - 1, 1 - _LEVEL)) * stdev(differences) / math.sqrt(n)
    return Difference(fmean(differences), luck)


class Curves:
    """Rows of one panel by protocol and value, each a series over the draws.

    field: The axis.
    """

    def __init__(self, rows: Sequence[Row], field: str):
        self.field = field
        series: dict[tuple[str, float], dict[int, float]] = {}
        for row in rows:
            series.setdefault((row["protocol"], row[field]), {})[row["repetition"]] = row[
                "energy_ratio"
            ]
        self._series = {
            key: [draws[repetition] for repetition in sorted(draws)]
            for key, draws in series.items()
        }
        self.values = sorted({value for _, value in series})
        self.protocols = list(dict.fromkeys(protocol for protocol, _ in series))

    def at(self, protocol: str, value: float) -> list[float]:
        """Energy ratios of one point, by repetition."""
        return self._series[protocol, value]

    def mean(self, protocol: str, value: float) -> float:
        return fmean(self.at(protocol, value))

    def means(self, protocol: str) -> list[tuple[float, float]]:
        """Values and means of a protocol's curve."""
        return [(value, self.mean(protocol, value)) for value in self.values]

    def step(self, protocol: str, start: float, stop: float) -> Difference:
        """What a protocol gains from one value to another."""
        return paired(self.at(protocol, stop), self.at(protocol, start))

    def lead(self, first: str, second: str, value: float) -> Difference:
        """By how much one protocol is ahead of another."""
        return paired(self.at(first, value), self.at(second, value))


def crossing(means: Iterable[tuple[float, float]], level: float) -> float | None:
    """Where a mean curve first reaches a level, on a straight line in log value; None if never.

    means: (value, mean), the values ascending.
    """
    previous: tuple[float, float] | None = None
    for value, mean in means:
        if mean >= level:
            if previous is None:
                return value
            part = (level - previous[1]) / (mean - previous[1])
            return float(previous[0] * (value / previous[0]) ** part)
        previous = value, mean
    return None
