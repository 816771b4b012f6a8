"""Privacy audits: attack a mechanism on two neighbouring data sets, bound its epsilon from below.

Scores come in batches of `BATCH`, which are
independent of one another; within a batch the two data sets share their random numbers.

An audit: attack a mechanism on two neighbouring data sets and bound its epsilon from below.

The auditor draws releases under D and under D', scores each one by a statistic, and asks how well
the score tells the two apart. Three bounds come out, each for the stated one-sided confidence.
Two are exact: whatever the number of trials, they exceed the truth with at most the chance that
the confidence leaves.

`epsilon_any` assumes nothing. A threshold is chosen on one half of the trials; on the other half
Clopper & Pearson's (1934) exact limits for the two error rates give

    epsilon >= log((P[E | D] - delta) / P[E | D']).

It is honest and loose: n trials can't show more than about log(n / 4), nor a small epsilon.

The others assume that the mechanism is Gaussian noise, or computed from such a release, so that
its trade-off curve lies above that of some mu (Nasr and others 2023, section 4, use the same
assumption). Then no score has a larger area under its ROC curve than Phi(mu / sqrt(2)), so the
area bounds mu, and mu gives epsilon at delta. The area uses every trial and needs no threshold;
of the scores it assumes nothing.

`epsilon_exact` takes Hoeffding's (1963) limit for the area, or Clopper and Pearson's for a
threshold, at half the error each. `epsilon_gdp` takes the jackknife's: nearly the truth, and
nominal. Its level is right in the limit of many batches and measured for few; nothing proves it.
So a breach is proved where an exact bound exceeds the claim, and a nominal one points to it.

Both data sets get the same random numbers, batch by batch: a mechanism's generator is ours to
choose, and releases under each data set keep their law whatever is drawn beside them. What the
noise does to both drops out of the comparison, so the area is known far better than from
independent trials: at mu = 0.27 and 10,000 trials the bound on mu comes out at 0.99 of it and not
at 0.91. The jackknife is over batches, which are independent of one another, so that nothing is
assumed of how the two releases in a batch hang together. Where the scores hardly overlap batches
are not normal, and the exact limits bound mu instead. Those gain nothing from shared numbers.

A bound below the claim proves nothing: the attack may be weak.

Scores of an audit: releases drawn under two neighbours, and a statistic that tells them apart.

Both data sets get the same random numbers, batch by batch (`dpcore.privacy.audit` says why).
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

# What two samples of scores prove of a mechanism: limits on error rates, areas and mu.

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


# An audit: attack a mechanism on two neighbouring data sets and bound its epsilon from below.

Sampler = Callable[[np.random.Generator, int], FloatArray]
Statistic = Callable[[FloatArray], FloatArray]

# With fewer confusions than this, or fewer batches, the area of a batch is far from normal.
_MIN_CONFUSIONS = 100
_MIN_BATCHES = 4
_ROC_POINTS = 201


@dataclass(frozen=True)
class AuditCase:
    """A mechanism on its worst neighbours, and what it claims.

    epsilon, delta: The claim under replace-one.
    sampler_d, sampler_d_prime: callable (rng, n) -> shape (n, ...). Independent releases under each
        data set.
    statistic: callable (n, ...) -> (n,). Larger where D is likelier. Without one a linear
        discriminant is learnt on half of the trials.
    is_gaussian: The release is Gaussian noise on a statistic, or a function of that alone.
    neighbours: What D and D' are, in one sentence.
    flaw: What is wrong, in one sentence; empty for a sound mechanism.
    family: What it is listed under.
    covers: The release that is attacked, as "register.entry"; empty where none stands behind it.
    n_trials: Enough to show what there is to see, in a few seconds.
    adversary: Who attacks.
    sees: What that adversary sees besides everybody else's rows, in words that fit after "sees".
    centring: {"none", "private mean", "sphere"}. Whether the release pays for a private mean to
        centre by, and whether rows then get length 1.
    guarantee: What the attacked release says of itself, where it comes with a guarantee; the claim
        is what that says against this adversary.
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
        return not self.flaw


@dataclass(frozen=True)
class AuditResult:
    """What an attack found.

    n_trials: Releases drawn under each of D and D'.
    confidence: Of each bound on its own.
    epsilon_any: Lower bound at the case's delta, whatever the mechanism. Exact.
    epsilon_exact: Exact lower bound that uses what the case is: for a Gaussian one through mu, else
        `epsilon_any`.
    epsilon_gdp: Lower bound for a Gaussian mechanism; None where the case is not one. Nominal,
        where `is_nominal` says so.
    mu: The lower bound behind `epsilon_gdp`.
    is_nominal: Whether `mu` comes from the jackknife, whose level holds in the limit only.
    area: Under the ROC curve of the score; one half tells nothing.
    type_one, type_two: shape (n_points,). Measured error rates as the threshold moves, for a plot.
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
        """The closest bound whose assumption the case makes; `bound` says of what kind it is."""
        return self.epsilon_any if self.epsilon_gdp is None else self.epsilon_gdp

    @property
    def bound(self) -> str:
        """ "exact" or "nominal": whether `epsilon` keeps its confidence at every number of trials,
        or nearly so, by the jackknife."""
        return "nominal" if self.is_nominal else "exact"

    @property
    def breaks_claim(self) -> bool:
        """Whether a bound exceeds the claim, a nominal one included."""
        return max(self.epsilon, self.epsilon_exact) > self.case.epsilon

    @property
    def proves_breach(self) -> bool:
        """Whether an exact bound does."""
        return self.epsilon_exact > self.case.epsilon

    def row(self) -> dict[str, object]:
        """JSON-able summary, without the curve."""
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
    """What these scores prove, and what they point to.

    d, d_prime: shape (n_scored,). Scores of releases under D and under D', as `paired_scores` gives
        them.
    n_trials: Releases drawn under each, those included that only trained the score.
    confidence: In [0.5, 1).
    """
    _, _, epsilon_any = threshold_bound(d, d_prime, case.delta, 1 - confidence)
    mu = epsilon_gdp = None
    epsilon_exact, is_nominal = epsilon_any, False
    area = area_under_curve(d, d_prime)
    if case.is_gaussian:
        certain = exact_mu(d, d_prime, case.delta, 1 - confidence)
        epsilon_exact = _epsilon_of(certain, case.delta)
        confusions = 2 * len(d) * ndtr(-ndtri(area) / math.sqrt(2)) if area < 1 else 0
        is_nominal = confusions >= _MIN_CONFUSIONS and len(d) // BATCH >= _MIN_BATCHES
        mu = nominal_mu(d, d_prime, 1 - confidence) if is_nominal else certain
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
    # The least score may be common, and everything is above this.
    thresholds = np.concatenate(([-np.inf], thresholds))
    type_one = 1 - np.searchsorted(np.sort(d_prime), thresholds, side="right") / len(d_prime)
    type_two = np.searchsorted(np.sort(d), thresholds, side="right") / len(d)
    return type_one, type_two


# Scores of an audit: releases drawn under two neighbours, and a statistic that tells them apart.

FEWEST_TRIALS = 200
# Releases held in memory at once while a score is learnt.
_TRAINING_BATCH = 2_000


def audit(
    case: AuditCase,
    *,
    n_trials: int | None = None,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> AuditResult:
    """Attack a mechanism.

    n_trials: Releases under each of D and D', at least 200; as many as the case asks for by
        default. Half of them train the score where the case brings none.
    confidence: In [0.5, 1): the chance that a bound is below the true epsilon; at least that for
        the exact ones, about that for `epsilon_gdp`.
    Raises `ParameterError` if `n_trials` or `confidence` is out of range.
    """
    n_trials = case.n_trials if n_trials is None else n_trials
    if not n_trials >= FEWEST_TRIALS:
        raise ParameterError("n_trials", f"at least {FEWEST_TRIALS}", n_trials)
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
    """Scores of `n_trials` releases under D and of as many under D', each of shape (n_trials,).

    Every `BATCH` of them start from a seed of their own, the same for both data sets.
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
    """A linear score, learnt: entries that differ, weighted by difference over variance.

    Entries are taken as uncorrelated, and those whose difference could be chance among so many
    are left out: worst neighbours move few of them, and the others would drown the score.
    """
    (mean, variance), (mean_prime, variance_prime) = (
        _moments(sampler, n_trials, rng) for sampler in (case.sampler_d, case.sampler_d_prime)
    )
    difference = mean - mean_prime
    pooled = (variance + variance_prime) / 2
    # Entries without noise get a huge weight and not an infinite one.
    pooled = np.maximum(pooled, 1e-20 * max(pooled.max(), np.square(difference).max(), 1e-300))
    evidence = np.abs(difference) * np.sqrt(n_trials / (2 * pooled))
    chance = min(math.sqrt(2 * math.log(evidence.size + 1)), evidence.max())
    weights = np.where(evidence >= chance, difference / pooled, 0.0)
    return lambda releases: releases.reshape(len(releases), -1) @ weights


def _batches(n_trials: int, size: int) -> Iterator[int]:
    while n_trials > 0:
        yield min(n_trials, size)
        n_trials -= size


def _moments(
    sampler: Sampler, n_trials: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of every entry, about the first release to spare digits."""
    batches = (sampler(rng, n).reshape(n, -1) for n in _batches(n_trials, _TRAINING_BATCH))
    first = next(batches)
    origin, total, squares = first[0], np.zeros_like(first[0]), np.zeros_like(first[0])
    for batch in chain((first,), batches):
        releases = batch - origin
        total = total + np.sum(releases, axis=0)
        squares = squares + np.sum(np.square(releases), axis=0)
    mean = total / n_trials
    return origin + mean, np.maximum(squares / n_trials - mean**2, 0.0)
