"""Where the spectrum of pure noise ends."""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray

# Chance that more components are said to stand out than do, and the quantile of the Tracy-Widom
# law of the Gaussian orthogonal ensemble (beta = 1) that noise exceeds with this chance.
ERROR_RATE = 0.01
_TRACY_WIDOM = 2.0234
# Edges of the spectrum in units of sqrt(D) sigma: twice the standard deviation of an entry off the
# diagonal, and for a Wishart difference that of the free difference of two Poisson laws of rate 1
# (Nica & Speicher 1998, "Commutators of free random variables": the tetilla law).
_EDGES = {"triangle": 2.0, "isometric": math.sqrt(2), "wishart": math.sqrt((11 + 5 * 5**0.5) / 8)}


def noise_edge(sigma: np.ndarray, weights: np.ndarray, n_features: int, *, noise: str) -> float:
    """Largest eigenvalue that noise alone would give the averaged matrix, about.

    A symmetric matrix with independent off-diagonal entries of standard deviation s has its
    eigenvalues within 2 sqrt(D) s of zero as D grows (Wigner's semicircle law; the diagonal does
    not matter in the limit). Eigenvalues of a noisy second moment that don't rise above it say
    nothing about the data.

    sigma: shape (n_sites,). Noise standard deviation of each matrix that went into the average; one
        for central.
    weights: shape (n_sites,). Weights of the average.
    noise: {"triangle", "isometric", "wishart"}
    Returns: In units of the second moment.
    """
    together = math.sqrt(float(np.sum((weights * sigma) ** 2)))
    return _EDGES[noise] * math.sqrt(n_features) * together


def off_diagonal_sigma(sigma: float, noise: str) -> float:
    """Standard deviation off the diagonal of symmetric noise of this scale and shape."""
    return sigma / math.sqrt(2) if noise == "isometric" else sigma


def n_above_noise(eigenvalues: FloatArray, sigma: float, *, noise: str) -> int:
    """How many leading eigenvalues of a noisy second moment noise alone would not have given.

    Were A of rank k, eigenvalue k + 1 of A + E would be at most the largest of E on the D - k
    directions that A leaves (Courant & Fischer), whose law is Tracy and Widom's: mean edge
    2 sqrt(n) s, spread s n^(-1/6), s the standard deviation off the diagonal. So k is raised while
    eigenvalue k + 1 exceeds what such noise exceeds once in a hundred, and the number found is too
    large with at most that chance. It is measured from the mean of the eigenvalues that are left,
    if that is above 0: variance that is the same in every direction singles out none.

    eigenvalues: shape (n_features,)
    noise: {"triangle", "isometric"}. The quantile is above the exact one at every size, for
        triangle noise by more.
    """
    descending = np.sort(eigenvalues)[::-1]
    left = np.arange(len(descending), 0, -1)
    floor = np.maximum(np.cumsum(descending[::-1])[::-1] / left, 0)
    reach = off_diagonal_sigma(sigma, noise) * (2 * np.sqrt(left) + _TRACY_WIDOM * left ** (-1 / 6))
    # A single direction that is left is its own floor and stands out of nothing.
    return int(np.argmin(np.append(descending - floor > reach, False)))
