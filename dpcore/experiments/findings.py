"""Rows as sentences: what a run found, in words and sensible digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

Row = dict[str, object]


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


def people(count: int, noun: str) -> str:
    """"1 site", "5 sites"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def headline(rows: Sequence[Row], titles: dict[str, str]) -> str:
    """One sentence with the finding of a run, the first protocol in front."""
    protocols = list(dict.fromkeys(row["protocol"] for row in rows))
    first = rows[0]
    lead = spread_of(rows, protocols[0])
    sentence = (
        f"At ε = {first['epsilon']:g}, {people(first['sites'], 'site')} of "
        f"{first['samples'] // first['sites']:,} people keep **{lead.mean:.0%}** "
        f"of what exact PCA captures with {titles[protocols[0]]}"
    )
    others = [
        f"{titles[key]} {spread_of(rows, key).mean:.0%}" for key in protocols[1:]
    ]
    floor = f"a random subspace {first['random_ratio']:.0%}"
    return f"{sentence}; {', '.join([*others, floor])}."


def bytes_in_words(count: float) -> str:
    """A number of bytes with a unit and two or three digits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if count >= 100 or unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable: GB ends the loop")


def one_in(delta: float) -> str:
    """A probability as "1 in 1,000,000"."""
    return f"1 in {1 / delta:,.0f}"
