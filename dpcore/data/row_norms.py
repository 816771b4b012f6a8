"""Rows whose Euclidean norm is at most a public bound, whatever they hold.

A sensitivity is proven for rows within the bound, so a row may not exceed it by rounding either,
and no row may make the arithmetic overflow: an exception that one person can provoke is a release
about that person. Every row is treated by itself. NaN and infinity are no rows; whoever holds the
table is told of them before anything is released.
"""

from __future__ import annotations

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError

# Within these every product that follows, float32 second moments included, neither overflows nor
# loses digits to subnormal numbers.
_SMALLEST_BOUND, _LARGEST_BOUND = 1e-15, 1e15
# Rows longer than this are brought into range before anything is squared or multiplied.
EXTREME = 1e20


def check_norm_bound(parameter: str, bound: float) -> None:
    """Raise a ParameterError unless the bound is a number in [1e-15, 1e15]."""
    if not _SMALLEST_BOUND <= bound <= _LARGEST_BOUND:
        raise ParameterError(
            parameter,
            f"positive and finite, in [{_SMALLEST_BOUND:g}, {_LARGEST_BOUND:g}]",
            bound,
        )


def rounding(X: FloatArray) -> float:
    """Relative slack that covers what arithmetic adds to a row's norm.

    Summing D squares in float64 is off by at most D + 1 roundings, in whatever order; scaling a
    row takes up to three more, and three in the data type of X.
    """
    unit = float(np.finfo(np.float64).eps) / 2
    return float((X.shape[1] + 4) * unit + 2 * float(np.finfo(X.dtype).eps))


def row_norms(X: FloatArray) -> FloatArray:
    """Euclidean norms in float64 of shape (n_samples,); inf where a square overflows."""
    with np.errstate(over="ignore"):
        norms: FloatArray = np.sqrt(np.einsum("nd,nd->n", X, X, dtype=np.float64))
    return norms


def tame(X: FloatArray, norms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows and norms, with rows of norm above 1e20 scaled down to a largest entry of 1.0e20.

    Such rows are longer than any bound, and are clipped next: their direction is all that counts.
    X and norms themselves are returned where there are none.
    """
    extreme = np.flatnonzero(~(norms <= EXTREME))
    if not extreme.size:
        return X, norms
    X, norms = X.copy(), norms.copy()
    rows = X[extreme].astype(np.float64)
    rows /= np.abs(rows).max(axis=1, keepdims=True)
    X[extreme] = EXTREME * rows
    norms[extreme] = row_norms(X[extreme])
    return X, norms


def shorten(X: FloatArray, bound: float) -> tuple[FloatArray, int]:
    """Rows of Euclidean norm at most `bound`, in exact arithmetic, and how many were longer.

    X: shape (n_samples, n_features), float32 or float64. Finite.
    bound: Public: chosen without looking at the rows.
    Returns rows: shape (n_samples, n_features). X itself if no row comes near the bound. Rows that
        could exceed it by the rounding of their own normalisation alone are shortened with the
        others, by a few roundings.
    Returns n_long: Rows longer than the bound by more than that rounding. Exact: not for
        publication.
    """
    slack = rounding(X)
    X, norms = tame(X, row_norms(X))
    limit = (1 - slack) * bound
    if norms.max() <= limit:
        return X, 0
    rows, long = X.copy(), norms > limit
    rows[long] = X[long] * (limit / norms[long])[:, None]
    return rows, int(np.count_nonzero(norms > (1 + slack) * bound))
