"""Rows in sentences and rounded numbers, and differences between paired curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.special import stdtrit

from dpcore.experiments.engine.fields import PrivateSpec
from dpcore.experiments.engine.spec import Row


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: "1 site", "5 sites"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    """Return a share in whole percent; near 0 % and 100 % with one decimal.

    The space is a no-break space, so that no line starts with the percent sign.
    """
    digits = 1 if 0 < share < 0.095 or 0.985 < share < 1 else 0
    return f"{share:.{digits}%}".replace("%", "\u00a0%")


def mean_in_words(spec: PrivateSpec, *, has_mean: bool) -> str:
    """Return a sentence on whether rows were centred by a private mean; empty if they cannot be."""
    if not spec.may_buy_mean:
        return ""
    if has_mean:
        return "A part of this budget pays for the private mean, around which rows are centred."
    return (
        "A private mean of these few rows would cost more than it gains at this ε. There is none, "
        "and rows are centred at the public middle."
    )


def bytes_in_words(count: float) -> str:
    """Return a number of bytes with a unit, in two or three digits."""
    if count < 1000:
        return f"{count:.0f} bytes"
    units = ("kB", "MB", "GB", "TB")
    power = next((n for n in (1, 2, 3) if count < 999.5 * 1000**n), 4)
    scaled = count / 1000**power
    return f"{scaled:.{0 if scaled >= 9.95 else 1}f} {units[power - 1]}"


# Probability that a difference of equal means exceeds its `chance_limit`.
_LEVEL = 0.001


@dataclass(frozen=True)
class Difference:
    """Mean of differences, and the limit that pure chance exceeds with probability 0.001."""

    mean: float
    chance_limit: float

    @property
    def sign(self) -> int:
        """1 or -1 if the mean is beyond the limit, else 0."""
        return (self.mean > self.chance_limit) - (self.mean < -self.chance_limit)


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Compute the difference of two series whose draws are paired in order."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    n = len(differences)
    if n < 2:
        return Difference(fmean(differences), math.inf)
    chance_limit = float(stdtrit(n - 1, 1 - _LEVEL)) * stdev(differences) / math.sqrt(n)
    return Difference(fmean(differences), chance_limit)


class Curves:
    """Captured energies of one panel by protocol and value, each a series over the draws.

    field: Field of the axis.
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
        """Return the energy ratios of one point, by repetition."""
        return self._series[protocol, value]

    def mean(self, protocol: str, value: float) -> float:
        return fmean(self.at(protocol, value))

    def means(self, protocol: str) -> list[tuple[float, float]]:
        """Return the values and means of a protocol's curve."""
        return [(value, self.mean(protocol, value)) for value in self.values]

    def step(self, protocol: str, start: float, stop: float) -> Difference:
        """Return the gain of a protocol from one value to another."""
        return paired_difference(self.at(protocol, stop), self.at(protocol, start))

    def difference(self, first: str, second: str, value: float) -> Difference:
        """Return the difference between two protocols at one value."""
        return paired_difference(self.at(first, value), self.at(second, value))


def crossing(means: Iterable[tuple[float, float]], level: float) -> float | None:
    """Return the first value at which a mean curve reaches a level, or None.

    The curve is linear in log value between neighbouring points.

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
