"""Assess a release from its own noisy matrix: captured energy with an interval.

All of it is post-processing. `assess` treats plain eigenvectors of a noisy matrix by Stein's lemma
in closed form. `assess_by_probes` treats denoised or truncated matrices, whose response to noise is
estimated with fresh noise of the same law. Both smooth the estimates over ranks.

Formulas, derivation and measured coverage: `docs/algorithms/self-assessment.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.ndimage import uniform_filter1d

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.spectra import PublicBasis, Spectrum, denoise, slopes_in_columns

# How a group of eigenvectors of a noisy matrix answers to the noise: sums over eigenvalue gaps; and
# where the spectrum of pure noise ends.

# Chance that more components are said to stand out than do, and the quantile of the Tracy-Widom
# law of the Gaussian orthogonal ensemble (beta = 1) that noise exceeds with this chance.
ERROR_RATE = 0.01
_TRACY_WIDOM = 2.0234
# Edges of the spectrum in units of sqrt(D) sigma: twice the standard deviation of an entry off the
# diagonal, and for a Wishart difference that of the free difference of two Poisson laws of rate 1
# (Nica & Speicher 1998, "Commutators of free random variables": the tetilla law).
_EDGES = {"triangle": 2.0, "isometric": math.sqrt(2), "wishart": math.sqrt((11 + 5 * 5**0.5) / 8)}


def noise_edge(sigma: np.ndarray, weights: np.ndarray, n_features: int, *, noise: str) -> float:
    """Return the approximate largest eigenvalue of an average of matrices that contain only noise.

    A symmetric matrix with independent off-diagonal entries of standard deviation s has its
    eigenvalues within 2 sqrt(D) s of zero as D grows (Wigner's semicircle law; the diagonal does
    not matter in the limit). Smaller eigenvalues of a noisy second moment carry no information
    about the data.

    sigma: shape (n_sites,). Noise standard deviation of each matrix in the average; one for
        central.
    weights: shape (n_sites,). Weights of the average.
    noise: {"triangle", "isometric", "wishart"}
    Returns: Edge in units of the second moment.
    """
    together = math.sqrt(float(np.sum((weights * sigma) ** 2)))
    return _EDGES[noise] * math.sqrt(n_features) * together


def off_diagonal_sigma(sigma: float, noise: str) -> float:
    """Return the standard deviation off the diagonal of symmetric noise of this scale and shape."""
    return sigma / math.sqrt(2) if noise == "isometric" else sigma


def n_above_noise(eigenvalues: FloatArray, sigma: float, *, noise: str) -> int:
    """Return the number of leading eigenvalues that exceed the noise.

    If A has rank k, eigenvalue k + 1 of A + E is at most the largest of E on the D - k directions
    orthogonal to A (Courant & Fischer), which follows the Tracy-Widom law: mean edge 2 sqrt(n) s,
    spread s n^(-1/6), s the standard deviation off the diagonal. So k is raised while eigenvalue k
    + 1 exceeds the 99 % quantile, and the result is too large in at most 1 % of releases. The
    quantile is measured from the mean of the remaining eigenvalues, if that is above 0, because
    equal variance in all directions singles out none.

    eigenvalues: shape (n_features,)
    noise: {"triangle", "isometric"}. The quantile is above the exact one at every size, for
        triangle noise by more.
    """
    descending = np.sort(eigenvalues)[::-1]
    left = np.arange(len(descending), 0, -1)
    floor = np.maximum(np.cumsum(descending[::-1])[::-1] / left, 0)
    reach = off_diagonal_sigma(sigma, noise) * (2 * np.sqrt(left) + _TRACY_WIDOM * left ** (-1 / 6))
    # A single remaining direction is its own floor.
    return int(np.argmin(np.append(descending - floor > reach, False)))


# Eigenvalues that almost meet would give an estimate without a variance: their law near 0 is
# proportional to the gap. Below a tenth of the mean spacing of pure noise a gap counts for less.
_SMOOTHED = 0.1


@dataclass(frozen=True, eq=False)
class NoisyMean:
    """A released mean whose outer product was subtracted from the second moment.

    value: shape (n_features,). The released mean.
    sigma: Standard deviation of the noise in each of its entries.
    """

    value: FloatArray
    sigma: float


@dataclass(frozen=True)
class OfGroup:
    """A group of eigenvectors: its energy, and where the squared error of that comes from.

    `linear` would be there if the group had been fixed beforehand, `choice` comes with its
    having been chosen; `shared` is the covariance with the error of the total. `loss` is what the
    choice cost, to second order in the noise of the matrix.
    """

    energy: float
    linear: float
    choice: float
    shared: float
    loss: float = 0.0


def inverse_gaps(eigenvalues: FloatArray, off_diagonal: float) -> FloatArray:
    """Return 1 / (lambda_i - lambda_j) of all pairs, smoothed for this noise level."""
    gaps = np.subtract.outer(eigenvalues, eigenvalues)
    spacing = 4 * off_diagonal / math.sqrt(len(eigenvalues))
    denominator = gaps**2 + (_SMOOTHED * spacing) ** 2
    return np.divide(gaps, denominator, out=np.zeros_like(gaps), where=denominator > 0)


class NoiseField:
    """Everything the formulas need of the eigenpairs, for any group of them."""

    def __init__(
        self,
        eigenvalues: FloatArray,
        vectors: FloatArray,
        sigma: float,
        noise: str,
        mean: NoisyMean | None,
    ):
        n_features = len(eigenvalues)
        self.eigenvalues = eigenvalues
        self._variance = sigma**2
        self._squares = vectors**2 if noise == "triangle" else None
        self._inverse_gaps = inverse_gaps(eigenvalues, off_diagonal_sigma(sigma, noise))
        self._mean_variance = 0.0 if mean is None else mean.sigma**2
        along = np.zeros(n_features) if mean is None else vectors @ mean.value
        self._along_mean = along**2

    def of(self, group: BoolArray) -> OfGroup:
        """Energy and error of a group of eigenvectors."""
        by_matrix = self._of_matrix(group)
        return by_matrix if self._mean_variance == 0 else self._with_mean(group, by_matrix)

    def _of_matrix(self, group: BoolArray) -> OfGroup:
        inverse = self._inverse_gaps[np.ix_(group, ~group)]
        linear, size = self._variance * group.sum(), self._variance * np.ones_like(inverse)
        if self._squares is not None:
            # Triangle noise is isometric noise of twice the variance, less a part of the diagonal.
            inside, outside = self._squares[group], self._squares[~group]
            linear = 2 * linear - self._variance * (inside.sum(axis=0) ** 2).sum()
            size = 2 * self._variance * (1 - inside @ outside.T)
        tilt = float((size * inverse).sum())
        return OfGroup(
            energy=float(self.eigenvalues[group].sum()) - tilt,
            linear=float(linear),
            choice=float(((size * inverse) ** 2).sum()),
            shared=float(self._variance * group.sum()),
            loss=tilt / 2,
        )

    def _with_mean(self, group: BoolArray, by_matrix: OfGroup) -> OfGroup:
        """Add the terms of Stein's lemma for the noise xi of the mean m + xi.

        A = M - E + m xi^T + xi m^T + (terms of only xi), m as released, so tr(P A) has
        2 xi^T P m - xi^T P xi besides; both have divergences in closed form.
        """
        v, all_inverse, along = self._mean_variance, self._inverse_gaps, self._along_mean
        inverse = all_inverse[np.ix_(group, ~group)]
        inside, outside = along[group][:, None], along[~group][None, :]
        turning = along * all_inverse.sum(axis=1) + all_inverse @ along
        first = float(((inside + outside) * inverse).sum())
        second = -float(
            (
                2 * (inside - outside) * inverse**2
                + inverse * (2 - turning[group][:, None] - turning[~group][None, :])
            ).sum()
        )
        n = int(group.sum())
        size = self._variance * (1 if self._squares is None else 2)
        diagonal = (outside * inverse).sum(axis=1), (inside * inverse).sum(axis=0)
        bends = (
            ((1 - diagonal[0]) ** 2).sum()
            + (diagonal[1] ** 2).sum()
            + 2 * (inside * outside * inverse**2).sum()
        )
        crossed = ((inside + outside) * inverse**2).sum()
        along_group = 4 * v * float(inside.sum()) + 2 * v**2 * n
        return replace(
            by_matrix,
            energy=by_matrix.energy + 2 * v * (n - first) - v * n - v**2 * second,
            linear=by_matrix.linear + along_group,
            choice=by_matrix.choice + float(4 * v * size * crossed + 4 * v**2 * bends),
            shared=by_matrix.shared + along_group,
        )


# How good a release is, told by the release: the energy its components capture, with an interval.

LEVEL = 0.9
_QUANTILE = 1.6448536269514722  # of the standard normal at (1 + LEVEL) / 2


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated values with their standard errors.

    value, standard_error: ndarrays of the same shape
    most: Upper bound of the true values. The lower bound is 0.
    """

    value: FloatArray
    standard_error: FloatArray
    most: float = math.inf

    @property
    def interval(self) -> FloatArray:
        """Lower and upper ends, shape (2, ...), between which the truth lies in 90 of 100 draws."""
        reach = _QUANTILE * self.standard_error
        low, high = np.clip([self.value - reach, self.value + reach], 0, self.most)
        return np.array([np.nan_to_num(low, nan=0.0), np.where(np.isnan(high), self.most, high)])


@dataclass(frozen=True, eq=False)
class Assessment:
    """Assessment of a release. All values refer to the rows as prepared.

    explained_variance: Estimate of shape (n_components,). v_i^T A v_i, the variance along each
        component, with the sum `captured`. Both are NaN if a mean was subtracted and no component
        exceeds the noise.
    explained_variance_ratio: Estimate of shape (n_components,). Share of the total. NaN if unknown,
        or if the total may be 0.
    captured: Estimate of shape (). tr(V^T A V), the energy of all components.
    captured_share: Estimate of shape (). Share of the total. NaN if unknown, or if the total may be
        0.
    total: Estimate of shape (). tr A.
    energy_ratio: Estimate of shape () or None. Captured energy divided by that of the best subspace
        of this dimension; None unless every component exceeds the noise and no mean was subtracted.
    n_above_noise: Number of leading components that exceed the noise, too large in at most 1 % of
        releases (`n_above_noise`). None if the law of the noise is not known, as after a cut.
    """

    explained_variance: Estimate
    explained_variance_ratio: Estimate
    captured: Estimate
    captured_share: Estimate
    total: Estimate
    energy_ratio: Estimate | None = None
    n_above_noise: int | None = None


def assess(
    spectrum: Spectrum,
    n_components: int,
    *,
    sigma: float,
    noise: str,
    ranking: str = "value",
    mean: NoisyMean | None = None,
) -> Assessment:
    """Assess the n leading directions of a noisy second moment.

    spectrum: Spectrum of A + E, or of A + E minus the outer product of the noisy mean.
    sigma: Scale of E in `dpcore.mechanisms.symmetric_gaussian_noise`.
    noise: {"triangle", "isometric"}
    ranking: {"value", "magnitude"}. Ranking of the components.
    mean: None if none was subtracted.
    Raises `ParameterError` if n_components is not in [1, n_features] or the ranking unknown.
    """
    n_features = len(spectrum.matrix)
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
    values, vectors = spectrum.leading(n_features, by=ranking)
    field = NoiseField(values.astype(np.float64), vectors.astype(np.float64), sigma, noise, mean)
    chosen = np.arange(n_features) < n_components
    each = [field.of(np.arange(n_features) == i) for i in range(n_components)]
    together, everything = field.of(chosen), field.of(np.ones(n_features, dtype=bool))
    n_above = n_above_noise(field.eigenvalues, sigma, noise=noise)
    # One of them may be the noise of the mean: -(m xi^T + xi m^T) has one positive eigenvalue.
    n_above = max(n_above - (mean is not None), 0)
    if mean is not None and n_above == 0:
        each, together = [_unknown(group) for group in each], _unknown(together)
    # To second order only, which is not enough if a mean is noisy.
    is_known = (
        mean is None and n_above >= n_components and field.eigenvalues[:n_components].min() > 0
    )
    return replace(
        assessment_of(each, together, everything),
        energy_ratio=_of_optimum(together) if is_known else None,
        n_above_noise=min(n_above, n_components),
    )


def assessment_of(each: Sequence[OfGroup], together: OfGroup, everything: OfGroup) -> Assessment:
    """Return an assessment, given estimates of each component, of their sum and of the total."""
    return Assessment(
        explained_variance=_estimate(each),
        explained_variance_ratio=_shares(each, everything),
        captured=_single(_estimate([together])),
        captured_share=_single(_shares([together], everything)),
        total=_single(_estimate([everything])),
    )


def _unknown(group: OfGroup) -> OfGroup:
    """Return the group with an unknown energy (NaN).

    Used if a mean was subtracted and no component exceeds the noise: the effect of the mean's noise
    on the choice is then as large as the estimate.
    """
    return replace(group, energy=math.nan)


def _of_optimum(group: OfGroup) -> Estimate:
    """Return the energy ratio by the delta method, from the energy and its loss to the optimum.

    The loss is a sum of squares of noise entries: its variance is half of `choice`.
    """
    optimum = group.energy + group.loss
    variance = group.choice / 2 + (group.loss / optimum) ** 2 * group.linear
    return Estimate(
        np.array(group.energy / optimum), np.array(math.sqrt(variance) / optimum), most=1.0
    )


def _estimate(groups: Sequence[OfGroup]) -> Estimate:
    energies = np.array([group.energy for group in groups])
    return Estimate(energies, np.sqrt([group.linear + group.choice for group in groups]))


def _shares(groups: Sequence[OfGroup], everything: OfGroup) -> Estimate:
    """Return energies divided by the total, by the delta method; NaN if the total may be 0."""
    parts, total = _estimate(groups), _estimate([everything])
    if total.interval[0, 0] <= 0:
        return Estimate(parts.value * np.nan, parts.value * np.nan, most=1.0)
    shares = parts.value / total.value
    shared = np.array([group.shared for group in groups])
    variances = parts.standard_error**2 - 2 * shares * shared + (shares * total.standard_error) ** 2
    return Estimate(shares, np.sqrt(np.maximum(variances, 0)) / total.value, most=1.0)


def _single(estimates: Estimate) -> Estimate:
    """Return a single value as an estimate of shape ()."""
    return replace(estimates, value=estimates.value[0], standard_error=estimates.standard_error[0])


# How good a release is whose noisy matrices were denoised, or cut, before they were decomposed.

# Step along a probe, in units of the noise. Its square is the error of the difference quotient.
_STEP = 0.02
# Number of probes of all parts, times features, within limits; and the least of one part.
_FEATURES_PROBED, _PROBES, _PROBES_OF_PART = 2048, (8, 32), 4
# Gaps below a tenth of the spacing around them count for less: two eigenvalues that almost meet
# would leave the estimate without a variance. Spacings are means over so many ranks on a side, and
# at least so much of the spacing of pure noise: eigenvalues that were set to 0 have none.
_PROBE_SMOOTHED, _AROUND, _LEAST_SPACING = 0.1, 4, 0.05
# Ranks are answered for one by one up to 3 K + 24. The models take K of them one by one and the
# others in groups that grow by a factor, as do the blocks of pairs within which phi is averaged.
_RANKS, _MORE_RANKS, _GROUP_GROWTH, _BLOCK_GROWTH = 3, 24, 1.15, 1.35
# The models: how much of the sum is distributed as the eigenvalues are, the rest alike in all
# directions; the deviations, in units of the energy expected there, one that is smooth and one that
# each rank has to itself; and how far the smooth one reaches in log k plus twice log c_k.
_ALONG = (0.5, 0.8, 0.95)
_DEVIATIONS, _ROUGHNESS = (0.5, 1.0, 2.0), (0.15, 0.3, 0.6)
_REACH, _LEVELS = 1.0, 2.0
# Share of the variance removed by the models that is added back. No model is exact: where they
# decide, their own intervals held in 81 of 100 draws at the worst (`power`, five sites).
_KEPT = 0.2
# Added to the diagonal of a covariance, of its trace: rounding may leave it below 0.
_JITTER = 1e-12


@dataclass(frozen=True, eq=False)
class NoisyPart:
    """A noisy second moment that is part of an average.

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
        """Of each part. Fewer of many features, whose sums are averages already, and of many parts,
        whose disagreements average out."""
        together = int(np.clip(_FEATURES_PROBED // self.n_features, *_PROBES))
        return max(math.ceil(together / self.n_parts), _PROBES_OF_PART)

    @cached_property
    def n_ranks(self) -> int:
        """How many leading ranks are answered for one by one."""
        return min(self.n_features, _RANKS * self.n_components + _MORE_RANKS)

    @cached_property
    def blocks(self) -> IntArray:
        """First rank of each block of ranks; phi is averaged over pairs of blocks."""
        return _edges(self.n_features, 1, _BLOCK_GROWTH, through=self.n_ranks)[:-1]

    @cached_property
    def inverse_gaps(self) -> FloatArray:
        """1 / (c_i - c_j), shape (n_ranks, n_features)."""
        return _inverse_gaps(self.eigenvalues, self.sigma)[: self.n_ranks]

    @cached_property
    def squared_inverse_gaps(self) -> FloatArray:
        """Their squares as expected at these ranks, shape (n_ranks, n_features), above i = j."""
        squares, expected = self.inverse_gaps**2, np.zeros(self.inverse_gaps.shape)
        for apart in range(1, self.n_features):
            along = np.diagonal(squares, apart)
            i = np.arange(len(along))
            expected[i, i + apart] = uniform_filter1d(along, 2 * _AROUND + 1, mode="nearest")
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
    along = np.einsum("kd,kd->k", leading @ part.noisy, leading).astype(np.float64)
    # With the released mean m, M less its noise is M - E + (m xi^T + xi m^T) - xi xi^T. The probes
    # take care of how the components follow xi; 2 - 1 of its variance are left along each.
    of_mean = 0.0 if part.mean is None else part.mean.sigma**2
    return SiteAnswer(
        energies=part.weight * (along + of_mean) - (phi * query.inverse_gaps).sum(axis=1),
        responses=_of_blocks(phi, query.blocks),
        disagreement=_of_blocks(disagreement, query.blocks),
        total=part.weight * (float(part.noisy.trace()) + query.n_features * of_mean),
        variance=(part.weight * part.sigma) ** 2,
    )


def _probe_responses(
    part: NoisyPart, query: SiteQuery, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """x and y of each probe, shape (n_ranks, n_features)."""
    noisy, n_features = part.noisy, query.n_features
    vectors = query.vectors.astype(noisy.dtype)
    leading = vectors[: query.n_ranks]
    before = _denoised(noisy, part, query) if query.bases else noisy
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
            profile = query.diagonal_of_average
            if profile is not None:
                # The noise of a site moves the average by its weight, and with it the answers of
                # all sites; together they respond about as this site would to all of the change.
                profile = profile + _STEP * np.diagonal(probe)
            moved = _denoised(ahead, part, replace(query, diagonal_of_average=profile))
            response = (moved - before) / noisy.dtype.type(_STEP)
        if cut is None or overlap is None:
            yield leading @ response @ vectors.T, leading @ probe @ vectors.T
        else:
            after_cut = cut.response(response, overlap, query.n_ranks)
            yield after_cut, leading @ probe @ vectors.T


def _denoised(matrix: FloatArray, part: NoisyPart, query: SiteQuery) -> FloatArray:
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
    """The part of a matrix in its leading directions above 0, and how it responds to changes.

    f(M) moves by U^T (F * U dM U^T) U, where F holds the divided differences of f at the
    eigenvalues: 1 between two that were kept, l_a / (l_a - l_b) between a kept and a cut one, 0
    between two cut ones (Daletskii & Krein).
    """

    vectors: FloatArray
    slopes: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray, sigma: float, intermediate_dim: int) -> _Cut:
        values, vectors = Spectrum(matrix).leading(len(matrix))
        n_kept = min(intermediate_dim, int((values > 0).sum()))
        slopes = np.ones((n_kept, len(matrix)))
        slopes[:, n_kept:] = values[:n_kept, None] * _inverse_gaps(values, sigma)[:n_kept, n_kept:]
        return cls(vectors, slopes.astype(matrix.dtype))

    def response(self, change: FloatArray, overlap: FloatArray, n_ranks: int) -> FloatArray:
        """First-order change of f(M) where M changes: v_i^T Df(M)[change] v_j, i below n_ranks.

        overlap: v_i^T u_a, shape (n_features, n_features).
        """
        n_kept = len(self.slopes)
        there = self.slopes * (self.vectors[:n_kept] @ change @ self.vectors.T)
        ranks, beyond = overlap[:n_ranks], there[:, n_kept:]
        change_of_cut: FloatArray = ranks[:, :n_kept] @ there @ overlap.T
        change_of_cut += ranks[:, n_kept:] @ beyond.T @ overlap[:, :n_kept].T
        return change_of_cut


def _inverse_gaps(eigenvalues: FloatArray, sigma: float) -> FloatArray:
    """1 / (l_i - l_j) of all pairs, smoothed where eigenvalues almost meet; 0 where they do.

    sigma: Noise before denoising and cuts.
    """
    values = eigenvalues.astype(np.float64)
    last = len(values) - 1
    ranks = np.arange(len(values))
    # Beside a step in the spectrum only one side is of a kind with the rank: the closer one.
    above, below = np.minimum(_AROUND, ranks), np.minimum(_AROUND, last - ranks)
    sides = [
        np.divide(values[ranks - above] - values, above, where=above > 0, out=_endless(values)),
        np.divide(values - values[ranks + below], below, where=below > 0, out=_endless(values)),
    ]
    spacing = np.minimum(*sides) if last > 0 else np.zeros(1)
    spacing = np.maximum(spacing, _LEAST_SPACING * math.sqrt(8 / len(values)) * sigma)
    gaps = np.subtract.outer(values, values)
    denominator = gaps**2 + _PROBE_SMOOTHED**2 / 2 * np.add.outer(spacing**2, spacing**2)
    return np.divide(gaps, denominator, out=np.zeros_like(gaps), where=denominator > 0)


def _endless(values: FloatArray) -> FloatArray:
    return np.full(len(values), np.inf)


def _edges(n: int, n_single: int, growth: float, through: int | None = None) -> IntArray:
    """Return the first ranks of groups that grow by a factor, after single ones; and n last.

    through: One of them ends here.
    """
    edges = list(range(n_single + 1))
    while edges[-1] < n:
        following = max(edges[-1] + 1, round(edges[-1] * growth))
        if through is not None and edges[-1] < through:
            following = min(following, through)
        edges.append(min(n, following))
    return np.array(edges)


def _of_blocks(pairs: FloatArray, first: IntArray) -> FloatArray:
    """Mean over each block, pairs of a direction with itself apart."""
    rows = first[first < len(pairs)]
    apart = np.arange(len(pairs))[:, None] != np.arange(pairs.shape[1])[None, :]

    def summed(entries: FloatArray) -> FloatArray:
        return np.add.reduceat(np.add.reduceat(entries, rows, axis=0), first, axis=1)

    means: FloatArray = summed(pairs * apart) / np.maximum(summed(apart.astype(float)), 1)
    return means


def assess_by_probes(
    average: Spectrum,
    n_components: int,
    parts: Iterable[tuple[NoisyPart, np.random.Generator]],
    *,
    sigma: float,
    bases: Sequence[PublicBasis] = (),
    intermediate_dim: int | None = None,
    noise: str = "isometric",
    n_parts: int = 1,
    known_total: float | None = None,
    diagonal_of_average: FloatArray | None = None,
) -> Assessment:
    """Assess the leading directions of an average whose parts were denoised or cut.

    Post-processing of the parts' noisy matrices. Sites that cut their messages take part in one
    more
    round: each receives the average, D (D + 1) / 2 numbers, and returns 3 K + 24 numbers and a few
        hundred more (`SiteAnswer`).

    Parameters
    ----------
    average : Spectrum
        Spectrum of the matrix that was decomposed: the denoised matrix, or the average of the
        messages.
    n_components : int
        K, in [1, n_features].
    parts : iterable of (NoisyPart, numpy.random.Generator)
        Parts of the average, each with the generator of its probes; consumed one by one.
    sigma : float
        Standard deviation of the noise in an entry of the average of all parts, as they are.
    bases : sequence of PublicBasis
        Bases in which each part was denoised; empty without denoising.
    intermediate_dim : int, optional
        R, if each part was then cut to its leading directions by value.
    noise : {"isometric", "triangle"}
        Shape of the noise of every part.
    n_parts : int
        Number of parts.
    known_total : float, optional
        Energy of all directions, if public: 1 for rows of length 1.
    diagonal_of_average : ndarray of shape (n_features,), optional
        Noisy diagonal to which the columns' variances were fitted (`dpcore.spectra.denoise`).

    Returns
    -------
    Assessment
        With `n_above_noise` for a single part that was not cut, and `energy_ratio` if all
        components of that part exceed the noise and no mean was subtracted.

    Raises
    ------
    ParameterError
        If n_components is out of range.
    """
    n_features = len(average.matrix)
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
    eigenvalues, vectors = average.leading(n_features)
    query = SiteQuery(
        vectors,
        eigenvalues,
        sigma,
        n_components,
        tuple(bases),
        intermediate_dim,
        noise,
        n_parts,
        diagonal_of_average,
    )
    answers, last = [], None
    for part, rng in parts:
        answers.append(answer(part, query, rng=rng))
        last = part
    groups = _RankGroups.of(query, answers, None if last is None else last.mean)
    assessment = _smoothed(groups, n_components, known_total)
    if last is None or len(answers) > 1 or intermediate_dim is not None:
        return assessment
    return _with_whole_matrix(assessment, groups, last, query)


@dataclass(frozen=True, eq=False)
class _RankGroups:
    """Energies of groups of ranks, the first K of one rank each, and covariances of their errors.

    first: shape (n_groups,). First rank of each group.
    eigenvalues: shape (n_features,). Of what the components were taken from; 0 for those below.
    linear, choice: shape (n_groups, n_groups). The covariance that directions fixed beforehand
        would have, and what comes with their having been chosen.
    """

    first: IntArray
    eigenvalues: FloatArray
    energies: FloatArray
    linear: FloatArray
    choice: FloatArray

    @classmethod
    def of(
        cls, query: SiteQuery, answers: Sequence[SiteAnswer], mean: NoisyMean | None
    ) -> _RankGroups:
        """Combine all answers."""
        n_features, n_ranks = query.n_features, query.n_ranks
        edges = _edges(n_ranks, query.n_components, _GROUP_GROWTH)
        first = edges[:-1] if n_ranks == n_features else edges
        energies = np.sum([each.energies for each in answers], axis=0)
        energies = np.add.reduceat(energies, edges[:-1])
        if n_ranks < n_features:
            energies = np.append(energies, sum(each.total for each in answers) - energies.sum())
        eigenvalues = np.maximum(query.eigenvalues.astype(np.float64), 0)
        linear = _linear_covariance(query, sum(each.variance for each in answers), mean, first)
        return cls(first, eigenvalues, energies, linear, _choice_covariance(query, answers, first))

    @property
    def sizes(self) -> IntArray:
        return np.diff(np.append(self.first, len(self.eigenvalues)))


def _linear_covariance(
    query: SiteQuery, variance: float, mean: NoisyMean | None, first: IntArray
) -> FloatArray:
    sizes = np.diff(np.append(first, query.n_features)).astype(float)
    covariance = variance * np.diag(sizes)
    if query.noise == "triangle":
        # Isometric noise of twice the variance, less a part of the diagonal.
        squares = np.add.reduceat(query.vectors.astype(np.float64) ** 2, first, axis=0)
        covariance = 2 * covariance - variance * squares @ squares.T
    if mean is not None:
        along = (query.vectors @ mean.value).astype(np.float64) ** 2
        of_groups = 4 * mean.sigma**2 * np.add.reduceat(along, first) + 2 * mean.sigma**4 * sizes
        covariance = covariance + np.diag(of_groups)
    return covariance


def _choice_covariance(
    query: SiteQuery, answers: Sequence[SiteAnswer], first: IntArray
) -> FloatArray:
    """Return the covariance of the errors that the choice of directions causes, opposite within a
    pair.
    """
    phi = np.sum([each.responses for each in answers], axis=0)
    squares = phi**2 + np.sum([each.disagreement for each in answers], axis=0)
    sizes = np.diff(np.append(query.blocks, query.n_features))
    pairs = np.repeat(np.repeat(squares, sizes[: len(phi)], axis=0), sizes, axis=1)
    pairs *= query.squared_inverse_gaps
    rows = first[first < len(pairs)]
    between = np.zeros((len(first), len(first)))
    between[: len(rows)] = np.add.reduceat(np.add.reduceat(pairs, rows, axis=0), first, axis=1)
    between += between.T
    covariance: FloatArray = np.diag(between.sum(axis=1)) - between
    return covariance


def _smoothed(groups: _RankGroups, n_components: int, known_total: float | None) -> Assessment:
    """Return the energies given the estimates, averaged over all models."""
    noise = groups.linear + groups.choice
    spread = math.sqrt(max(float(groups.linear.sum()), 0.0))
    scale = max(float(groups.energies.sum()), spread) if known_total is None else known_total
    means, covariances, log_likelihoods = [], [], []
    for expected, prior in _models(groups, scale, is_known=known_total is not None):
        together = prior + noise
        # Without noise a single group has no variance, though its energy be not the public sum.
        least = max(_JITTER * scale**2, np.finfo(float).tiny)
        together += _JITTER * max(float(together.trace()), least) * np.eye(len(together))
        root = np.linalg.cholesky(together)
        innovation = np.linalg.solve(root, groups.energies - expected)
        gain = np.linalg.solve(root, prior)
        means.append(expected + gain.T @ innovation)
        covariances.append(prior - gain.T @ gain)
        log_likelihoods.append(-innovation @ innovation / 2 - np.log(np.diag(root)).sum())
    weights = np.exp(np.array(log_likelihoods) - max(log_likelihoods))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    apart = np.array(means) - mean
    covariance = np.tensordot(weights, covariances, axes=1) + (apart.T * weights) @ apart
    without = noise if known_total is None else _given_sum(noise)
    kept = (1 - _KEPT) * covariance + _KEPT * without
    return _assessment(mean, kept, n_components, known_total)


def _given_sum(covariance: FloatArray) -> FloatArray:
    """Condition Gaussian numbers on their sum."""
    with_sum = covariance.sum(axis=0)
    total = float(with_sum.sum())
    return covariance - np.outer(with_sum, with_sum) / total if total > 0 else covariance


def _models(
    groups: _RankGroups, scale: float, *, is_known: bool
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Return the expected energies of the groups and their covariance, for each model.

    scale: Sum of all energies, or its estimate.
    is_known: Whether the sum is exact.
    """
    n_features = len(groups.eigenvalues)
    ranks = np.arange(1, n_features + 1)
    floor = max(float(groups.eigenvalues.mean()), np.finfo(float).tiny)
    levels = np.log(groups.eigenvalues + floor)
    apart = np.zeros((len(groups.first), len(groups.first)))
    for position in (np.log(ranks), _LEVELS * levels):
        middle = np.add.reduceat(position, groups.first) / groups.sizes
        apart += math.sqrt(3) / _REACH * np.abs(np.subtract.outer(middle, middle))
    alike = (1 + apart) * np.exp(-apart)  # Matern's correlation of order 3/2
    found = float(groups.eigenvalues.sum())
    along = groups.eigenvalues / found if found > 0 else np.full(n_features, 1 / n_features)
    for share, deviation, roughness in product(_ALONG, _DEVIATIONS, _ROUGHNESS):
        each = scale * (share * along + (1 - share) / n_features)
        expected = np.add.reduceat(each, groups.first)
        prior = deviation**2 * np.outer(expected, expected) * alike
        prior += roughness**2 * np.diag(np.add.reduceat(each**2, groups.first))
        yield expected, _given_sum(prior) if is_known else prior


def _assessment(
    mean: FloatArray, covariance: FloatArray, n_components: int, known_total: float | None
) -> Assessment:
    """Return the assessment from the energies of groups of ranks, the components first."""
    components = slice(n_components)
    total, variance = known_total or float(mean.sum()), 0.0
    with_total = np.zeros(len(mean))
    if known_total is None:
        variance, with_total = max(float(covariance.sum()), 0.0), covariance.sum(axis=0)
    of_total = Estimate(np.array(total), np.array(math.sqrt(variance)))

    def shares(parts: FloatArray, variances: FloatArray, shared: FloatArray) -> Estimate:
        if of_total.interval[0] <= 0:
            return Estimate(parts * np.nan, parts * np.nan, most=1.0)
        found = parts / total
        left = variances - 2 * found * shared + found**2 * variance
        return Estimate(found, np.sqrt(np.maximum(left, 0)) / total, most=1.0)

    variances = np.maximum(np.diag(covariance), 0)[components]
    captured = np.array(mean[components].sum())
    of_captured = np.maximum(covariance[components, components].sum(), 0)
    most = math.inf if known_total is None else known_total
    return Assessment(
        explained_variance=Estimate(mean[components], np.sqrt(variances), most),
        explained_variance_ratio=shares(mean[components], variances, with_total[components]),
        captured=Estimate(captured, np.sqrt(of_captured), most),
        captured_share=shares(captured, of_captured, with_total[components].sum()),
        total=of_total,
    )


def _with_whole_matrix(
    assessment: Assessment, groups: _RankGroups, part: NoisyPart, query: SiteQuery
) -> Assessment:
    """Add the quantities that need a single matrix without a cut.

    To second order the energy of the best subspace is the sum of the noisy matrix's own leading
    eigenvalues minus half of their bias. Its difference to the captured energy has little of the
    error that both share.
    """
    n_components = query.n_components
    leading = slice(n_components)
    eigenvalues, own = Spectrum(part.noisy).leading(query.n_features)
    # One may be the noise of the mean, as in `dpcore.pca.assessment.assess`.
    has_mean = part.mean is not None
    n_above = n_above_noise(eigenvalues, part.sigma, noise=query.noise) - has_mean
    assessment = replace(assessment, n_above_noise=min(max(n_above, 0), n_components))
    if has_mean or n_above < n_components or query.noise != "isometric":
        return assessment
    inverse = _inverse_gaps(eigenvalues, part.sigma)[leading, n_components:]
    flattered = part.sigma**2 * float(inverse.sum())
    optimum = float(eigenvalues[leading].sum(dtype=np.float64)) - flattered / 2
    loss = optimum - float(groups.energies[leading].sum())
    in_common = float(((own[leading] @ query.vectors[leading].T) ** 2).sum())
    variance = 2 * part.sigma**2 * max(n_components - in_common, 0)
    variance += float(groups.choice[leading, leading].sum())
    variance += part.sigma**4 * float((inverse**2).sum()) / 4
    captured = float(assessment.captured.value)
    best = captured + loss
    if best <= 0:
        return assessment
    spread = variance * captured**2 + (loss * float(assessment.captured.standard_error)) ** 2
    ratio = Estimate(np.array(captured / best), np.array(math.sqrt(spread) / best**2), most=1.0)
    return replace(assessment, energy_ratio=ratio)


# Above this number of features a choice would take longer than what it is about.
_MOST_CHOSEN = 1024
# Up to so many the products of two vectors are reckoned with; they add one part in n_features.
_FEW_FEATURES = 128


# Evidence, in standard errors, that columns differ in variance; and least squared coefficient of
# variation of their variances, at two standard errors above its estimate. Chosen on seven tables.
_LEAST_EVIDENCE, _LEAST_VARIATION = 3.0, 1.7


def columns_differ(diagonal: FloatArray, sigma: float, *, total: float | None = None) -> bool:
    """Return whether columns differ enough in variance for a variance profile to help.

    If directions are in general position, plain eigenvectors are optimal among equivariant
    estimators and a profile of the columns can only harm. The sum of squares of a noisy diagonal
    about its mean is sigma^2 chi^2 under equal variances. Its excess over that estimates how much
    the variances vary.

    Parameters
    ----------
    diagonal : ndarray of shape (n_features,)
        Diagonal of a noisy second moment, or of the average of several.
    sigma : float
        Standard deviation of the noise in it, greater than 0.
    total : float, optional
        Trace of the exact second moment, if public. Default: that of the noisy one.
    """
    freedom = len(diagonal) - 1
    if freedom < 1:
        return False
    squares = float(((diagonal - diagonal.mean()) ** 2).sum())
    level = (float(diagonal.sum()) if total is None else total) / len(diagonal)
    evidence = (squares / sigma**2 - freedom) / math.sqrt(2 * freedom)
    if evidence < _LEAST_EVIDENCE or level <= 0:
        return False
    variation = (squares / len(diagonal) - sigma**2) / level**2
    return variation * (1 + 2 / evidence) > _LEAST_VARIATION


def bases_worth(
    noisy: Spectrum,
    n_components: int,
    *,
    sigma: float,
    bases: Sequence[PublicBasis],
    noise: str = "isometric",
    total: float | None = None,
) -> tuple[PublicBasis, ...]:
    """Return the bases, or none if the noisy matrix indicates that more is captured without them.

    Columns are left out unless they differ in variance (`columns_differ`). Then the captured energy
    with and without them is estimated. For V(M), the leading eigenvectors of M = A + E or of
    the denoised M, tr(V M V^T) is flattered by tr(V E V^T), whose mean is known by Stein's identity
    from M only. Per entry of the noise it is the variance times how the projector onto V follows,

        sum_{k <= K < l} sum_ij h_ij s_ij (v_ki^2 v_lj^2 + v_ki v_li v_kj v_lj) / (c_k - c_l),

    with h_ij the slopes of denoising, all 1 without, and s_ij twice the variance of E_ij, once on
    the diagonal. For isometric noise without denoising that is sigma^2 sum 1 / (c_k - c_l).

    The bases are left out where that difference is larger than its standard error, of the noise E
    in tr((V'^T V' - V^T V) E): where noise leaves the question open they are the better guess.

    Post-processing of the noisy matrix, the same at every call: the choice costs no budget.

    Parameters
    ----------
    noisy : Spectrum
        Spectrum of A + E.
    n_components : int
        How many directions are kept.
    sigma, noise
        As `dpcore.mechanisms.symmetric_gaussian_noise` takes them.
    bases : sequence of PublicBasis
        A choice is made if the only basis is `COLUMNS_WHERE_BETTER`, for up to 1024 features.
    total : float, optional
        Trace of the exact second moment, if public.
    """
    n_features, sigma, bases = len(noisy.matrix), float(sigma), tuple(bases)
    if len(bases) != 1 or not bases[0].where_better or sigma == 0:
        return bases
    if not columns_differ(np.diagonal(noisy.matrix).astype(np.float64), sigma, total=total):
        return ()
    if not n_components < n_features <= _MOST_CHOSEN:
        return bases
    spread = np.full((n_features, n_features), sigma**2 * (1 if noise == "isometric" else 2))
    np.fill_diagonal(spread, sigma**2)
    slopes = slopes_in_columns(noisy.matrix, sigma, noise=noise)
    denoised = noisy.denoised(sigma, bases=bases, noise=noise)
    without = estimated_capture(noisy, noisy, n_components, spread, sigma)
    with_bases = estimated_capture(denoised, noisy, n_components, slopes * spread, sigma)
    either = [each.leading(n_components)[1].astype(np.float64) for each in (noisy, denoised)]
    between = either[1].T @ either[1] - either[0].T @ either[0]
    error = math.sqrt(float(np.vdot(between**2, spread)))
    return () if without - with_bases > error else bases


def estimated_capture(
    spectrum: Spectrum, noisy: Spectrum, n_components: int, spread: FloatArray, sigma: float
) -> float:
    """Return an estimate of tr(V A V^T) for the leading V of a spectrum made of A + E.

    spread: h_ij s_ij, as in `bases_worth`.
    """
    n_features = len(spread)
    values, vectors = spectrum.leading(n_features)
    kept, cut = np.split(vectors.astype(np.float64), [n_components])
    follows = kept**2 @ spread @ (cut**2).T
    if n_features <= _FEW_FEATURES:
        products = (kept[:, None] * cut).reshape(-1, n_features)
        follows += np.einsum("pd,pd->p", products @ spread, products).reshape(follows.shape)
    flattered = follows * _inverse_gaps(values, sigma)[:n_components, n_components:]
    return float(np.einsum("kd,kd->", kept @ noisy.matrix, kept) - flattered.sum())
