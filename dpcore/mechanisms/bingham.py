"""The matrix Bingham law on orthonormal frames: density proportional to exp(tr(V^T B V)).

For one direction the draw is exact (`bingham_vector`). Otherwise it comes from Markov chains that
rotate pairs of coordinates, in the eigenbasis of B, where B = diag(b). Let r and s be the rows of
V that belong to coordinates i and j. Turning that coordinate plane by theta,

    r' = cos(theta) r + sin(theta) s,    s' = cos(theta) s - sin(theta) r,

keeps the columns of V orthonormal and the uniform measure as it is, and turns the exponent into
const + kappa cos(2 theta - phi), where (kappa, phi) are the polar coordinates of

    (b_i - b_j) ((|r|^2 - |s|^2) / 2,  r . s).

Given everything else 2 theta is therefore exactly von Mises(phi, kappa): a Gibbs step along the
orbit of a one-parameter group (Liu & Sabatti 2000). It costs O(K) where rotating a column of V
against a column of its complement costs O(D), stores no complement, and disjoint pairs commute,
so that many go at once. When the law is concentrated, turning a leading plane (i <= K < j)
redraws one of its K (D - K) nearly independent coordinates, which is why a sweep pairs leading
coordinates with all the others.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from dpcore.errors import ParameterError
from dpcore.mechanisms.bingham_vector import sample_vector_bingham
from dpcore.mechanisms.chains import bulk_ess, rank_normalized_r_hat, tail_ess

METHODS = ("auto", "exact", "rotation")
_FIRST_CHECK = 64
_GROWTH = 1.25


@dataclass(frozen=True)
class BinghamDraw:
    """A draw and what is known about how it was made.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features), orthonormal rows
        The draw: the last state of the first chain, which started at random.
    method : {"exact", "rotation"}
        "exact" draws have the law itself; "rotation" draws have it in the limit of long chains.
    converged : bool
        Whether R-hat and both effective sample sizes passed. Always True for "exact".
    r_hat : float
        Rank-normalised split R-hat of the energy over the second halves of the chains.
    ess_bulk, ess_tail : float
        Effective sample sizes of the same draws, all chains together.
    energies : ndarray of shape (n_chains, n_sweeps + 1)
        tr(V^T B V) of every chain from its start on, for "rotation"; of the draw alone, (1, 1),
        for "exact".
    starts : tuple of {"random", "mode"}
        Where each chain started.
    n_sweeps : int
        Sweeps that each chain ran; 0 for "exact".
    states : ndarray of shape (n_chains, n_components, n_features)
        The last state of every chain; `states[0]` is `components`.
    acceptance : float
        Share of proposals kept by the rejection sampler, 1 otherwise.
    seconds : float
        Wall time of the sampling.
    """

    components: np.ndarray
    method: str
    converged: bool
    r_hat: float
    ess_bulk: float
    ess_tail: float
    energies: np.ndarray
    starts: tuple[str, ...]
    n_sweeps: int
    states: np.ndarray
    acceptance: float
    seconds: float

    @property
    def n_warmup(self) -> int:
        """Sweeps at the beginning that the diagnostics leave out."""
        return self.n_sweeps // 2


def sample_matrix_bingham(
    matrix: np.ndarray,
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

    The density is with respect to the uniform law on frames; it depends on the subspace alone,
    and within its subspace the frame is uniform. Chains run until the diagnostics of the energy
    pass, looked at in growing intervals over the second half of each chain, or until
    `max_sweeps`; then `converged` is False and the draw's law is not the one asked for.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric, or (n_features,)
        B, or its eigenvalues where it is diagonal. Any sign; adding a multiple of the identity
        changes nothing.
    n_components : int
        In [1, n_features].
    rng : numpy.random.Generator
    method : {"auto", "exact", "rotation"}
        "exact" exists where the subspace or its complement is a line, where it is everything,
        and where all eigenvalues are equal; "auto" takes it wherever it exists.
    n_chains : int
        At least 2. The first half start at a uniform frame, the others at the mode.
    max_r_hat, min_ess : float
        What passes: rank-normalised split R-hat below the one, bulk and tail effective sample
        size over all chains of at least the other.
    max_sweeps : int
        A sweep rotates every coordinate outside the leading ones once with one of those.

    Raises
    ------
    ParameterError
        If an argument is outside its range, the matrix is not square, symmetric and finite, or
        `method` is "exact" where no exact sampler exists.

    References
    ----------
    Hoff (2009) gives the law's use in statistics and a Gibbs sampler over columns; the rotations
    are derived in this module's docstring.
    """
    if method not in METHODS:
        raise ParameterError("method", f"one of {', '.join(METHODS)}", method)
    if n_chains < 2:
        raise ParameterError("n_chains", "at least 2", n_chains)
    started = time.perf_counter()
    b, basis = _diagonalize(matrix)
    n_features = b.size
    if not 1 <= n_components <= n_features:
        raise ParameterError(
            "n_components", f"in [1, n_features={n_features}]", n_components
        )

    # A subspace of more than half of the dimensions is drawn through its complement, which is
    # Bingham with -B and smaller.
    small = min(n_components, n_features - n_components)
    signed = b if small == n_components else -b
    is_uniform = small == 0 or np.ptp(b) == 0
    if method == "exact" and not (is_uniform or small == 1):
        raise ParameterError(
            "method", f"'auto' or 'rotation' for n_components={n_components}", method
        )

    diagnostics = {"converged": True, "r_hat": 1.0, "ess_bulk": np.inf, "ess_tail": np.inf}
    trace, starts, acceptance, how = None, ("random",), 1.0, "exact"
    if is_uniform:
        frames = _uniform_frames(1, n_features, n_components, rng)
    elif small == 1 and method != "rotation":
        directions, acceptance = sample_vector_bingham(signed, 1, rng=rng)
        frames = _from_small(directions[:, :, None], n_components, rng)
    else:
        how, starts = "rotation", _starts(n_chains)
        states, trace, diagnostics = _run_chains(
            signed, small, starts, rng, max_r_hat, min_ess, max_sweeps
        )
        frames = _from_small(states, n_components, rng)
    if trace is None:
        trace = np.einsum("d,cdk,cdk->c", b, frames, frames)[:, None]
    elif small != n_components:
        trace = trace + b.sum()

    components = frames.transpose(0, 2, 1)
    if basis is not None:
        components = components @ basis.T
    return BinghamDraw(
        components=components[0],
        method=how,
        energies=trace,
        starts=starts,
        n_sweeps=trace.shape[1] - 1,
        states=components,
        acceptance=acceptance,
        seconds=time.perf_counter() - started,
        **diagnostics,
    )


def _diagonalize(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Eigenvalues in the order of the basis' columns; no basis for a diagonal given as such."""
    matrix = np.asarray(matrix, dtype=float)
    if not np.isfinite(matrix).all():
        raise ParameterError("matrix", "finite", "an entry that is not")
    if matrix.ndim == 1 and matrix.size:
        return matrix, None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ParameterError("matrix", "of shape (D, D) or (D,)", matrix.shape)
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-9 * np.abs(matrix).max()):
        raise ParameterError("matrix", "symmetric", "one that is not")
    return np.linalg.eigh(matrix)


def _starts(n_chains: int) -> tuple[str, ...]:
    n_random = (n_chains + 1) // 2
    return ("random",) * n_random + ("mode",) * (n_chains - n_random)


def _uniform_frames(
    n_frames: int, n_features: int, n_components: int, rng: np.random.Generator
) -> np.ndarray:
    """Frames from the uniform (Haar) law, (n_frames, n_features, n_components)."""
    return _orthonormalize(rng.standard_normal((n_frames, n_features, n_components)))


def _orthonormalize(frames: np.ndarray) -> np.ndarray:
    """QR with the signs of R's diagonal put back into Q.

    That makes the factor of a Gaussian matrix uniform, and leaves a frame that is orthonormal
    up to rounding where it is.
    """
    q, r = np.linalg.qr(frames)
    return q * np.where(np.diagonal(r, axis1=1, axis2=2) < 0, -1.0, 1.0)[:, None, :]


def _from_small(frames: np.ndarray, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """The frames themselves, or uniform frames of their complements where those are asked for."""
    n_chains, n_features, small = frames.shape
    if small == n_components:
        return _orthonormalize(frames)
    complete = np.linalg.qr(frames, mode="complete")[0][:, :, small:]
    return complete @ _uniform_frames(n_chains, n_components, n_components, rng)


def _run_chains(
    b: np.ndarray,
    n_components: int,
    starts: tuple[str, ...],
    rng: np.random.Generator,
    max_r_hat: float,
    min_ess: float,
    max_sweeps: int,
) -> tuple[np.ndarray, np.ndarray, dict[str, float | bool]]:
    """States (n_chains, n_features, n_components), energies and diagnostics."""
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
        states[:rows, chain] = _uniform_frames(1, rows, n_components, rng)[0]

    trace = [_energy(b_sorted, states)]
    check = min(_FIRST_CHECK, max_sweeps)
    while True:
        for _ in range(check + 1 - len(trace)):
            _sweep(b_sorted, states, rng)
            trace.append(_energy(b_sorted, states))
        energies = np.array(trace).T
        diagnostics = _diagnose(energies, max_r_hat, min_ess)
        if diagnostics["converged"] or check == max_sweeps:
            break
        check = min(int(check * _GROWTH), max_sweeps)
    frames = np.empty((n_chains, n_features, n_components))
    frames[:, order] = states.transpose(1, 0, 2)
    return frames, energies, diagnostics


def _energy(b: np.ndarray, states: np.ndarray) -> np.ndarray:
    return b @ np.vecdot(states, states)


def _diagnose(
    energies: np.ndarray, max_r_hat: float, min_ess: float
) -> dict[str, float | bool]:
    kept = energies[:, energies.shape[1] // 2 :]
    r_hat, bulk, tail = rank_normalized_r_hat(kept), bulk_ess(kept), tail_ess(kept)
    converged = r_hat < max_r_hat and min(bulk, tail) >= min_ess
    return {"converged": bool(converged), "r_hat": r_hat, "ess_bulk": bulk, "ess_tail": tail}


def _sweep(b: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> None:
    """Rotate every other coordinate once with a random leading one; b is descending."""
    n_features, _, n_components = states.shape
    # How many rows lead is drawn for each sweep. Where the law is concentrated every component
    # has to take part; where it is diffuse the energy hangs on fewer, and rotating those more
    # often halves its correlation time.
    least, most = n_components // 4 + 1, 2 * n_components + 8
    n_leading = min(int(least * (most / least) ** rng.random()), n_features // 2)
    others = n_leading + rng.permutation(n_features - n_leading)
    for begin in range(0, others.size, n_leading):
        _rotate(b, states, others[begin : begin + n_leading], rng)


def _rotate(
    b: np.ndarray, states: np.ndarray, others: np.ndarray, rng: np.random.Generator
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
