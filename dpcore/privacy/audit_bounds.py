"""What two samples of scores prove of a mechanism: limits on error rates, areas and mu.

`dpcore.privacy.audit` says what they are for. Scores come in batches of `BATCH`, which are
independent of one another; within a batch the two data sets share their random numbers.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv, ndtri, rel_entr, stdtrit

from dpcore.arrays import FloatArray, IntArray

# Trials that share a state of the generator; the jackknife's unit.
BATCH = 50
# Thresholds tried on the first half of the trials.
_N_THRESHOLDS = 500


def threshold_bound(
    d: FloatArray, d_prime: FloatArray, delta: float, alpha: float
) -> tuple[float, float, float]:
    """(lower limit of P[T > t | D], upper limit of P[T > t | D'], the epsilon they prove)."""
    # At the end of a batch: the two halves are independent.
    half = len(d) // 2 // BATCH * BATCH
    values = np.unique(np.concatenate((d[:half], d_prime[:half])))
    if len(values) < 2:
        return 0.0, 1.0, 0.0
    cuts = np.linspace(0, len(values) - 2, min(len(values) - 1, _N_THRESHOLDS)).astype(int)
    thresholds = (values[cuts] + values[cuts + 1]) / 2
    # Limits that hold for all thresholds together, or the luckiest rare event would win.
    tried = bounds_at(thresholds, d[:half], d_prime[:half], delta, alpha / len(thresholds))
    best = thresholds[[int(np.argmax(tried[2]))]]
    p_low, q_high, epsilon = bounds_at(best, d[half:], d_prime[half:], delta, alpha)
    return float(p_low[0]), float(q_high[0]), float(epsilon[0])


def bounds_at(
    thresholds: FloatArray, d: FloatArray, d_prime: FloatArray, delta: float, alpha: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Clopper-Pearson at alpha / 2 each, and the better of the event and its complement.

    The complement swaps the roles of D and D' and needs the same two limits, so it is free.
    """
    n = len(d)
    above = n - np.searchsorted(np.sort(d), thresholds, side="right")
    above_prime = n - np.searchsorted(np.sort(d_prime), thresholds, side="right")
    p_low = _lower_limit(above, n, alpha / 2)
    q_high = 1 - _lower_limit(n - above_prime, n, alpha / 2)
    with np.errstate(divide="ignore"):
        event = np.log(np.maximum(p_low - delta, 0) / q_high)
        complement = np.log(np.maximum(1 - q_high - delta, 0) / (1 - p_low))
    return p_low, q_high, np.maximum(0.0, np.maximum(event, complement))


def _lower_limit(successes: IntArray, n: int, alpha: float) -> FloatArray:
    """Exact lower confidence limit of a binomial proportion (Clopper & Pearson 1934)."""
    limit = betaincinv(np.maximum(successes, 1), n - successes + 1, alpha)
    return np.where(successes > 0, limit, 0.0)


def exact_mu(d: FloatArray, d_prime: FloatArray, delta: float, alpha: float) -> float:
    """Lower limit of mu that holds at every number of trials: the better of two.

    One from the area, one from a threshold, which is the better of the two where the scores
    hardly overlap. Each errs with chance alpha / 2.
    """
    p_low, q_high, _ = threshold_bound(d, d_prime, delta, alpha / 2)
    by_threshold = float(ndtri(p_low) - ndtri(q_high))
    by_area = math.sqrt(2) * float(ndtri(exact_area(d, d_prime, alpha / 2)))
    return max(0.0, by_threshold, by_area)


def exact_area(d: FloatArray, d_prime: FloatArray, alpha: float) -> float:
    """Lower limit of the area, exact (Hoeffding 1963, theorem 1 and section 5).

    Pair the batches, and in each pair the trials of one under D with those of the other under
    D'. That is m = BATCH * floor(n_batches / 2) independent comparisons, however the two
    releases within a batch hang together. The area across batches is the average over all such
    pairings, so that by convexity its moment generating function is below that of m independent
    ones: if the true area is a, the measured one exceeds x > a with a chance of at most
    exp(-m kl(x, a)), kl the relative entropy of two coins.
    """
    n_comparisons = len(d) // BATCH // 2 * BATCH
    if not n_comparisons:
        return 0.0
    measured = min(1.0, float(areas_across_batches(d, d_prime).mean()))
    allowed = -math.log(alpha) / n_comparisons
    low, high = 0.0, measured
    # The relative entropy falls as a grows towards the measured area; 60 halvings leave 1e-18.
    for _ in range(60):
        middle = (low + high) / 2
        divergence = float(rel_entr(measured, middle) + rel_entr(1 - measured, 1 - middle))
        low, high = (low, middle) if divergence <= allowed else (middle, high)
    return low


def nominal_mu(d: FloatArray, d_prime: FloatArray, alpha: float) -> float:
    """Nominal lower limit of the mu whose area, Phi(mu / sqrt(2)), is that of these scores.

    The area over pairs from different batches is a U-statistic of independent batches, unbiased
    however the trials within one depend on each other. Its jackknife variance (Arvesen 1969) is
    on average not below the true one (Efron & Stein 1981). On the scale of mu it is next to
    normal, so that Student's limit holds nearly; that is measured, not proved.
    """
    areas = areas_across_batches(d, d_prime)
    n_batches, area = len(areas), float(areas.mean())
    if not 0.5 < area < 1:
        return 0.0
    spread = 2 * math.sqrt(np.square(areas - area).sum() * (n_batches - 1) / n_batches)
    spread /= n_batches - 2
    quantile = float(ndtri(area))
    slope = math.sqrt(2 * math.pi) * math.exp(quantile**2 / 2)
    student = -float(stdtrit(n_batches - 1, alpha))
    return max(0.0, math.sqrt(2) * (quantile - student * slope * spread))


def areas_across_batches(d: FloatArray, d_prime: FloatArray) -> FloatArray:
    """(n_batches,) shares of ordered pairs that have one trial in this batch, one in another.

    Their mean is the area over all pairs of trials from different batches.
    """
    n_batches = len(d) // BATCH
    n = n_batches * BATCH
    d, d_prime = d[:n], d_prime[:n]
    ranks = _ranks(np.concatenate((d, d_prime)))
    # Trials of the other data set that each one exceeds, or falls below; then shares by batch.
    exceeded = ranks[:n] - _ranks(d)
    not_reached = n - (ranks[n:] - _ranks(d_prime))
    d, d_prime = d.reshape(n_batches, BATCH), d_prime.reshape(n_batches, BATCH)
    own = (np.sign(d[:, :, None] - d_prime[:, None, :]).mean(axis=(1, 2)) + 1) / 2
    both = (exceeded + not_reached).reshape(n_batches, BATCH).mean(axis=1) / BATCH
    shares: FloatArray = (both - 2 * own) / (2 * (n_batches - 1))
    return shares


def area_under_curve(d: FloatArray, d_prime: FloatArray) -> float:
    """Share of all pairs of trials that the score puts in order; ties count half."""
    n = len(d)
    ranks = _ranks(np.concatenate((d, d_prime)))[:n]
    return float((ranks - _ranks(d)).mean() / n)


def _ranks(scores: FloatArray) -> FloatArray:
    # Takes longer to import than everything the command line needs.
    from scipy.stats import rankdata

    ranks: FloatArray = rankdata(scores)
    return ranks
