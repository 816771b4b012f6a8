"""Choice of public bases to denoise in, from noisy values only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.pca.assessment.gaps import smoothed_inverse_gaps
from dpcore.spectra import PublicBasis, Spectrum, slopes_in_columns

# Largest number of features for a choice: with more, it would take longer than the denoising.
_MOST_CHOSEN = 1024
# Largest number of features for which products of two vectors are included in the estimate. Their
# share is about 1 / n_features.
_FEW_FEATURES = 128

# Evidence, in standard errors, that columns differ in variance; and least squared coefficient of
# variation of their variances, at two standard errors above its estimate. Chosen on seven tables.
_LEAST_EVIDENCE, _LEAST_VARIATION = 3.0, 1.7


def columns_differ(diagonal: FloatArray, sigma: float, *, total: float | None = None) -> bool:
    """Return whether columns differ enough in variance for a variance profile to help.

    If directions are in general position, plain eigenvectors are optimal among equivariant
    estimators and a profile of the columns can only harm. The sum of squares of a noisy diagonal
    about its mean is sigma^2 chi^2 under equal variances. Its excess over that estimates how much
    the variances vary.

    Parameters
    ----------
    diagonal : ndarray of shape (n_features,)
        Diagonal of a noisy second moment, or of the average of several.
    sigma : float
        Standard deviation of the noise in it, greater than 0.
    total : float, optional
        Trace of the exact second moment, if public. Default: that of the noisy one.
    """
    freedom = len(diagonal) - 1
    if freedom < 1:
        return False
    squares = float(((diagonal - diagonal.mean()) ** 2).sum())
    level = (float(diagonal.sum()) if total is None else total) / len(diagonal)
    evidence = (squares / sigma**2 - freedom) / math.sqrt(2 * freedom)
    if evidence < _LEAST_EVIDENCE or level <= 0:
        return False
    variation = (squares / len(diagonal) - sigma**2) / level**2
    return variation * (1 + 2 / evidence) > _LEAST_VARIATION


def bases_worth(
    noisy: Spectrum,
    n_components: int,
    *,
    sigma: float,
    bases: Sequence[PublicBasis],
    noise: str = "isometric",
    total: float | None = None,
) -> tuple[PublicBasis, ...]:
    """Return the bases, or none if the noisy matrix indicates that more is captured without them.

    Columns are left out unless they differ in variance (`columns_differ`). Then the captured energy
    with and without them is estimated. For V(M), the leading eigenvectors of M = A + E or of
    the denoised M, tr(V M V^T) is biased upwards by tr(V E V^T). Stein's identity gives the mean of
    that bias from M: the variance of each entry of the noise times the derivative of the projector
    onto V,

        sum_{k <= K < l} sum_ij h_ij s_ij (v_ki^2 v_lj^2 + v_ki v_li v_kj v_lj) / (c_k - c_l),

    where h_ij are the slopes of denoising, 1 without it, and s_ij is twice the variance of E_ij off
    the diagonal and the variance on it. For isometric noise without denoising the sum is
    sigma^2 sum 1 / (c_k - c_l).

    The bases are left out if the captured energy without them is larger by more than the standard
    error of the difference, that of tr((V'^T V' - V^T V) E). Otherwise they are the better guess.

    The choice is deterministic post-processing of the noisy matrix and costs no budget.

    Parameters
    ----------
    noisy : Spectrum
        Spectrum of A + E.
    n_components : int
        K.
    sigma, noise
        Scale and shape of E, as in `dpcore.mechanisms.symmetric_gaussian_noise`.
    bases : sequence of PublicBasis
        A choice is made if the only basis is `COLUMNS_WHERE_BETTER`, for up to 1024 features.
    total : float, optional
        Trace of the exact second moment, if public.
    """
    n_features, sigma, bases = len(noisy.matrix), float(sigma), tuple(bases)
    if len(bases) != 1 or not bases[0].where_better or sigma == 0:
        return bases
    if not columns_differ(np.diagonal(noisy.matrix).astype(np.float64), sigma, total=total):
        return ()
    if not n_components < n_features <= _MOST_CHOSEN:
        return bases
    spread = np.full((n_features, n_features), sigma**2 * (1 if noise == "isometric" else 2))
    np.fill_diagonal(spread, sigma**2)
    slopes = slopes_in_columns(noisy.matrix, sigma, noise=noise)
    denoised = noisy.denoised(sigma, bases=bases, noise=noise)
    without = estimated_capture(noisy, noisy, n_components, spread, sigma)
    with_bases = estimated_capture(denoised, noisy, n_components, slopes * spread, sigma)
    components = [each.leading(n_components)[1].astype(np.float64) for each in (noisy, denoised)]
    difference = components[1].T @ components[1] - components[0].T @ components[0]
    error = math.sqrt(float(np.vdot(difference**2, spread)))
    return () if without - with_bases > error else bases


def estimated_capture(
    spectrum: Spectrum, noisy: Spectrum, n_components: int, spread: FloatArray, sigma: float
) -> float:
    """Return an estimate of tr(V A V^T) for the leading V of a spectrum computed from A + E.

    spread: h_ij s_ij, as in `bases_worth`.
    """
    n_features = len(spread)
    values, vectors = spectrum.leading(n_features)
    components, remaining = np.split(vectors.astype(np.float64), [n_components])
    response = components**2 @ spread @ (remaining**2).T
    if n_features <= _FEW_FEATURES:
        products = (components[:, None] * remaining).reshape(-1, n_features)
        response += np.einsum("pd,pd->p", products @ spread, products).reshape(response.shape)
    bias = response * smoothed_inverse_gaps(values, sigma)[:n_components, n_components:]
    captured = np.einsum("kd,kd->", components @ noisy.matrix, components)
    return float(captured - bias.sum())
