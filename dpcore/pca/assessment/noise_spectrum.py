"""Spectrum of pure noise: its edge, and the number of eigenvalues that exceed it."""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray

# Chance that `n_above_noise` is too large, and the quantile of the Tracy-Widom law of the Gaussian
# orthogonal ensemble (beta = 1) that noise exceeds with this chance.
ERROR_RATE = 0.01
_TRACY_WIDOM = 2.0234
# Edges of the spectrum in units of sqrt(D) sigma: twice the standard deviation of an entry off the
# diagonal, and for a Wishart difference that of the free difference of two Poisson laws of rate 1
# (Nica & Speicher 1998, "Commutators of free random variables": the tetilla law).
_EDGES = {"triangle": 2.0, "isometric": math.sqrt(2), "wishart": math.sqrt((11 + 5 * 5**0.5) / 8)}


def noise_edge(sigma: np.ndarray, weights: np.ndarray, n_features: int, *, noise: str) -> float:
    """Return the approximate largest eigenvalue of an average of matrices that contain only noise.

    A symmetric matrix with independent off-diagonal entries of standard deviation s has its
    eigenvalues within 2 sqrt(D) s of zero as D grows (Wigner's semicircle law; the diagonal does
    not matter in the limit). Smaller eigenvalues of a noisy second moment carry no information
    about the data.

    sigma: shape (n_sites,). Noise standard deviation of each matrix in the average; one for
        central.
    weights: shape (n_sites,). Weights of the average.
    noise: {"triangle", "isometric", "wishart"}
    Returns: Edge in units of the second moment.
    """
    sigma_of_average = math.sqrt(float(np.sum((weights * sigma) ** 2)))
    return _EDGES[noise] * math.sqrt(n_features) * sigma_of_average


def off_diagonal_sigma(sigma: float, noise: str) -> float:
    """Return the standard deviation off the diagonal of symmetric noise of this scale and shape."""
    return sigma / math.sqrt(2) if noise == "isometric" else sigma


def n_above_noise(eigenvalues: FloatArray, sigma: float, *, noise: str) -> int:
    """Return the number of leading eigenvalues that exceed the noise.

    If A has rank k, eigenvalue k + 1 of A + E is at most the largest of E on the D - k directions
    orthogonal to A (Courant & Fischer), which follows the Tracy-Widom law: mean edge 2 sqrt(n) s,
    spread s n^(-1/6), s the standard deviation off the diagonal. So k is raised while eigenvalue k
    + 1 exceeds the 99 % quantile, and the result is too large in at most 1 % of releases. The
    quantile is measured from the mean of the remaining eigenvalues, if that is above 0, because
    equal variance in all directions singles out none.

    eigenvalues: shape (n_features,)
    noise: {"triangle", "isometric"}. The quantile is above the exact one at every size, for
        triangle noise by more.
    """
    descending = np.sort(eigenvalues)[::-1]
    n_remaining = np.arange(len(descending), 0, -1)
    mean_of_remaining = np.cumsum(descending[::-1])[::-1] / n_remaining
    edge = 2 * np.sqrt(n_remaining) + _TRACY_WIDOM * n_remaining ** (-1 / 6)
    exceeds = (
        descending - np.maximum(mean_of_remaining, 0) > off_diagonal_sigma(sigma, noise) * edge
    )
    # False at the end, so that argmin finds one if all exceed.
    return int(np.argmin(np.append(exceeds, False)))
