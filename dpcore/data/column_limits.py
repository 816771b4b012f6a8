"""Public limits of columns: between which values theirs lie, whoever is in the rows.

They come from a data set's documentation or from the domain (a scale's ends, degrees, a pixel),
never from values. As text, in an address or on the command line: ``Aspect=0:360; Slope=0:90``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError

# So that no square or product of them overflows, and no width is lost in rounding.
_FARTHEST, _NARROWEST = 1e12, 1e-12


@dataclass(frozen=True)
class ColumnRange:
    """Consecutive columns of a data set that share their limits.

    name: Of the column, or of all of them.
    lower, upper: In the units of the rows. Infinite where nobody has written any down.
    """

    name: str
    n_columns: int = 1
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self.lower)

    def __str__(self) -> str:
        ends = f"{self.lower:.15g}:{self.upper:.15g}" if self.is_limited else ""
        return f"{self.name}={ends}"


def limits_of(ranges: Sequence[ColumnRange]) -> FloatArray | None:
    """Lowest and highest value of each column, (n_features, 2); None unless all have some."""
    if not all(each.is_limited for each in ranges):
        return None
    return np.repeat(
        [[each.lower, each.upper] for each in ranges], [each.n_columns for each in ranges], axis=0
    )


def half_diagonal(limits: FloatArray) -> float:
    """How far from the middle between them limits of shape (n_features, 2) let a row be."""
    return float(np.linalg.norm(np.ptp(limits, axis=1))) / 2


def read_limits(text: str, ranges: Sequence[ColumnRange]) -> tuple[ColumnRange, ...]:
    """The ranges, with the limits that a text gives in place of their own.

    text: "name=lower:upper", several of them parted by semicolons; empty changes nothing. A name
        without limits ("name=") has none any more.
    Raises `ParameterError` if a name is unknown, an end missing, infinite or no number, the upper
        end before the lower, or every column limited to a single value.
    """
    found = {each.name: each for each in ranges}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, _, ends = part.rpartition("=")
        if name not in found:
            raise ParameterError("limits", "of columns that there are, as in name=0:1", part)
        lower, upper = _ends(part, ends)
        found[name] = replace(found[name], lower=lower, upper=upper)
    changed = tuple(found.values())
    widths = [each.upper - each.lower for each in changed]
    if text and max(widths, default=0.0) < _NARROWEST:
        raise ParameterError("limits", "apart in one column at least", text)
    return changed


def written_limits(ranges: Sequence[ColumnRange], usual: Sequence[ColumnRange]) -> str:
    """The text that makes `ranges` of the usual ones."""
    pairs = zip(ranges, usual, strict=True)
    return "; ".join(str(each) for each, before in pairs if each != before)


def _ends(part: str, ends: str) -> tuple[float, float]:
    if not ends:
        return -math.inf, math.inf
    lower, _, upper = ends.partition(":")
    try:
        low, high = float(lower), float(upper)
    except ValueError:
        raise ParameterError("limits", "two numbers, a lower and an upper", part) from None
    if not (abs(low) <= _FARTHEST and abs(high) <= _FARTHEST):
        raise ParameterError("limits", f"finite, up to {_FARTHEST:g}", part)
    if low > high:
        raise ParameterError("limits", "the lower one first", part)
    return low, high
