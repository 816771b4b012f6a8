"""Noise: symmetric Gaussian, Wishart difference, K-norm, randomised response.

Randomised response: everybody lies by a known chance, and the tally is about right.

Warner (1965) for two answers; Kairouz, Oh & Viswanath (2016) for more. Who answers needs to trust
nobody: the noise is added before anything is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError, require_one_of

# Symmetric Gaussian noise for a second-moment matrix.

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


# Noise that makes a symmetric matrix private with pure epsilon, drawn exactly.


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


# Noise that makes a vector private with pure epsilon: the K-norm mechanism of a ball, of a box.


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


# Randomised response: everybody lies by a known chance, and the tally is about right.


def chance_of_truth(n_choices: int, epsilon: float) -> float:
    """How often the true answer is given: e^epsilon / (e^epsilon + n_choices - 1).

    Raises
    ------
    ParameterError
        If there are fewer than 2 choices, or epsilon is negative.
    """
    if n_choices < 2:
        raise ParameterError("n_choices", "at least 2", n_choices)
    if not epsilon >= 0:
        raise ParameterError("epsilon", "at least 0", epsilon)
    return 1 / (1 + (n_choices - 1) * math.exp(-epsilon))


def randomised_response(
    answer: int, n_choices: int, epsilon: float, *, rng: np.random.Generator
) -> int:
    """An answer that may be given to anybody.

    Promise: pure epsilon-DP for whoever answers, against everybody: each of the n_choices answers
    is at most e^epsilon times as likely under one truth as under another.

    Parameters
    ----------
    answer : int
        The truth, from 0 to n_choices - 1.
    n_choices : int
    epsilon : float
    rng : numpy.random.Generator
        Secret, and never used for a second answer in the same state.

    Raises
    ------
    ParameterError
        If the answer is none of the choices, or as in `chance_of_truth`.
    """
    truth = chance_of_truth(n_choices, epsilon)
    if not 0 <= answer < n_choices:
        raise ParameterError("answer", f"from 0 to {n_choices - 1}", answer)
    if rng.random() < truth:
        return answer
    other = int(rng.integers(n_choices - 1))
    return other + (other >= answer)


def estimated_counts(counts: Sequence[int], epsilon: float) -> tuple[FloatArray, float]:
    """Unbiased estimate of how many truths there are of each choice, from what was answered.

    Of the true n_k, E[count_k] = n_k p + (n - n_k) q, with p the chance of the truth and q that of
    each other answer; solved for n_k. It may be negative: cut at 0 it would be biased.

    Parameters
    ----------
    counts : sequence of int
        How often each of the n_choices was answered.
    epsilon : float
        Of each answer.

    Returns
    -------
    estimate : ndarray of shape (n_choices,)
        Adds up to the number of answers.
    deviation : float
        The largest standard deviation that an entry can have, whatever the truths are.

    Raises
    ------
    ParameterError
        If epsilon is 0, where answers say nothing, or as in `chance_of_truth`.
    """
    truth = chance_of_truth(len(counts), epsilon)
    other = (1 - truth) / (len(counts) - 1)
    if truth <= other:
        raise ParameterError("epsilon", "greater than 0", epsilon)
    total = sum(counts)
    estimate = (np.asarray(counts, dtype=float) - total * other) / (truth - other)
    largest = max(truth * (1 - truth), other * (1 - other))
    return estimate, math.sqrt(total * largest) / (truth - other)
