"""Rule for the centre of rows on the sphere: a private mean, no centre, or differences of pairs.

All functions read public numbers and noisy votes only. `docs/algorithms/preparation.md` compares
the three centres.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpcore.arrays import FloatArray

MEAN, DIFFERENCES, NO_CENTRE = "mean", "differences", "none"
# Order of the counts of votes.
CENTRES = (MEAN, DIFFERENCES, NO_CENTRE)

# Largest error without any centre, in the measure of `best_mean_share`.
_ERROR_WITHOUT_CENTRE = 0.25
# Share without noise, where the mean costs nothing and any share works.
_SHARE_WITHOUT_NOISE = 1e-6
# Noise x from which a table gets no centre. The noise of differences, 4 x, then exceeds most
# eigenvalues of a second moment with trace 1.
_MOST_NOISE_OF_TABLES = 1 / 6
# Cost of the component that the mean's error takes, in units of the error's relative energy.
_COST_OF_COMPONENT = 0.15
# Requested standard deviation of the difference of two shares of the votes, and limits on the
# share of mu squared for them.
_NOISE_OF_VOTES = 0.4
_LEAST_TEST_SHARE, _MOST_TEST_SHARE = 0.01, 0.1
# Votes for differences per vote for no centre that differences need. A wrong choice of differences
# costs more than a wrong choice of no centre.
_MAJORITY = 2.0


class CentreShares(NamedTuple):
    """Shares of mu squared for the mean and for the votes, and the threshold of a vote."""

    mean: float
    test: float = 0.0
    smallest_spread: float = 0.0


def best_mean_share(noise: float) -> float:
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
    mean costs more than the best centre can gain, and the share is 0.
    """
    root = math.sqrt(noise)
    if 2 * noise * root + noise**2 >= _ERROR_WITHOUT_CENTRE:
        return 0.0
    return max(root / (1 + root), _SHARE_WITHOUT_NOISE)


def shares_with_votes(noise: float, n_features: int) -> CentreShares:
    """Return the shares of a table whose pairs vote on the centre, for noise x as above.

    With votes counted as shares of all pairs, the standard deviation of the difference of two
    counts is 4 x / sqrt(t D) for a share t of mu squared.

    A pair votes for the mean if half of its squared distance is at least the smallest spread. For
    rows of variance v about their mean, the mean's error z^2 = 4 x^2 / s shrinks the signal by
    1 / (1 + z^2 / v) and takes a component, which costs 0.15 z^2 / v; differences double the
    noise. Both are equal at the threshold v:

        2 x (1 + z^2 / v) / sqrt(1 - s - t) + 0.15 z^2 / v = 4 x / sqrt(1 - t).
    """
    if noise > _MOST_NOISE_OF_TABLES:
        return CentreShares(0.0)
    mean = best_mean_share(noise)
    test = (4 * noise / _NOISE_OF_VOTES) ** 2 / n_features
    test = min(max(test, _LEAST_TEST_SHARE), _MOST_TEST_SHARE)
    about_mean = 2 * noise / math.sqrt(1 - mean - test)
    gain = 4 * noise / math.sqrt(1 - test) - about_mean
    error = 4 * noise**2 / mean
    if gain <= 0:
        return CentreShares(mean)
    return CentreShares(mean, test, error * (about_mean + _COST_OF_COMPONENT) / gain)


def choose_centre(votes: FloatArray) -> str:
    """Return the centre that noisy votes choose, shares of the pairs in the order of `CENTRES`.

    The mean needs half of all votes. Otherwise differences need twice the votes of no centre.
    """
    # The exact shares add up to 1.
    mean, differences, none = votes - (np.sum(votes) - 1) / 3
    if mean >= 0.5:
        return MEAN
    return DIFFERENCES if differences >= _MAJORITY * none else NO_CENTRE
