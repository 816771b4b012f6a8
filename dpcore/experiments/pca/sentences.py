"""Rows as sentences: what a run found, in words and sensible digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.public_knowledge import NO_KNOWLEDGE
from dpcore.experiments.pca.spec import BUYING


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


def mean_in_words(preparation: str, *, has_mean: bool) -> str:
    """Whether a private mean was bought, where the preparation leaves it to a rule."""
    if preparation not in BUYING:
        return ""
    if has_mean:
        return "A part of this budget pays for the private mean that rows are centred by."
    return (
        "A private mean of so few people would cost more than it is worth at this ε: none is "
        "bought, and rows are taken around the public middle."
    )


def in_plain_words(rows: Sequence[Row]) -> str:
    """What the share of the first protocol means, between a random guess and no privacy at all."""
    chance, is_projected = percent(rows[0]["random_ratio"]), rows[0]["knowledge"] != NO_KNOWLEDGE
    best = "exact PCA in all dimensions" if is_projected else "no privacy at all"
    return (f"of the pattern survives. A random guess would get {chance}, {best} 100 %.").replace(
        " %", "\u00a0%"
    )


def bytes_in_words(count: float) -> str:
    """A number of bytes with a unit, in two or three digits."""
    if count < 1000:
        return f"{count:.0f} bytes"
    units = ("kB", "MB", "GB", "TB")
    power = next((n for n in (1, 2, 3) if count < 999.5 * 1000**n), 4)
    scaled = count / 1000**power
    return f"{scaled:.{0 if scaled >= 9.95 else 1}f} {units[power - 1]}"
