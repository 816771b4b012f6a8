"""Choice of public bases to denoise in, from noisy values only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaincinv, logsumexp, ndtr

from dpcore.arrays import FloatArray
from dpcore.spectra import PublicBasis, Spectrum

# Least variance of a profile of columns, in units of that of a matrix in general position, and
# least odds for a larger one. Chosen on thirty tables.
_LEAST_VARIANCE, _LEAST_ODDS = 2.0, 5.0
# Larger variances, in units of the least one.
_LARGER = 2.0 ** np.arange(1, 7)
# Least variance of a profile, in units of the variance of the noise.
_LEAST_OF_NOISE = 1e-3
# Probabilities between which a gamma law is taken as uniform.
_PROBABILITIES = np.append(
    np.linspace(0, 1, 41)[:-1], 1 - np.array([1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-7, 1e-10])
)
# Least width of such an interval, in units of the noise; narrower ones are points.
_MIN_WIDTH = 1e-6
_TINY = 1e-300


def off_diagonal_energy(noisy: FloatArray, sigma: float, *, noise: str = "isometric") -> float:
    """Return an unbiased estimate of the sum of squares off the diagonal of a second moment.

    Parameters
    ----------
    noisy : ndarray of shape (n_features, n_features), symmetric
        A + E.
    sigma, noise
        Scale and shape of E, as in `dpcore.mechanisms.symmetric_gaussian_noise`.
    """
    n_features = len(noisy)
    diagonal = np.diagonal(noisy).astype(np.float64)
    squares = float(np.einsum("ij,ij->", noisy, noisy, dtype=np.float64) - diagonal @ diagonal)
    variance = sigma**2 / 2 if noise == "isometric" else sigma**2
    return squares - n_features * (n_features - 1) * variance


def columns_differ(diagonal: FloatArray, off_diagonal: float, sigma: float) -> bool:
    """Return whether columns differ enough in variance for a variance profile to help.

    If the directions of the second moment are in general position, plain eigenvectors are optimal
    among equivariant estimators, and a profile of the columns can only harm. Variances of columns
    differ in general position as well, if few directions have most of the energy. A random rotation
    puts a share of 2 / (D + 2) of the squares of A - (tr A / D) I on the diagonal on average,
    whatever the eigenvalues are.

    The variances of the columns are modelled as draws from a gamma law, because they are not
    negative and few of them may be large. Its mean is that of the noisy diagonal. The likelihood of
    the noisy diagonal is computed for twice the variance of general position, and for 2 to 64 times
    as much, all equally likely. Columns differ if the odds of the larger variances exceed 5.

    Parameters
    ----------
    diagonal : ndarray of shape (n_features,)
        Diagonal of a noisy second moment, or of the average of several.
    off_diagonal : float
        Sum of squares off the diagonal without noise, as estimated by `off_diagonal_energy`.
    sigma : float
        Standard deviation of the noise in the diagonal, greater than 0.
    """
    freedom = len(diagonal) - 1
    if freedom < 1:
        return False
    entries = diagonal / sigma
    squares = max(float(((entries - entries.mean()) ** 2).sum()) - freedom, 0.0)
    total = squares + max(off_diagonal, 0.0) / sigma**2
    in_general_position = 2 / (len(diagonal) + 2) * total / freedom
    least = max(_LEAST_VARIANCE * in_general_position, _LEAST_OF_NOISE)
    mean = max(float(entries.mean()), 1 / math.sqrt(len(entries)))
    larger = [_log_likelihood(entries, mean, least * factor) for factor in _LARGER]
    log_odds = logsumexp(larger) - math.log(len(larger)) - _log_likelihood(entries, mean, least)
    return bool(log_odds > math.log(_LEAST_ODDS))


def _log_likelihood(entries: FloatArray, mean: float, variance: float) -> float:
    """Return the log density of draws from a gamma law plus noise of variance 1."""
    shape = mean**2 / variance
    ends = gammaincinv(shape, _PROBABILITIES) * (mean / shape)
    widths, noise = np.diff(ends), entries[:, None] - ends
    cumulated = ndtr(noise)
    is_wide = widths > _MIN_WIDTH
    of_intervals = (cumulated[:, :-1] - cumulated[:, 1:]) / np.where(is_wide, widths, 1)
    of_points = np.exp(-(noise[:, :-1] ** 2) / 2) / math.sqrt(2 * math.pi)
    densities = np.where(is_wide, of_intervals, of_points) @ np.diff(_PROBABILITIES)
    return float(np.log(np.maximum(densities, _TINY)).sum())


def choose_bases(
    noisy: Spectrum,
    *,
    sigma: float,
    bases: Sequence[PublicBasis],
    noise: str = "isometric",
) -> tuple[PublicBasis, ...]:
    """Return the bases, or none if the columns do not differ enough in variance.

    The choice is deterministic post-processing of the noisy matrix and costs no budget.

    Parameters
    ----------
    noisy : Spectrum
        Spectrum of A + E.
    sigma, noise
        Scale and shape of E, as in `dpcore.mechanisms.symmetric_gaussian_noise`.
    bases : sequence of PublicBasis
        A choice is made (`columns_differ`) if the only basis is `COLUMNS_WHERE_BETTER`.
    """
    sigma, bases = float(sigma), tuple(bases)
    if len(bases) != 1 or not bases[0].only_if_better or sigma == 0:
        return bases
    diagonal: FloatArray = np.diagonal(noisy.matrix).astype(np.float64)
    off_diagonal = off_diagonal_energy(noisy.matrix, sigma, noise=noise)
    return bases if columns_differ(diagonal, off_diagonal, sigma) else ()
