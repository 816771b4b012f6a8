"""Noise that makes a symmetric matrix private with pure epsilon, drawn exactly."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError


def wishart_difference(
    n_features: int,
    scale: float,
    *,
    rng: np.random.Generator,
    dtype: DTypeLike = np.float64,
    size: int | None = None,
) -> FloatArray:
    """W - W', two independent Wishart matrices: in one dimension, Laplace noise.

    With D + 1 degrees of freedom and covariance scale / 2, and with no others, a Wishart matrix has
    the density exp(-tr W / scale) on the positive semidefinite matrices, up to a constant. Let a
    matrix move from A to A' = A - P + Q with P and Q positive semidefinite. Then A + W - W' and
    A' + (W + P) - (W' + Q) are the same release, both shifted matrices are still positive
    semidefinite, and their density is exp(-(tr P + tr Q) / scale) times what it was. Integrated
    over all pairs that give one release:

        p_A(M) <= exp(||A - A'||_* / scale) p_A'(M),

    for the nuclear norm is tr P + tr Q of the split into positive and negative part. So a nuclear
    sensitivity of scale * epsilon makes A + W - W' purely epsilon-private. A Wishart matrix alone
    does not: it is shifted out of its support, which the mechanism of Jiang, Xie & Zhang (2016)
    overlooks. `docs/algorithms/wishart.md` compares the law with the K-norm mechanism's (Hardt &
    Talwar 2010), which is the same in one dimension.

    Parameters
    ----------
    n_features : int
    scale : float
        Nuclear sensitivity over epsilon; finite. A diagonal entry has standard deviation
        scale * sqrt(D + 1), another one 1 / sqrt(2) of that.
    rng : numpy.random.Generator
    dtype : data type of the result
    size : int, optional
        How many independent matrices to draw; one, without the leading axis, by default.

    Returns
    -------
    ndarray of shape (n_features, n_features) or (size, n_features, n_features), symmetric

    Raises
    ------
    ParameterError
        If `scale` is negative or infinite, or `n_features` below 1.
    """
    if not 0 <= scale < math.inf:
        raise ParameterError("scale", "at least 0 and finite", scale)
    if not n_features >= 1:
        raise ParameterError("n_features", "at least 1", n_features)
    batch = () if size is None else (size,)
    precision = np.empty(0, dtype=dtype).dtype
    factors = rng.standard_normal((2, *batch, n_features, n_features + 1), dtype=precision)
    added, subtracted = factors @ factors.swapaxes(-1, -2)
    noise: FloatArray = (added - subtracted) * precision.type(scale / 2)
    return noise
