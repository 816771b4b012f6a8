"""Moving values into public bounds, and what that costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError

# Sums and squares of values within such bounds are numbers too, whatever the values.
LARGEST_END = 1e100


def into_bounds(
    values: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike],
    *,
    minimum: int,
    parameter: str = "bounds",
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """The values moved into their bounds, and the bounds as arrays."""
    values = np.asarray(values, dtype=float)
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


def clipping_bias(
    values: ArrayLike, *, bounds: tuple[ArrayLike, ArrayLike], statistic: str = "mean"
) -> float | FloatArray:
    """What moving the values into [a, b] does to their mean or variance, noise apart.

    Computed from the values themselves: NOT private, a lesson in choosing bounds.

    Returns
    -------
    float or ndarray of shape (n_columns,)
        The clipped values' statistic minus the values' own.
    """
    if statistic not in ("mean", "variance"):
        raise ParameterError("statistic", "'mean' or 'variance'", statistic)
    summary = np.mean if statistic == "mean" else np.var
    clipped, _ = into_bounds(values, bounds, minimum=1)
    bias: float | FloatArray = summary(clipped, axis=0) - summary(
        np.asarray(values, dtype=float), axis=0
    )
    return bias
