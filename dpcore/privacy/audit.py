"""An audit: attack a mechanism on two neighbouring data sets and bound its epsilon from below.

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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from dpcore.arrays import FloatArray
from dpcore.privacy.audit_bounds import (
    BATCH,
    area_under_curve,
    exact_mu,
    nominal_mu,
    threshold_bound,
)
from dpcore.privacy.budget import Adversary, Guarantee
from dpcore.privacy.gaussian import gaussian_epsilon

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
    preparation: {"none", "private mean", "sphere"}. Whether the release pays for a private mean to
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
    preparation: str = "none"
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
            "preparation": self.case.preparation,
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
