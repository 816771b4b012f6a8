"""Additive noise: symmetric Gaussian, Wishart difference, and K-norm noise of a ball or a box.

All functions only sample. The scale is calibrated by the caller from the sensitivity: `sigma` by
`dpcore.privacy.gaussian_sigma`, `scale` as sensitivity / epsilon. Sensitivities are for
replace-one neighbours. The docstring of each function proves its guarantee.
"""

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
    """Draw symmetric Gaussian noise for a second moment.

    Both shapes are the Gaussian mechanism at scale `sigma` for a symmetric matrix, with the same
    guarantee. "triangle" draws the upper triangle with the diagonal i.i.d. N(0, sigma^2) and
    mirrors it (Algorithm 1, step 3 of Imtiaz & Sarwate 2018). "isometric" has the distribution of
    (N + N^T) / 2 for a full matrix N of i.i.d. N(0, sigma^2), which is less noise.

    Theorem (Balle & Wang 2018, theorem 8): adding N(0, sigma^2) to every coordinate of a vector
    with l2 sensitivity Delta is (epsilon, delta)-DP if and only if delta >= Phi(Delta / (2 sigma) -
    epsilon sigma / Delta) - e^epsilon Phi(-Delta / (2 sigma) - epsilon sigma / Delta). For a
    symmetric matrix:

    1. "isometric": the full matrix A has D^2 coordinates and Frobenius sensitivity Delta, so A + N
       with N i.i.d. N(0, sigma^2) satisfies the theorem.
    2. (A + N + (A + N)^T) / 2 = A + (N + N^T) / 2 is post-processing of A + N. Its noise has
       standard deviation sigma on the diagonal and sigma / sqrt(2) elsewhere: the two factors in
       the code.
    3. "triangle": the upper triangle with the diagonal has an l2 sensitivity of at most Delta.
       Noise N(0, sigma^2) in each of its entries satisfies the theorem, and mirroring is
       post-processing.

    Parameters
    ----------
    n_features : int
    sigma : float
        Standard deviation of one noise entry, in units of the second moment; finite.
    shape : {"triangle", "isometric"}
    rng : numpy.random.Generator
    dtype : data type of the result
        float32 and float64 use different draws of the same distribution.
    size : int, optional
        Number of independent matrices. Default: one matrix, without the leading axis.

    Returns
    -------
    ndarray of shape (n_features, n_features) or (size, n_features, n_features), symmetric
        One `rng` state gives the same unit draws for every sigma and both shapes, which allows
        comparisons on common random numbers.

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
    # Masks over a triangle take longer than the draws, and adding the transpose reads a large
    # matrix against its memory order, so each row is written together with its column.
    start = 0
    for row in range(n_features):
        stop = start + n_features - row
        noise[..., row, row:] = noise[..., row:, row] = draws[..., start:stop]
        start = stop
    if shape == "isometric":
        diagonal = np.arange(n_features)
        noise[..., diagonal, diagonal] *= math.sqrt(2.0)
    return noise


def wishart_difference(
    n_features: int,
    scale: float,
    *,
    rng: np.random.Generator,
    dtype: DTypeLike = np.float64,
    size: int | None = None,
) -> FloatArray:
    """Draw the difference W - W' of two independent Wishart matrices.

    Pure epsilon-DP for a symmetric matrix with nuclear sensitivity scale * epsilon (proof below).
    In one dimension this is Laplace noise.

    Theorem: A + W - W' is pure epsilon-DP if the nuclear norm of A - A' is at most scale * epsilon
    for neighbours. Proof:

    1. With D + 1 degrees of freedom and covariance scale / 2 (variables `factors` and `noise`), a
       Wishart matrix has density proportional to exp(-tr W / scale) on the positive semidefinite
       matrices. No other number of degrees of freedom gives this density.
    2. Split A - A' = P - Q into its positive and negative part. A + W - W' and A' + (W + P) - (W' +
       Q) are the same matrix.
    3. W + P and W' + Q are positive semidefinite and have exp(-(tr P + tr Q) / scale) times the
       density of W and W', and tr P + tr Q = ||A - A'||_*.
    4. The integral over all pairs (W, W') with one difference gives p_A(M) <= exp(||A - A'||_* /
       scale) p_A'(M).

    One Wishart matrix is not enough: the shift moves it out of its support. The mechanism of Jiang,
    Xie & Zhang (2016) overlooks this. `docs/algorithms/wishart.md` compares the distribution with
    the K-norm mechanism.

    Parameters
    ----------
    n_features : int
    scale : float
        Nuclear sensitivity divided by epsilon; finite. A diagonal entry has standard deviation
        scale * sqrt(D + 1), an off-diagonal entry 1 / sqrt(2) of that.
    rng : numpy.random.Generator
    dtype : data type of the result
    size : int, optional
        Number of independent matrices. Default: one matrix, without the leading axis.

    Returns
    -------
    ndarray of shape (n_features, n_features) or (size, n_features, n_features), symmetric

    Raises
    ------
    ParameterError
        If `scale` is negative or infinite, or `n_features` below 1.
    """
    _require_valid(n_features, scale)
    batch = () if size is None else (size,)
    precision = np.empty(0, dtype=dtype).dtype
    factors = rng.standard_normal((2, *batch, n_features, n_features + 1), dtype=precision)
    added, subtracted = factors @ factors.swapaxes(-1, -2)
    noise: FloatArray = (added - subtracted) * precision.type(scale / 2)
    return noise


def l2_laplace_noise(n_features: int, scale: float, *, rng: np.random.Generator) -> FloatArray:
    """Draw a vector with density proportional to exp(-|z| / scale).

    Pure epsilon-DP for a statistic with l2 sensitivity scale * epsilon (proof below).
    In one dimension this is Laplace noise.

    Theorem (Hardt & Talwar 2010): noise with density proportional to exp(-||z|| / scale) is pure
    epsilon-DP for a statistic whose sensitivity in that norm is scale * epsilon. Proof: the density
    ratio at any point is at most exp((||z - f(X')|| - ||z - f(X)||) / scale) <= exp(||f(X) -
    f(X')|| / scale) <= exp(epsilon), by the triangle inequality. Sampling for this ball and the box
    of `box_laplace_noise`: a radius with distribution scale * Gamma(D + 1) times a uniform point of
    the unit ball K. For the Euclidean ball this is a uniform direction times scale * Gamma(D); for
    a box it is one uniform number per coordinate.

    Parameters
    ----------
    n_features : int
    scale : float
        l2 sensitivity divided by epsilon; finite.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_features,)

    Raises
    ------
    ParameterError
        If `scale` is negative or infinite, or `n_features` below 1.
    """
    _require_valid(n_features, scale)
    direction = rng.standard_normal(n_features)
    length = scale * rng.standard_gamma(n_features)
    noise: FloatArray = direction * (length / np.linalg.norm(direction))
    return noise


def box_laplace_noise(
    half_widths: FloatArray, scale: float, *, rng: np.random.Generator
) -> FloatArray:
    """Draw a vector with density proportional to exp(-max_j |z_j| / (scale h_j)).

    Pure epsilon-DP for a statistic that one row changes by at most scale * epsilon * h_j in
    coordinate j, for all j together (proof in `l2_laplace_noise`). For a box inside the unit
    ball, the squared error is at most (D + 1)(D + 2) / 3 scale^2, a third of the ball's
    D (D + 1) scale^2.

    Parameters
    ----------
    half_widths : ndarray of shape (n_features,)
        h_j, nonnegative and finite.
    scale : float
        Largest change in units of the half-widths, divided by epsilon; finite.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_features,)

    Raises
    ------
    ParameterError
        If `scale` or a half-width is negative or infinite, or `half_widths` is empty.
    """
    _require_valid(len(half_widths), scale)
    if not (np.isfinite(half_widths) & (half_widths >= 0)).all():
        raise ParameterError("half_widths", "at least 0 and finite", float(np.min(half_widths)))
    point = half_widths * rng.uniform(-1, 1, len(half_widths))
    noise: FloatArray = scale * rng.standard_gamma(len(half_widths) + 1) * point
    return noise


def _require_valid(n_features: int, scale: float) -> None:
    if not 0 <= scale < math.inf:
        raise ParameterError("scale", "at least 0 and finite", scale)
    if not n_features >= 1:
        raise ParameterError("n_features", "at least 1", n_features)
