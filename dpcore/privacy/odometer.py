"""Odometer: bounds of the privacy loss that hold at every data-dependent stopping time.

At delta = 0.01 and mu from 0.3 to 10, adaptive stopping costs between 1.3 and 3 times the epsilon
of a plan fixed beforehand.

References
----------
Rogers, Roth, Ullman & Vadhan (2016); Whitehouse, Ramdas, Rogers & Wu (2023), as in
`dpcore.privacy.cap`.
"""

from __future__ import annotations

import math
from functools import lru_cache

from dpcore.errors import ParameterError
from dpcore.privacy.gaussian import gaussian_delta, gaussian_epsilon

# M_0: a little more than mu of one release at epsilon = 1 and delta = 0.01. It must not depend on
# data.
_FIRST_MU = 0.55

# Smallest epoch; it also covers all smaller totals, which do not occur in practice.
_LOWEST_EPOCH = -20


def odometer_epsilon(mu: float, delta: float) -> float:
    """Return the odometer's bound on the privacy loss after releases with this composed mu.

    **Claim.** Let releases be mu_i-GDP given the past, each chosen after seeing all earlier ones,
    L_t the privacy loss of the first t of them together (the logarithm of the ratio of their
    likelihoods under two neighbours), and V_t the sum of their mu_i^2. With `odometer_epsilon` as a
    function of V_t,

        P(there is a t with L_t > odometer_epsilon(sqrt(V_t), delta)) <= delta.

    At any stopping time, the loss exceeds the bound with probability at most delta (the odometer of
    Rogers, Roth, Ullman & Vadhan 2016).

    **Proof.** Let M^2 be fixed and A the event that L_t > epsilon at some t with V_t <= M^2. Stop
    the interaction where L first exceeds epsilon, or before the release that would take V above
    M^2. The interaction up to there is M-GDP (`dpcore.privacy.cap`) and determines whether A
    occurred. On A the likelihood under the first neighbour is more than e^epsilon times that under
    the second, so P(A) >= e^epsilon Q(A), while for every c privacy gives P(A) <= e^c Q(A) + d(c),
    where d is the profile of M-GDP. For c < epsilon that is

        P(A) <= d(c) / (1 - e^(c - epsilon)),

    which is at most delta' at epsilon = c - ln(1 - d(c) / delta'), for any c with d(c) < delta';
    the best c is used. No convex function of the likelihood ratio gives a smaller bound. For
    example, Ville's inequality with exp(lambda L_t - lambda (lambda + 1) V_t / 2) gives M^2 / 2 + M
    sqrt(2 ln(1 / delta')).

    V_t has no bound known beforehand. Let M_k^2 = 2^k M_0^2 for all integers k, and delta_k = delta
    / ((pi^2 / 3 - 1) (1 + abs(k))^2), which add up to delta over all k. With V_t in (M_(k-1)^2,
    M_k^2] the bound is that of M_k and delta_k, and the probabilities add up. *QED*

    Parameters
    ----------
    mu : float
        Root of the sum of mu squared, at least 0.
    delta : float
        Probability, in (0, 1), that the loss is larger at any time.

    Raises
    ------
    ParameterError
        If an argument is outside its range.
    """
    if not mu >= 0:
        raise ParameterError("mu", "at least 0", mu)
    if not 0 < delta < 1:
        raise ParameterError("delta", "in (0, 1)", delta)
    if mu == 0 or math.isinf(mu):
        return mu
    # A billionth keeps a sum that is a power of two from falling into the next epoch.
    k = math.ceil(2 * math.log2(mu / _FIRST_MU) - 1e-9)
    return _epoch_bound(max(k, _LOWEST_EPOCH), delta)


def counted_epsilon(mu: float, number: int, delta: float, *, distance: float = 0.0) -> float:
    """Return epsilon of equal releases that stop at this number for any data-dependent reason.

    **Claim and proof.** If each release is mu-GDP given the past, let epsilon_n be the value of the
    profile of sqrt(n) mu-GDP at delta_n = 6 delta / (pi n)^2, and N the number at which the
    releases stop, chosen after seeing them. Then for every event S of the releases until then, with
    laws P and Q under two neighbours,

        P(S) <= sum over n of e^epsilon_n Q(S and N = n) + delta.

    The event S and N = n is an event of the first n releases, which are sqrt(n) mu-GDP
    (`dpcore.privacy.cap`), so that P(S and N = n) <= e^epsilon_n Q(S and N = n) + delta_n, and the
    delta_n add up to delta. *QED* The guarantee at n is epsilon_n, a little more than that of a
    plan of n releases.

    Parameters
    ----------
    mu : float
        GDP parameter of each release, at least 0.
    number : int
        Number of releases, at least 1.
    delta : float
        Failure probability, in (0, 1), for all possible numbers together.
    distance : float
        Total variation between each drawn release and the ideal one. It uses (1 + e^epsilon) number
        distance of this number's part of delta. Epsilon is infinite if that is more than half.

    Raises
    ------
    ParameterError
        If an argument is outside its range.
    """
    if not mu >= 0:
        raise ParameterError("mu", "at least 0", mu)
    if not number >= 1:
        raise ParameterError("number", "at least 1", number)
    if not 0 < delta < 1:
        raise ParameterError("delta", "in (0, 1)", delta)
    total_mu, part = math.sqrt(number) * mu, 6 * delta / (math.pi * number) ** 2
    at_most = gaussian_epsilon(part / 2, 1.0, total_mu)
    spent = (1 + math.exp(min(at_most, 700))) * number * distance * (1 + 1e-12)
    return gaussian_epsilon(part - spent, 1.0, total_mu) if spent <= part / 2 else math.inf


@lru_cache(maxsize=1024)
def _epoch_bound(k: int, delta: float) -> float:
    from scipy.optimize import minimize_scalar  # slow

    # Wider than the epoch, to cover the rounding in `odometer_epsilon`.
    mu = _FIRST_MU * 2 ** (k / 2) * (1 + 1e-9)
    part = delta / ((math.pi**2 / 3 - 1) * (1 + abs(k)) ** 2)

    def bound(c: float) -> float:
        excess = gaussian_delta(c, 1.0, mu) / part
        return c - math.log1p(-excess) if excess < 1 else math.inf

    least = gaussian_epsilon(part, 1.0, mu)
    # Every c gives a valid bound; the search only makes it tighter.
    minimum = minimize_scalar(bound, bounds=(least, least + 10 * mu), method="bounded")
    return float(bound(minimum.x))
