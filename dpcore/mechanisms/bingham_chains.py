"""Markov chains over orthonormal frames with a matrix Bingham law, by rotating planes.

The law's density is proportional to exp(tr(V^T B V)) with B = diag(b). Let r and s be the rows of
V that belong to coordinates i and j. Turning that coordinate plane by theta,

    r' = cos(theta) r + sin(theta) s,    s' = cos(theta) s - sin(theta) r,

keeps the columns of V orthonormal and the uniform measure as it is, and turns the exponent into
const + kappa cos(2 theta - phi), where (kappa, phi) are the polar coordinates of

    (b_i - b_j) ((|r|^2 - |s|^2) / 2,  r . s).

Given everything else 2 theta is therefore exactly von Mises(phi, kappa): a Gibbs step along the
orbit of a one-parameter group (Liu & Sabatti 2000). It costs O(K) where rotating a column of V
against a column of its complement costs O(D), stores no complement, and disjoint planes commute,
so that many turn at once. When the law is concentrated, turning a plane i <= K < j redraws one
of its K (D - K) nearly independent coordinates, which is why a sweep pairs leading coordinates
with all the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.mechanisms.chains import bulk_ess, rank_normalized_r_hat, tail_ess

_FIRST_CHECK = 64
_GROWTH = 1.25


@dataclass(frozen=True)
class ChainRun:
    """Where the chains ended, how they went, and whether they agree.

    frames: shape (n_chains, n_features, n_components). Last states, orthonormal columns up to
        rounding.
    energies: shape (n_chains, n_sweeps + 1). tr(V^T B V), from the starts on.
    r_hat, ess_bulk, ess_tail: Over the second half of each trace.
    """

    frames: FloatArray
    energies: FloatArray
    converged: bool
    r_hat: float
    ess_bulk: float
    ess_tail: float


def run_chains(
    b: FloatArray,
    n_components: int,
    starts: tuple[str, ...],
    *,
    rng: np.random.Generator,
    max_r_hat: float,
    min_ess: float,
    max_sweeps: int,
) -> ChainRun:
    """Run one chain a start ("random" or "mode") until the diagnostics pass or sweeps run out.

    b: shape (n_features,). At least 2 of them, not all equal.
    n_components: In [1, n_features - 1]; meant for at most half of the features.
    """
    order = np.argsort(-b)
    b_sorted = b[order]
    n_features, n_chains = b.size, len(starts)
    # Rows first, so that gathering the coordinates of a round copies long contiguous runs.
    states = np.zeros((n_features, n_chains, n_components))
    for chain, start in enumerate(starts):
        # Both starts are uniform within their subspace and symmetric under sign changes of the
        # coordinates, as the law is; the rotations keep both symmetries, so none has to be
        # restored by further moves.
        rows = n_features if start == "random" else n_components
        states[:rows, chain] = uniform_frames(1, rows, n_components, rng)[0]

    trace = [_energy(b_sorted, states)]
    check = min(_FIRST_CHECK, max_sweeps)
    while True:
        for _ in range(check + 1 - len(trace)):
            sweep(b_sorted, states, rng)
            trace.append(_energy(b_sorted, states))
        energies = np.array(trace).T
        kept = energies[:, energies.shape[1] // 2 :]
        r_hat, bulk, tail = rank_normalized_r_hat(kept), bulk_ess(kept), tail_ess(kept)
        converged = r_hat < max_r_hat and min(bulk, tail) >= min_ess
        if converged or check == max_sweeps:
            break
        check = min(int(check * _GROWTH), max_sweeps)
    frames = np.empty((n_chains, n_features, n_components))
    frames[:, order] = states.transpose(1, 0, 2)
    return ChainRun(frames, energies, converged, r_hat, bulk, tail)


def uniform_frames(
    n_frames: int, n_features: int, n_components: int, rng: np.random.Generator
) -> FloatArray:
    """Frames from the uniform (Haar) law, (n_frames, n_features, n_components)."""
    return orthonormalize(rng.standard_normal((n_frames, n_features, n_components)))


def orthonormalize(frames: FloatArray) -> FloatArray:
    """QR with the signs of R's diagonal put back into Q.

    That makes the factor of a Gaussian matrix uniform, and leaves a frame that is orthonormal
    up to rounding where it is.
    """
    q, r = np.linalg.qr(frames)
    signed: FloatArray = q * np.where(np.diagonal(r, axis1=1, axis2=2) < 0, -1.0, 1.0)[:, None, :]
    return signed


def _energy(b: FloatArray, states: FloatArray) -> FloatArray:
    energy: FloatArray = b @ np.vecdot(states, states)
    return energy


def sweep(b: FloatArray, states: FloatArray, rng: np.random.Generator) -> None:
    """Rotate every other coordinate once with a random leading one, in all chains, in place.

    `b` is descending, of shape (n_features,); `states` has shape (n_features, n_chains,
    n_components). The planes do not depend on the states, so that every rotation, and with it
    the sweep, leaves the law as it is.
    """
    n_features, _, n_components = states.shape
    # In every other sweep exactly the components lead: those planes are all that moves where the
    # law is concentrated, and any other number would leave some of them to detours. In between
    # the number is random: where the law is diffuse its energy hangs on few coordinates, which
    # forget sooner when rotated more often, and the others have to meet as well. Fewer than four
    # at a time cost more in calls than in arithmetic.
    if rng.random() < 0.5:
        n_leading = n_components
    else:
        least, most = max(4, n_components // 8), 2 * n_components + 8
        n_leading = int(least * (most / least) ** rng.random())
    n_leading = min(n_leading, n_features // 2)
    others = n_leading + rng.permutation(n_features - n_leading)
    for begin in range(0, others.size, n_leading):
        _rotate(b, states, others[begin : begin + n_leading], rng)


def _rotate(
    b: FloatArray, states: FloatArray, others: FloatArray, rng: np.random.Generator
) -> None:
    """Turn the planes (0, others[0]), (1, others[1]), ... in all chains, in place."""
    leading = states[: others.size]
    trailing = states[others]
    gap = (b[: others.size] - b[others])[:, None]
    x = gap * (np.vecdot(leading, leading) - np.vecdot(trailing, trailing)) / 2
    y = gap * np.vecdot(leading, trailing)
    theta = rng.vonmises(np.arctan2(y, x), np.hypot(x, y)) / 2
    cosine, sine = np.cos(theta)[..., None], np.sin(theta)[..., None]
    states[others] = cosine * trailing - sine * leading
    leading *= cosine
    leading += sine * trailing
