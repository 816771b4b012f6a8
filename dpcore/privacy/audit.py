"""Privacy audit: attack a mechanism on two neighbouring data sets and bound epsilon from below.

The audit draws releases under D and under D' and computes a score of each release. The better the
score separates the two, the larger is epsilon. `audit` computes three lower bounds, each at the
stated one-sided confidence. Two are exact: for every number of trials, they exceed the true
epsilon with at most the remaining probability.

A bound below the claim proves nothing, because the attack may be weak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri, rel_entr, stdtrit

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.privacy.budget import Adversary, Guarantee
from dpcore.privacy.gaussian import gaussian_epsilon

# Number of trials that share a state of the generator; the unit of the jackknife.
BATCH = 50
# Thresholds tried on the first half of the trials.
_N_THRESHOLDS = 500


def threshold_bound(
    d: FloatArray, d_prime: FloatArray, delta: float, alpha: float
) -> tuple[float, float, float]:
    """Return the lower limit of P[T > t | D], the upper one of P[T > t | D'] and their epsilon."""
    # The halves consist of whole batches, so they are independent.
    half = len(d) // 2 // BATCH * BATCH
    values = np.unique(np.concatenate((d[:half], d_prime[:half])))
    if len(values) < 2:
        return 0.0, 1.0, 0.0
    cuts = np.linspace(0, len(values) - 2, min(len(values) - 1, _N_THRESHOLDS)).astype(int)
    thresholds = (values[cuts] + values[cuts + 1]) / 2
    # The limits hold for all thresholds jointly; otherwise a lucky rare event would be selected.
    candidates = bounds_at(thresholds, d[:half], d_prime[:half], delta, alpha / len(thresholds))
    best = thresholds[[int(np.argmax(candidates[2]))]]
    p_low, q_high, epsilon = bounds_at(best, d[half:], d_prime[half:], delta, alpha)
    return float(p_low[0]), float(q_high[0]), float(epsilon[0])


def bounds_at(
    thresholds: FloatArray, d: FloatArray, d_prime: FloatArray, delta: float, alpha: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute Clopper-Pearson limits at alpha / 2 each, and the larger epsilon of two events.

    The events are T > t and its complement, which exchanges the roles of D and D' and needs the
    same two limits.
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
    """Return the exact lower limit of a binomial proportion (Clopper & Pearson 1934)."""
    limit = betaincinv(np.maximum(successes, 1), n - successes + 1, alpha)
    return np.where(successes > 0, limit, 0.0)


def exact_mu(d: FloatArray, d_prime: FloatArray, delta: float, alpha: float) -> float:
    """Compute an exact lower limit of mu: the larger of two limits at level alpha / 2 each.

    One limit uses the area, the other a threshold, which is better if the scores hardly overlap.
    """
    p_low, q_high, _ = threshold_bound(d, d_prime, delta, alpha / 2)
    by_threshold = float(ndtri(p_low) - ndtri(q_high))
    by_area = math.sqrt(2) * float(ndtri(exact_area(d, d_prime, alpha / 2)))
    return max(0.0, by_threshold, by_area)


def exact_area(d: FloatArray, d_prime: FloatArray, alpha: float) -> float:
    """Compute an exact lower limit of the area (Hoeffding 1963, theorem 1 and section 5).

    Proof. Pair the batches, and in each pair the trials of one under D with those of the other
    under D'. These are m = BATCH * floor(n_batches / 2) independent comparisons. The area across
    batches is the average over all such pairings, so by convexity its moment generating function
    is below that of m independent comparisons. If the true area is a, the measured area exceeds
    x > a with probability at most exp(-m kl(x, a)), with the relative entropy kl of two coins.
    """
    n_comparisons = len(d) // BATCH // 2 * BATCH
    if not n_comparisons:
        return 0.0
    measured = min(1.0, float(areas_across_batches(d, d_prime).mean()))
    max_divergence = -math.log(alpha) / n_comparisons
    low, high = 0.0, measured
    # The relative entropy decreases towards the measured area; 60 bisections give 1e-18.
    for _ in range(60):
        middle = (low + high) / 2
        divergence = float(rel_entr(measured, middle) + rel_entr(1 - measured, 1 - middle))
        low, high = (low, middle) if divergence <= max_divergence else (middle, high)
    return low


def nominal_mu(d: FloatArray, d_prime: FloatArray, alpha: float) -> float:
    """Compute a nominal lower limit of mu from the area Phi(mu / sqrt(2)) of the scores.

    The area over pairs from different batches is a U-statistic of independent batches and
    unbiased for any dependence within a batch. Its jackknife variance (Arvesen 1969) is on average
    not below the true variance (Efron & Stein 1981). On the scale of mu the area is nearly normal,
    so Student's limit is approximately valid (measured, not proved).
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
    """Return the share of ordered pairs with one trial in the batch, one outside, for each batch.

    The mean of the shares (n_batches,) is the area over all pairs from different batches.
    """
    n_batches = len(d) // BATCH
    n = n_batches * BATCH
    d, d_prime = d[:n], d_prime[:n]
    ranks = _ranks(np.concatenate((d, d_prime)))
    # Number of trials of the other data set that each trial exceeds or is below.
    exceeded = ranks[:n] - _ranks(d)
    not_reached = n - (ranks[n:] - _ranks(d_prime))
    d, d_prime = d.reshape(n_batches, BATCH), d_prime.reshape(n_batches, BATCH)
    within_batch = (np.sign(d[:, :, None] - d_prime[:, None, :]).mean(axis=(1, 2)) + 1) / 2
    both = (exceeded + not_reached).reshape(n_batches, BATCH).mean(axis=1) / BATCH
    shares: FloatArray = (both - 2 * within_batch) / (2 * (n_batches - 1))
    return shares


def area_under_curve(d: FloatArray, d_prime: FloatArray) -> float:
    """Return the share of pairs of trials in the correct order; ties count half."""
    n = len(d)
    ranks = _ranks(np.concatenate((d, d_prime)))[:n]
    return float((ranks - _ranks(d)).mean() / n)


def _ranks(scores: FloatArray) -> FloatArray:
    # Importing scipy.stats takes longer than importing all that the command line needs.
    from scipy.stats import rankdata

    ranks: FloatArray = rankdata(scores)
    return ranks


Sampler = Callable[[np.random.Generator, int], FloatArray]
Statistic = Callable[[FloatArray], FloatArray]

# Limits below which the area of a batch is far from normal.
_MIN_CONFUSIONS = 100
_MIN_BATCHES = 4
_ROC_POINTS = 201


@dataclass(frozen=True)
class AuditCase:
    """Mechanism with its worst neighbours and its claimed guarantee.

    name: Name of the case.
    epsilon, delta: Claimed guarantee for replace-one neighbours.
    sampler_d, sampler_d_prime: Functions (rng, n) -> shape (n, ...) that draw independent releases
        under each data set.
    statistic: Function (n, ...) -> (n,) with larger values where D is more likely. None: a linear
        discriminant is learnt on half of the trials.
    is_gaussian: Whether the release is Gaussian noise on a statistic, or a function of it.
    neighbours: Description of D and D' in one sentence.
    flaw: Description of the flaw in one sentence; empty for a sound mechanism.
    family: Heading in the list of cases.
    covers: Attacked release as "register.entry"; empty without an entry.
    n_trials: Number of trials that suffices for the expected bound within seconds.
    adversary: Adversary who attacks.
    sees: Data that the adversary sees in addition to all other rows, as the end of "sees …".
    centring: {"none", "private mean", "sphere"}: whether the release includes a private mean, and
        whether rows are scaled to length 1.
    guarantee: Guarantee of the attacked release, if it has one. The claim is its entry for this
        adversary.
    """

    name: str
    epsilon: float
    delta: float
    sampler_d: Sampler
    sampler_d_prime: Sampler
    statistic: Statistic | None = None
    is_gaussian: bool = False
    neighbours: str = ""
    flaw: str = ""
    family: str = ""
    covers: str = ""
    n_trials: int = 10_000
    adversary: Adversary = Adversary.OUTSIDER
    sees: str = "the result"
    centring: str = "none"
    guarantee: Guarantee | None = None

    @property
    def is_sound(self) -> bool:
        """Return whether the mechanism has no known flaw."""
        return not self.flaw


@dataclass(frozen=True)
class AuditResult:
    """Result of an audit.

    case: Attacked case.
    n_trials: Number of releases drawn under each of D and D'.
    confidence: Confidence of each single bound.
    epsilon_any: Exact lower bound at the case's delta, for any mechanism.
    epsilon_exact: Exact lower bound, through mu for a Gaussian case, else `epsilon_any`.
    epsilon_gdp: Lower bound for a Gaussian mechanism, nominal if `is_nominal`; None otherwise.
    mu: Lower bound of mu that gives `epsilon_gdp`.
    is_nominal: Whether `mu` comes from the jackknife, whose level is asymptotic.
    area: Area under the ROC curve of the score; 0.5 means no separation.
    type_one, type_two: Measured error rates for moving thresholds, shape (n_points,).
    """

    case: AuditCase
    n_trials: int
    confidence: float
    epsilon_any: float
    epsilon_exact: float
    epsilon_gdp: float | None
    mu: float | None
    is_nominal: bool
    area: float
    type_one: FloatArray
    type_two: FloatArray

    @property
    def epsilon(self) -> float:
        """Return the tightest bound whose assumption holds for the case; `bound` is its kind."""
        return self.epsilon_any if self.epsilon_gdp is None else self.epsilon_gdp

    @property
    def bound(self) -> str:
        """Return the kind of `epsilon`: "exact", or "nominal" from the jackknife."""
        return "nominal" if self.is_nominal else "exact"

    @property
    def breaks_claim(self) -> bool:
        """Return whether any bound, exact or nominal, exceeds the claim."""
        return max(self.epsilon, self.epsilon_exact) > self.case.epsilon

    @property
    def proves_breach(self) -> bool:
        """Return whether an exact bound exceeds the claim."""
        return self.epsilon_exact > self.case.epsilon

    def row(self) -> dict[str, object]:
        """Return a summary for JSON, without the curve."""
        return {
            "mechanism": self.case.name,
            "family": self.case.family,
            "adversary": str(self.case.adversary),
            "sees": self.case.sees or None,
            "centring": self.case.centring,
            "claimed_epsilon": self.case.epsilon,
            "delta": self.case.delta,
            "epsilon_lower_bound": self.epsilon,
            "bound": self.bound,
            "epsilon_exact": self.epsilon_exact,
            "epsilon_any": self.epsilon_any,
            "epsilon_gdp": self.epsilon_gdp,
            "mu_lower_bound": self.mu,
            "area": self.area,
            "trials": self.n_trials,
            "confidence": self.confidence,
            "breaks_claim": self.breaks_claim,
            "proves_breach": self.proves_breach,
            "flaw": self.case.flaw or None,
        }


def judge(
    case: AuditCase,
    d: FloatArray,
    d_prime: FloatArray,
    *,
    n_trials: int,
    confidence: float = 0.95,
) -> AuditResult:
    """Compute all bounds from the scores.

    d, d_prime: Scores of releases under D and D' from `paired_scores`, shape (n_scored,).
    n_trials: Number of releases drawn under each, including those that trained the score.
    confidence: Confidence in [0.5, 1).
    """
    _, _, epsilon_any = threshold_bound(d, d_prime, case.delta, 1 - confidence)
    mu = epsilon_gdp = None
    epsilon_exact, is_nominal = epsilon_any, False
    area = area_under_curve(d, d_prime)
    if case.is_gaussian:
        certain_mu = exact_mu(d, d_prime, case.delta, 1 - confidence)
        epsilon_exact = _epsilon_of(certain_mu, case.delta)
        confusions = 2 * len(d) * ndtr(-ndtri(area) / math.sqrt(2)) if area < 1 else 0
        is_nominal = confusions >= _MIN_CONFUSIONS and len(d) // BATCH >= _MIN_BATCHES
        mu = nominal_mu(d, d_prime, 1 - confidence) if is_nominal else certain_mu
        epsilon_gdp = _epsilon_of(mu, case.delta)
    type_one, type_two = _roc(d, d_prime)
    return AuditResult(
        case=case,
        n_trials=n_trials,
        confidence=confidence,
        epsilon_any=epsilon_any,
        epsilon_exact=epsilon_exact,
        epsilon_gdp=epsilon_gdp,
        mu=mu,
        is_nominal=bool(is_nominal),
        area=area,
        type_one=type_one,
        type_two=type_two,
    )


def _epsilon_of(mu: float, delta: float) -> float:
    return gaussian_epsilon(delta, 1.0, mu) if mu > 0 else 0.0


def _roc(d: FloatArray, d_prime: FloatArray) -> tuple[FloatArray, FloatArray]:
    thresholds = np.quantile(np.concatenate((d, d_prime)), np.linspace(0, 1, _ROC_POINTS))
    # The smallest score may be frequent; all scores are above -inf.
    thresholds = np.concatenate(([-np.inf], thresholds))
    type_one = 1 - np.searchsorted(np.sort(d_prime), thresholds, side="right") / len(d_prime)
    type_two = np.searchsorted(np.sort(d), thresholds, side="right") / len(d)
    return type_one, type_two


MIN_TRIALS = 200
# Number of releases in memory while a score is learnt.
_TRAINING_BATCH = 2_000


def audit(
    case: AuditCase,
    *,
    n_trials: int | None = None,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> AuditResult:
    """Attack a mechanism and return the lower bounds of its epsilon.

    `epsilon_any` has no assumptions. A threshold is selected on one half of the trials. On the
    other half, the exact limits of Clopper & Pearson (1934) for the two error rates give

        epsilon >= log((P[E | D] - delta) / P[E | D']).

    This bound is loose: n trials show at most about log(n / 4), and no small epsilon.

    The other bounds assume that the release is Gaussian noise or a function of such a release, so
    its trade-off curve lies above that of some mu (the assumption of Nasr et al. 2023, section 4).
    Then the area under the ROC curve of every score is at most Phi(mu / sqrt(2)). The area thus
    bounds mu, and mu gives epsilon at delta. The area uses every trial, needs no threshold and has
    no assumption about the scores.

    `epsilon_exact` uses Hoeffding's (1963) limit of the area or Clopper and Pearson's limit at a
    threshold, each with half of the error. `epsilon_gdp` uses the jackknife. This bound is close to
    the true value but nominal: its level is correct in the limit of many batches and only measured
    for few. A breach is proved if an exact bound exceeds the claim; a nominal bound is an
    indication.

    n_trials: Number of releases under each of D and D', at least 200. Default: the case's number.
        Half of them train the score if the case has no statistic.
    confidence: Probability in [0.5, 1) that a bound is below the true epsilon; a lower limit of it
        for the exact bounds, approximate for `epsilon_gdp`.

    Raises `ParameterError` if `n_trials` or `confidence` is out of range.
    """
    n_trials = case.n_trials if n_trials is None else n_trials
    if not n_trials >= MIN_TRIALS:
        raise ParameterError("n_trials", f"at least {MIN_TRIALS}", n_trials)
    if not 0.5 <= confidence < 1:
        raise ParameterError("confidence", "in [0.5, 1)", confidence)
    statistic, n_scored = case.statistic, n_trials
    if statistic is None:
        n_scored = n_trials - n_trials // 2
        statistic = learn_discriminant(case, n_trials // 2, rng=rng)
    d, d_prime = paired_scores(case, statistic, n_scored, rng=rng)
    return judge(case, d, d_prime, n_trials=n_trials, confidence=confidence)


def paired_scores(
    case: AuditCase, statistic: Statistic, n_trials: int, *, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Compute scores of `n_trials` releases under D and under D', each of shape (n_trials,).

    Every batch has its own seed, which is the same for both data sets.

    Both data sets use the same random numbers in each batch of `BATCH` trials. This is allowed
    because the distribution under each data set does not depend on the other one. Noise that is
    common to both cancels in the comparison, so the area is more accurate than with independent
    trials: at mu = 0.27 and 10,000 trials the bound is 0.99 mu instead of 0.91 mu. Batches are
    independent of one another, and the jackknife runs over batches, so the dependence within a
    batch does not matter. If the scores hardly overlap, batches are not normal and the exact limits
    are used.
    """
    batches = []
    for n in _batches(n_trials, BATCH):
        seed = int(rng.integers(2**63))
        batches.append(
            [
                statistic(sampler(np.random.default_rng(seed), n))
                for sampler in (case.sampler_d, case.sampler_d_prime)
            ]
        )
    d, d_prime = (np.concatenate(scores) for scores in zip(*batches, strict=True))
    return d, d_prime


def learn_discriminant(case: AuditCase, n_trials: int, *, rng: np.random.Generator) -> Statistic:
    """Learn a linear score: entries weighted by their difference divided by their variance.

    Entries are treated as uncorrelated. Entries whose difference may be due to chance get weight 0,
    because worst neighbours change few entries and the others would only add noise.
    """
    (mean, variance), (mean_prime, variance_prime) = (
        _moments(sampler, n_trials, rng) for sampler in (case.sampler_d, case.sampler_d_prime)
    )
    difference = mean - mean_prime
    pooled = (variance + variance_prime) / 2
    # Entries without noise get a large finite weight.
    pooled = np.maximum(pooled, 1e-20 * max(pooled.max(), np.square(difference).max(), 1e-300))
    evidence = np.abs(difference) * np.sqrt(n_trials / (2 * pooled))
    threshold = min(math.sqrt(2 * math.log(evidence.size + 1)), evidence.max())
    weights = np.where(evidence >= threshold, difference / pooled, 0.0)
    return lambda releases: releases.reshape(len(releases), -1) @ weights


def _batches(n_trials: int, size: int) -> Iterator[int]:
    while n_trials > 0:
        yield min(n_trials, size)
        n_trials -= size


def _moments(
    sampler: Sampler, n_trials: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Compute mean and variance of every entry, relative to the first release for accuracy."""
    batches = (sampler(rng, n).reshape(n, -1) for n in _batches(n_trials, _TRAINING_BATCH))
    first = next(batches)
    origin, total, squares = first[0], np.zeros_like(first[0]), np.zeros_like(first[0])
    for batch in chain((first,), batches):
        releases = batch - origin
        total = total + np.sum(releases, axis=0)
        squares = squares + np.sum(np.square(releases), axis=0)
    mean = total / n_trials
    return origin + mean, np.maximum(squares / n_trials - mean**2, 0.0)
