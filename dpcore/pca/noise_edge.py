"""Where the spectrum of pure noise ends."""

from __future__ import annotations

import math

import numpy as np

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

    Parameters
    ----------
    sigma : ndarray of shape (n_sites,)
        Noise standard deviation of each matrix that went into the average; one for central.
    weights : ndarray of shape (n_sites,)
        Weights of the average.
    n_features : int
    noise : {"triangle", "isometric", "wishart"}

    Returns
    -------
    float
        In units of the second moment.
    """
    together = math.sqrt(float(np.sum((weights * sigma) ** 2)))
    return _EDGES[noise] * math.sqrt(n_features) * together
