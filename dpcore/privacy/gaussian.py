"""The Gaussian mechanism: its exact privacy profile, and how large its noise has to be.

The profile is Balle & Wang (2018), theorem 8: a release f(x) + N(0, sigma^2 I) with
l2-sensitivity Delta is (epsilon, delta)-DP if and only if

    delta >= Phi(Delta / 2 sigma - epsilon sigma / Delta)
             - e^epsilon Phi(-Delta / 2 sigma - epsilon sigma / Delta).

It depends on sigma and Delta only through mu = Delta / sigma.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr

from dpcore.errors import ParameterError
from dpcore.privacy.budget import PrivacyBudget

CALIBRATIONS = ("published", "classic", "analytic")


def l2_sensitivity_of_second_moment(n_samples: int, row_norm_bound: float = 1.0) -> float:
    """sqrt(2) c^2 / n: the replace-one l2-sensitivity of X^T X / n, attained by orthogonal rows."""
    return math.sqrt(2.0) * row_norm_bound**2 / n_samples


def gaussian_delta(epsilon: float, sigma: float, l2_sensitivity: float) -> float:
    """Smallest delta for which the Gaussian mechanism is (epsilon, delta)-DP."""
    if sigma == 0:
        return 1.0
    mu = l2_sensitivity / sigma
    if mu == 0:
        return 0.0
    log_first = float(log_ndtr(mu / 2 - epsilon / mu))
    log_second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    if log_second >= log_first:
        return 0.0
    return math.exp(log_first) * -math.expm1(log_second - log_first)


def gaussian_epsilon(delta: float, sigma: float, l2_sensitivity: float) -> float:
    """Smallest epsilon for which the Gaussian mechanism is (epsilon, delta)-DP."""
    if sigma == 0:
        return math.inf
    if gaussian_delta(0.0, sigma, l2_sensitivity) <= delta:
        return 0.0
    if delta <= 0:
        return math.inf
    high = 1.0
    while gaussian_delta(high, sigma, l2_sensitivity) > delta:
        high *= 2
    return brentq(
        lambda eps: gaussian_delta(eps, sigma, l2_sensitivity) - delta, 0.0, high, xtol=1e-13
    )


def gaussian_sigma(
    budget: PrivacyBudget, l2_sensitivity: float, *, calibration: str = "analytic"
) -> float:
    """Noise standard deviation that keeps `budget` for a statistic of this sensitivity."""
    if budget.is_noiseless:
        return 0.0
    if budget.delta <= 0:
        raise ParameterError("delta", "greater than 0 for Gaussian noise", budget.delta)
    if calibration == "classic":
        if budget.epsilon > 1:
            raise ParameterError("epsilon", "at most 1 for the classic calibration", budget.epsilon)
        return l2_sensitivity * math.sqrt(2 * math.log(1.25 / budget.delta)) / budget.epsilon
    if calibration != "analytic":
        raise ParameterError("calibration", "'analytic' or 'classic'", calibration)
    low = high = l2_sensitivity
    while gaussian_delta(budget.epsilon, high, l2_sensitivity) > budget.delta:
        high *= 2
    while gaussian_delta(budget.epsilon, low, l2_sensitivity) < budget.delta:
        low /= 2
    root = brentq(
        lambda s: gaussian_delta(budget.epsilon, s, l2_sensitivity) - budget.delta,
        low,
        high,
        xtol=l2_sensitivity * 1e-14,
    )
    return root * (1 + 1e-12)


def published_sigma(budget: PrivacyBudget, n_samples: int, row_norm_bound: float = 1.0) -> float:
    """sqrt(2 ln(1.25 / delta)) c^2 / (n epsilon), as printed in Algorithm 1 (Imtiaz & Sarwate 2018).

    It takes c^2 / n for the sensitivity, which is the zero-out value, and the classic formula
    at every epsilon. What it really promises is `gaussian_epsilon` at the replace-one
    sensitivity.
    """
    if budget.is_noiseless:
        return 0.0
    if budget.delta <= 0:
        raise ParameterError("delta", "greater than 0 for Gaussian noise", budget.delta)
    return (
        row_norm_bound**2
        * math.sqrt(2 * math.log(1.25 / budget.delta))
        / (n_samples * budget.epsilon)
    )


def second_moment_sigma(
    budget: PrivacyBudget, n_samples: int, *, calibration: str, row_norm_bound: float = 1.0
) -> float:
    """Noise for one site's second moment under any of the three calibrations."""
    if calibration not in CALIBRATIONS:
        raise ParameterError("calibration", f"one of {', '.join(CALIBRATIONS)}", calibration)
    if calibration == "published":
        return published_sigma(budget, n_samples, row_norm_bound)
    sensitivity = l2_sensitivity_of_second_moment(n_samples, row_norm_bound)
    return gaussian_sigma(budget, sensitivity, calibration=calibration)
