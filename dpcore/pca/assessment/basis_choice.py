"""Choice of public bases to denoise in, from noisy values only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from dpcore.arrays import FloatArray
from dpcore.spectra import PublicBasis, Spectrum

# Chance that equal variances are said to differ.
_ERROR_RATE = 1e-3
# Least share of the energy about the mean variance that is on the diagonal, in units of the share
# in general position, at a number of standard errors below its estimate. Chosen on twenty tables.
_LEAST_SHARE, _CAUTION = 2.0, 1.0


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
    whatever the eigenvalues are. Columns differ if

    - noise in equal variances explains the differences with a chance of less than 1 in 1000, and
    - the share on the diagonal exceeds twice that of general position, if the sum of squares on the
      diagonal is taken at one standard error below its estimate.

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
    of_noise_and_signal = float(((diagonal - diagonal.mean()) ** 2).sum()) / sigma**2
    if chdtrc(freedom, of_noise_and_signal) > _ERROR_RATE:
        return False
    squares = of_noise_and_signal - freedom
    surely = squares - _CAUTION * math.sqrt(2 * freedom + 4 * squares)
    in_general_position = 2 / (len(diagonal) + 2)
    total = squares + max(off_diagonal, 0.0) / sigma**2
    return surely > _LEAST_SHARE * in_general_position * total


def bases_worth(
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
    if len(bases) != 1 or not bases[0].where_better or sigma == 0:
        return bases
    diagonal: FloatArray = np.diagonal(noisy.matrix).astype(np.float64)
    off_diagonal = off_diagonal_energy(noisy.matrix, sigma, noise=noise)
    return bases if columns_differ(diagonal, off_diagonal, sigma) else ()
