"""The matrix Bingham law on orthonormal frames, sampled by Markov chains.

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

The matrix Bingham law on orthonormal frames: density proportional to exp(tr(V^T B V)).

One direction is drawn exactly, by rejection; several by Markov chains
(`bingham_chains`), which say whether they converged.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError, require_one_of

# Markov chains over orthonormal frames with a matrix Bingham law, by rotating planes.

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


# The matrix Bingham law on orthonormal frames: density proportional to exp(tr(V^T B V)).


def sample_vector_bingham(
    eigenvalues: FloatArray, n_draws: int, *, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Unit vectors with density proportional to exp(sum_i b_i x_i^2), drawn exactly.

    Rejection from an angular central Gaussian envelope (Kent, Ganeiber & Mardia 2018,
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


METHODS = ("auto", "exact", "rotation")


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

    @property
    def n_warmup(self) -> int:
        """Entries at the beginning of each trace that the diagnostics leave out."""
        return int(self.energies.shape[1] // 2)


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

    The density is with respect to the uniform law on frames; it depends on the subspace alone,
    and within its subspace the frame is uniform. Chains run until the diagnostics of the energy
    pass, looked at in growing intervals over the second half of each chain, or until
    `max_sweeps`; then `converged` is False and the draw's law is not the one asked for. They
    watch nothing but the energy, and passing them is evidence, not proof.

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
        and where all eigenvalues are equal; "auto" takes it wherever it exists, since at least
        0.86 / sqrt(n_features) of the proposals are kept. In the last two cases there is
        nothing to run chains for, so that "rotation" takes it too.
    n_chains : int
        At least 2. The first half (rounded up) start at a uniform frame, the others at the mode.
        Their last states are independent draws given the planes they share, so that many chains
        are many draws.
    max_r_hat, min_ess : float
        What passes: rank-normalised split R-hat below the one, bulk and tail effective sample
        size over all chains of at least the other. At 50, four chains have each run some 25
        correlation times of the energy by the time of their last state.
    max_sweeps : int
        A sweep rotates every coordinate outside the leading ones once with one of those.

    Raises
    ------
    ParameterError
        If an argument is outside its range, the matrix is not square, symmetric and finite, or
        `method` is "exact" where no exact sampler exists.

    References
    ----------
    Hoff (2009), "Simulation of the matrix Bingham-von Mises-Fisher distribution", samples one
    column at a time; the rotations used instead are derived in `bingham_chains`.
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
    """A draw for a diagonal matrix, by chains where nothing quicker is exact."""
    # A subspace of more than half of the dimensions is drawn through its complement, which is
    # Bingham with -B and smaller.
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


def _from_small(frames: FloatArray, n_components: int, rng: np.random.Generator) -> FloatArray:
    """The frames themselves, or uniform frames of their complements where those are asked for."""
    n_chains, _, small = frames.shape
    if small == n_components:
        return orthonormalize(frames)
    complete = np.linalg.qr(frames, mode="complete")[0][:, :, small:]
    return complete @ uniform_frames(n_chains, n_components, n_components, rng)


# Diagnostics of Markov chains: split R-hat and effective sample size.
#
# Split R-hat and effective sample size after Vehtari, Gelman, Simpson, Carpenter and Buerkner
# (2021), "Rank-normalization, folding, and localization: an improved R-hat for assessing
# convergence of MCMC", Bayesian Analysis 16(2). Everywhere, `draws` holds one scalar quantity:
# an ndarray of shape (n_chains, n_draws), one row a chain, at least 4 draws long.
#
# `arviz-stats` is the oracle of the tests. It does not take this file's place: it wants two chains
# where the halves of one are enough, gives NaN where nothing moves, halves the last pair of a sum
# that reaches the end of the chain, and takes 51 ms where 35 do for 16 chains of 2,048 draws.


def split_chains(draws: FloatArray) -> FloatArray:
    """Each chain cut in two: (2 n_chains, n_draws // 2). The middle of an odd chain is dropped."""
    draws = np.asarray(draws, dtype=float)
    if draws.ndim != 2 or draws.shape[1] < 4:
        raise ParameterError("draws", "of shape (n_chains, n_draws >= 4)", draws.shape)
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def rank_normalize(draws: FloatArray) -> FloatArray:
    """Normal scores of the ranks over all chains, ties averaged (equation 14)."""
    # Takes longer to import than this whole package, and only diagnostics need it.
    from scipy.stats import rankdata

    ranks = rankdata(draws, method="average").reshape(draws.shape)
    scores: FloatArray = ndtri((ranks - 3 / 8) / (draws.size + 1 / 4))
    return scores


def split_r_hat(draws: FloatArray) -> float:
    """Split R-hat of `draws` (n_chains, n_draws) as they are (equations 1 to 4), without ranks.

    Near 1 when every half-chain tells the same story. 1 if nothing moves and all agree,
    infinite if the chains stand still in different places.
    """
    return _r_hat(split_chains(draws))


def rank_normalized_r_hat(draws: FloatArray) -> float:
    """The larger of the bulk and the folded (tail) rank-normalised split R-hat (section 4.1).

    Of `draws` (n_chains, n_draws). Being built on ranks it sees chains that differ in scale only,
    and needs no finite variance.
    """
    halves = split_chains(draws)
    folded = np.abs(halves - np.median(halves))
    return max(_r_hat(rank_normalize(halves)), _r_hat(rank_normalize(folded)))


def effective_sample_size(draws: FloatArray) -> float:
    """Independent draws that would estimate the mean as well as all the chains together.

    Autocorrelations combine within and between-chain variance (equation 10) over split chains,
    and their sum is cut by Geyer's initial monotone sequence. Antithetic chains can be worth
    more than their length; the estimate is capped at S log10(S) for S draws, as in Stan.
    """
    return _ess(split_chains(draws))


def bulk_ess(draws: FloatArray) -> float:
    """Effective sample size of the rank-normalised draws (section 4.1)."""
    return _ess(rank_normalize(split_chains(draws)))


def tail_ess(draws: FloatArray) -> float:
    """The smaller effective sample size of the indicators below two quantiles, 5 % and 95 %.

    Of `draws` (n_chains, n_draws).
    """
    halves = split_chains(draws)
    return min(_ess((halves <= q).astype(float)) for q in np.quantile(halves, [0.05, 0.95]))


def _r_hat(chains: FloatArray) -> float:
    length = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    between = chains.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else np.inf
    return float(np.sqrt((length - 1) / length + between / within))


def _ess(chains: FloatArray) -> float:
    n_chains, length = chains.shape
    total = n_chains * length
    autocovariance = _autocovariance(chains).mean(axis=0)
    within = autocovariance[0] * length / (length - 1)
    variance = autocovariance[0] + chains.mean(axis=1).var(ddof=1)
    if within == 0:
        # Chains that stand still: one draw's worth of information each if they disagree.
        return float(total if variance == 0 else n_chains)
    correlation = 1 - (within - autocovariance) / variance
    correlation[0] = 1.0
    # Geyer (1992): sums of adjacent pairs are positive and decreasing for a reversible chain,
    # so noise is cut off at the first negative one and never allowed to rise again.
    pairs = correlation[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    stop = negative[0] if negative.size else pairs.size
    pairs = np.minimum.accumulate(pairs[:stop])
    # The even-lag correlation just past the cut reduces the bias for antithetic chains (Stan).
    beyond = max(correlation[2 * stop], 0.0) if 2 * stop < length else 0.0
    time = max(2 * pairs.sum() - 1 + beyond, 1 / np.log10(total))
    return float(total / time)


def _autocovariance(chains: FloatArray) -> FloatArray:
    """Biased (divided by the length) autocovariance of each chain at every lag."""
    length = chains.shape[1]
    # At least twice the length, so that the ends do not wrap around onto each other.
    padded = 1 << (2 * length - 1).bit_length()
    spectrum = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), padded, axis=1)
    lags: FloatArray = np.fft.irfft(np.abs(spectrum) ** 2, padded, axis=1)[:, :length] / length
    return lags
