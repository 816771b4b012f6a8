"""Symmetric Gaussian noise for a second-moment matrix."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError, require_one_of

NOISE_SHAPES = ("triangle", "isometric")


def symmetric_gaussian_noise(
    n_features: int,
    sigma: float,
    *,
    shape: str = "triangle",
    rng: np.random.Generator,
    dtype: DTypeLike = np.float64,
    size: int | None = None,
) -> FloatArray:
    """Symmetric noise that makes a second moment differentially private.

    Both shapes are the Gaussian mechanism at scale `sigma` for a symmetric matrix. "triangle"
    draws the upper triangle with the diagonal i.i.d. N(0, sigma^2) and mirrors it (Algorithm 1
    step 3 of Imtiaz & Sarwate 2018). "isometric" is the law of (N + N^T) / 2 for a full matrix N
    of i.i.d. N(0, sigma^2): diagonal sigma, off-diagonal sigma / sqrt(2). That average is
    post-processing of the release A + N, so the guarantee is the same and the noise is less.

    Parameters
    ----------
    n_features : int
    sigma : float
        Standard deviation of one noise entry, in units of the second moment; finite.
    shape : {"triangle", "isometric"}
    rng : numpy.random.Generator
    dtype : data type of the result
        float32 draws different numbers from float64, of the same law.
    size : int, optional
        How many independent matrices to draw; one, without the leading axis, by default.

    Returns
    -------
    ndarray of shape (n_features, n_features) or (size, n_features, n_features), symmetric
        One `rng` state gives the same unit draws for every sigma and both shapes, so that
        settings can be compared on common random numbers.

    Raises
    ------
    ParameterError
        If `shape` is unknown, `sigma` negative or infinite, or `n_features` below 1.
    """
    require_one_of("noise", shape, NOISE_SHAPES)
    if not 0 <= sigma < math.inf:
        raise ParameterError("sigma", "at least 0 and finite", sigma)
    if not n_features >= 1:
        raise ParameterError("n_features", "at least 1", n_features)
    batch = () if size is None else (size,)
    noise = np.empty((*batch, n_features, n_features), dtype=dtype)
    draws = rng.standard_normal((*batch, n_features * (n_features + 1) // 2), dtype=noise.dtype)
    draws *= sigma if shape == "triangle" else sigma / math.sqrt(2.0)
    # Row by row, because boolean or index masks over a triangle cost more than the draws, and
    # both halves at once, because adding the transpose walks a large matrix against its grain.
    start = 0
    for row in range(n_features):
        stop = start + n_features - row
        noise[..., row, row:] = noise[..., row:, row] = draws[..., start:stop]
        start = stop
    if shape == "isometric":
        diagonal = np.arange(n_features)
        noise[..., diagonal, diagonal] *= math.sqrt(2.0)
    return noise
