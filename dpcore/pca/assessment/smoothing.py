"""Smoothing of estimated energies over ranks, by an average over Gaussian models.

Energies of groups of ranks are estimated without bias but with noise. A model describes how they
are distributed over ranks; the posterior means of all models are averaged with their likelihoods.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.pca.assessment.estimates import Assessment, Estimate
from dpcore.pca.assessment.probes import NoisyMean, SiteAnswer, SiteQuery, rank_edges

# Growth of the groups of ranks after the first K, which are groups of one rank.
_GROUP_GROWTH = 1.15
# Shares of the total that a model distributes as the eigenvalues are distributed; the remainder is
# equal in all directions.
_SPECTRAL_SHARES = (0.5, 0.8, 0.95)
# Relative standard deviations of energies from a model: a part that is smooth over ranks, and a
# part that is independent at each rank.
_DEVIATIONS, _ROUGHNESS = (0.5, 1.0, 2.0), (0.15, 0.3, 0.6)
# Length scale of the smooth part in log k plus twice log c_k.
_REACH, _LEVELS = 1.0, 2.0
# Share of the variance removed by the models that is added back. No model is exact: without this
# share the intervals held in 81 of 100 draws in the worst case (`power`, five sites).
_ADDED_BACK = 0.2
# Share of its trace that is added to the diagonal of a covariance, against rounding below 0.
_JITTER = 1e-12


@dataclass(frozen=True, eq=False)
class RankGroups:
    """Energies of groups of ranks, the first K of one rank each, and covariances of their errors.

    first: shape (n_groups,). First rank of each group.
    eigenvalues: shape (n_features,). Eigenvalues of the decomposed matrix, 0 instead of negative.
    linear: shape (n_groups, n_groups). Covariance that fixed directions would have.
    choice: shape (n_groups, n_groups). Covariance that is added because the directions depend on
        the noise.
    """

    first: IntArray
    eigenvalues: FloatArray
    energies: FloatArray
    linear: FloatArray
    choice: FloatArray

    @classmethod
    def of(
        cls, query: SiteQuery, answers: Sequence[SiteAnswer], mean: NoisyMean | None
    ) -> RankGroups:
        """Combine the answers of all holders."""
        n_features, n_ranks = query.n_features, query.n_ranks
        edges = rank_edges(n_ranks, query.n_components, _GROUP_GROWTH)
        first = edges[:-1] if n_ranks == n_features else edges
        energies = np.sum([answer.energies for answer in answers], axis=0)
        energies = np.add.reduceat(energies, edges[:-1])
        if n_ranks < n_features:
            energies = np.append(energies, sum(answer.total for answer in answers) - energies.sum())
        eigenvalues = np.maximum(query.eigenvalues.astype(np.float64), 0)
        linear = _linear_covariance(query, sum(answer.variance for answer in answers), mean, first)
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
        mean_squares = (query.vectors @ mean.value).astype(np.float64) ** 2
        of_mean = (
            4 * mean.sigma**2 * np.add.reduceat(mean_squares, first) + 2 * mean.sigma**4 * sizes
        )
        covariance = covariance + np.diag(of_mean)
    return covariance


def _choice_covariance(
    query: SiteQuery, answers: Sequence[SiteAnswer], first: IntArray
) -> FloatArray:
    """Return the covariance of errors due to the choice of directions.

    The errors of the two directions of a pair are opposite.
    """
    phi = np.sum([answer.responses for answer in answers], axis=0)
    squares = phi**2 + np.sum([answer.disagreement for answer in answers], axis=0)
    sizes = np.diff(np.append(query.blocks, query.n_features))
    pairs = np.repeat(np.repeat(squares, sizes[: len(phi)], axis=0), sizes, axis=1)
    pairs *= query.squared_inverse_gaps
    rows = first[first < len(pairs)]
    between = np.zeros((len(first), len(first)))
    between[: len(rows)] = np.add.reduceat(np.add.reduceat(pairs, rows, axis=0), first, axis=1)
    between += between.T
    covariance: FloatArray = np.diag(between.sum(axis=1)) - between
    return covariance


def smooth(groups: RankGroups, n_components: int, known_total: float | None) -> Assessment:
    """Return the posterior mean of the energies, averaged over all models, as an assessment."""
    noise = groups.linear + groups.choice
    spread = math.sqrt(max(float(groups.linear.sum()), 0.0))
    scale = max(float(groups.energies.sum()), spread) if known_total is None else known_total
    means, covariances, log_likelihoods = [], [], []
    for expected, prior in _models(groups, scale, is_known=known_total is not None):
        covariance = prior + noise
        # Without noise a single group has no variance, but its energy may differ from the total.
        least = max(_JITTER * scale**2, np.finfo(float).tiny)
        covariance += _JITTER * max(float(covariance.trace()), least) * np.eye(len(covariance))
        root = np.linalg.cholesky(covariance)
        innovation = np.linalg.solve(root, groups.energies - expected)
        gain = np.linalg.solve(root, prior)
        means.append(expected + gain.T @ innovation)
        covariances.append(prior - gain.T @ gain)
        log_likelihoods.append(-innovation @ innovation / 2 - np.log(np.diag(root)).sum())
    weights = np.exp(np.array(log_likelihoods) - max(log_likelihoods))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    deviations = np.array(means) - mean
    posterior = np.tensordot(weights, covariances, axes=1) + (deviations.T * weights) @ deviations
    without_models = noise if known_total is None else _condition_on_sum(noise)
    widened = (1 - _ADDED_BACK) * posterior + _ADDED_BACK * without_models
    return _assessment(mean, widened, n_components, known_total)


def _condition_on_sum(covariance: FloatArray) -> FloatArray:
    """Return the covariance of Gaussian numbers, conditioned on their sum."""
    with_sum = covariance.sum(axis=0)
    total = float(with_sum.sum())
    return covariance - np.outer(with_sum, with_sum) / total if total > 0 else covariance


def _models(
    groups: RankGroups, scale: float, *, is_known: bool
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the expected energies of the groups and their covariance, for each model.

    scale: Sum of all energies, or its estimate.
    is_known: Whether the sum is exact.
    """
    n_features = len(groups.eigenvalues)
    ranks = np.arange(1, n_features + 1)
    floor = max(float(groups.eigenvalues.mean()), np.finfo(float).tiny)
    levels = np.log(groups.eigenvalues + floor)
    distance = np.zeros((len(groups.first), len(groups.first)))
    for position in (np.log(ranks), _LEVELS * levels):
        middle = np.add.reduceat(position, groups.first) / groups.sizes
        distance += math.sqrt(3) / _REACH * np.abs(np.subtract.outer(middle, middle))
    correlation = (1 + distance) * np.exp(-distance)  # Matern's, of order 3/2
    total = float(groups.eigenvalues.sum())
    spectrum = groups.eigenvalues / total if total > 0 else np.full(n_features, 1 / n_features)
    for share, deviation, roughness in product(_SPECTRAL_SHARES, _DEVIATIONS, _ROUGHNESS):
        by_rank = scale * (share * spectrum + (1 - share) / n_features)
        expected = np.add.reduceat(by_rank, groups.first)
        prior = deviation**2 * np.outer(expected, expected) * correlation
        prior += roughness**2 * np.diag(np.add.reduceat(by_rank**2, groups.first))
        yield expected, _condition_on_sum(prior) if is_known else prior


def _assessment(
    mean: FloatArray, covariance: FloatArray, n_components: int, known_total: float | None
) -> Assessment:
    """Return the assessment from the energies of groups of ranks, the components first."""
    components = slice(n_components)
    total, total_variance = known_total or float(mean.sum()), 0.0
    with_total = np.zeros(len(mean))
    if known_total is None:
        total_variance, with_total = max(float(covariance.sum()), 0.0), covariance.sum(axis=0)
    total_estimate = Estimate(np.array(total), np.array(math.sqrt(total_variance)))

    def shares(parts: FloatArray, variances: FloatArray, shared: FloatArray) -> Estimate:
        if total_estimate.interval[0] <= 0:
            return Estimate(parts * np.nan, parts * np.nan, most=1.0)
        ratio = parts / total
        ratio_variance = variances - 2 * ratio * shared + ratio**2 * total_variance
        return Estimate(ratio, np.sqrt(np.maximum(ratio_variance, 0)) / total, most=1.0)

    variances = np.maximum(np.diag(covariance), 0)[components]
    captured = np.array(mean[components].sum())
    captured_variance = np.maximum(covariance[components, components].sum(), 0)
    most = math.inf if known_total is None else known_total
    return Assessment(
        explained_variance=Estimate(mean[components], np.sqrt(variances), most),
        explained_variance_ratio=shares(mean[components], variances, with_total[components]),
        captured=Estimate(captured, np.sqrt(captured_variance), most),
        captured_share=shares(captured, captured_variance, with_total[components].sum()),
        total=total_estimate,
    )
