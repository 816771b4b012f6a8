"""Denoising of a vector, such as the private mean of pictures, in a public basis."""

from __future__ import annotations

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.spectra.public_bases import PublicBasis

_HEIGHTS = 40


def denoise_mean(noisy: FloatArray, sigma: float, basis: PublicBasis) -> FloatArray:
    """Return the posterior mean of a vector that is smooth in a public basis, given a noisy copy.

    The entries in the basis are modelled as N(0, alpha g_i) and their noise as N(0, sigma^2). alpha
    and the curve g maximise the likelihood on a grid. The result is post-processing of `noisy`.

    Parameters
    ----------
    noisy : ndarray of shape (n_features,)
    sigma : float
        Standard deviation of the noise in each entry.
    basis : PublicBasis
        Basis with frequencies. Squares are expected to fall like a power of them.

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
    entries: FloatArray = np.asarray(noisy, dtype=np.float64)
    for factor in reversed(basis.factors):
        entries = (factor @ entries.reshape(-1, factor.shape[1]).T).ravel()
    grouping, sizes, shapes, of_vectors = basis.curves
    squares, variance = grouping @ entries**2, sigma**2
    # Heights range from far below the noise to the sum of all squares.
    most = max(float(squares.sum()), variance)
    heights = np.geomspace(variance / len(noisy), most, _HEIGHTS)
    expected = variance + heights[:, None, None] * shapes
    misfit = (sizes * np.log(expected) + squares / expected).sum(axis=2)
    height, curve = np.unravel_index(int(np.argmin(misfit)), misfit.shape)
    signal = heights[height] * of_vectors[curve]
    entries = entries * (signal / (signal + variance))
    for factor in reversed(basis.factors):
        entries = (factor.T @ entries.reshape(-1, len(factor)).T).ravel()
    return entries
