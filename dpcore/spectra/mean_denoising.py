"""Denoising of the private mean of pictures, and the error that remains in it.

The public prior of a mean: a few directions with free coefficients, which are a constant and, for
centred pictures, the window of the public constant and its square; and a smooth remainder, whose
entries in cosines are N(0, alpha g_i).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.picture_kinds import CENTRED
from dpcore.spectra.public_bases import PublicBasis
from dpcore.spectra.public_kernel import Kernel

# Standard deviation of a coefficient of the public directions, and limits of the squared length of
# the remainder, in units of the longest possible row.
_COEFFICIENT = 0.3
_LEAST_LENGTH, _LARGEST_LENGTH, _HEIGHTS = 0.01, 0.5, 24
# Squared length of the remainder that the error of the mean is computed with, and the power of the
# frequencies over which it is spread.
_REMAINDER, _REMAINDER_POWER = 0.05, -2.0
# Mean squared distance of a row from the mean, in the same units.
_ROW_SPREAD = 0.15


def denoise_mean(
    noisy: FloatArray, sigma: float, basis: PublicBasis, *, unit: float = 1.0
) -> FloatArray:
    """Return the posterior mean of the mean of pictures, given a noisy copy.

    The result is post-processing of `noisy`. It is the public middle, 0, if all is noise.

    Parameters
    ----------
    noisy : ndarray of shape (n_features,)
        Noisy mean about the public middle.
    sigma : float
        Standard deviation of the noise in each entry.
    basis : PublicBasis
        Cosines. Squares are expected to fall like a power of their frequencies. With an
        `image_shape`, the kind of `picture` gives the public directions.
    unit : float
        Largest possible distance of a row from the public middle.

    Returns
    -------
    ndarray of shape (n_features,), float64
        `noisy` itself if `sigma` is 0.

    Raises
    ------
    ParameterError
        If the basis has no frequencies or is of another number of features.
    """
    if basis.frequencies is None or basis.n_features != len(noisy):
        constraint = f"of n_features={len(noisy)} entries, with frequencies"
        raise ParameterError("basis", constraint, f"{basis.name}: {basis.n_features}")
    if sigma == 0:
        return noisy
    values = np.asarray(noisy, dtype=np.float64) / sigma
    scale = unit / sigma
    directions = directions_of_mean(_shape_of(basis), basis.picture)
    coefficients = directions @ values
    variance = (_COEFFICIENT * scale) ** 2
    totals = scale**2 * np.geomspace(_LEAST_LENGTH, _LARGEST_LENGTH, _HEIGHTS)
    remainder = shrink_in_cosines(values - directions.T @ coefficients, basis, totals)
    remainder -= directions.T @ (directions @ remainder)
    mean: FloatArray = sigma * (
        directions.T @ (coefficients * (variance / (variance + 1))) + remainder
    )
    return mean


def shrink_in_cosines(
    values: FloatArray,
    basis: PublicBasis,
    totals: FloatArray,
    *,
    probability_of_none: float = 0.0,
    shrunk_by: float = 1.0,
) -> FloatArray:
    """Return the posterior mean of smooth values, given them with noise of variance 1 each.

    The entries in the basis are N(0, alpha g_i), averaged over the curves g of the basis and over
    sums of squares of the signal, with their likelihoods as weights.

    values: shape (n_features,)
    totals: Sums of squares of the signal, equally likely.
    probability_of_none: Prior probability that there is no signal.
    shrunk_by: Variance of the noise that determines the shrinkage. Less than 1 if the result is
        averaged with results of independent noise, which each take a share of the prior odds.
    """
    entries: FloatArray = values
    for factor in reversed(basis.factors):
        entries = (factor @ entries.reshape(-1, factor.shape[1]).T).ravel()
    grouping, sizes, shapes, _ = basis.few_curves
    squares = grouping @ entries**2
    heights = totals[:, None] / (shapes @ sizes)[None, :]
    signal = heights[:, :, None] * shapes
    log_likelihood = -(np.log(1 + signal) @ sizes + 1 / (1 + signal) @ squares) / 2
    log_none = -float(squares.sum()) / 2
    if probability_of_none > 0:
        odds = probability_of_none / (1 - probability_of_none)
        log_none += shrunk_by * math.log(odds) + math.log(log_likelihood.size)
    else:
        log_none = -math.inf
    largest = max(float(log_likelihood.max()), log_none)
    weights = np.exp(log_likelihood - largest)
    weights /= weights.sum() + math.exp(log_none - largest)
    shares = weights.ravel() @ (signal / (shrunk_by + signal)).reshape(-1, len(sizes))
    entries = entries * (shares @ grouping)
    for factor in reversed(basis.factors):
        entries = (factor.T @ entries.reshape(-1, len(factor)).T).ravel()
    return entries


def _shape_of(basis: PublicBasis) -> tuple[int, int]:
    down, across = basis.factors
    return down.shape[1], across.shape[1]


@lru_cache(maxsize=16)
def directions_of_mean(shape: tuple[int, int], picture: str) -> FloatArray:
    """Return the public directions of a mean as orthonormal rows, (1 or 3, n_pixels)."""
    constant = np.ones(shape[0] * shape[1])
    if picture != CENTRED or min(shape) < 3:
        return constant[None] / np.linalg.norm(constant)
    window = Kernel(1.0, 1.0, 1.0).pixel_deviations(shape).ravel()
    directions: FloatArray = np.linalg.qr(np.stack([constant, window, window**2], axis=1))[0].T
    return directions


class MeanError(NamedTuple):
    """Expected error of a denoised mean, in units in which rows have length 1.

    directions: Public directions of the mean.
    in_directions: Squared error in each public direction.
    in_cosines: shape (n_vectors,). Squared error in each vector of the basis. The outer product of
        the error is part of the second moment of the rows about the mean.
    """

    directions: FloatArray
    in_directions: float
    in_cosines: FloatArray

    @classmethod
    def of(cls, basis: PublicBasis, variance: float) -> MeanError:
        """Return the error under the public prior of the mean.

        variance: Variance of the noise in an entry of the mean; infinite without a mean.
        """
        directions, remainder, in_cosines = _prior_of_mean(basis)
        in_directions = _COEFFICIENT**2 / (1 + _COEFFICIENT**2 / variance) if variance > 0 else 0.0
        in_remainder = remainder / (1 + remainder / variance) if variance > 0 else 0 * remainder
        errors = in_directions * in_cosines + in_remainder
        total = _ROW_SPREAD + float(errors.sum())
        return cls(directions, in_directions / total, errors / total)


@lru_cache(maxsize=16)
def _prior_of_mean(basis: PublicBasis) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the public directions, the remainder's variances, and the directions' squares."""
    directions = directions_of_mean(_shape_of(basis), basis.picture)
    spread = (1 + np.asarray(basis.frequencies)) ** _REMAINDER_POWER
    squares = np.square(directions @ np.kron(*basis.factors).T).sum(axis=0)
    return directions, _REMAINDER * spread / spread.sum(), squares
