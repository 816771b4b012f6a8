"""The Gaussian mechanism: sensitivity, exact privacy profile, noise calibration, CAPE's masks.

The Gaussian mechanism: its exact privacy profile, and how large its noise has to be.

The profile is Balle & Wang (2018), theorem 8: a release f(x) + N(0, sigma^2 I) with
l2-sensitivity Delta is (epsilon, delta)-DP if and only if

    delta >= Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu),

with mu = Delta / sigma, through which alone it depends on the two. The same mu is the parameter
of Gaussian differential privacy (Dong, Roth & Su 2022), which gives the trade-off between the
errors of any test and an exact composition rule.

Evaluated as printed, the difference loses every digit where its terms are close, and e^epsilon
overflows. With a = epsilon / mu - mu / 2 and b = a + mu one has e^epsilon phi(b) = phi(a), so

    delta = phi(a) (m(a) - m(b)),   m(x) = (1 - Phi(x)) / phi(x), the Mills ratio,

which needs no large exponential. For mu < 1 the remaining difference is integrated instead,
m' = x m - 1. The relative error stays below 1e-12 wherever delta is above the smallest double.

CAPE: zero-sum masks at the sites, and what they promise against whom.

Site s sends A_s + e_s + g_s. The masks e_s sum to zero over all S sites with
var(e_s) = (1 - 1/S) a^2; the private parts g_s are independent with variance b^2. The average of
the messages carries b^2 / S alone. CAPE is Imtiaz & Sarwate's successor of DPdisPCA (capePCA).

H sites keep their masks and noises to themselves, the attacked person's among them; an adversary
is in league with the other S - H, and two of them see different things. With h noises unknown to
it, and Delta the same at every site (1/N-weighted sums have it whatever the sites' sizes):

The aggregator reads every message. It knows the masks of its S - H friends, hence the sum of the
others'. Given that sum, the noise of the H has covariance a^2 (I - 1 1^T / H) + b^2 I: eigenvalue
b^2 along the all-ones direction, a^2 + b^2 across it. One person moves one message, whose unit
vector has a share 1 / H along all-ones, so

    mu^2 = Delta^2 [ 1 / (H b^2) + (1 - 1/H) / (a^2 + b^2) ].

A participating site reads the result. It is a coalition even when alone, for it knows its own
noise: h = min(H, S - 1). From the sum it takes off what it knows, the masks included, whose sum
over the h others is minus its friends'; what is left is noise of variance h b^2, so

    mu^2 = Delta^2 / (h b^2).

With H below S the aggregator, who has such a site for a friend, learns at least as much. With
H = S the site may learn more. An outsider has the result alone: Delta^2 / (S b^2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr, ndtri

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.privacy.budget import Adversary, PrivacyBudget

# Replace-one sensitivity: how far one row can move a second moment, and the mean beside it.


def l2_sensitivity_of_second_moment(n_samples: float, row_norm_bound: float = 1.0) -> float:
    """sqrt(2) c^2 / n: the replace-one l2-sensitivity of X^T X / n, attained by orthogonal rows.

    The upper triangle with the diagonal has the same bound: for rows along two axes the change
    is all on the diagonal. With one feature no two rows are orthogonal, and it is an upper bound.

    Raises
    ------
    ParameterError
        If `n_samples` is below 1 or `row_norm_bound` not a positive finite number.
    """
    require_positive("n_samples", n_samples)
    require_positive("row_norm_bound", row_norm_bound)
    return math.sqrt(2.0) * row_norm_bound**2 / n_samples


def l2_sensitivity_of_moment_and_mean(
    n_samples: float, row_norm_bound: float = 1.0, *, weight: float = 0.0
) -> float:
    """Replace-one l2-sensitivity of (A, w m): the second moment X^T X / n and w times the mean.

    With noise sigma on A and sigma / w on m, mu is this over sigma. Rows x and y of norm c at
    an angle of cosine t move the pair by c^2 / n times the root of 2 (1 - t^2) + 2 v (1 - t),
    v = w^2 / c^2, which is largest at t = -v / 2, or at t = -1 for v above 2:

        sqrt(2) (c^2 + w^2 / 2) / n   where w^2 <= 2 c^2,   2 w c / n   elsewhere.

    No pair attains both parts' sensitivities: the first wants orthogonal rows, the second
    opposite ones. Shorter rows move less: at norms p <= q (in units of c) and the worst t the
    square is p^4 + q^4 + v^2 / 2 + v (p^2 + q^2) where v <= 2 p q, and (p^2 - q^2)^2 +
    v (p + q)^2 elsewhere. Both grow with p and q together, and with p alone: the derivative of
    the second is at least 2 q (v - 2 p q).

    With two features or more the value is attained, by the upper triangle of A too: rows can be
    turned so that the change is all on the diagonal. With one it is an upper bound.

    Parameters
    ----------
    n_samples : float
    row_norm_bound : float
        c.
    weight : float
        w, in the units of a row; 0 leaves the mean out.

    Raises
    ------
    ParameterError
        If `n_samples` or `row_norm_bound` is not positive, or `weight` negative.
    """
    alone = l2_sensitivity_of_second_moment(n_samples, row_norm_bound)
    if not 0 <= weight < math.inf:
        raise ParameterError("weight", "at least 0 and finite", weight)
    relative = weight / row_norm_bound
    if relative**2 <= 2:
        return alone * (1 + relative**2 / 2)
    return alone * math.sqrt(2) * relative


def l2_sensitivity_on_sphere(n_samples: float, *, weight: float = 0.0) -> float:
    """Replace-one l2-sensitivity of a mean and of the moment of rows at length 1 around it.

    A row x becomes (x - m) / |x - m|, which depends on its person and on what has been released,
    m, alone. Given m, one row in n moves the second moment by at most sqrt(2) / n: two unit
    vectors at an angle of cosine t by sqrt(2 (1 - t^2)) / n. Before, it moved the mean of rows of
    length at most 1 by at most 2 / n. With noise sigma on the moment and sigma / w on the mean the
    two are Gaussian mechanisms one after the other, whose mu squared add up (Dong, Roth & Su
    2022, corollary 3.3), to this over sigma:

        root of 2 + 4 w^2, over n.

    It is approached, with two features or more: opposite rows x and -x become orthogonal where
    everybody else is at a right angle to them and as long.

    Parameters
    ----------
    n_samples : float
    weight : float
        w; 0 where no mean is released.

    Raises
    ------
    ParameterError
        If `n_samples` is below 1 or `weight` negative.
    """
    if not 0 <= weight < math.inf:
        raise ParameterError("weight", "at least 0 and finite", weight)
    return math.hypot(l2_sensitivity_of_second_moment(n_samples), 2 * weight / n_samples)


def nuclear_sensitivity_of_moment_and_mean(
    n_samples: float, row_norm_bound: float = 1.0, *, weight: float = 0.0
) -> float:
    """Replace-one nuclear sensitivity of A, bordered by w times the mean where w is not 0.

    Put w as one more entry into every row: the second moment of the rows z = (x, w) holds A, w m
    and w^2, and the change z z^T - z' z'^T has eigenvalues of either sign whose magnitudes add
    up to the root of (|z|^2 + |z'|^2)^2 - 4 <z, z'>^2. That is largest for rows as long as
    can be, at <z, z'> = 0 where the w^2 in it can be made up for, and at opposite rows elsewhere:

        2 (c^2 + w^2) / n   where w <= c,   4 w c / n   elsewhere.

    With rows of lengths p and q at their worst angle the sum is p^2 + q^2 + 2 w^2 where
    w^2 <= p q, and elsewhere (p + q) times the root of (p - q)^2 + 4 w^2: both grow with p and q.
    With two features or more it is attained; with one, and without a mean, it is an upper bound.

    Raises
    ------
    ParameterError
        If `n_samples` or `row_norm_bound` is not positive, or `weight` negative.
    """
    require_positive("n_samples", n_samples)
    require_positive("row_norm_bound", row_norm_bound)
    if not 0 <= weight < math.inf:
        raise ParameterError("weight", "at least 0 and finite", weight)
    if weight <= row_norm_bound:
        return 2 * (row_norm_bound**2 + weight**2) / n_samples
    return 4 * weight * row_norm_bound / n_samples


def mean_weight(mean_share: float, row_norm_bound: float = 1.0) -> float:
    """c sqrt(s / (2 (1 - s))): the noise of a second moment over that of the mean beside it.

    So divided, the mean takes the share s of mu squared, where each part is counted at its own
    worst pair of rows: (2 c / n)^2 w^2 against 2 c^4 / n^2. Together they spend less than that
    sum (`l2_sensitivity_of_moment_and_mean`).

    Parameters
    ----------
    mean_share : float
        s, in [0, 1).
    row_norm_bound : float
        c.

    Raises
    ------
    ParameterError
        If `mean_share` is outside [0, 1).
    """
    if not 0 <= mean_share < 1:
        raise ParameterError("mean_share", "in [0, 1)", mean_share)
    return row_norm_bound * math.sqrt(mean_share / (2 * (1 - mean_share)))


def require_positive(parameter: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise ParameterError(parameter, "a positive finite number", value)


# The Gaussian mechanism: its exact privacy profile, and how large its noise has to be.

CALIBRATIONS = ("published", "classic", "analytic")

# Twelve nodes integrate 1 - x m(x) over an interval of length 1 to the last bit: it is entire.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
_LOG_SQRT_2PI = math.log(2 * math.pi) / 2
# Past this a, phi(a) is below the smallest double, and so is delta.
_UNDERFLOW = 39.0
# Brackets that are exact in theory, widened against their own rounding.
_WIDER = 1 + 1e-9
# Every release looks up its noise and its promise; the roots take longer than the noise.
_REMEMBERED = 4096


def gaussian_delta(epsilon: float, sigma: float, l2_sensitivity: float) -> float:
    """Smallest delta for which the Gaussian mechanism is (epsilon, delta)-DP.

    Balle & Wang (2018), "Improving the Gaussian mechanism for differential privacy", theorem 8.

    Parameters
    ----------
    epsilon : float
        At least 0; ``inf`` gives 0.
    sigma : float
        Standard deviation of the noise on each coordinate, at least 0; no noise gives 1, except
        at an infinite epsilon.
    l2_sensitivity : float
        Positive, under replace-one, in the units of `sigma`.

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


@lru_cache(_REMEMBERED)
def gaussian_epsilon(delta: float, sigma: float, l2_sensitivity: float) -> float:
    """Smallest epsilon for which the Gaussian mechanism is (epsilon, delta)-DP.

    The root is rounded up: `gaussian_delta` at the result is at most `delta`. The result is 0
    where `delta` alone covers the release, and infinite without noise or at ``delta=0``.

    Raises
    ------
    ParameterError
        If `delta` is outside [0, 1), `sigma` negative or `l2_sensitivity` not positive.
    """
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
    high = _WIDER * mu * (mu / 2 - float(ndtri(delta)))
    if math.isinf(high):
        return math.inf
    root = brentq(lambda eps: _log_delta(eps, mu) - log_delta, 0.0, high, xtol=1e-15 * high)
    return _round_outwards(root, lambda eps: _delta(eps, mu) <= delta, upwards=True)


def gaussian_mu(budget: PrivacyBudget) -> float:
    """Largest mu = l2_sensitivity / sigma of a Gaussian mechanism that keeps `budget`.

    The root is rounded down, towards more noise. An infinite epsilon gives an infinite mu.

    Raises
    ------
    ParameterError
        If ``budget.delta`` is 0: Gaussian noise is never purely private.
    """
    if budget.is_noiseless:
        return math.inf
    _require_positive_delta(budget)
    epsilon, log_delta = budget.epsilon, math.log(budget.delta)
    # delta < Phi(-a), so the root lies above the mu at which Phi(-a) is delta:
    # the positive solution of mu^2 / 2 + quantile mu = epsilon.
    quantile = -float(ndtri(budget.delta))
    reach = math.hypot(quantile, math.sqrt(2.0) * math.sqrt(epsilon))
    low = (2 * epsilon / (reach + quantile) if quantile > 0 else reach - quantile) / _WIDER
    high = 2 * low
    while _log_delta(epsilon, high) <= log_delta:
        high *= 2
    root = brentq(lambda mu: _log_delta(epsilon, mu) - log_delta, low, high, xtol=1e-15 * low)
    return _round_outwards(root, lambda mu: _delta(epsilon, mu) <= budget.delta, upwards=False)


def composed_mu(*mus: float) -> float:
    """The mu of releases of these `mus` about the same people: their squares add, exactly.

    Dong, Roth & Su (2022), "Gaussian differential privacy", corollary 3.3. What later releases
    read may be chosen after seeing earlier ones; their number and their mu are fixed beforehand.
    """
    return math.hypot(*mus)


def gaussian_trade_off(type_one: FloatArray | float, mu: float) -> FloatArray | float:
    """Smallest type II error of any test at a type I error: Phi(Phi^-1(1 - alpha) - mu).

    Dong, Roth & Su (2022), equation 6.

    Parameters
    ----------
    type_one : float or ndarray of any shape
        Chance of crying "D" when the data were D', in [0, 1].
    mu : float
        At least 0. Infinite mu tells the two apart without error.
    """
    if math.isinf(mu):
        return np.zeros_like(type_one, dtype=float)
    type_two: FloatArray | float = ndtr(-ndtri(type_one) - mu)
    return type_two


@lru_cache(_REMEMBERED)
def gaussian_sigma(
    budget: PrivacyBudget, l2_sensitivity: float, *, calibration: str = "analytic"
) -> float:
    """Noise standard deviation that keeps `budget` for a statistic of this sensitivity.

    Parameters
    ----------
    budget : PrivacyBudget
        With a positive delta; an infinite epsilon gives 0.
    l2_sensitivity : float
        Positive, under replace-one.
    calibration : {"analytic", "classic"}
        "analytic" is the smallest sigma there is (Balle & Wang 2018), rounded up. "classic" is
        the closed form of Dwork & Roth (2014), theorem A.1, proven for epsilon up to 1.

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
    """sqrt(2 ln(1.25 / delta)) c^2 / (n epsilon), as Imtiaz & Sarwate (2018) print it, Algorithm 1.

    It takes c^2 / n for the sensitivity, which is the zero-out value, and the classic formula
    at every epsilon. What it really promises is `gaussian_epsilon` at the replace-one
    sensitivity.

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
    """Noise for one site's second moment under any of the three calibrations.

    Parameters
    ----------
    budget : PrivacyBudget
    n_samples : int
        People at the site.
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
    """The profile for finite positive mu."""
    if epsilon / mu - mu / 2 > _UNDERFLOW:
        return 0.0
    return min(1.0, math.exp(_log_delta(epsilon, mu)))


def _log_delta(epsilon: float, mu: float) -> float:
    """log of the profile for finite positive mu and a = epsilon / mu - mu / 2 below _UNDERFLOW."""
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if mu < 1:
        x = a + mu * _NODES
        gap = mu * float(_WEIGHTS @ (1 - x * _mills(x)))
    elif a > 0:
        gap = float(_mills(a) - _mills(b))
    else:
        # erfcx overflows for very negative a; Phi(-a) is at least one half here.
        density = math.exp(-a * a / 2 - _LOG_SQRT_2PI)
        return math.log(float(ndtr(-a)) - density * float(_mills(b)))
    return -a * a / 2 - _LOG_SQRT_2PI + math.log(gap)


def _round_outwards(root: float, keeps: Callable[[float], bool], *, upwards: bool) -> float:
    """The first number that keeps, from `root` on, in steps that double from its last place."""
    step = math.ulp(root)
    while not keeps(root):
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


# CAPE: zero-sum masks at the sites, and what they promise against whom.

MASKS = ("published", "compensated", "wide")


@dataclass(frozen=True)
class CapeScales:
    """Noise scales of one CAPE site.

    Parameters
    ----------
    mask_sigma : float
        a, where a mask has variance (1 - 1/S) a^2; ``inf`` stands for the limit in which the
        messages reveal their sum and nothing else (wide masks, secure aggregation).
    noise_sigma : float
        b, the standard deviation of the part that stays in the sum.
    """

    mask_sigma: float
    noise_sigma: float


def default_honest_sites(n_sites: int) -> int:
    """max(1, n_sites - 1): one site may be in league with whoever reads the messages."""
    return max(1, n_sites - 1)


def cape_scales(
    local_sigma: float, n_sites: int, *, n_honest: int | None = None, masks: str = "published"
) -> CapeScales:
    """Scales of mask and noise, from the noise tau that would protect a site sending alone.

    Parameters
    ----------
    local_sigma : float
        tau, for instance from `second_moment_sigma`; at least 0.
    n_sites : int
        S, at least 1.
    n_honest : int, optional
        H, sites whose masks and noises no coalition learns, the person's own included;
        `default_honest_sites` unless told otherwise.
    masks : {"published", "compensated", "wide"}
        "published": a = tau, b = tau / sqrt(S), which spends more than a local release.
        "compensated": the same shape with tau grown until the worst adversary's mu is that of a
        local release. "wide": a infinite and b = tau / sqrt(min(H, S - 1)), the same mu; a
        single site has b = tau.

    Raises
    ------
    ParameterError
        If an argument is outside its range.
    """
    if not n_sites >= 1:
        raise ParameterError("n_sites", "at least 1", n_sites)
    n_honest = default_honest_sites(n_sites) if n_honest is None else n_honest
    _require_honest(n_honest, n_sites)
    if not local_sigma >= 0:
        raise ParameterError("local_sigma", "at least 0", local_sigma)
    require_one_of("masks", masks, MASKS)
    if masks == "wide":
        return CapeScales(math.inf, local_sigma / math.sqrt(max(1, min(n_honest, n_sites - 1))))
    published = CapeScales(1.0, 1 / math.sqrt(n_sites))
    tau = local_sigma
    if masks == "compensated":
        tau *= max(cape_mu(1.0, published, n_sites, n_honest).values())
    return CapeScales(tau, tau * published.noise_sigma)


def cape_mu(
    l2_sensitivity: float, scales: CapeScales, n_sites: int, n_honest: int
) -> dict[Adversary, float]:
    """mu of the Gaussian mechanism that CAPE amounts to, against each adversary there is.

    The largest is what is promised; l2_sensitivity / mu is the noise of that mechanism. Among
    one site there is no other that takes part.

    Parameters
    ----------
    l2_sensitivity : float
        Delta of one site's statistic, under replace-one; positive.
    scales : CapeScales
    n_sites, n_honest : int
        S and H.

    Raises
    ------
    ParameterError
        If the sensitivity is not positive or `n_honest` not in [1, n_sites].
    """
    if not 0 < l2_sensitivity < math.inf:
        raise ParameterError("l2_sensitivity", "a positive finite number", l2_sensitivity)
    _require_honest(n_honest, n_sites)
    share = 1 / n_honest
    across = math.hypot(scales.mask_sigma, scales.noise_sigma)

    def from_the_result(n_unknown: int) -> float:
        return _ratio(l2_sensitivity, math.sqrt(n_unknown) * scales.noise_sigma)

    found = {
        Adversary.OUTSIDER: from_the_result(n_sites),
        Adversary.AGGREGATOR: math.hypot(
            from_the_result(n_honest), math.sqrt(1 - share) * _ratio(l2_sensitivity, across)
        ),
    }
    if n_sites > 1:
        found[Adversary.SITE] = from_the_result(min(n_honest, n_sites - 1))
    return found


def _ratio(sensitivity: float, sigma: float) -> float:
    return sensitivity / sigma if sigma > 0 else math.inf


def _require_honest(n_honest: int, n_sites: int) -> None:
    if not 1 <= n_honest <= n_sites:
        raise ParameterError("n_honest", f"in [1, n_sites={n_sites}]", n_honest)
