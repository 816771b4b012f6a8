"""One direction from the Bingham law, exactly, by rejection."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from dpcore.arrays import FloatArray


def sample_vector_bingham(
    eigenvalues: FloatArray, n_draws: int, *, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Unit vectors with density proportional to exp(sum_i b_i x_i^2), drawn exactly.

    Rejection from an angular central Gaussian envelope (Kent, Ganeiban & Mardia 2018,
    "A new unified approach for the simulation of a wide class of directional distributions").
    With t = x^T B x, D features and any mu above every b_i, a normal vector of precision
    mu - b_i scaled to length 1 has density proportional to (mu - t)^(-D/2), and

        exp(t) <= exp(mu - D/2) (D/2)^(D/2) (mu - t)^(-D/2),

    so that a proposal is kept with probability exp(t) *times* (mu - t)^(D/2), over its maximum,
    which is at t = mu - D/2. The best mu solves sum_i 1 / (2 (mu - b_i)) = 1.

    The share that is kept is Gamma(D/2) (2e/D)^(D/2) f(1), where f is the density of the squared
    length of a normal vector of precision 2 (mu - b_i), whose mean is 1. It is 1 for equal
    eigenvalues, and at worst (one eigenvalue above all others) 0.86 / sqrt(D): fair at any D
    that fits in memory.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_features,)
        b, in any order.
    n_draws : int
    rng : numpy.random.Generator

    Returns
    -------
    draws : ndarray of shape (n_draws, n_features), unit rows
    acceptance : float
        Share of the proposals that were kept.
    """
    n_features = eigenvalues.size
    half = n_features / 2
    # Only differences matter. Measured from the top, mu is in [1/2, D/2] however large b is.
    b = eigenvalues - eigenvalues.max()
    if n_features == 1:
        mu = half
    else:
        mu = brentq(lambda m: 0.5 * np.sum(1 / (m - b)) - 1, 0.5 * (1 - 1e-12), half * (1 + 1e-12))
    scale = 1 / np.sqrt(mu - b)

    kept, n_kept, n_proposed = [], 0, 0
    # Blocks of about a megabyte: large enough to hide the loop, small enough to waste little.
    block = int(np.clip(2**17 // n_features, 1, 4 * n_draws + 64))
    while n_kept < n_draws:
        proposals = rng.standard_normal((block, n_features)) * scale
        proposals /= np.linalg.norm(proposals, axis=1, keepdims=True)
        t = proposals**2 @ b
        log_keep = (t - mu + half) + half * np.log((mu - t) / half)
        accepted = proposals[np.log1p(-rng.random(block)) < log_keep]
        kept.append(accepted)
        n_kept += len(accepted)
        n_proposed += block
    return np.concatenate(kept)[:n_draws], n_kept / n_proposed
