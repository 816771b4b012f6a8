"""Scale rows to integers of bounded length.

All numbers are integers below 2^53 in doubles, so that sums and products are exact in any order.
Roots and quotients are rounded and corrected, so that the norm bounds hold exactly (proofs:
`docs/algorithms/exact-release.md`).
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import AnyArray, BoolArray, FloatArray

# Largest entry of a row on the grid, and largest norm of a row of the second moment.
GRID = 1 << 18
LENGTH = 1 << 17


def clip_to_grid(
    values: FloatArray,
    lower: FloatArray | float,
    upper: FloatArray | float,
    middle: FloatArray | float,
    out: FloatArray | None = None,
) -> FloatArray:
    """Clip numbers to public limits, and convert them to integers from -GRID to GRID.

    One unit is 1/GRID of the distance from the middle to the farther limit.

    values: ndarray of numbers, shape (n_rows, n_features), with at least one row. NaN is missing
        and becomes 0.
    lower, upper, middle: shape (n_features,). As in `Column`.
    out: ndarray of float64, of the same shape, for the result.
    Returns: ndarray of whole float64, the same shape, from -GRID to GRID
    """
    factor = GRID / np.maximum(np.subtract(upper, middle), np.subtract(middle, lower))
    scaled: FloatArray = np.empty(values.shape) if out is None else out
    np.copyto(scaled, values)
    with np.errstate(over="ignore", invalid="ignore"):
        _to_grid(scaled, middle, factor)
        if not are_within(values, lower, upper).all():
            ends = np.array([lower, upper], dtype=np.float64)
            # Rounding is monotone, so clipping to the rounded limits is exact.
            np.clip(scaled, *_to_grid(ends, middle, factor), out=scaled)
            scaled[np.isnan(scaled)] = 0.0
    return scaled


def are_within(values: AnyArray, lower: FloatArray | float, upper: FloatArray | float) -> BoolArray:
    """Return for each column whether all its numbers are within the limits; NaN is not.

    values: ndarray of numbers, shape (n_rows, n_features), with one row at least
    lower, upper: shape (n_features,)
    """
    if values.dtype.kind in "iu":
        # The range of an integer type may be within the limits already.
        kind = np.iinfo(values.dtype)
        within: BoolArray = np.greater_equal(kind.min, lower) & np.less_equal(kind.max, upper)
        if within.all():
            return within
    return np.asarray((values.min(axis=0) >= lower) & (values.max(axis=0) <= upper))


def _to_grid(values: FloatArray, middle: FloatArray | float, factor: FloatArray) -> FloatArray:
    values -= middle
    values *= factor
    return np.rint(values, out=values)


def scale_to_length(
    rows: FloatArray, length: int, reach: int = 0, out: FloatArray | None = None
) -> FloatArray:
    """Scale rows by length / max(norm, reach), truncated: no longer than `length`, exactly.

    Without `reach` every row except zero rows gets this length (spatial sign). With it, rows of
    norm up to `reach` keep their proportions and longer rows are shortened to `length`.

    rows: ndarray of whole float64, shape (n_rows, n_features). Squared norms below 2^52.
    length: Target length, at most 2^25.
    reach: Smallest norm that is scaled to `length`, at most 2^26.
    out: ndarray of float64, of the same shape, for the result. It may be `rows`.
    Returns: ndarray of whole float64, the same shape. The square of every row's norm is at most
        length^2.
    """
    squared = np.vecdot(rows, rows)
    root = np.ceil(np.sqrt(squared))
    root += root * root < squared
    # Dividing by a power of two is exact.
    unit = length & -length
    divisor = np.maximum(root, max(reach, 1))[:, None] / unit
    if unit < length:
        rows = out = np.multiply(rows, length // unit, out=out)
    scaled: FloatArray = np.divide(rows, divisor, out=out)
    return np.trunc(scaled, out=scaled)


def grid_norm(norm: float) -> int:
    """Return a norm in units of the grid, rounded down."""
    return math.floor(norm * GRID)
