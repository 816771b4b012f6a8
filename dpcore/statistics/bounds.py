"""Clipping of values to public bounds, and its bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError

# Limit of the bounds, so that sums and squares of the values are finite.
LARGEST_END = 1e100

# Smallest width of the bounds, absolute and relative to their distance from 0. Narrower bounds
# leave fewer than 2^20 doubles between them, or a width whose square underflows.
_MIN_WIDTH, _MIN_RELATIVE_WIDTH = 1e-100, 2.0**-32


def clip_to_bounds(
    values: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike],
    *,
    minimum: int,
    parameter: str = "bounds",
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Return the values clipped to their bounds, and the bounds as arrays."""
    try:
        values = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterError("values", "numbers, as many in each row", type(values)) from error
    if values.ndim not in (1, 2) or len(values) < minimum or values.size == 0:
        raise ParameterError(
            "values", f"one- or two-dimensional with at least {minimum} rows", values.shape
        )
    if not np.all(np.isfinite(values)):
        raise ParameterError("values", "finite", values[~np.isfinite(values)][0])
    try:
        low, high = (
            np.array(np.broadcast_to(np.asarray(end, dtype=float), values.shape[1:]))
            for end in bounds
        )
    except (TypeError, ValueError) as error:
        raise ParameterError(parameter, "a low and a high end, one a column", bounds) from error
    if not np.all((low >= -LARGEST_END) & (low < high) & (high <= LARGEST_END)):
        constraint = f"finite, within {LARGEST_END:g} of 0, the first below the second"
        raise ParameterError(parameter, constraint, bounds)
    return np.clip(values, low, high), (low, high)


def shift_to_zero(
    values: ArrayLike, bounds: tuple[ArrayLike, ArrayLike], *, minimum: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return x - a of each value x in [a, b], a, and b - a.

    The first array has shape (n_columns, n_samples) or (n_samples,). The rounding errors of sums
    of x - a are small compared with b - a, and hence with the sensitivity; those of sums of x are
    not, far from 0. NumPy adds contiguous columns pairwise.

    Raises `ParameterError` like `clip_to_bounds`, and if b is too close to a for double precision.
    """
    values, (low, high) = clip_to_bounds(values, bounds, minimum=minimum)
    width = high - low
    farthest = np.maximum(abs(low), abs(high))
    if not np.all(width >= np.maximum(_MIN_WIDTH, _MIN_RELATIVE_WIDTH * farthest)):
        raise ParameterError(
            "bounds",
            f"apart by {_MIN_WIDTH:g} and by {_MIN_RELATIVE_WIDTH:.1g} of their distance from 0, "
            "for double precision to hold what is between them",
            bounds,
        )
    return np.ascontiguousarray((values - low).T), low, width


def clipping_bias(
    values: ArrayLike, *, bounds: tuple[ArrayLike, ArrayLike], statistic: str = "mean"
) -> float | FloatArray:
    """Compute the bias of the mean or variance due to clipping, without noise.

    The result is NOT private. It serves to teach the choice of bounds.

    Returns
    -------
    float or ndarray of shape (n_columns,)
        The clipped values' statistic minus the values' own.
    """
    if statistic not in ("mean", "variance"):
        raise ParameterError("statistic", "'mean' or 'variance'", statistic)
    summary = np.mean if statistic == "mean" else np.var
    clipped, _ = clip_to_bounds(values, bounds, minimum=1)
    bias: float | FloatArray = summary(clipped, axis=0) - summary(
        np.asarray(values, dtype=float), axis=0
    )
    return bias
