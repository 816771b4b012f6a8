"""Matrix Bingham distribution: orthonormal frames with density proportional to exp(tr(V^T B V)).

One direction is drawn exactly, by rejection (`sample_vector_bingham`). Several directions are
drawn by Markov chains (`dpcore.mechanisms.bingham_chains`), whose diagnostics are part of the
result.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.mechanisms.bingham_chains import (
    ChainRun,
    orthonormalize,
    run_chains,
    uniform_frames,
)


def sample_vector_bingham(
    eigenvalues: FloatArray, n_draws: int, *, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Draw unit vectors with density proportional to exp(sum_i b_i x_i^2), exactly.

    Rejection from an angular central Gaussian envelope (Kent, Ganeiber & Mardia 2018,
    "A new unified approach for the simulation of a wide class of directional distributions").
    With t = x^T B x, D features and any mu above every b_i, a normal vector of precision
    mu - b_i scaled to length 1 has density proportional to (mu - t)^(-D/2), and

        exp(t) <= exp(mu - D/2) (D/2)^(D/2) (mu - t)^(-D/2),

    so a proposal is accepted with probability exp(t) *times* (mu - t)^(D/2), divided by the
    maximum at t = mu - D/2. The best mu solves sum_i 1 / (2 (mu - b_i)) = 1.

    The acceptance rate is Gamma(D/2) (2e/D)^(D/2) f(1), where f is the density of the squared
    length of a normal vector with precision 2 (mu - b_i) and mean 1. The rate is 1 for equal
    eigenvalues and at worst (one eigenvalue above all others) 0.86 / sqrt(D).

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
        Share of the proposals that were accepted.
    """
    from scipy.optimize import brentq  # slow

    n_features = eigenvalues.size
    half = n_features / 2
    # Only differences matter. Relative to the maximum, mu is in [1/2, D/2] for every b.
    b = eigenvalues - eigenvalues.max()
    if n_features == 1:
        mu = half
    else:
        mu = brentq(lambda m: 0.5 * np.sum(1 / (m - b)) - 1, 0.5 * (1 - 1e-12), half * (1 + 1e-12))
    scale = 1 / np.sqrt(mu - b)

    accepted, n_accepted, n_proposed = [], 0, 0
    # Blocks of about a megabyte amortise the loop and waste few proposals.
    block = int(np.clip(2**17 // n_features, 1, 4 * n_draws + 64))
    while n_accepted < n_draws:
        proposals = rng.standard_normal((block, n_features)) * scale
        proposals /= np.linalg.norm(proposals, axis=1, keepdims=True)
        t = proposals**2 @ b
        log_acceptance = (t - mu + half) + half * np.log((mu - t) / half)
        passed = proposals[np.log1p(-rng.random(block)) < log_acceptance]
        accepted.append(passed)
        n_accepted += len(passed)
        n_proposed += block
    return np.concatenate(accepted)[:n_draws], n_accepted / n_proposed


METHODS = ("auto", "exact", "rotation")


@dataclass(frozen=True)
class BinghamDraw:
    """Draw from the matrix Bingham distribution, with diagnostics of the sampler.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features), orthonormal rows
        Last state of the first chain, which started at random.
    method : {"exact", "rotation"}
        "exact" draws have the exact distribution; "rotation" draws have it in the limit of long
        chains.
    converged : bool
        Whether R-hat and both effective sample sizes passed. Always True for "exact".
    r_hat : float
        Rank-normalised split R-hat of the energy over the second halves of the chains.
    ess_bulk, ess_tail : float
        Effective sample sizes of the same draws, all chains together.
    energies : ndarray of shape (n_chains, n_sweeps + 1)
        tr(V^T B V) of every chain from its start on for "rotation"; the value of the draw, shape
        (1, 1), for "exact".
    starts : tuple of {"random", "mode"}
        Start of each chain.
    n_sweeps : int
        Number of sweeps of each chain; 0 for "exact".
    states : ndarray of shape (n_chains, n_components, n_features)
        The last state of every chain; `states[0]` is `components`.
    acceptance : float
        Acceptance rate of the rejection sampler, 1 otherwise.
    seconds : float
        Wall time of the sampling.
    """

    components: FloatArray
    method: str
    converged: bool
    r_hat: float
    ess_bulk: float
    ess_tail: float
    energies: FloatArray
    starts: tuple[str, ...]
    n_sweeps: int
    states: FloatArray
    acceptance: float
    seconds: float


def sample_matrix_bingham(
    matrix: FloatArray,
    n_components: int,
    *,
    rng: np.random.Generator,
    method: str = "auto",
    n_chains: int = 4,
    max_r_hat: float = 1.05,
    min_ess: float = 50.0,
    max_sweeps: int = 20_000,
) -> BinghamDraw:
    """Draw an orthonormal frame with density proportional to exp(tr(V^T B V)).

    The density refers to the uniform distribution on frames. It depends only on the subspace, and
    the frame is uniform within its subspace. Chains run until the diagnostics of the energy pass,
    or until `max_sweeps`; then `converged` is False and the draw does not have the requested
    distribution. The diagnostics are computed in growing intervals over the second half of each
    chain. They use only the energy, so passing them is evidence and no proof.

    Used as the exponential mechanism with B = (n epsilon / 2) A, an exact draw is pure
    epsilon-DP (McSherry & Talwar 2007, theorem 6): the score n tr(V^T A V) changes by at most 1
    between replace-one neighbours with rows of norm at most 1, for every K.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric, or (n_features,)
        B, or its diagonal if B is diagonal. Eigenvalues of any sign; adding a multiple of the
        identity does not change the distribution.
    n_components : int
        Number of columns, from 1 to n_features.
    rng : numpy.random.Generator
    method : {"auto", "exact", "rotation"}
        "exact" exists if K is 1, D - 1 or D, or if all eigenvalues are equal. "auto" uses it
        wherever it exists, since the acceptance rate is at least 0.86 / sqrt(n_features). If
        K = D or all eigenvalues are equal, "rotation" uses the exact sampler, too.
    n_chains : int
        Number of chains, >= 2. The first half (rounded up) starts at a uniform frame, the others
        at the mode. Given the planes that the chains share, their last states are independent
        draws.
    max_r_hat, min_ess : float
        Limits of the diagnostics: rank-normalised split R-hat below `max_r_hat`, bulk and tail
        effective sample size over all chains not below `min_ess`. At 50, each of four chains has
        run about 25 correlation times of the energy before its last state.
    max_sweeps : int
        Limit on sweeps. A sweep rotates every other coordinate once with a leading one.

    Raises
    ------
    ParameterError
        If an argument is outside its range, the matrix is not square, symmetric and finite, or
        `method` is "exact" where no exact sampler exists.

    References
    ----------
    Hoff (2009), "Simulation of the matrix Bingham-von Mises-Fisher distribution", samples one
    column in each step; `dpcore.mechanisms.bingham_chains` derives the rotations used here.
    """
    _require_settings(method, n_chains, max_sweeps)
    started = time.perf_counter()
    b, basis = _diagonalize(matrix)
    n_features = b.size
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)

    chains = partial(
        run_chains,
        starts=_starts(n_chains),
        rng=rng,
        max_r_hat=max_r_hat,
        min_ess=min_ess,
        max_sweeps=max_sweeps,
    )
    draw = _draw(b, n_components, method, chains, rng)
    states = draw.states if basis is None else draw.states @ basis.T
    seconds = time.perf_counter() - started
    return replace(draw, components=states[0], states=states, seconds=seconds)


def _require_settings(method: str, n_chains: int, max_sweeps: int) -> None:
    require_one_of("method", method, METHODS)
    if n_chains < 2:
        raise ParameterError("n_chains", "at least 2", n_chains)
    if max_sweeps < 8:
        raise ParameterError("max_sweeps", "at least 8", max_sweeps)


def _draw(
    b: FloatArray,
    n_components: int,
    method: str,
    chains: partial[ChainRun],
    rng: np.random.Generator,
) -> BinghamDraw:
    """Draw for a diagonal matrix, by chains only where no exact sampler exists."""
    # A subspace of more than half of the dimensions is drawn through its smaller complement, which
    # has the Bingham distribution with -B.
    small = min(n_components, b.size - n_components)
    signed = b if small == n_components else -b
    is_uniform = small == 0 or np.ptp(b) == 0
    if method == "exact" and not (is_uniform or small == 1):
        raise ParameterError(
            "method", f"'auto' or 'rotation' for n_components={n_components}", method
        )
    run, acceptance = None, 1.0
    if is_uniform:
        frames = uniform_frames(1, b.size, n_components, rng)
    elif small == 1 and method != "rotation":
        directions, acceptance = sample_vector_bingham(signed, 1, rng=rng)
        frames = _from_small(directions[:, :, None], n_components, rng)
    else:
        run = chains(signed, small)
        frames = _from_small(run.frames, n_components, rng)
    if run is None:
        energies = np.einsum("d,cdk,cdk->c", b, frames, frames)[:, None]
    else:
        # tr(V^T B V) = tr B - tr(W^T B W) for a complement W.
        energies = run.energies + (0.0 if small == n_components else b.sum())
    states = frames.transpose(0, 2, 1)
    return BinghamDraw(
        components=states[0],
        method="exact" if run is None else "rotation",
        converged=run is None or run.converged,
        r_hat=1.0 if run is None else run.r_hat,
        ess_bulk=np.inf if run is None else run.ess_bulk,
        ess_tail=np.inf if run is None else run.ess_tail,
        energies=energies,
        starts=("random",) if run is None else chains.keywords["starts"],
        n_sweeps=energies.shape[1] - 1,
        states=states,
        acceptance=acceptance,
        seconds=0.0,
    )


def _diagonalize(matrix: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Return eigenvalues and eigenvectors (columns); no eigenvectors for a given diagonal."""
    matrix = np.asarray(matrix, dtype=float)
    if not np.isfinite(matrix).all():
        raise ParameterError("matrix", "finite", "a NaN or infinite entry")
    if matrix.ndim == 1 and matrix.size:
        return matrix, None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ParameterError("matrix", "of shape (D, D) or (D,)", matrix.shape)
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-9 * np.abs(matrix).max()):
        raise ParameterError("matrix", "symmetric", "an asymmetric one")
    return np.linalg.eigh(matrix)


def _starts(n_chains: int) -> tuple[str, ...]:
    n_random = (n_chains + 1) // 2
    return ("random",) * n_random + ("mode",) * (n_chains - n_random)


def _from_small(frames: FloatArray, n_components: int, rng: np.random.Generator) -> FloatArray:
    """Return the frames, or uniform frames of their complements if n_components is larger."""
    n_chains, _, small = frames.shape
    if small == n_components:
        return orthonormalize(frames)
    complete = np.linalg.qr(frames, mode="complete")[0][:, :, small:]
    return complete @ uniform_frames(n_chains, n_components, n_components, rng)
