"""Symmetric Gaussian noise for a second-moment matrix."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike

from dpcore.errors import ParameterError

NOISE_SHAPES = ("triangle", "isometric")


def symmetric_gaussian_noise(
    n_features: int,
    sigma: float,
    *,
    shape: str = "triangle",
    rng: np.random.Generator,
    dtype: DTypeLike = np.float64,
) -> np.ndarray:
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
        Standard deviation of one noise entry, in units of the second moment.
    shape : {"triangle", "isometric"}
    rng : numpy.random.Generator
    dtype : data type of the result
        float32 draws different numbers from float64, of the same law.

    Returns
    -------
    ndarray of shape (n_features, n_features), symmetric
        One `rng` state gives the same unit draws for every sigma and both shapes, so that
        settings can be compared on common random numbers.

    Raises
    ------
    ParameterError
        If `shape` is unknown or `sigma` negative.
    """
    if shape not in NOISE_SHAPES:
        raise ParameterError("noise", f"one of {', '.join(NOISE_SHAPES)}", shape)
    if not sigma >= 0:
        raise ParameterError("sigma", "at least 0", sigma)
    noise = np.zeros((n_features, n_features), dtype=dtype)
    draws = rng.standard_normal(n_features * (n_features + 1) // 2, dtype=noise.dtype)
    off_diagonal = sigma if shape == "triangle" else sigma / math.sqrt(2.0)
    # Row by row, because boolean or index masks over a triangle cost more than the draws.
    start = 0
    for row in range(n_features):
        stop = start + n_features - row
        noise[row, row:] = draws[start:stop]
        start = stop
    noise *= off_diagonal
    diagonal = noise.diagonal() * (sigma / off_diagonal if off_diagonal else 0.0)
    noise += noise.T
    np.fill_diagonal(noise, diagonal)
    return noise
