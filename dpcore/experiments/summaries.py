"""Rows as sentences, and differences between paired curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.special import stdtrit

from dpcore.experiments.engine import Row
from dpcore.experiments.spec import PrivateSpec

# Rows as sentences: what a run found, in words and sensible digits.


@dataclass(frozen=True)
class Spread:
    """Mean, least and greatest captured energy over the draws, as shares of the optimum."""

    mean: float
    least: float
    greatest: float
    draws: int


def spread_of(rows: Sequence[Row], protocol: str) -> Spread:
    """Spread of one protocol's rows."""
    ratios = [row["energy_ratio"] for row in rows if row["protocol"] == protocol]
    return Spread(fmean(ratios), min(ratios), max(ratios), len(ratios))


def counted(count: int, noun: str) -> str:
    """ "1 site", "5 sites"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    """A share in whole percent, or one more digit close to either end."""
    digits = 1 if 0 < share < 0.095 or 0.985 < share < 1 else 0
    return f"{share:.{digits}%}".replace("%", " %")


def mean_in_words(spec: PrivateSpec, *, has_mean: bool) -> str:
    """Whether a private mean was bought, where that is left to a rule."""
    if not spec.may_buy_mean:
        return ""
    if has_mean:
        return "A part of this budget pays for the private mean that rows are centred by."
    return (
        "A private mean of so few people would cost more than it is worth at this ε: none is "
        "bought, and rows are taken around the public middle."
    )


def bytes_in_words(count: float) -> str:
    """A number of bytes with a unit, in two or three digits."""
    if count < 1000:
        return f"{count:.0f} bytes"
    units = ("kB", "MB", "GB", "TB")
    power = next((n for n in (1, 2, 3) if count < 999.5 * 1000**n), 4)
    scaled = count / 1000**power
    return f"{scaled:.{0 if scaled >= 9.95 else 1}f} {units[power - 1]}"


# Rows as curves that share their draws, and differences between them beyond luck.

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
