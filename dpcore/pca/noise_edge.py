"""Where the spectrum of pure noise ends."""

from __future__ import annotations

import math

import numpy as np


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
    noise : {"triangle", "isometric"}

    Returns
    -------
    float
        In units of the second moment.
    """
    off_diagonal = math.sqrt(float(np.sum((weights * sigma) ** 2)))
    if noise == "isometric":
        off_diagonal /= math.sqrt(2)
    return 2 * math.sqrt(n_features) * off_diagonal
