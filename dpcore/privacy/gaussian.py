"""Gaussian mechanism: exact privacy profile and noise calibration.

Theorem (Balle & Wang 2018, theorem 8). The release f(x) + N(0, sigma^2 I) with l2 sensitivity
Delta is (epsilon, delta)-DP if and only if, with mu = Delta / sigma,

    delta >= Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu).

Proof. By rotation invariance the hardest pair of neighbours is N(0, 1) and N(mu, 1). The privacy
loss between them is N(mu^2 / 2, mu^2) distributed. The smallest delta is the integral of the
positive part of p - e^epsilon q, attained on the half-line where the loss exceeds epsilon. Its
probabilities under p and q are the two values of Phi. The same mu is the parameter of Gaussian
differential privacy (Dong, Roth & Su 2022), which gives the trade-off between the two errors of any
test (`gaussian_trade_off`) and an exact composition rule (`composed_mu`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import erfcx, ndtr, ndtri

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.privacy.budget import PrivacyBudget
from dpcore.privacy.sensitivity import l2_sensitivity_of_second_moment, require_positive

CALIBRATIONS = ("published", "classic", "analytic")

# Twelve nodes integrate the entire function 1 - x m(x) to full precision over length 1.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
_LOG_SQRT_2PI = math.log(2 * math.pi) / 2
# Above this a, phi(a) and delta are below the smallest double.
_UNDERFLOW = 39.0
# Factor that widens theoretically exact brackets against rounding errors.
_BRACKET_MARGIN = 1 + 1e-9
# Every release needs these roots, which take longer to compute than the noise.
_CACHE_SIZE = 4096


def gaussian_delta(epsilon: float, sigma: float, l2_sensitivity: float) -> float:
    """Return the smallest delta for which the Gaussian mechanism is (epsilon, delta)-DP.

    Balle & Wang (2018), "Improving the Gaussian mechanism for differential privacy", theorem 8.

    Parameters
    ----------
    epsilon : float
        Nonnegative; ``inf`` gives 0.
    sigma : float
        Standard deviation of the noise on each coordinate, nonnegative; 0 gives delta 1, except
        at an infinite epsilon.
    l2_sensitivity : float
        Positive l2 sensitivity for replace-one neighbours, in the units of `sigma`.

    Raises
    ------
    ParameterError
        If an argument is outside its range.
    """
    if not epsilon >= 0:
        raise ParameterError("epsilon", "at least 0", epsilon)
    mu = _noise_to_mu(sigma, l2_sensitivity)
    if mu == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(mu):
        return 1.0
    return _delta(epsilon, mu)


@lru_cache(_CACHE_SIZE)
def gaussian_epsilon(delta: float, sigma: float, l2_sensitivity: float) -> float:
    """Return the smallest epsilon for which the Gaussian mechanism is (epsilon, delta)-DP.

    The root is rounded up: `gaussian_delta` at the result is at most `delta`. The result is 0 if
    the release is (0, delta)-DP, and infinite without noise or at ``delta=0``.

    Raises
    ------
    ParameterError
        If `delta` is outside [0, 1), `sigma` negative or `l2_sensitivity` not positive.
    """
    from scipy.optimize import brentq  # slow

    if not 0 <= delta < 1:
        raise ParameterError("delta", "in [0, 1)", delta)
    mu = _noise_to_mu(sigma, l2_sensitivity)
    if mu == 0:
        return 0.0
    if delta == 0 or math.isinf(mu):
        return math.inf
    log_delta = math.log(delta)
    if _log_delta(0.0, mu) <= log_delta:
        return 0.0
    # delta < Phi(-a), so the root lies below the epsilon at which Phi(-a) is delta.
    high = _BRACKET_MARGIN * mu * (mu / 2 - float(ndtri(delta)))
    if math.isinf(high):
        return math.inf
    root = brentq(lambda eps: _log_delta(eps, mu) - log_delta, 0.0, high, xtol=1e-15 * high)
    return _round_outwards(root, lambda eps: _delta(eps, mu) <= delta, upwards=True)


def gaussian_mu(budget: PrivacyBudget) -> float:
    """Return the largest mu = l2_sensitivity / sigma of a Gaussian mechanism within `budget`.

    The root is rounded down, towards more noise. An infinite epsilon gives an infinite mu.

    Raises
    ------
    ParameterError
        If ``budget.delta`` is 0, because Gaussian noise is never pure epsilon-DP.
    """
    from scipy.optimize import brentq  # slow

    if budget.is_noiseless:
        return math.inf
    _require_positive_delta(budget)
    epsilon, log_delta = budget.epsilon, math.log(budget.delta)
    # delta < Phi(-a), so the root lies above the mu at which Phi(-a) is delta:
    # the positive solution of mu^2 / 2 + quantile mu = epsilon.
    quantile = -float(ndtri(budget.delta))
    reach = math.hypot(quantile, math.sqrt(2.0) * math.sqrt(epsilon))
    low = (2 * epsilon / (reach + quantile) if quantile > 0 else reach - quantile) / _BRACKET_MARGIN
    high = 2 * low
    while _log_delta(epsilon, high) <= log_delta:
        high *= 2
    root = brentq(lambda mu: _log_delta(epsilon, mu) - log_delta, low, high, xtol=1e-15 * low)
    return _round_outwards(root, lambda mu: _delta(epsilon, mu) <= budget.delta, upwards=False)


def composed_mu(*mus: float) -> float:
    """Return the mu of several releases with these `mus`: the squares add up exactly.

    Dong, Roth & Su (2022), "Gaussian differential privacy", corollary 3.3. A later release may
    depend on the results of earlier ones, but the number of releases and their mu must be fixed
    in advance.
    """
    return math.hypot(*mus)


def gaussian_trade_off(type_one: FloatArray | float, mu: float) -> FloatArray | float:
    """Return the smallest type II error of any test, Phi(Phi^-1(1 - alpha) - mu).

    Dong, Roth & Su (2022), equation 6.

    Parameters
    ----------
    type_one : float or ndarray of any shape
        Type I error alpha, in [0, 1].
    mu : float
        Nonnegative; an infinite mu gives the error 0.
    """
    if math.isinf(mu):
        return np.zeros_like(type_one, dtype=float)
    type_two: FloatArray | float = ndtr(-ndtri(type_one) - mu)
    return type_two


@lru_cache(_CACHE_SIZE)
def gaussian_sigma(
    budget: PrivacyBudget, l2_sensitivity: float, *, calibration: str = "analytic"
) -> float:
    """Return the standard deviation of the noise that satisfies `budget` at this sensitivity.

    Parameters
    ----------
    budget : PrivacyBudget
        Budget with a positive delta; an infinite epsilon gives 0.
    l2_sensitivity : float
        Positive l2 sensitivity for replace-one neighbours.
    calibration : {"analytic", "classic"}
        "analytic": the smallest possible sigma (Balle & Wang 2018), rounded up. "classic": the
        closed form of Dwork & Roth (2014), theorem A.1, proven for epsilon up to 1.

    Raises
    ------
    ParameterError
        If delta is 0, the sensitivity not positive, the calibration unknown, or classic above
        epsilon 1.
    """
    require_positive("l2_sensitivity", l2_sensitivity)
    if calibration not in ("analytic", "classic"):
        raise ParameterError("calibration", "'analytic' or 'classic'", calibration)
    if budget.is_noiseless:
        return 0.0
    _require_positive_delta(budget)
    if calibration == "classic":
        if budget.epsilon > 1:
            raise ParameterError("epsilon", "at most 1 for the classic calibration", budget.epsilon)
        return l2_sensitivity * _classic_multiplier(budget)
    sigma = l2_sensitivity / gaussian_mu(budget)
    return _round_outwards(
        sigma,
        lambda s: gaussian_delta(budget.epsilon, s, l2_sensitivity) <= budget.delta,
        upwards=True,
    )


def published_sigma(budget: PrivacyBudget, n_samples: float, row_norm_bound: float = 1.0) -> float:
    """Return sqrt(2 ln(1.25 / delta)) c^2 / (n epsilon), the sigma of Imtiaz & Sarwate (2018).

    Algorithm 1 uses the zero-out sensitivity c^2 / n and the classic calibration at every epsilon.
    `gaussian_epsilon` at the replace-one sensitivity returns the exact epsilon.

    Parameters
    ----------
    budget : PrivacyBudget
    n_samples : int
    row_norm_bound : float
        c.

    Raises
    ------
    ParameterError
        If delta is 0, or `n_samples` or `row_norm_bound` not positive.
    """
    require_positive("n_samples", n_samples)
    require_positive("row_norm_bound", row_norm_bound)
    if budget.is_noiseless:
        return 0.0
    _require_positive_delta(budget)
    return row_norm_bound**2 / n_samples * _classic_multiplier(budget)


def second_moment_sigma(
    budget: PrivacyBudget, n_samples: float, *, calibration: str, row_norm_bound: float = 1.0
) -> float:
    """Return the noise of one site's second moment for any of the three calibrations.

    Parameters
    ----------
    budget : PrivacyBudget
    n_samples : int
        Number of rows at the site.
    calibration : {"analytic", "classic", "published"}
    row_norm_bound : float
    """
    require_one_of("calibration", calibration, CALIBRATIONS)
    if calibration == "published":
        return published_sigma(budget, n_samples, row_norm_bound)
    sensitivity = l2_sensitivity_of_second_moment(n_samples, row_norm_bound)
    return gaussian_sigma(budget, sensitivity, calibration=calibration)


def _classic_multiplier(budget: PrivacyBudget) -> float:
    return math.sqrt(2 * math.log(1.25 / budget.delta)) / budget.epsilon


def _mills(x: float | FloatArray) -> FloatArray:
    ratio: FloatArray = math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2.0))
    return ratio


def _delta(epsilon: float, mu: float) -> float:
    """Return the profile delta(epsilon) for finite positive mu."""
    if epsilon / mu - mu / 2 > _UNDERFLOW:
        return 0.0
    return min(1.0, math.exp(_log_delta(epsilon, mu)))


def _log_delta(epsilon: float, mu: float) -> float:
    """Return log delta for finite positive mu and a = epsilon / mu - mu / 2 below _UNDERFLOW.

    The difference of the theorem (module docstring) cancels where its terms are close, and
    e^epsilon overflows. With a = epsilon / mu - mu / 2 and b = a + mu,
    e^epsilon phi(b) = phi(a), so

        delta = phi(a) (m(a) - m(b)),   m(x) = (1 - Phi(x)) / phi(x), the Mills ratio,

    which needs no large exponential. For mu < 1 the difference is an integral of
    m' = x m - 1 (variable `gap`). The relative error is below 1e-12 wherever delta is above the
    smallest double. Roots are rounded towards more noise (`_round_outwards`).
    """
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if mu < 1:
        x = a + mu * _NODES
        gap = mu * float(_WEIGHTS @ (1 - x * _mills(x)))
    elif a > 0:
        gap = float(_mills(a) - _mills(b))
    else:
        # erfcx overflows for very negative a, where Phi(-a) is at least one half.
        density = math.exp(-a * a / 2 - _LOG_SQRT_2PI)
        return math.log(float(ndtr(-a)) - density * float(_mills(b)))
    return -a * a / 2 - _LOG_SQRT_2PI + math.log(gap)


def _round_outwards(root: float, condition: Callable[[float], bool], *, upwards: bool) -> float:
    """Move `root` in doubling steps, from one ulp on, until it satisfies the condition."""
    step = math.ulp(root)
    while not condition(root):
        root += step if upwards else -step
        step *= 2
    return root


def _noise_to_mu(sigma: float, l2_sensitivity: float) -> float:
    require_positive("l2_sensitivity", l2_sensitivity)
    if not sigma >= 0:
        raise ParameterError("sigma", "at least 0", sigma)
    return l2_sensitivity / sigma if sigma > 0 else math.inf


def _require_positive_delta(budget: PrivacyBudget) -> None:
    if budget.delta <= 0:
        raise ParameterError("delta", "greater than 0 for Gaussian noise", budget.delta)
