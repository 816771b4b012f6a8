"""Calibrate the noise of a release: public numbers in, integer sigmas out.

Neighbouring tables differ in all rows of one person, replaced, added or removed; at most m rows of
a person are used. Sensitivities (proofs: `docs/algorithms/exact-release.md`):

- sum of rows with squared norm at most R^2, with a count of weight at most sqrt(3) R: 2 m R;
- second moment of rows of length at most L: sqrt(2) m L^2, attained by orthogonal rows;
- second moment of differences of pairs of length at most L: 2 sqrt(2) m L^2;
- numbers of votes of the pairs: 2 sqrt(2) m.

The sampler is within total variation tau of the ideal under both neighbours, so an
(epsilon, delta)-DP ideal is (epsilon, delta + (1 + e^epsilon) tau)-DP. A millionth of delta is
reserved for tau, in a release and in a project's cap, so that a release fits a cap with the same
numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dpcore.errors import ParameterError
from dpcore.privacy import PrivacyBudget, delta_of_distance, gaussian_epsilon, gaussian_mu
from dpcore.release.dictionary import Dictionary
from dpcore.release.integer_moments import (
    diagonal_sigma,
)
from dpcore.release.integer_rows import GRID, LENGTH, grid_norm
from dpcore.release.normal_sampler import DISTANCE, MOST_SIGMA_BITS

# Share of delta that is reserved for the sampler's distance, in releases and caps.
SAMPLER_SHARE = 1e-6
# Weight of a vote, so that the integer scale of its noise is close to the calibrated one.
VOTE = 1 << 16


@dataclass(frozen=True)
class Scales:
    """Integers that determine the guarantee of a release.

    Parameters
    ----------
    n_features : int
        D.
    rows_per_person : int
        m.
    squared_norm : int
        R^2, of a row that is summed, in units of the grid.
    length : int
        L, of a row of the second moment.
    sum_sigma, moment_sigma : int
        Noise of a sum's entry, and of a moment's above the diagonal.
    vote_sigma : int
        Noise of a number of votes on the centre, in units of 1 / VOTE; 0 without votes.
    of_differences : bool
        Whether the moment is that of differences of pairs.
    """

    n_features: int
    rows_per_person: int
    squared_norm: int
    length: int
    sum_sigma: int
    moment_sigma: int
    vote_sigma: int = 0
    of_differences: bool = False

    def for_differences(self) -> Scales:
        """Return the scales for a moment of differences, with the same mu."""
        return replace(self, moment_sigma=2 * self.moment_sigma, of_differences=True)

    @property
    def count_weight(self) -> int:
        """Weight of the count: the largest integer up to sqrt(3) R."""
        return math.isqrt(3 * self.squared_norm)

    @property
    def diagonal_sigma(self) -> int:
        """Noise of the diagonal of the moment."""
        return diagonal_sigma(self.moment_sigma)

    @property
    def squared_mu(self) -> Fraction:
        """Exact mu^2 of the sum, the votes and the moment together."""
        factor = (2 if self.of_differences else 1) * self.rows_per_person
        of_moment = Fraction(factor**2 * self.length**4, self.moment_sigma**2)
        return self.squared_mu_of_sum + self.squared_mu_of_votes + of_moment

    @property
    def squared_mu_of_sum(self) -> Fraction:
        """Exact mu^2 of the sum and the count."""
        return Fraction(4 * self.rows_per_person**2 * self.squared_norm, self.sum_sigma**2)

    @property
    def squared_mu_of_votes(self) -> Fraction:
        """Exact mu^2 of the numbers of votes; 0 without votes."""
        if self.vote_sigma == 0:
            return Fraction(0)
        return Fraction(8 * (self.rows_per_person * VOTE) ** 2, self.vote_sigma**2)

    @property
    def mu(self) -> float:
        """Parameter mu of the ideal release as a Gaussian mechanism, rounded up."""
        return math.nextafter(math.sqrt(self.squared_mu), math.inf) * (1 + 2.0**-50)

    @property
    def n_draws(self) -> int:
        """Number of draws: D + 1 for the sum, 4 for votes, and D (D + 1) / 2 for the moment."""
        n_votes = 4 if self.vote_sigma else 0
        return self.n_features + 1 + n_votes + self.n_features * (self.n_features + 1) // 2

    @property
    def distance(self) -> float:
        """Total variation tau between the sampler and the ideal."""
        return self.n_draws * DISTANCE

    def epsilon(self, delta: float, at_most: float) -> float:
        """Return the epsilon that holds at this delta, including the sampler's distance.

        Parameters
        ----------
        delta : float
        at_most : float
            Upper bound of the result, at which the distance is counted.
        """
        ideal_delta = delta - delta_of_distance(self.distance, at_most)
        return gaussian_epsilon(ideal_delta, 1.0, self.mu) if ideal_delta > 0 else math.inf


def shares_of(scales: Scales) -> tuple[float, float]:
    """Return the shares of mu^2 that the sum with the count, and the votes, take."""
    total = scales.squared_mu
    return float(scales.squared_mu_of_sum / total), float(scales.squared_mu_of_votes / total)


def for_gaussian(budget: PrivacyBudget) -> PrivacyBudget:
    """Return the budget of the ideal release, without the sampler's share of delta."""
    return PrivacyBudget(budget.epsilon, (1 - SAMPLER_SHARE) * budget.delta)


def split_budget(budget: PrivacyBudget, share: float) -> tuple[PrivacyBudget, PrivacyBudget]:
    """Return two budgets at the same delta whose releases together keep the budget.

    share: Part of mu^2 for the second one, in (0, 1).
    Raises `ParameterError` if the share or the budget is out of range.
    """
    if not 0 < share < 1:
        raise ParameterError("scores_share", "at least 0 and below 1", share)
    if budget.is_noiseless or not budget.delta > 0:
        raise ParameterError(
            "epsilon and delta", "finite and above 0", (budget.epsilon, budget.delta)
        )
    ideal = for_gaussian(budget)
    mu = gaussian_mu(ideal)
    parts = (math.sqrt(1 - share) * mu, math.sqrt(share) * mu)
    first, second = (
        PrivacyBudget(gaussian_epsilon(ideal.delta, 1.0, part), budget.delta) for part in parts
    )
    return first, second


def calibrated(
    dictionary: Dictionary,
    *,
    epsilon: float,
    delta: float,
    mean_share: float = 0.1,
    vote_share: float = 0.0,
) -> Scales:
    """Return the smallest integer noise with which a release is (epsilon, delta)-DP.

    Parameters
    ----------
    dictionary : Dictionary
    epsilon, delta : float
        Both positive, epsilon finite.
    mean_share : float
        Part of mu^2 that the sum and the count take, in (0, 1).
    vote_share : float
        Part of mu^2 that votes on the centre take, in [0, 1); both together are below 1.

    Returns
    -------
    Scales

    Raises
    ------
    ParameterError
        If a value is out of range, if sigma needs more than 57 bits, or if the sampler's distance
        uses more than a millionth of delta.
    """
    budget = PrivacyBudget(epsilon, delta)
    if budget.is_noiseless or not budget.delta > 0:
        raise ParameterError("epsilon and delta", "finite and above 0", (epsilon, delta))
    if not 0 < mean_share < 1:
        raise ParameterError("mean_share", "above 0 and below 1", mean_share)
    if not 0 <= vote_share < 1 - mean_share:
        raise ParameterError("vote_share", f"at least 0 and below {1 - mean_share:g}", vote_share)
    m, squared_norm = dictionary.at_most, squared_norm_bound(dictionary)
    unit = Scales(dictionary.n_features, m, squared_norm, LENGTH, 1, 1, int(vote_share > 0))
    for_sampler = delta_of_distance(unit.distance, epsilon)
    if not for_sampler <= SAMPLER_SHARE * delta:
        raise ParameterError(
            "delta",
            f"above {for_sampler / SAMPLER_SHARE:.2g} at this epsilon and number of features",
            delta,
        )
    squared_mu = Fraction(gaussian_mu(for_gaussian(budget))) ** 2
    share, of_votes = Fraction(mean_share), Fraction(vote_share)
    sum_sigma = _next_root(4 * m**2 * squared_norm / (squared_mu * share))
    vote_sigma = _next_root(8 * (m * VOTE) ** 2 / (squared_mu * of_votes)) if vote_share > 0 else 0
    moment_sigma = _next_root(m**2 * LENGTH**4 / (squared_mu * (1 - share - of_votes)))
    if max(sum_sigma, 2 * diagonal_sigma(moment_sigma)).bit_length() > MOST_SIGMA_BITS:
        raise ParameterError(
            "epsilon", "large enough for noise of 57 bits with this many rows a person", epsilon
        )
    return Scales(
        dictionary.n_features, m, squared_norm, LENGTH, sum_sigma, moment_sigma, vote_sigma
    )


def squared_norm_bound(dictionary: Dictionary) -> int:
    """Return R^2 of rows on the grid: each column contributes at most GRID^2."""
    if dictionary.norm_bound is not None:
        return min(grid_norm(dictionary.norm_bound) ** 2, len(dictionary.columns) * GRID**2)
    return len(dictionary.columns) * GRID**2


def _next_root(value: Fraction) -> int:
    return math.isqrt(math.floor(value)) + 1
