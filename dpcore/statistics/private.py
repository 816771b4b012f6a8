"""The three statistics, of values that are moved into public bounds first."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.privacy import PrivacyBudget
from dpcore.statistics.release import (
    ONE_VALUE,
    TWO_BINS,
    PrivateStatistic,
    release,
    replace_one_sensitivity,
)

# Sums and squares of values within such bounds are numbers too, whatever the values.
LARGEST_END = 1e100
# Bounds so close together, by themselves or for how far from 0 they are, leave doubles no digits
# for what is between them, or their square none at all: 2^20 numbers are the fewest.
_NARROWEST, _NARROWEST_SHARE = 1e-100, 2.0**-32


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


def above_low(
    values: ArrayLike, bounds: tuple[ArrayLike, ArrayLike], *, minimum: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x - a of each value x in [a, b], shape (n_columns, n_samples) or (n_samples,); a; and b - a.

    What sums of these are rounded by is small beside b - a, and so beside what one person does;
    far from 0 that of sums of x is not. Along columns that lie side by side NumPy adds pairwise.

    Raises `ParameterError` as `into_bounds`, and where b is too near to a for double precision.
    """
    values, (low, high) = into_bounds(values, bounds, minimum=minimum)
    width = high - low
    farthest = np.maximum(abs(low), abs(high))
    if not np.all(width >= np.maximum(_NARROWEST, _NARROWEST_SHARE * farthest)):
        raise ParameterError(
            "bounds",
            f"apart by {_NARROWEST:g} and by {_NARROWEST_SHARE:.1g} of their distance from 0, "
            "for double precision to hold what is between them",
            bounds,
        )
    return np.ascontiguousarray((values - low).T), low, width


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


def private_mean(
    values: ArrayLike,
    *,
    bounds: tuple[ArrayLike, ArrayLike],
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "laplace",
    clip_to_range: bool = False,
    rng: np.random.Generator,
) -> PrivateStatistic:
    """Differentially private mean of values in [a, b].

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        One row a person. Two-dimensional values give one mean a column, under one budget.
    bounds : (a, b)
        Public; each a number or (n_columns,) numbers, in units of the values.
    epsilon, delta : float
        Asked budget for the whole release; ``epsilon=inf`` turns the noise off.
    mechanism : {"laplace", "gaussian"}
        Laplace is pure epsilon-DP and does not use delta; Gaussian noise is calibrated
        analytically.
    clip_to_range : bool
        Move the released mean into [a, b]. Post-processing: no privacy is lost, but the error
        no longer follows `error_law` near the ends.
    rng : numpy.random.Generator
        Secret: whoever can draw from its state can take the noise off. One generator serves
        release after release; two in one state give two releases one noise, and the value away.

    Raises
    ------
    ParameterError
        If the values are empty or not finite, the bounds not increasing or so near to each other
        that double precision has no digits between them, the budget outside its range, or the
        mechanism unknown.
    """
    above, low, width = above_low(values, bounds, minimum=1)
    n_samples = above.shape[-1]
    return release(
        "mean",
        above.mean(axis=-1),
        replace_one_sensitivity("mean", n_samples, (0.0, width)),
        ONE_VALUE,
        PrivacyBudget(epsilon, delta),
        mechanism,
        n_samples=n_samples,
        above=low,
        possible=(low, low + width) if clip_to_range else None,
        rng=rng,
    )


def private_variance(
    values: ArrayLike,
    *,
    bounds: tuple[ArrayLike, ArrayLike],
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "laplace",
    clip_to_range: bool = False,
    rng: np.random.Generator,
) -> PrivateStatistic:
    """Differentially private population variance (divisor n) of values in [a, b].

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        Of two people or more.
    bounds, epsilon, delta, mechanism, rng
        As in `private_mean`.
    clip_to_range : bool
        Move the release into [0, (b - a)^2 / 4].

    Raises
    ------
    ParameterError
        As in `private_mean`.
    """
    above, _, width = above_low(values, bounds, minimum=2)
    n_samples = above.shape[-1]
    return release(
        "variance",
        above.var(axis=-1),
        replace_one_sensitivity("variance", n_samples, (0.0, width)),
        ONE_VALUE,
        PrivacyBudget(epsilon, delta),
        mechanism,
        n_samples=n_samples,
        possible=(np.zeros_like(width), width**2 / 4) if clip_to_range else None,
        rng=rng,
    )


def private_histogram(
    values: ArrayLike,
    *,
    edges: ArrayLike,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "laplace",
    non_negative: bool = False,
    rng: np.random.Generator,
) -> PrivateStatistic:
    """Differentially private counts of values in public bins.

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        Values beyond the outermost edges are counted in the outermost bins.
    edges : array-like of shape (n_bins + 1,) or (n_columns, n_bins + 1)
        Public and increasing. Edges read from the data break the promise. Bins are half open,
        the last one closed, as in `numpy.histogram`.
    epsilon, delta, mechanism, rng
        As in `private_mean`.
    non_negative : bool
        Raise negative counts to 0. Post-processing, which biases empty bins upwards.

    Raises
    ------
    ParameterError
        If the edges are not increasing or do not fit the columns, or as in `private_mean`.
    """
    edges = np.asarray(edges, dtype=float)
    if edges.ndim not in (1, 2) or edges.shape[-1] < 2 or not np.all(np.diff(edges) > 0):
        raise ParameterError("edges", "two or more increasing numbers a column", edges.tolist())
    values, _ = into_bounds(values, (edges[..., 0], edges[..., -1]), minimum=1, parameter="edges")
    if values.ndim == 1:
        counts = np.histogram(values, edges)[0].astype(float)
    else:
        per_column = np.broadcast_to(edges, (values.shape[1], edges.shape[-1]))
        counts = np.array(
            [
                np.histogram(column, bins)[0]
                for column, bins in zip(values.T, per_column, strict=True)
            ],
            dtype=float,
        )
    return release(
        "histogram",
        counts,
        np.ones(counts.shape[:-1]),
        TWO_BINS,
        PrivacyBudget(epsilon, delta),
        mechanism,
        n_samples=len(values),
        possible=(0.0, np.inf) if non_negative else None,
        rng=rng,
    )
