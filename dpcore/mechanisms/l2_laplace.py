"""Noise that makes a vector private with pure epsilon: the K-norm mechanism of the ball."""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError


def l2_laplace_noise(n_features: int, scale: float, *, rng: np.random.Generator) -> FloatArray:
    """A vector of density proportional to exp(-|z| / scale): in one dimension, Laplace noise.

    A statistic that one row moves by at most scale * epsilon in the Euclidean norm is purely
    epsilon-private with this added, by the triangle inequality (Hardt & Talwar 2010, for the
    ball). The direction is uniform and the length scale times Gamma(D), drawn exactly.

    Parameters
    ----------
    n_features : int
    scale : float
        l2-sensitivity over epsilon; finite.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_features,)

    Raises
    ------
    ParameterError
        If `scale` is negative or infinite, or `n_features` below 1.
    """
    if not 0 <= scale < math.inf:
        raise ParameterError("scale", "at least 0 and finite", scale)
    if not n_features >= 1:
        raise ParameterError("n_features", "at least 1", n_features)
    direction = rng.standard_normal(n_features)
    length = scale * rng.standard_gamma(n_features)
    noise: FloatArray = direction * (length / np.linalg.norm(direction))
    return noise
