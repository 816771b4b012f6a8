"""Interpretation of a guarantee for one person: tests, guesses and beliefs of an adversary.

An adversary tests between two neighbouring data sets: D with the person's row, and D' with another
row in its place. `type_one` is the probability of deciding "D" under D', `type_two` the probability
of deciding "D'" under D, and `power` is 1 - type_two. (epsilon, delta) bounds the odds of every
*event*. It does not imply that the odds stay within e^epsilon except with probability delta: for
Gaussian noise this is false by a factor of ten and more.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import expit, log_expit, logit, ndtr, ndtri, ndtri_exp

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.privacy.budget import Guarantee, PrivacyBudget
from dpcore.privacy.gaussian import gaussian_mu, gaussian_trade_off

Values = FloatArray | float


def guarantee_mu(guarantee: Guarantee) -> float | None:
    """Return mu of a Gaussian guarantee, from its exact (epsilon, delta); None for any other.

    A release with epsilon 0 at a positive delta has its mu computed from the noise. Without a
    stated noise, the result is the largest mu with epsilon 0 at this delta.
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
    """Return the smallest mu of a Gaussian release that bounds a pure epsilon-DP release.

    The trade-off curve of pure epsilon-DP consists of two lines that meet where both errors are
    1 / (1 + e^epsilon). The Gaussian curve goes through this corner and, being convex, lies below
    the lines elsewhere (`dpcore.privacy.cap`).
    """
    if not epsilon >= 0:
        raise ParameterError("epsilon", "at least 0", epsilon)
    if math.isinf(epsilon):
        return math.inf
    # Logarithms are used because e^-epsilon underflows while mu is still small.
    return max(0.0, -2 * float(ndtri_exp(log_expit(-epsilon))))


@lru_cache(maxsize=4096)
def _mu(epsilon: float, delta: float) -> float:
    return gaussian_mu(PrivacyBudget(epsilon, delta))


def trade_off(type_one: Values, epsilon: float, delta: float = 0.0) -> Values:
    """Return the smallest type II error of any test under (epsilon, delta).

    Parameters
    ----------
    type_one : float or ndarray of any shape
        Type I error in [0, 1].
    epsilon, delta : float
        ``delta=0`` gives the curve of pure epsilon-DP.

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
    """Return the smallest type II error: exact for Gaussian noise, else from (epsilon, delta).

    Parameters
    ----------
    guarantee : Guarantee
    type_one : float or array
        Type I error; the result has the same shape.
    """
    mu = guarantee_mu(guarantee)
    if mu is None:
        return trade_off(type_one, guarantee.epsilon, guarantee.delta)
    return gaussian_trade_off(type_one, mu)


def guarantee_power(guarantee: Guarantee, type_one: Values) -> Values:
    """Return the power of the most powerful test at this level.

    Parameters
    ----------
    guarantee : Guarantee
    type_one : float or array
        Probability of deciding "D" under D'.
    """
    return 1 - guarantee_trade_off(guarantee, type_one)


def best_guess(guarantee: Guarantee) -> float:
    """Return the largest probability of guessing right between D and D', both equally likely.

    The value without any information is 0.5. The best test has equal errors:
    (1 - delta) / (1 + e^epsilon) each under (epsilon, delta), Phi(-mu / 2) for Gaussian noise.

    Parameters
    ----------
    guarantee : Guarantee
    """
    mu = guarantee_mu(guarantee)
    if mu is not None:
        return float(ndtr(mu / 2))
    return 1 - (1 - guarantee.delta) * float(expit(-guarantee.epsilon))


def icon_counts(guarantee: Guarantee, n_icons: int = 100) -> tuple[int, int]:
    """Return the largest numbers of right guesses out of `n_icons`, with and without the release.

    The first number is rounded up.

    Parameters
    ----------
    guarantee : Guarantee
    n_icons : int
    """
    if not n_icons >= 1:
        raise ParameterError("n_icons", "at least 1", n_icons)
    # The margin absorbs rounding errors: 50.000000001 must not become 51.
    return math.ceil(n_icons * best_guess(guarantee) - 1e-6), math.ceil(n_icons / 2)


def odds_factor(epsilon: float) -> float:
    """Return e^epsilon, the largest factor by which a pure epsilon-DP release changes any odds."""
    return math.exp(epsilon) if epsilon < 709 else math.inf


def posterior_bounds(prior: float, epsilon: float) -> tuple[float, float]:
    """Return the smallest and the largest belief after a pure epsilon-DP release.

    Parameters
    ----------
    prior : float
        Belief before the release, in (0, 1), that the data set is D.
    epsilon : float
    """
    _require_probability("prior", prior)
    return float(expit(logit(prior) - epsilon)), float(expit(logit(prior) + epsilon))


def gaussian_posterior(prior: float, mu: float, quantile: Values) -> Values:
    """Return a quantile of the belief in the true data set after a Gaussian release.

    For an adversary who knows everything except which of D and D' is true, the log-odds of the
    true one change by N(mu^2 / 2, mu^2), exactly.

    Parameters
    ----------
    prior : float
        Belief before the release, in (0, 1).
    mu : float
    quantile : float or array
        Level in (0, 1); the result has the same shape.
    """
    _require_probability("prior", prior)
    if math.isinf(mu):
        return np.ones_like(quantile, dtype=float)
    belief: Values = expit(logit(prior) + mu**2 / 2 + mu * ndtri(quantile))
    return belief


def _require_probability(parameter: str, value: float) -> None:
    if not 0 < value < 1:
        raise ParameterError(parameter, "in (0, 1)", value)
