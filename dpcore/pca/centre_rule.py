"""Rule for the centre of rows on the sphere: a private mean, no centre, or differences of pairs.

All functions read public numbers and noisy votes only. `docs/algorithms/preparation.md` compares
the three centres.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.picture_kinds import CENTRED

MEAN, DIFFERENCES, NO_CENTRE = "mean", "differences", "none"
# Order of the counts of votes. The last count is of votes for a mean with a small error.
CENTRES = (MEAN, DIFFERENCES, NO_CENTRE)
N_COUNTS = len(CENTRES) + 1
# How rows on the sphere are centred: by a mean if its noise is small, by a mean at any noise, or as
# pairs vote.
ACCURATE_MEAN, ANY_MEAN, VOTES = "accurate mean", "any mean", "votes"
CENTRE_RULES = (ACCURATE_MEAN, ANY_MEAN, VOTES)

# Largest error without any centre, in the measure of `best_mean_share`.
_ERROR_WITHOUT_CENTRE = 0.25
# Share without noise, where the mean costs nothing and any share works.
_SHARE_WITHOUT_NOISE = 1e-6
# Noise x from which a table gets no centre. The noise of differences, 4 x, then exceeds most
# eigenvalues of a second moment with trace 1.
_MOST_NOISE_OF_TABLES = 1 / 6
# Cost of the component that an error of the centre takes, in units of the error's relative energy:
# without noise, and the noise x from which noise takes as many components as it would.
_COST_OF_COMPONENT, _NOISE_WITHOUT_COST = 0.12, 0.06
# Requested and largest standard deviation of the difference of two shares of the votes, and limits
# on the share of mu squared for them.
_NOISE_OF_VOTES, _MOST_NOISE_OF_VOTES = 0.4, 0.6
_LEAST_TEST_SHARE, _MOST_TEST_SHARE = 0.01, 0.1
# Votes for differences per vote for no centre that differences need. A wrong choice of differences
# costs more than a wrong choice of no centre.
_MAJORITY = 2.0
# Part of the largest error of a mean that pairs accept, up to which its error is small.
_ACCURATE = 1 / 8


class VoteRule(NamedTuple):
    """Public numbers from which a pair of rows finds its vote.

    noise: x = sqrt(S D) / (N mu).
    mean, test: Shares of mu squared for the mean and for the votes.
    """

    noise: float
    mean: float
    test: float = 0.0

    def votes(self, spread: FloatArray, product: FloatArray) -> IntArray:
        """Return the positions of the votes of pairs: those in `CENTRES`, or 3.

        Each pair votes for the centre with the smallest loss if all rows were like it. Position 3
        is the mean, if its error is small.

        spread: Half of the squared distance of a pair, an estimate of the variance v of the rows.
        product: Scalar product of the pair, an estimate of the squared length of their mean.
        """
        about_public = 2 * self.noise / math.sqrt(1 - self.test)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.maximum(product, 0) / spread
            error = self.error_of_mean(np.maximum(product, 0)) / spread
            losses = np.stack(
                [
                    self._noise_about_mean * (1 + error) + self._cost_of_component * error,
                    np.broadcast_to(2 * about_public, spread.shape),
                    about_public * (1 + shift) + self._cost_of_component * shift,
                ]
            )
            is_accurate = error <= _ACCURATE * self.largest_error
        best = losses.argmin(axis=0)
        # Equal rows have no direction, and vote for differences.
        best = np.where(spread > 0, best, 1)
        return np.where((best == 0) & is_accurate, len(CENTRES), best)

    def error_of_mean(self, squared_length: FloatArray) -> FloatArray:
        """Return the squared error of a noisy mean of this squared length, after its shrinkage."""
        squared_noise = 4 * self.noise**2 / self.mean
        error: FloatArray = squared_length * squared_noise / (squared_length + squared_noise)
        return error

    @property
    def largest_error(self) -> float:
        """Squared error of the mean over the variance with which a pair still votes for it."""
        gain = 4 * self.noise / math.sqrt(1 - self.test) - self._noise_about_mean
        return max(0.0, gain / (self._noise_about_mean + self._cost_of_component))

    @property
    def _cost_of_component(self) -> float:
        return _COST_OF_COMPONENT * max(0.0, 1 - self.noise / _NOISE_WITHOUT_COST)

    @property
    def _noise_about_mean(self) -> float:
        return 2 * self.noise / math.sqrt(1 - self.mean - self.test)


def centre_rule(image_shape: tuple[int, int] | None, picture: str) -> str:
    """Return how rows on the sphere are centred, an item of `CENTRE_RULES`.

    Pairs of rows of a table vote. Pictures buy a mean, which is denoised. Without one, the leading
    directions of centred objects cannot be told from their mean, so that they buy it at any noise.
    Pictures that fill the frame lose more by a noisy mean.

    image_shape: Height and width of pictures; None for tables.
    picture: {"full", "centred"}
    """
    if image_shape is None:
        return VOTES
    return ANY_MEAN if picture == CENTRED else ACCURATE_MEAN


def best_mean_share(noise: float, *, at_any_noise: bool = False) -> float:
    """Return s for noise x = sqrt(S D) / (N mu); 0 if a mean costs more than it can gain.

    The share depends on public numbers only. Rows are at most 1 long, N of them at S sites, each
    with D entries; mu is the budget as a Gaussian mechanism. Averaged over the sites, the mean's
    noise is 2 x / sqrt(s) long for a share s of mu squared, with x = sqrt(S D) / (N mu), and that
    of the second moment has the operator norm 2 x / sqrt(1 - s) (the edge of the semicircle of
    isometric noise of scale sqrt(2) / (n mu)).

    A centre with error e changes the moment by second order, norm(e)^2 over the squared distance of
    the rows; relative to the diameter 2 of the ball this is x^2 / s. Since 2 / sqrt(1 - s) is at
    most 1 + 1 / (1 - s), the sum of both errors is at most

        x + x / (1 - s) + x^2 / s,

    with its minimum 2 x + 2 x^(3/2) + x^2 at s = sqrt(x) / (1 + sqrt(x)). Without a mean, rows are
    centred by the public middle, whose error is at most 1, that is 1/4 in the same measure, and the
    moment's noise costs 2 x. If 2 x^(3/2) + x^2 exceeds 1/4, which happens at x = 0.22, a private
    mean costs more than the best centre can gain, and the share is 0 unless `at_any_noise`.
    """
    root = math.sqrt(noise)
    if not at_any_noise and 2 * noise * root + noise**2 >= _ERROR_WITHOUT_CENTRE:
        return 0.0
    return max(root / (1 + root), _SHARE_WITHOUT_NOISE)


def vote_rule(noise: float, n_features: int) -> VoteRule:
    """Return the rule of a table whose pairs vote on the centre, for noise x as above.

    With votes counted as shares of all pairs, the standard deviation of the difference of two
    counts is 4 x / sqrt(t D) for a share t of mu squared. There is no vote, and no centre, if x
    exceeds 1/6 or this standard deviation 0.6.

    For rows of variance v about a mean of squared length m^2, noise and bias are, relative to the
    signal,

        mean          2 x (1 + e^2 / v) / sqrt(1 - s - t) + c e^2 / v,
        differences   4 x / sqrt(1 - t),
        no centre     2 x (1 + m^2 / v) / sqrt(1 - t) + c m^2 / v,

    with the error e^2 = m^2 z^2 / (m^2 + z^2) of the shrunk mean, z^2 = 4 x^2 / s. It shrinks the
    signal by 1 / (1 + e^2 / v), and takes a component, at the cost c = 0.12 (1 - x / 0.06), or 0
    where noise takes more.
    """
    test = (4 * noise / _NOISE_OF_VOTES) ** 2 / n_features
    test = min(max(test, _LEAST_TEST_SHARE), _MOST_TEST_SHARE)
    if _is_too_noisy(noise, test, n_features):
        return VoteRule(noise, 0.0)
    return VoteRule(noise, best_mean_share(noise), test)


def _is_too_noisy(noise: float, test: float, n_features: int) -> bool:
    noise_of_votes = 4 * noise / math.sqrt(test * n_features)
    return noise > _MOST_NOISE_OF_TABLES or noise_of_votes > _MOST_NOISE_OF_VOTES


def choose_centre_of_table(votes: FloatArray, rule: VoteRule, n_features: int) -> str:
    """Return the centre that noisy votes choose, or no centre where the noise is too large."""
    is_too_noisy = _is_too_noisy(rule.noise, rule.test, n_features)
    return NO_CENTRE if is_too_noisy else choose_centre(votes)


def choose_centre(votes: FloatArray) -> str:
    """Return the centre that noisy votes choose.

    The mean needs the most votes. Otherwise differences need twice the votes of no centre.

    votes: shape (4,). Noisy shares of the pairs at each position of `VoteRule.votes`.
    """
    # The exact shares add up to 1.
    mean, differences, none, accurate = votes - (np.sum(votes) - 1) / N_COUNTS
    mean += accurate
    if mean >= max(differences, none):
        return MEAN
    return DIFFERENCES if differences >= _MAJORITY * none else NO_CENTRE


def mean_error_limit(votes: FloatArray, rule: VoteRule) -> float:
    """Return the share of the variance that the error of a mean may hold that votes chose.

    At least half of the pairs that voted for the mean accepted this error.

    votes: As in `choose_centre`.
    """
    mean, _, _, accurate = votes
    ratio = rule.largest_error * (_ACCURATE if accurate > mean else 1)
    return ratio / (1 + ratio)


def n_above_mean_error(
    n_above: int | None, eigenvalues: FloatArray, trace: float, limit: float
) -> int | None:
    """Return the number of leading components above both the noise and the error of the mean.

    n_above: Number above the noise of the matrix; None if it is unknown.
    eigenvalues: Leading eigenvalues, descending.
    trace: Sum of all eigenvalues.
    limit: Result of `mean_error_limit`. The error is one direction, which differs between releases.
    """
    if n_above is None:
        return None
    is_below = eigenvalues <= limit * trace
    return min(n_above, int(is_below.argmax()) if is_below.any() else len(is_below))
