"""Exact arithmetic: integer rows and moments, rounded Gaussian noise.

Everything here is a whole number held in a double, below 2^53, so that sums and products are exact
in any order. Roots and quotients are rounded, and are made right or shown to be so
(`docs/algorithms/exact-release.md`): what bounds the sensitivity is a statement about integers.

Whole numbers with the law of round(Z), Z ~ N(0, sigma^2), from the operating system's entropy.

**Promise.** n draws of `rounded_normal` have a law within n * `DISTANCE` in total variation of n
independent round(Z), whatever the sigma. The proof is in `docs/algorithms/exact-release.md`; in
short, |Z| is drawn to a binary expansion so fine that the law of what is rounded cannot be told
from the normal law, and is then rounded exactly:

1. |Z| is split into cells of w units of 2^-f, w a power of two, at most sigma / 1024 wide. Which
   cell is read off a table of cumulative chances by a uniform number of 128 bits, of which the
   last 64 are drawn where the first 64 leave it open.
2. Within a cell the position is uniform, and accepted with the chance that the density there has
   relative to that at the cell's lower end, at least 0.99. Doubles decide that but for a word in
   2^54, which lies too near the chance; 64 more bits and 80 digits then do.
3. The sign is a bit, and the f binary places are rounded away.

How long this takes depends on the noise and not on any data: the only branch is on draws that are
made again. It is not constant, and whoever can time the drawing itself to a nanosecond learns how
many those were.

No floating-point number is a draw or an addend here. Those that occur are chances of acceptance,
of additions, products and quotients of doubles, which IEEE 754 rounds to the nearest; where their
error could matter they are not asked.

Sums and second moments of integer rows without rounding, and the noise that goes onto them.

The only way from a person's row to a release is through the two functions that add noise here.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache, reduce

import numpy as np

from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dpcore.errors import ParameterError

# Rows as whole numbers of bounded length, each from its person's row and public numbers alone.

# A column reaches to GRID on both sides of its middle; a row of the moment is at most LENGTH long.
GRID = 1 << 18
LENGTH = 1 << 17


def on_grid(
    values: FloatArray,
    lower: FloatArray | float,
    upper: FloatArray | float,
    middle: FloatArray | float,
    out: FloatArray | None = None,
) -> FloatArray:
    """Numbers clipped to public limits, in units of 1/GRID of the farther one from the middle.

    values: ndarray of numbers, shape (n_rows, n_features), with one row at least. Not a number
        stands for what is missing and becomes 0.
    lower, upper, middle: shape (n_features,). As in `Column`.
    out: ndarray of float64, of the same shape. Where the result goes.
    Returns: ndarray of whole float64, the same shape, from -GRID to GRID
    """
    factor = GRID / np.maximum(np.subtract(upper, middle), np.subtract(middle, lower))
    scaled: FloatArray = np.empty(values.shape) if out is None else out
    np.copyto(scaled, values)
    with np.errstate(over="ignore", invalid="ignore"):
        _to_grid(scaled, middle, factor)
        if not are_within(values, lower, upper).all():
            ends = np.array([lower, upper], dtype=np.float64)
            # Rounding changes no order: what is beyond a limit is clipped to where that went.
            np.clip(scaled, *_to_grid(ends, middle, factor), out=scaled)
            scaled[np.isnan(scaled)] = 0.0
    return scaled


def are_within(values: AnyArray, lower: FloatArray | float, upper: FloatArray | float) -> BoolArray:
    """Of each column, whether all its numbers are from `lower` to `upper`; not a number is not.

    values: ndarray of numbers, shape (n_rows, n_features), with one row at least
    lower, upper: shape (n_features,)
    """
    if values.dtype.kind in "iu":
        # A byte need not be looked at to be within 0 and 255.
        kind = np.iinfo(values.dtype)
        within: BoolArray = np.greater_equal(kind.min, lower) & np.less_equal(kind.max, upper)
        if within.all():
            return within
    return np.asarray((values.min(axis=0) >= lower) & (values.max(axis=0) <= upper))


def _to_grid(values: FloatArray, middle: FloatArray | float, factor: FloatArray) -> FloatArray:
    values -= middle
    values *= factor
    return np.rint(values, out=values)


def of_length(
    rows: FloatArray, length: int, reach: int = 0, out: FloatArray | None = None
) -> FloatArray:
    """Rows times length / max(norm, reach), cut towards zero: no longer than `length`, exactly.

    Without `reach` every row but zero goes to the sphere (spatial sign); with it rows keep
    their proportions, and longer ones are shortened.

    rows: ndarray of whole float64, shape (n_rows, n_features). Squared norms below 2^52.
    length: At most 2^25.
    reach: At most 2^26.
    out: ndarray of float64, of the same shape. Where the result goes; `rows` itself may be.
    Returns: ndarray of whole float64, the same shape. The square of every row's norm is at most
        length^2.
    """
    squared = np.vecdot(rows, rows)
    root = np.ceil(np.sqrt(squared))
    root += root * root < squared
    # A power of two may as well divide what is divided by, which rounds nothing.
    unit = length & -length
    divisor = np.maximum(root, max(reach, 1))[:, None] / unit
    if unit < length:
        rows = out = np.multiply(rows, length // unit, out=out)
    scaled: FloatArray = np.divide(rows, divisor, out=out)
    return np.trunc(scaled, out=scaled)


def grid_norm(norm: float) -> int:
    """A norm in units of the grid, rounded down."""
    return math.floor(norm * GRID)


# Whole numbers with the law of round(Z), Z ~ N(0, sigma^2), from the operating system's entropy.

# Total variation of one draw from its law, proven. A cap counts it e^epsilon times a draw.
DISTANCE = 2.0**-110
# Of draws until version 0.2.
EARLIER_DISTANCE = 2.0**-60
# So that no sum of a moment and its noise leaves 63 bits.
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
# By how much a chance of 64 bits from doubles may be wrong: below 0.01 * 2^64 * 2^-50, and the cut.
_UNSURE = 1 << 8
# What is drawn together stays in a processor's cache.
_AT_ONCE = 1 << 15

Entropy = Callable[[int], bytes]


@dataclass(frozen=True)
class _Cells:
    """Where |Z| may lie, in units of 2^-fraction_bits."""

    fraction_bits: int
    width_bits: int
    squared_width: float  # of a cell, in sigma squared
    exact_squared_width: Decimal
    cumulative: list[int]  # chance of all cells up to this one, in 2^-128
    leading: AnyArray  # its first 64 bits


def rounded_normal(size: int, sigma: int, *, entropy: Entropy = os.urandom) -> IntArray:
    """Independent draws of round(Z), Z ~ N(0, sigma^2).

    Parameters
    ----------
    size : int
    sigma : int
        Positive, below 2^57.
    entropy : callable
        Gives so many random bytes. The operating system's, but for tests.

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
        part[:] = _drawn(len(part), cells, entropy)
    return draws


def _drawn(size: int, cells: _Cells, entropy: Entropy) -> IntArray:
    cell = _drawn_cells(_words(size, entropy), cells, entropy)
    # The first bits say where in the cell, and the last one, which they never reach, the sign.
    word = _words(size, entropy)
    left = np.arange(size)
    while left.size:
        left = left[_is_rejected(cell[left], word[left], cells, entropy)]
        word[left] = _words(left.size, entropy)
    fine = (cell << cells.width_bits) + _position(word, cells)
    magnitude = (fine + (1 << (cells.fraction_bits - 1))) >> cells.fraction_bits
    signed: IntArray = np.where(word & np.uint64(1), -magnitude, magnitude)
    return signed


def _words(size: int, entropy: Entropy) -> AnyArray:
    return np.frombuffer(entropy(8 * size), dtype=np.uint64).copy()


def _drawn_cells(first: AnyArray, cells: _Cells, entropy: Entropy) -> IntArray:
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
    # Modulo 2^64: what wraps around is looked at once more, and decided alike.
    for near in np.flatnonzero(words - chance + np.uint64(_UNSURE) <= np.uint64(2 * _UNSURE)):
        whole = int(words[near]) << 64 | int(_words(1, entropy)[0])
        position = int(_position(word[near : near + 1], cells)[0])
        rejected[near] = whole < _chance_of_rejection(int(cell[near]), position, cells)
    return rejected


def _chance_of_rejection(cell: int, position: int, cells: _Cells) -> int:
    """Times 2^128, cut to a whole number: of a unit, by the mean density in it.

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
    """The table for this sigma: cell masses by the midpoint rule with two corrections."""
    bits = max(sigma.bit_length() + 1, _FINE_BITS + 1)
    fraction_bits = bits - sigma.bit_length()
    width_bits = bits - 1 - _CELL_BITS
    width, fine_sigma = 1 << width_bits, sigma << fraction_bits
    h2 = _DIGITS.divide(Decimal(width**2), Decimal(fine_sigma**2))
    n_cells = int(_DIGITS.divide(REACH, _DIGITS.sqrt(h2))) + 1
    cumulative = _cumulative(h2, n_cells)
    # The last is 2^128, with one bit too many: where the first 64 are ones, all of them decide.
    leading = np.array([each >> 64 for each in cumulative[:-1]] + [2**64 - 1], dtype=np.uint64)
    return _Cells(fraction_bits, width_bits, width**2 / fine_sigma**2, h2, cumulative, leading)


def _cumulative(h2: Decimal, n_cells: int) -> list[int]:
    """Cumulative chances of the cells of |Z| / sigma, h wide, times 2^128; the last is 2^128.

    With x the middle of a cell its mass is proportional to e^(-x^2 / 2) times the sum over k of
    h^(2k) He_2k(x) / (4^k (2k + 1)!), with Hermite's polynomials.
    """
    step = _fixed(h2)
    density = _fixed(_DIGITS.exp(_DIGITS.divide(h2, Decimal(-8))))
    ratio = ratio_of_ratios = _fixed(_DIGITS.exp(_DIGITS.minus(h2)))
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
    return [(each << 128) // total for each in sums]


def _mass_in_powers_of_x2(h2: int) -> list[int]:
    """The sum over k up to 4 in `_cumulative`: coefficients of 1, x^2, x^4, ..., in fixed point."""
    coefficients, power, divisor = [0] * len(_HERMITE), 1 << _PLACES, 1
    for k, hermite in enumerate(_HERMITE):
        for order, coefficient in enumerate(hermite):
            coefficients[order] += coefficient * power // divisor
        power = power * h2 >> _PLACES
        divisor *= 4 * (2 * k + 2) * (2 * k + 3)
    return coefficients


def _fixed(value: Decimal) -> int:
    return int(_DIGITS.multiply(value, Decimal(1 << _PLACES)))


# Sums and second moments of integer rows without rounding, and the noise that goes onto them.

# n LENGTH^2 and any noise added to it stay below 2^63.
MOST_ROWS = 1 << 27
# Sums of products of so many rows stay below 2^53, where doubles are exact whatever comes first.
_ROWS_AT_ONCE = (1 << 53) // LENGTH**2
# Of a matrix too large to be there twice, what is added to it at a time.
_PANEL = 1 << 10


def exact_sum(blocks: Iterable[FloatArray], n_features: int) -> tuple[IntArray, int]:
    """The sum of all rows, and how many there are.

    blocks: iterable of ndarray of whole float64, shape (some rows, n_features). Entries up to 2^25.
    Returns total: ndarray of int64, shape (n_features,)
    Raises `ParameterError` if there are more than `MOST_ROWS`.
    """
    total, n_rows = np.zeros(n_features, dtype=np.int64), 0
    for rows in blocks:
        n_rows = counted(len(rows), n_rows)
        total += rows.sum(axis=0).astype(np.int64)
    return total, n_rows


def exact_second_moment(blocks: Iterable[FloatArray], n_features: int) -> IntArray:
    """X^T X of integer rows of length at most LENGTH, exactly.

    Of two entries of a row neither product nor square exceeds LENGTH^2, and so no partial sum over
    2^19 rows, in whatever order it is made, exceeds 2^53.

    blocks: iterable of ndarray of whole float64, shape (some rows, n_features)
    Returns: ndarray of int64, shape (n_features, n_features), symmetric
    Raises `ParameterError` if there are more than `MOST_ROWS`, or a row is longer.
    """
    moment, n_rows = np.zeros((n_features, n_features), dtype=np.int64), 0
    # What is small is there twice: doubles that are exact so far, and what they were before.
    doubles, n_in_doubles = np.zeros(moment.shape if n_features <= _PANEL else (0, 0)), 0
    for rows in _cut(blocks):
        n_rows = counted(len(rows), n_rows)
        if np.vecdot(rows, rows).max() > LENGTH**2:
            raise ParameterError("rows", f"of length at most {LENGTH}", "a longer one")
        if not doubles.size:
            _add_upper(moment, rows)
            continue
        if n_in_doubles + len(rows) > _ROWS_AT_ONCE:
            moment += doubles.astype(np.int64)
            doubles[:], n_in_doubles = 0, 0
        doubles += rows.T @ rows
        n_in_doubles += len(rows)
    if doubles.size:
        return moment + doubles.astype(np.int64)
    _mirror(moment)
    return moment


def _cut(blocks: Iterable[FloatArray]) -> Iterator[FloatArray]:
    for block in blocks:
        for start in range(0, len(block), _ROWS_AT_ONCE):
            yield block[start : start + _ROWS_AT_ONCE]


def _add_upper(moment: IntArray, rows: FloatArray) -> None:
    """Add X^T X to what is above the diagonal, and to the blocks on it."""
    for panel in _panels(len(moment)):
        mine, right = rows[:, panel], slice(panel.stop, None)
        # NumPy multiplies an array with its own transpose at half the price.
        for columns in (panel, right):
            part = moment[panel, columns]
            np.add(part, mine.T @ rows[:, columns], out=part, dtype=np.int64, casting="unsafe")


def _mirror(moment: IntArray) -> None:
    """Below the diagonal what is above it."""
    for panel in _panels(len(moment)):
        above = np.triu(moment[panel, panel])
        moment[panel, panel] = above + np.triu(above, 1).T
        moment[panel.stop :, panel] = moment[panel, panel.stop :].T


def _panels(n_features: int) -> Iterator[slice]:
    for start in range(0, n_features, _PANEL):
        yield slice(start, min(start + _PANEL, n_features))


def noisy_sum(total: IntArray, sigma: int) -> IntArray:
    """The sum with round(N(0, sigma^2)) on every entry.

    With an integer total that is round(total + N(0, sigma^2)), a post-processing of the Gaussian
    mechanism.

    total: ndarray of int64, shape (n,)
    """
    return total + rounded_normal(total.size, sigma)


def noisy_second_moment(moment: IntArray, sigma: int, *, in_place: bool = False) -> IntArray:
    """The moment with round(N(0, sigma^2)) above the diagonal, mirrored, and twice that variance
    on it (rounded up).

    Of a symmetric change the entries above the diagonal, divided by sigma, and those on it,
    divided by sqrt(2) sigma, have together at most the norm ||change||_F / (sqrt(2) sigma).

    moment: ndarray of int64, shape (n_features, n_features), symmetric
    in_place: Put the noise onto `moment` itself, where there is no room for another.
    """
    size, noisy = len(moment), moment if in_place else moment.copy()
    noisy[np.diag_indices(size)] += rounded_normal(size, diagonal_sigma(sigma))
    for panel in _panels(size):
        right_of = [size - 1 - row for row in range(panel.start, panel.stop)]
        noise, start = rounded_normal(sum(right_of), sigma), 0
        for row, n_right in enumerate(right_of, panel.start):
            noisy[row, row + 1 :] += noise[start : start + n_right]
            start += n_right
    _mirror(noisy)
    return noisy


def diagonal_sigma(sigma: int) -> int:
    """A whole number just above sqrt(2) sigma."""
    return math.isqrt(2 * sigma**2) + 1


def counted(n_more: int, n_rows: int) -> int:
    """How many rows there are with some more.

    Raises `ParameterError` if that is more than `MOST_ROWS`.
    """
    if n_rows + n_more > MOST_ROWS:
        raise ParameterError("data", f"at most {MOST_ROWS:,} rows", "more")
    return n_rows + n_more
