"""What a guarantee means to a person: tests, odds, beliefs and counts.

The adversary's problem is a test between two neighbouring data sets, D with your row and D' with
another in its place. `type_one` is the chance of crying "D" under D', `type_two` that of missing
it under D, and `power` is one minus the latter. (epsilon, delta) bounds the odds of every *event*;
it does not say that the odds stay within e^epsilon except with probability delta, which for
Gaussian noise is false by a factor of ten and more. `gaussian_exceedance` gives that chance
exactly, `exceedance_bound` a bound for any mechanism.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logit, ndtr, ndtri, ndtri_exp

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.privacy.budget import Guarantee, PrivacyBudget
from dpcore.privacy.gaussian import gaussian_mu, gaussian_trade_off

Values = FloatArray | float


def guarantee_mu(guarantee: Guarantee) -> float | None:
    """mu of a Gaussian guarantee, from its exact (epsilon, delta); None for any other.

    Where delta alone covers the release, so that its epsilon is 0, mu is told from the noise;
    without it, this is the largest mu of which that is true.
    """
    if guarantee.mechanism != "gaussian":
        return None
    if math.isinf(guarantee.epsilon):
        return math.inf
    if guarantee.epsilon == 0 and guarantee.mu is not None:
        return guarantee.mu
    if guarantee.epsilon == 0 and guarantee.sigma and guarantee.l2_sensitivity:
        return guarantee.l2_sensitivity / guarantee.sigma
    if guarantee.epsilon == 0:
        return 2 * float(ndtri((1 + guarantee.delta) / 2))
    return _mu(guarantee.epsilon, guarantee.delta)


def pure_mu(epsilon: float) -> float:
    """mu of the least private Gaussian release that bounds an epsilon-private one.

    Its trade-off curve goes through the corner of the other's two lines, where both errors are
    1 / (1 + e^epsilon), and lies below them elsewhere, being convex (`dpcore.privacy.filter`).
    """
    if not epsilon >= 0:
        raise ParameterError("epsilon", "at least 0", epsilon)
    if math.isinf(epsilon):
        return math.inf
    # Through its logarithm: e^-epsilon underflows long before mu is large.
    return max(0.0, -2 * float(ndtri_exp(log_expit(-epsilon))))


@lru_cache(maxsize=4096)
def _mu(epsilon: float, delta: float) -> float:
    return gaussian_mu(PrivacyBudget(epsilon, delta))


def trade_off(type_one: Values, epsilon: float, delta: float = 0.0) -> Values:
    """Smallest type II error of any test under (epsilon, delta): two lines and the floor.

    Parameters
    ----------
    type_one : float or ndarray of any shape
        In [0, 1].
    epsilon, delta : float
        ``delta=0`` is the curve of pure privacy.

    References
    ----------
    Kairouz, Oh & Viswanath (2015), "The composition theorem for differential privacy"; Dong,
    Roth & Su (2022), proposition 2.5.
    """
    if math.isinf(epsilon):
        return np.zeros_like(type_one, dtype=float)
    steep = 1 - delta - odds_factor(epsilon) * type_one
    flat = math.exp(-epsilon) * (1 - delta - type_one)
    return np.maximum(0.0, np.maximum(steep, flat))


def guarantee_trade_off(guarantee: Guarantee, type_one: Values) -> Values:
    """The exact curve for Gaussian noise, that of (epsilon, delta) for everything else.

    Parameters
    ----------
    guarantee : Guarantee
    type_one : float or array
        As in `guarantee_power`; the result, of the same shape, is the smallest type two error.
    """
    mu = guarantee_mu(guarantee)
    if mu is None:
        return trade_off(type_one, guarantee.epsilon, guarantee.delta)
    return gaussian_trade_off(type_one, mu)


def guarantee_power(guarantee: Guarantee, type_one: Values) -> Values:
    """Chance that the most powerful test at this level finds you.

    Parameters
    ----------
    guarantee : Guarantee
    type_one : float or array
        Chance of crying "D" where it was D'.
    """
    return 1 - guarantee_trade_off(guarantee, type_one)


def best_guess(guarantee: Guarantee) -> float:
    """Largest chance of guessing right whether the data were D or D', both equally likely.

    One half says nothing. The test with equal errors is the best: (1 - delta) / (1 + e^epsilon)
    each under (epsilon, delta), Phi(-mu / 2) under Gaussian noise.

    Parameters
    ----------
    guarantee : Guarantee
    """
    mu = guarantee_mu(guarantee)
    if mu is not None:
        return float(ndtr(mu / 2))
    return 1 - (1 - guarantee.delta) * float(expit(-guarantee.epsilon))


def icon_counts(guarantee: Guarantee, n_icons: int = 100) -> tuple[int, int]:
    """For an icon array: guesses out of `n_icons` that may be right, with the release and without.

    The first is rounded up, so that the picture never promises too much.

    Parameters
    ----------
    guarantee : Guarantee
    n_icons : int
    """
    if not n_icons >= 1:
        raise ParameterError("n_icons", "at least 1", n_icons)
    # The margin keeps 50.000000001, a rounding error, from becoming 51.
    return math.ceil(n_icons * best_guess(guarantee) - 1e-6), math.ceil(n_icons / 2)


def odds_factor(epsilon: float) -> float:
    """e^epsilon: the most by which a purely private release multiplies or divides any odds."""
    return math.exp(epsilon) if epsilon < 709 else math.inf


def posterior_bounds(prior: float, epsilon: float) -> tuple[float, float]:
    """Least and greatest belief after seeing a purely epsilon-private release.

    Parameters
    ----------
    prior : float
        Belief before, in (0, 1), that the data are D and not D'.
    epsilon : float
    """
    _require_probability("prior", prior)
    return float(expit(logit(prior) - epsilon)), float(expit(logit(prior) + epsilon))


def posterior_after_test(prior: float, type_one: Values, power: Values) -> Values:
    """Belief in D once a test of this level and power has cried "D" (Bayes' rule).

    With the power of the most powerful test it is the bound that a guarantee gives, under
    (epsilon, delta) as well as under Gaussian noise, for conclusions this rare.

    Parameters
    ----------
    prior : float
        In (0, 1): the belief before.
    type_one, power : float or array
    """
    _require_probability("prior", prior)
    return prior * power / (prior * power + (1 - prior) * type_one)


def gaussian_posterior(prior: float, mu: float, quantile: Values) -> Values:
    """Quantile of the belief in what is true, after seeing a Gaussian release.

    Under the true data set the log-odds move by N(mu^2 / 2, mu^2), exactly, for an adversary who
    knows everything but which of D and D' it was.

    Parameters
    ----------
    prior : float
        In (0, 1): the belief before.
    mu : float
    quantile : float or array
        In (0, 1); the result has its shape.
    """
    _require_probability("prior", prior)
    if math.isinf(mu):
        return np.ones_like(quantile, dtype=float)
    belief: Values = expit(logit(prior) + mu**2 / 2 + mu * ndtri(quantile))
    return belief


def gaussian_exceedance(epsilon: float, mu: float) -> float:
    """Chance that a Gaussian release moves the odds by more than e^epsilon, in either direction.

    Under the truth the log-odds move by N(mu^2 / 2, mu^2), whichever of the two data sets it is.
    Towards it they move that far with chance Phi(mu / 2 - epsilon / mu), away from it with
    Phi(-mu / 2 - epsilon / mu): not negligible where mu is small.
    """
    if mu == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(mu):
        return 1.0
    # Through their logarithms, as the profile is: where Phi underflows delta may still be above
    # 0, and this chance is never below delta.
    towards, away = log_ndtr(mu / 2 - epsilon / mu), log_ndtr(-mu / 2 - epsilon / mu)
    return math.exp(float(np.logaddexp(towards, away)))


def exceedance_bound(factor: float, epsilon: float, delta: float) -> float:
    """Bound on the chance that an (epsilon, delta) release moves the odds by more than `factor`.

    In either direction, whichever data set is the true one, for every t = factor above
    e^epsilon:

        P <= delta (1 + t) / (t - e^epsilon),

    at t = 2 e^epsilon that is (2 + e^-epsilon) delta, not 2 delta; and some mechanism attains it.

    Proof. Let D be true. On A, where the odds of D grow by more than t, P[A | D'] <= P[A | D] / t,
    and P[A | D] <= e^epsilon P[A | D'] + delta, so P[A | D] <= delta / (1 - e^epsilon / t). On B,
    where they shrink by more than t, the same with D and D' exchanged bounds P[B | D'], and
    P[B | D] <= P[B | D'] / t. The two add up to the bound. A mechanism with one outcome for A and
    one for B that attain both, and else one outcome as likely under D as under D', is
    (epsilon, delta)-private, since A alone exceeds the ratio e^epsilon of D to D', and B alone
    that of D' to D.

    Kasiviswanathan & Smith (2014) state t = e^(2 epsilon), with the larger
    2 delta / (1 - e^-epsilon). Where a release is a composition it is (epsilon, delta)-private
    and no more is known, so that this is what can be said of it.
    """
    ratio = odds_factor(epsilon) / factor
    # Not below 1 either where both overflow.
    return min(1.0, delta * (1 + 1 / factor) / (1 - ratio)) if ratio < 1 else 1.0


def _require_probability(parameter: str, value: float) -> None:
    if not 0 < value < 1:
        raise ParameterError(parameter, "in (0, 1)", value)
