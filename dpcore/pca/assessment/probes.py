"""Answers of the holders of noisy matrices, whose response to noise is measured by probes.

A denoised or cut matrix is a function f of the noisy one. Fresh noise of the same law, a probe, is
added in a small step; the response of f gives the bias of the captured energy by Stein's lemma.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.ndimage import uniform_filter1d

from dpcore.arrays import FloatArray, IntArray
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.assessment.gaps import NEIGHBOURS, smoothed_inverse_gaps
from dpcore.spectra import PublicBasis, Spectrum, denoise

# Step along a probe, in units of the noise. Its square is the error of the difference quotient.
_STEP = 0.02
# Number of probes of all parts together, times the number of features; its limits; and the least
# number of one part.
_FEATURES_PROBED, _PROBES, _PROBES_OF_PART = 2048, (8, 32), 4
# Number of leading ranks with separate answers: 3 K + 24.
_RANKS, _MORE_RANKS = 3, 24
# Growth of the blocks of ranks within which phi is averaged.
_BLOCK_GROWTH = 1.35


@dataclass(frozen=True, eq=False)
class NoisyMean:
    """Released mean whose outer product was subtracted from the second moment.

    value: shape (n_features,). The released mean.
    sigma: Standard deviation of the noise in each of its entries.
    """

    value: FloatArray
    sigma: float


@dataclass(frozen=True, eq=False)
class NoisyPart:
    """Noisy second moment that is part of an average.

    noisy: shape (n_features, n_features). M_s.
    sigma: Standard deviation of its noise.
    weight: w_s.
    mean: Noisy mean whose outer product was subtracted; if there is one, this is the only part.
    """

    noisy: FloatArray
    sigma: float
    weight: float = 1.0
    mean: NoisyMean | None = None


@dataclass(frozen=True, eq=False)
class SiteQuery:
    """Data that a holder needs for an answer, in addition to its own noisy matrix.

    vectors: shape (n_features, n_features). Eigenvectors of the average as rows, components first.
    eigenvalues: shape (n_features,)
    sigma: Noise in an entry of the average before denoising and cuts.
    n_components: K.
    bases: Bases of the denoising; empty without it.
    intermediate_dim: R of the messages, ranked by value; None without a cut.
    noise: {"triangle", "isometric"}
    n_parts: Number of parts.
    diagonal_of_average: Noisy diagonal to which the columns' variances were fitted, if shared.
    """

    vectors: FloatArray
    eigenvalues: FloatArray
    sigma: float
    n_components: int
    bases: tuple[PublicBasis, ...] = ()
    intermediate_dim: int | None = None
    noise: str = "isometric"
    n_parts: int = 1
    diagonal_of_average: FloatArray | None = None

    @property
    def n_features(self) -> int:
        return len(self.eigenvalues)

    @property
    def n_probes(self) -> int:
        """Return the number of probes of each part.

        Fewer are needed with many features, whose sums are averages already, and with many parts,
        whose errors average out.
        """
        of_all_parts = int(np.clip(_FEATURES_PROBED // self.n_features, *_PROBES))
        return max(math.ceil(of_all_parts / self.n_parts), _PROBES_OF_PART)

    @cached_property
    def n_ranks(self) -> int:
        """Return the number of leading ranks with separate answers."""
        return min(self.n_features, _RANKS * self.n_components + _MORE_RANKS)

    @cached_property
    def blocks(self) -> IntArray:
        """Return the first rank of each block; phi is averaged over pairs of blocks."""
        return rank_edges(self.n_features, 1, _BLOCK_GROWTH, through=self.n_ranks)[:-1]

    @cached_property
    def inverse_gaps(self) -> FloatArray:
        """Return 1 / (c_i - c_j), shape (n_ranks, n_features)."""
        return smoothed_inverse_gaps(self.eigenvalues, self.sigma)[: self.n_ranks]

    @cached_property
    def squared_inverse_gaps(self) -> FloatArray:
        """Return the squared inverse gaps averaged over ranks, 0 for j <= i.

        Shape (n_ranks, n_features).
        """
        squares, expected = self.inverse_gaps**2, np.zeros(self.inverse_gaps.shape)
        for distance in range(1, self.n_features):
            diagonal = np.diagonal(squares, distance)
            i = np.arange(len(diagonal))
            expected[i, i + distance] = uniform_filter1d(
                diagonal, 2 * NEIGHBOURS + 1, mode="nearest"
            )
        return expected


@dataclass(frozen=True, eq=False)
class SiteAnswer:
    """A holder's part of an assessment, computed from its noisy matrix and the query.

    energies: shape (n_ranks,). Its part of v_i^T A v_i.
    responses: shape (n_blocks_of_ranks, n_blocks). phi_ij, the mean of each block of pairs.
    disagreement: Variance of phi_ij between sets of probes, of the same shape.
    total: Its part of the energy of all directions.
    variance: Variance of its noise in the average; public.
    """

    energies: FloatArray
    responses: FloatArray
    disagreement: FloatArray
    total: float
    variance: float


def answer(part: NoisyPart, query: SiteQuery, *, rng: np.random.Generator) -> SiteAnswer:
    """Return a holder's part of an assessment.

    This is post-processing of the part's noisy matrix and has the same (epsilon, delta).

    rng: Generator of the probes, which hide nothing and may be public.
    """
    n_probes, shape = query.n_probes, query.inverse_gaps.shape
    products, squares = np.zeros(shape), np.zeros(shape)
    for response, probe in _probe_responses(part, query, rng):
        product = (2 * part.weight**2) * (response * probe).astype(np.float64)
        products += product
        squares += product**2
    phi = products / n_probes
    disagreement = np.maximum(squares / n_probes - phi**2, 0) / max(n_probes - 1, 1)
    leading = query.vectors[: query.n_ranks].astype(part.noisy.dtype)
    noisy_energies = np.einsum("kd,kd->k", leading @ part.noisy, leading).astype(np.float64)
    # Given the released mean m, A = M - E + (m xi^T + xi m^T) - xi xi^T. The probes include the
    # response of the components to xi; 2 - 1 = 1 times its variance remains along each component.
    mean_variance = 0.0 if part.mean is None else part.mean.sigma**2
    return SiteAnswer(
        energies=part.weight * (noisy_energies + mean_variance)
        - (phi * query.inverse_gaps).sum(axis=1),
        responses=_block_means(phi, query.blocks),
        disagreement=_block_means(disagreement, query.blocks),
        total=part.weight * (float(part.noisy.trace()) + query.n_features * mean_variance),
        variance=(part.weight * part.sigma) ** 2,
    )


def _probe_responses(
    part: NoisyPart, query: SiteQuery, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the response to each probe, and the probe, between the eigenvectors of the average.

    Both have shape (n_ranks, n_features).
    """
    noisy, n_features = part.noisy, query.n_features
    vectors = query.vectors.astype(noisy.dtype)
    leading = vectors[: query.n_ranks]
    before = _denoise(noisy, part, query) if query.bases else noisy
    cut = None
    if query.intermediate_dim is not None:
        cut = _Cut.of(before, part.sigma, query.intermediate_dim)
    overlap = None if cut is None else vectors @ cut.vectors.T
    for _ in range(query.n_probes):
        probe: FloatArray = symmetric_gaussian_noise(
            n_features, part.sigma, shape=query.noise, rng=rng, dtype=noisy.dtype
        )
        if part.mean is not None:
            step = part.mean.sigma * rng.standard_normal(n_features)
            cross = np.outer(part.mean.value, step).astype(noisy.dtype)
            probe = probe - cross - cross.T
        response: FloatArray = probe
        if query.bases:
            ahead = noisy + noisy.dtype.type(_STEP) * probe
            diagonal = query.diagonal_of_average
            if diagonal is not None:
                # The noise of a site moves the average by its weight, and thereby the denoising at
                # all sites. Their sum is close to this site's response to the whole change.
                diagonal = diagonal + _STEP * np.diagonal(probe)
            moved = _denoise(ahead, part, replace(query, diagonal_of_average=diagonal))
            response = (moved - before) / noisy.dtype.type(_STEP)
        if cut is None or overlap is None:
            yield leading @ response @ vectors.T, leading @ probe @ vectors.T
        else:
            after_cut = cut.response(response, overlap, query.n_ranks)
            yield after_cut, leading @ probe @ vectors.T


def _denoise(matrix: FloatArray, part: NoisyPart, query: SiteQuery) -> FloatArray:
    return denoise(
        matrix,
        part.sigma,
        bases=query.bases,
        noise=query.noise,
        sigma_of_average=query.sigma,
        diagonal_of_average=query.diagonal_of_average,
    )


@dataclass(frozen=True, eq=False)
class _Cut:
    """The part f(M) of a matrix in its leading directions above 0, and its derivative.

    The derivative of f along dM is U^T (F * U dM U^T) U, where F holds the divided differences of f
    at the eigenvalues: 1 between two eigenvalues that f keeps, l_a / (l_a - l_b) between one that
    it keeps and one that it cuts, 0 between two that it cuts (Daletskii & Krein).
    """

    vectors: FloatArray
    slopes: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray, sigma: float, intermediate_dim: int) -> _Cut:
        values, vectors = Spectrum(matrix).leading(len(matrix))
        rank = min(intermediate_dim, int((values > 0).sum()))
        slopes = np.ones((rank, len(matrix)))
        slopes[:, rank:] = values[:rank, None] * smoothed_inverse_gaps(values, sigma)[:rank, rank:]
        return cls(vectors, slopes.astype(matrix.dtype))

    def response(self, change: FloatArray, overlap: FloatArray, n_ranks: int) -> FloatArray:
        """Return v_i^T Df(M)[change] v_j for i below n_ranks: the first-order change of f(M).

        overlap: v_i^T u_a, shape (n_features, n_features).
        """
        rank = len(self.slopes)
        rotated = self.slopes * (self.vectors[:rank] @ change @ self.vectors.T)
        ranks, beyond = overlap[:n_ranks], rotated[:, rank:]
        change_of_cut: FloatArray = ranks[:, :rank] @ rotated @ overlap.T
        change_of_cut += ranks[:, rank:] @ beyond.T @ overlap[:, :rank].T
        return change_of_cut


def rank_edges(n: int, n_single: int, growth: float, through: int | None = None) -> IntArray:
    """Return the first ranks of groups that grow by a factor, after single ones; and n last.

    through: Rank at which a group must end.
    """
    edges = list(range(n_single + 1))
    while edges[-1] < n:
        following = max(edges[-1] + 1, round(edges[-1] * growth))
        if through is not None and edges[-1] < through:
            following = min(following, through)
        edges.append(min(n, following))
    return np.array(edges)


def _block_means(pairs: FloatArray, first: IntArray) -> FloatArray:
    """Return the mean over each block, without the pairs of a direction with itself."""
    rows = first[first < len(pairs)]
    is_pair = np.arange(len(pairs))[:, None] != np.arange(pairs.shape[1])[None, :]

    def block_sums(entries: FloatArray) -> FloatArray:
        return np.add.reduceat(np.add.reduceat(entries, rows, axis=0), first, axis=1)

    means: FloatArray = block_sums(pairs * is_pair) / np.maximum(
        block_sums(is_pair.astype(float)), 1
    )
    return means
