"""Sample round(Z), Z ~ N(0, sigma^2), from the operating system's entropy.

Theorem: n draws are within n * `DISTANCE` in total variation of n independent round(Z), for every
sigma. Proof: `docs/algorithms/exact-release.md`. Steps:

1. |Z| is divided into cells of w units of 2^-f, w a power of two, at most sigma / 1024 wide
   (`_cells_of`). A uniform 128-bit number selects a cell from a table of cumulative
   probabilities; its last 64 bits are drawn only if the first 64 are not decisive
   (`_draw_cells`).
2. The position within the cell is uniform, and accepted with the density there relative to that
   at the cell's lower end, at least 0.99. Doubles decide, except for one word in 2^54 that is too
   close to the threshold; then 64 more bits and 80 digits decide (`_is_rejected`).
3. One bit gives the sign, and the f binary places are rounded away (`_draw`).

Running time depends on the noise only: draws are repeated after a rejection. An observer who times
the sampler to a nanosecond learns the number of rejections.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache, reduce

import numpy as np

from dpcore.arrays import AnyArray, BoolArray, IntArray
from dpcore.errors import ParameterError

# Total variation of one draw from its law, proven. A cap counts it e^epsilon times a draw.
DISTANCE = 2.0**-110
# Sums of a moment and its noise stay within 63 bits.
MOST_SIGMA_BITS = 57
# A cell is at most 2^-_CELL_BITS sigma wide, and |Z| counted in units of at most 2^-_FINE_BITS.
_CELL_BITS = 10
_FINE_BITS = 43
# The normal law has 2^-125 beyond this many sigma.
REACH = Decimal(13)
# He_0, He_2, ..., He_8: coefficients of 1, x^2, x^4, ...
_HERMITE = (
    (1,),
    (-1, 1),
    (3, -6, 1),
    (-15, 45, -15, 1),
    (105, -420, 210, -28, 1),
)
_PLACES = 192
_DIGITS = Context(prec=80)
# Largest error of a 64-bit probability computed in doubles: below 0.01 * 2^64 * 2^-50, and the cut.
_UNSURE = 1 << 8
# Draws of one step fit into the processor's cache.
_AT_ONCE = 1 << 15

Entropy = Callable[[int], bytes]


@dataclass(frozen=True)
class _Cells:
    """Cells of |Z|, in units of 2^-fraction_bits."""

    fraction_bits: int
    width_bits: int
    squared_width: float  # squared cell width divided by sigma²
    exact_squared_width: Decimal
    cumulative: list[int]  # chance of all cells up to this one, in 2^-128
    leading: AnyArray  # its first 64 bits


def rounded_normal(size: int, sigma: int, *, entropy: Entropy = os.urandom) -> IntArray:
    """Return independent draws of round(Z), Z ~ N(0, sigma^2).

    Parameters
    ----------
    size : int
    sigma : int
        Positive, below 2^57.
    entropy : callable
        Function that returns a number of random bytes; other sources are for tests only.

    Returns
    -------
    ndarray of int64, shape (size,)

    Raises
    ------
    ParameterError
        If sigma is out of range.
    """
    if not 0 < sigma < 1 << MOST_SIGMA_BITS:
        raise ParameterError("sigma", f"from 1 to 2^{MOST_SIGMA_BITS}", sigma)
    draws, cells = np.empty(size, dtype=np.int64), _cells_of(sigma)
    for start in range(0, size, _AT_ONCE):
        part = draws[start : start + _AT_ONCE]
        part[:] = _draw(len(part), cells, entropy)
    return draws


def _draw(size: int, cells: _Cells, entropy: Entropy) -> IntArray:
    cell = _draw_cells(_words(size, entropy), cells, entropy)
    # The first bits of a word give the position in the cell, its last bit gives the sign.
    word = _words(size, entropy)
    pending = np.arange(size)
    while pending.size:
        pending = pending[_is_rejected(cell[pending], word[pending], cells, entropy)]
        word[pending] = _words(pending.size, entropy)
    fine = (cell << cells.width_bits) + _position(word, cells)
    magnitude = (fine + (1 << (cells.fraction_bits - 1))) >> cells.fraction_bits
    signed: IntArray = np.where(word & np.uint64(1), -magnitude, magnitude)
    return signed


def _words(size: int, entropy: Entropy) -> AnyArray:
    return np.frombuffer(entropy(8 * size), dtype=np.uint64).copy()


def _draw_cells(first: AnyArray, cells: _Cells, entropy: Entropy) -> IntArray:
    cell = np.searchsorted(cells.leading, first, side="right")
    for open_ in np.flatnonzero(cells.leading[np.maximum(cell, 1) - 1] == first):
        whole = int(first[open_]) << 64 | int(_words(1, entropy)[0])
        cell[open_] = bisect_right(cells.cumulative, whole)
    return cell


def _position(word: AnyArray, cells: _Cells) -> IntArray:
    return (word >> np.uint64(64 - cells.width_bits)).astype(np.int64)


def _is_rejected(cell: IntArray, word: AnyArray, cells: _Cells, entropy: Entropy) -> BoolArray:
    # The density at the middle of a unit, at u of the cell's width, is e^-g of that at its end.
    u = np.ldexp(_position(word, cells) + 0.5, -cells.width_bits)
    g = cells.squared_width * (u * (cell + u / 2))
    series = 1 - g / 7
    for order in (6, 5, 4, 3, 2):
        series = 1 - g / order * series
    # 1 - e^-g is g times this series, to 2^-62 of itself, as g is below 0.01.
    chance = np.ldexp(g * series, 64).astype(np.uint64)
    words = _words(len(cell), entropy)
    rejected: BoolArray = words < chance
    # Differences are modulo 2^64: values that wrap around are also decided exactly.
    for near in np.flatnonzero(words - chance + np.uint64(_UNSURE) <= np.uint64(2 * _UNSURE)):
        whole = int(words[near]) << 64 | int(_words(1, entropy)[0])
        position = int(_position(word[near : near + 1], cells)[0])
        rejected[near] = whole < _chance_of_rejection(int(cell[near]), position, cells)
    return rejected


def _chance_of_rejection(cell: int, position: int, cells: _Cells) -> int:
    """Return the probability that a unit is rejected, times 2^128 and truncated.

    That is the density e^(-x^2 / 2) at its middle times 1 + s^2 (x^2 - 1) / 24 for a unit of s
    sigma; relative to the same at the cell's lower end it is e^-g (1 + s^2 g / 12).
    """
    u = _DIGITS.divide(Decimal(2 * position + 1), Decimal(2 << cells.width_bits))
    h2 = cells.exact_squared_width
    g = _product(h2, u, _DIGITS.add(Decimal(cell), _DIGITS.divide(u, Decimal(2))))
    s2 = _DIGITS.divide(h2, Decimal(1 << 2 * cells.width_bits))
    in_unit = _DIGITS.add(Decimal(1), _DIGITS.divide(_product(s2, g), Decimal(12)))
    accepted = _product(_DIGITS.exp(_DIGITS.minus(g)), in_unit)
    return int(_product(_DIGITS.subtract(Decimal(1), accepted), Decimal(1 << 128)))


def _product(*factors: Decimal) -> Decimal:
    return reduce(_DIGITS.multiply, factors)


@lru_cache(8)
def _cells_of(sigma: int) -> _Cells:
    """Return the cells for this sigma, with masses by the corrected midpoint rule."""
    bits = max(sigma.bit_length() + 1, _FINE_BITS + 1)
    fraction_bits = bits - sigma.bit_length()
    width_bits = bits - 1 - _CELL_BITS
    width, fine_sigma = 1 << width_bits, sigma << fraction_bits
    h2 = _DIGITS.divide(Decimal(width**2), Decimal(fine_sigma**2))
    n_cells = int(_DIGITS.divide(REACH, _DIGITS.sqrt(h2))) + 1
    cumulative = _cumulative(h2, n_cells)
    # The last number is 2^128, which does not fit: all its leading bits are ones instead.
    leading = np.array([count >> 64 for count in cumulative[:-1]] + [2**64 - 1], dtype=np.uint64)
    return _Cells(fraction_bits, width_bits, width**2 / fine_sigma**2, h2, cumulative, leading)


def _cumulative(h2: Decimal, n_cells: int) -> list[int]:
    """Return the cumulative probabilities of the cells of |Z| / sigma, h wide, times 2^128.

    With x the middle of a cell its mass is proportional to e^(-x^2 / 2) times the sum over k of
    h^(2k) He_2k(x) / (4^k (2k + 1)!), with Hermite's polynomials.
    """
    step = _to_fixed_point(h2)
    density = _to_fixed_point(_DIGITS.exp(_DIGITS.divide(h2, Decimal(-8))))
    ratio = ratio_of_ratios = _to_fixed_point(_DIGITS.exp(_DIGITS.minus(h2)))
    total, sums = 0, []
    c0, c1, c2, c3, c4 = _mass_in_powers_of_x2(step)
    for odd in range(1, 2 * n_cells, 2):
        x2 = step * (odd * odd) >> 2
        of_fourth = (c3 + (c4 * x2 >> _PLACES)) * x2 >> _PLACES
        mass = c0 + ((c1 + ((c2 + of_fourth) * x2 >> _PLACES)) * x2 >> _PLACES)
        total += density * mass >> _PLACES
        sums.append(total)
        density = density * ratio >> _PLACES
        ratio = ratio * ratio_of_ratios >> _PLACES
    return [(partial_sum << 128) // total for partial_sum in sums]


def _mass_in_powers_of_x2(h2: int) -> list[int]:
    """Return the sum over k up to 4 in `_cumulative` as fixed-point coefficients of 1, x^2, ..."""
    coefficients, power, divisor = [0] * len(_HERMITE), 1 << _PLACES, 1
    for k, hermite in enumerate(_HERMITE):
        for order, coefficient in enumerate(hermite):
            coefficients[order] += coefficient * power // divisor
        power = power * h2 >> _PLACES
        divisor *= 4 * (2 * k + 2) * (2 * k + 3)
    return coefficients


def _to_fixed_point(value: Decimal) -> int:
    return int(_DIGITS.multiply(value, Decimal(1 << _PLACES)))
