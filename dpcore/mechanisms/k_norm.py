"""Noise that makes a vector private with pure epsilon: the K-norm mechanism of a ball, of a box."""

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
    _check(n_features, scale)
    direction = rng.standard_normal(n_features)
    length = scale * rng.standard_gamma(n_features)
    noise: FloatArray = direction * (length / np.linalg.norm(direction))
    return noise


def box_laplace_noise(
    half_widths: FloatArray, scale: float, *, rng: np.random.Generator
) -> FloatArray:
    """A vector of density proportional to exp(-max_j |z_j| / (scale h_j)): the same of a box.

    A statistic that one row moves by at most scale * epsilon * h_j in coordinate j, for all j at
    once, is purely epsilon-private with this added: what a row may change is epsilon times the unit
    ball of the norm in the exponent, and the triangle inequality does the rest. The K-norm
    mechanism of a convex body K (Hardt & Talwar 2010) is scale * Gamma(D + 1) times a uniform point
    of K; of a box that is D uniform numbers. A box within the ball of radius 1 gets a third of the
    ball's squared error: at most (D + 1)(D + 2) / 3 scale^2 instead of D (D + 1) scale^2.

    Parameters
    ----------
    half_widths : ndarray of shape (n_features,)
        h_j, at least 0 and finite.
    scale : float
        Largest change in units of the half-widths over epsilon; finite.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_features,)

    Raises
    ------
    ParameterError
        If `scale` or a half-width is negative or infinite, or there is none.
    """
    _check(len(half_widths), scale)
    if not (np.isfinite(half_widths) & (half_widths >= 0)).all():
        raise ParameterError("half_widths", "at least 0 and finite", float(np.min(half_widths)))
    place = half_widths * rng.uniform(-1, 1, len(half_widths))
    noise: FloatArray = scale * rng.standard_gamma(len(half_widths) + 1) * place
    return noise


def _check(n_features: int, scale: float) -> None:
    if not 0 <= scale < math.inf:
        raise ParameterError("scale", "at least 0 and finite", scale)
    if not n_features >= 1:
        raise ParameterError("n_features", "at least 1", n_features)
