"""Markov chains with the matrix Bingham distribution as stationary distribution.

The density on D x K matrices V with orthonormal columns is proportional to exp(tr(V^T B V)) with
B = diag(b). Theorem: the rotation in `_rotate` leaves this distribution invariant. Proof:

1. Let r and s be the rows i and j of V. Rotating the coordinate plane (i, j) by theta,
   r' = cos(theta) r + sin(theta) s and s' = cos(theta) s - sin(theta) r (the last three lines of
   `_rotate`), is an orthogonal map: V keeps orthonormal columns and the uniform measure is
   invariant.
2. The exponent becomes const + kappa cos(2 theta - phi), where (kappa, phi) are the polar
   coordinates of (b_i - b_j) ((|r|^2 - |s|^2) / 2, r . s), variables `x` and `y`.
3. Given everything else, 2 theta therefore has the von Mises(phi, kappa) distribution (line
   `theta = ...`). Redrawing it is a Gibbs step along the orbit of a one-parameter group, which
   leaves the distribution invariant (Liu & Sabatti 2000, theorem 1).
4. Disjoint planes commute, so one vectorised call rotates many of them.

A rotation costs O(K), whereas rotating a column of V against a column of its complement costs O(D)
and needs the complement in memory. For a concentrated distribution, a plane with i <= K < j
redraws one of K (D - K) nearly independent coordinates, so a sweep pairs the leading coordinates
with all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.mechanisms.convergence import bulk_ess, rank_normalized_r_hat, tail_ess

_FIRST_CHECK = 64
_GROWTH = 1.25


@dataclass(frozen=True)
class ChainRun:
    """Result of a run: last states, energies and diagnostics of all chains.

    frames: Last states, shape (n_chains, n_features, n_components), with orthonormal columns up
        to rounding.
    energies: Values of tr(V^T B V) from the starts on, shape (n_chains, n_sweeps + 1).
    converged: Whether the diagnostics passed.
    r_hat, ess_bulk, ess_tail: Diagnostics of the second half of each trace.
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
    """Run one chain per start until the diagnostics pass or `max_sweeps` is reached.

    b: shape (n_features,), n_features >= 2, not all equal.
    n_components: Number from 1 to n_features - 1; fast for at most half of the features.
    starts: "random" or "mode", one per chain.
    """
    order = np.argsort(-b)
    b_sorted = b[order]
    n_features, n_chains = b.size, len(starts)
    # The coordinate is the first axis, so that a round copies long contiguous blocks.
    states = np.zeros((n_features, n_chains, n_components))
    for chain, start in enumerate(starts):
        # Like the target distribution, both starts are uniform within their subspace and
        # symmetric under sign changes of the coordinates. The rotations preserve both
        # symmetries, so no further moves are needed.
        rows = n_features if start == "random" else n_components
        states[:rows, chain] = uniform_frames(1, rows, n_components, rng)[0]

    trace = [_energy(b_sorted, states)]
    check = min(_FIRST_CHECK, max_sweeps)
    while True:
        for _ in range(check + 1 - len(trace)):
            sweep(b_sorted, states, rng)
            trace.append(_energy(b_sorted, states))
        energies = np.array(trace).T
        draws = energies[:, energies.shape[1] // 2 :]
        r_hat, bulk, tail = rank_normalized_r_hat(draws), bulk_ess(draws), tail_ess(draws)
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
    """Draw frames from the uniform (Haar) distribution, (n_frames, n_features, n_components)."""
    return orthonormalize(rng.standard_normal((n_frames, n_features, n_components)))


def orthonormalize(frames: FloatArray) -> FloatArray:
    """Return the Q factors of the frames, with the signs of the diagonal of R moved into Q.

    The sign convention makes the factor of a Gaussian matrix uniform, and it leaves a frame that
    is orthonormal up to rounding unchanged.
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
    n_components). The planes do not depend on the states, so every rotation and every sweep
    leaves the distribution invariant.
    """
    n_features, _, n_components = states.shape
    # Half of the sweeps use exactly n_components leading coordinates: for a concentrated
    # distribution only those planes move. The other sweeps use a random number: for a diffuse
    # distribution the energy depends on few coordinates, whose correlation decays faster when
    # they are rotated more often, and the other coordinates must be paired as well. Below four
    # planes per call, the overhead exceeds the arithmetic.
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
    """Rotate the planes (0, others[0]), (1, others[1]), ... in all chains, in place."""
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
