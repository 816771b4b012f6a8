"""The privacy accountant: a ledger of releases, a cap (filter), a running bound (odometer).

Releases about the same people compose; releases about disjoint sites do not, for each person is
at one site. Gaussian releases compose exactly (their mu^2 add), anything else through the privacy
loss distributions of Google's `dp-accounting`, rounded upwards. That is what a plan costs: how
many releases, and how private each, fixed beforehand. Whoever decides that while looking needs a
cap (`Cap`) or the larger bound of `odometer_epsilon`. None of it
holds for releases that share their noise: two of those at different scales can be solved for what
the noise should hide.

A result shown twice is one release: entries with a known key cost nothing. A ledger never
changes; `add` returns another.

A cap fixed beforehand, which refuses what would exceed it: a privacy filter.

A running total is what a plan of exactly these releases, fixed beforehand, would have cost. It
promises nothing to somebody who looks at it, or at the releases, while deciding whether to go on
(Rogers, Roth, Ullman & Vadhan 2016). A cap does.

**Claim.** Fix epsilon, delta and a reserve in [0, delta) beforehand. Let every release, its
mechanism and its parameters be chosen after seeing all earlier ones, as long as at every step
the sum of mu_i^2 is at most M^2, with M = gaussian_mu(epsilon, delta - reserve), and the sum of
delta_j is at most the reserve. Or let every release be pure, and the
sum of epsilon_j at most epsilon. Then everything released together, whenever one stops, is
(epsilon, delta)-DP. mu_i is that of a mu_i-GDP release; an epsilon_j-DP release has mu_j =
`pure_mu`(epsilon_j), and an (epsilon_j, delta_j) one has that mu_j and its delta_j.

**Proof,** for one pair of neighbours.

1. *Gaussian.* Given the past, a mu_i-GDP release is a post-processing of one draw of N(b mu_i, 1),
   b = 0 or 1 telling the neighbours apart (Dong, Roth & Su 2022, theorem 2.10), or, times mu_i, of
   N(b mu_i^2, mu_i^2). That is the law of the increment of W, a Brownian motion with drift b, over
   a time of length mu_i^2, and independent of the past. mu_i is known when the increment begins,
   so the times at which increments begin and end are stopping times and the whole interaction has
   the law of a post-processing of W up to time M^2. There the likelihood ratio depends on W(M^2)
   alone, which is N(b M^2, M^2): everything together is M-GDP, that is (epsilon, delta - reserve).
2. *Pure.* An epsilon-DP release tells the neighbours apart no better than its trade-off function
   max(0, 1 - e^epsilon a, e^-epsilon (1 - a)), two lines that meet at a = 1 / (1 + e^epsilon) at
   the height a. G_mu with mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)) goes through that point and
   through both ends of the lines, and is convex: it lies below. So the release is mu-GDP.
3. *Approximate.* Two laws that are (epsilon_j, delta_j)-indistinguishable are mixtures with equal
   weights 1 - delta_j of an epsilon_j-indistinguishable pair, and delta_j of any other (Kairouz,
   Oh & Viswanath 2015). The chance that any release comes from its second part is at most the
   reserve, under both neighbours. Restricted to no such case, the interaction has the law of one
   of mu_j-GDP releases times the weight of its path, a function of the outcome in [0, 1] that is
   equal for both neighbours, and (epsilon, delta - reserve) holds for such functions as for
   events. Together: P(S) <= e^epsilon Q(S) + (delta - reserve) + reserve.

4. *Nothing but pure.* Outcomes with releases beyond M^2 are among those with pure releases alone,
   whose epsilon_j add up to epsilon at most: there P <= e^epsilon Q. All others are outcomes of
   the interaction that ends before it would exceed M^2, too, and 1 to 3 hold for them.

The reserve has to be fixed as well: if what Gaussians left of delta could be spent on delta_j as
it suits, somebody would do so just where the Gaussians had told them nothing.

Each person counts the releases that read their own row. At a bound that holds for all of them,
as `Ledger.bound_by_person` is, the claim holds for every person at once.

References
----------
Rogers, Roth, Ullman & Vadhan (2016), "Privacy odometers and filters: pay-as-you-go composition".
Smith & Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy".
Whitehouse, Ramdas, Rogers & Wu (2023), "Fully adaptive composition in differential privacy".

A bound on the privacy loss that holds at every moment, for whoever stops when it suits.

**Claim.** Let releases be mu_i-GDP given the past, each chosen after seeing all earlier ones, L_t
the privacy loss of the first t of them together (the logarithm of the ratio of their likelihoods
under two neighbours), V_t the sum of their mu_i^2. With `odometer_epsilon` as a function of V_t,

    P(there is a t with L_t > odometer_epsilon(sqrt(V_t), delta)) <= delta.

So whatever made somebody stop, at most delta of the cases have a larger loss than was shown
(the odometer of Rogers, Roth, Ullman & Vadhan 2016).

**Proof.** Let M^2 be fixed and A the event that L_t > epsilon at some t with V_t <= M^2. Stop the
interaction where L first exceeds epsilon, or before the release that would take V above M^2.
Everything up to there is M-GDP (`dpcore.privacy.accountant`), and tells whether A occurred. On A
the likelihood under the first neighbour is more than e^epsilon times that under the second, so P(A)
>= e^epsilon Q(A), while for every c privacy gives P(A) <= e^c Q(A) + d(c), where d is the profile
of M-GDP. For c < epsilon that is

    P(A) <= d(c) / (1 - e^(c - epsilon)),

which is at most delta' at epsilon = c - ln(1 - d(c) / delta'), for any c with d(c) < delta'; the
best c is taken. No convex function of the likelihood ratio gives less: Ville's inequality with
exp(lambda L_t - lambda (lambda + 1) V_t / 2), for one, gives M^2 / 2 + M sqrt(2 ln(1 / delta')).

V_t has no bound known beforehand. Let M_k^2 = 2^k M_0^2 for all integers k, and delta_k =
delta / ((pi^2 / 3 - 1) (1 + |k|)^2), which add up to delta over all k. With V_t in
(M_(k-1)^2, M_k^2] the bound shown is that of M_k and delta_k, and the chances add up. *QED*

**Equal releases, counted.** If each is mu-GDP given the past, let epsilon_n be what the profile of
sqrt(n) mu-GDP has at delta_n = 6 delta / (pi n)^2, and N the number after which somebody stops, for
whatever was seen. Then for every event S of all that was seen until then, with laws P and Q under
two neighbours,

    P(S) <= sum over n of e^epsilon_n Q(S and N = n) + delta.

For S and N = n is an event of the first n, which are sqrt(n) mu-GDP (`dpcore.privacy.accountant`),
so that P(S and N = n) <= e^epsilon_n Q(S and N = n) + delta_n, and the delta_n add up to delta.
*QED* Whoever stops at n has epsilon_n to go by: a little more than a plan of n has.

What it costs to look: at delta = 0.01 and mu from 0.3 to 10, between 1.3 and 3 times the epsilon
of a plan fixed beforehand.

References
----------
Rogers, Roth, Ullman & Vadhan (2016); Whitehouse, Ramdas, Rogers & Wu (2023), as in the filter.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from decimal import ROUND_FLOOR, Context
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from scipy.optimize import minimize_scalar

from dpcore.errors import ParameterError
from dpcore.privacy.budget import Guarantee, PrivacyBudget
from dpcore.privacy.gaussian import composed_mu, gaussian_delta, gaussian_epsilon, gaussian_mu
from dpcore.privacy.guarantee_in_words import (
    guarantee_mu,
    odds_factor,
    pure_mu,
    say_delta,
    say_number,
)

# The ledger: what has been released about a data set, who paid, and how it adds up.

EVERYONE = ""

# Buckets of the discretised privacy loss, over its whole range: losses are rounded up by at most
# a hundred-thousandth of it each, which costs well under 1 % of epsilon for a hundred releases.
_PLD_BUCKETS = 100_000


@dataclass(frozen=True)
class Release:
    """One thing that has left the data.

    Parameters
    ----------
    key : str
        Settings and seed of the draw: with the data set, its identity.
    label : str
        What a person would call it.
    dataset : str
        Whose rows it reads. The same key of the same data set is the same result.
    mechanism : str
        As in `Guarantee`.
    epsilon, delta : float
        What holds exactly for whoever pays.
    mu : float or None
        For Gaussian releases, which compose by it.
    partition : str
        Name of the split into disjoint sites; `EVERYONE` when all people pay.
    sites : tuple of int, or None
        Who pays: sites of the partition, each for its own people; None for every site.
    """

    key: str
    label: str
    dataset: str
    mechanism: str
    epsilon: float
    delta: float
    mu: float | None = None
    partition: str = EVERYONE
    sites: tuple[int, ...] | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """What tells the draw from all others: the same settings of other people are another."""
        return self.dataset, self.key

    @classmethod
    def of(
        cls,
        guarantee: Guarantee,
        *,
        key: str,
        label: str,
        dataset: str,
        partition: str = EVERYONE,
        sites: Iterable[int] | None = None,
    ) -> Release:
        """The entry for a release with this guarantee."""
        return cls(
            key=key,
            label=label,
            dataset=dataset,
            mechanism=guarantee.mechanism,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
            mu=guarantee_mu(guarantee),
            partition=partition,
            sites=None if sites is None else tuple(sites),
        )


@dataclass(frozen=True)
class Spent:
    """A composition in the making: mu of all Gaussian releases, and the (epsilon, delta) others."""

    mu: float = 0.0
    others: tuple[tuple[float, float], ...] = ()

    @property
    def is_mixed(self) -> bool:
        """Whether `epsilon` has to convolve: not for Gaussian releases alone, nor for one other."""
        return len(self.others) > (self.mu == 0)

    def and_then(self, other: Spent) -> Spent:
        """Both, about the same people."""
        others = sorted(self.others + other.others, reverse=True)
        return Spent(composed_mu(self.mu, other.mu), tuple(others))

    def or_else(self, other: Spent) -> Spent:
        """One or the other, about disjoint people: a bound on both, exact where one dominates."""
        pairs = zip_longest(self.others, other.others, fillvalue=(0.0, 0.0))
        others = ((max(a[0], b[0]), max(a[1], b[1])) for a, b in pairs)
        return Spent(max(self.mu, other.mu), tuple(others))

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon known to hold for the composition at this delta."""
        if not 0 <= delta < 1:
            raise ParameterError("delta", "in [0, 1)", delta)
        if math.isinf(self.mu) or any(math.isinf(epsilon) for epsilon, _ in self.others):
            return math.inf
        gaussian = gaussian_epsilon(delta, 1.0, self.mu) if self.mu > 0 else 0.0
        if not self.others:
            return gaussian
        if self.mu == 0 and len(self.others) == 1:
            return _epsilon_of_one(*self.others[0], delta)
        return min(self.added_up(delta), _epsilon_by_pld(self.mu, self.others, delta))

    def added_up(self, delta: float) -> float:
        """A quick bound: basic composition, where the Gaussian part gets what the others leave.

        Never below `epsilon`, and equal to it where all releases are Gaussian.
        """
        left = delta - math.fsum(part for _, part in self.others)
        if left < 0:
            return math.inf
        gaussian = gaussian_epsilon(left, 1.0, self.mu) if self.mu > 0 else 0.0
        return gaussian + math.fsum(epsilon for epsilon, _ in self.others)


@dataclass(frozen=True)
class Bound:
    """What was spent on everybody at most, as a filter counts it.

    Parameters
    ----------
    mu : float
        Root of the sum of mu squared; of releases that are not Gaussian, of their pure part.
    delta : float
        Sum of the deltas of those.
    epsilon : float
        Sum of the epsilons where every release is pure; infinite where one is not.
    """

    mu: float = 0.0
    delta: float = 0.0
    epsilon: float = 0.0


@dataclass(frozen=True)
class Ledger:
    """What was released, as the tuple `releases` in the order it was made."""

    releases: tuple[Release, ...] = field(default=())

    def add(self, release: Release) -> Ledger:
        """With this release; the same ledger if it is known."""
        if any(known.identity == release.identity for known in self.releases):
            return self
        return replace(self, releases=(*self.releases, release))

    def spent_by_person(self, dataset: str) -> Spent:
        """A bound for every person in the data set: at each split, the site that paid most."""
        releases = [release for release in self.releases if release.dataset == dataset]
        total = _compose(release for release in releases if release.partition == EVERYONE)
        for partition in dict.fromkeys(release.partition for release in releases):
            if partition != EVERYONE:
                total = total.and_then(_worst_site(_of_partition(releases, partition)))
        return total

    def bound_by_person(self, dataset: str) -> Bound:
        """A bound for every person that may be looked at while going on (`privacy.filter`).

        As in `spent_by_person`, people pay for their own site, and for the worst site of every
        split.
        """
        own = [release for release in self.releases if release.dataset == dataset]
        gaussian = (
            release if release.mu is not None else replace(release, mu=pure_mu(release.epsilon))
            for release in own
        )
        delta = math.fsum(release.delta for release in own if release.mu is None)
        is_pure = delta == 0 and all(release.mu is None for release in own)
        pure = (epsilon for epsilon, _ in self.spent_by_person(dataset).others)
        return Bound(
            Ledger(tuple(gaussian)).spent_by_person(dataset).mu,
            delta,
            math.fsum(pure) if is_pure else math.inf,
        )

    def spent_by_site(self, dataset: str, partition: str, site: int) -> Spent:
        """A bound for the people of one site, whichever site was theirs in other splits."""
        others = tuple(r for r in self.releases if r.partition != partition)
        ours = _of_partition(self.releases, partition)
        own = _compose(r for r in ours if r.dataset == dataset and _pays(r, site))
        return Ledger(others).spent_by_person(dataset).and_then(own)

    def rows(self, delta: float) -> list[dict[str, Any]]:
        """Entries as JSON-able rows, each with the total so far at `delta`; None is infinite."""
        rows = []
        for count, release in enumerate(self.releases, start=1):
            so_far = Ledger(self.releases[:count]).spent_by_person(release.dataset)
            rows.append(
                {
                    **asdict(release),
                    "epsilon": _finite(release.epsilon),
                    "mu": None if release.mu is None else _finite(release.mu),
                    "sites": None if release.sites is None else list(release.sites),
                    "total_epsilon": _finite(so_far.epsilon(delta)),
                    "total_delta": delta,
                }
            )
        return rows


def _of_partition(releases: Iterable[Release], partition: str) -> list[Release]:
    return [release for release in releases if release.partition == partition]


def _pays(release: Release, site: int) -> bool:
    return release.sites is None or site in release.sites


def _worst_site(releases: list[Release]) -> Spent:
    named = {site for release in releases for site in release.sites or ()}
    # A site nobody names still pays for what every site pays for.
    worst = _compose(release for release in releases if release.sites is None)
    for site in sorted(named):
        worst = worst.or_else(_compose(release for release in releases if _pays(release, site)))
    return worst


def _compose(releases: Iterable[Release]) -> Spent:
    mus, others = [0.0], []
    for release in releases:
        if release.mu is not None:
            mus.append(release.mu)
        elif (release.epsilon, release.delta) != (0.0, 0.0):
            others.append((release.epsilon, release.delta))
    return Spent(composed_mu(*mus), tuple(sorted(others, reverse=True)))


def _epsilon_of_one(epsilon: float, own_delta: float, delta: float) -> float:
    """Smallest epsilon at `delta` of a release known to be (epsilon, own_delta)-DP.

    The profile of the worst such release is own_delta + (1 - own_delta) (e^epsilon - e^x) /
    (1 + e^epsilon) at x (Kairouz, Oh & Viswanath 2015).
    """
    if delta < own_delta:
        return math.inf
    excess = (delta - own_delta) / (1 - own_delta)
    # e^x / e^epsilon, which does not overflow.
    ratio = 1 - excess * (1 + 1 / odds_factor(epsilon))
    return max(0.0, epsilon + math.log(ratio)) if ratio > 0 else 0.0


@lru_cache(maxsize=256)
def _epsilon_by_pld(mu: float, others: tuple[tuple[float, float], ...], delta: float) -> float:
    # A second to import, and only mixed ledgers need it.
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    losses = math.fsum(epsilon for epsilon, _ in others) + mu * (mu / 2 + 10)
    interval = (losses or 1.0) / _PLD_BUCKETS
    parts = [
        pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(*part), value_discretization_interval=interval
        ).self_compose(count)
        for part, count in Counter(others).items()
    ]
    if mu > 0:
        parts.append(pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=interval))
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    return float(total.get_epsilon_for_delta(delta))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# A cap fixed beforehand, which refuses what would exceed it: a privacy filter.

# As in `Guarantee.keeps_asked`: mu is a root, and what was asked to fill the cap shall fit.
_ROUNDING = 1 + 1e-9


class BeyondCap(Exception):
    """What was asked for would exceed a cap; the message is one sentence for whoever asked."""


@dataclass(frozen=True)
class Cap:
    """The most that may be spent on a person, whenever one stops.

    Parameters
    ----------
    epsilon, delta : float
        What holds of everything released under the cap; both positive, epsilon finite.
    reserve : float
        In [0, delta): the part of delta for releases that are approximate without being Gaussian.

    Raises
    ------
    ParameterError
        If a value is outside its range.
    """

    epsilon: float
    delta: float
    reserve: float = 0.0

    def __post_init__(self) -> None:
        PrivacyBudget(self.epsilon, self.delta)
        if math.isinf(self.epsilon):
            raise ParameterError("epsilon", "finite for a cap", self.epsilon)
        if self.delta <= 0:
            raise ParameterError("delta", "greater than 0 for a cap", self.delta)
        if not 0 <= self.reserve < self.delta:
            raise ParameterError("reserve", f"in [0, delta={self.delta:g})", self.reserve)

    @property
    def mu(self) -> float:
        """The largest root of a sum of mu squared that the cap admits."""
        return gaussian_mu(PrivacyBudget(self.epsilon, self.delta - self.reserve))

    def admits(self, spent: Bound) -> bool:
        """Whether all of this may have been spent."""
        return self.share(spent) <= _ROUNDING and spent.delta <= self.reserve

    def share(self, spent: Bound) -> float:
        """What part of the cap is spent: in mu squared, or in epsilon while all is pure."""
        return min((spent.mu / self.mu) ** 2, spent.epsilon / self.epsilon)

    def left(self, spent: Bound) -> float:
        """The largest epsilon, at the cap's delta, that one more Gaussian release may have."""
        return self.epsilon_of(math.sqrt(max(0.0, self.mu**2 - spent.mu**2)))

    def left_pure(self, spent: Bound) -> float:
        """The largest epsilon that one more pure release may have as long as all are pure."""
        return max(0.0, self.epsilon - spent.epsilon)

    def epsilon_of(self, mu: float) -> float:
        """Epsilon of a Gaussian release, at the cap's delta without its reserve."""
        if mu == 0 or math.isinf(mu):
            return mu
        return gaussian_epsilon(self.delta - self.reserve, 1.0, mu)

    def require(self, before: Bound, after: Bound, asked: Bound) -> None:
        """Refuse to go from what was spent before to what would be spent after.

        Parameters
        ----------
        before, after : Bound
        asked : Bound
            Of the new releases alone, for the sentence.

        Raises
        ------
        BeyondCap
            If the cap does not admit it.
        """
        if self.admits(after):
            return
        cap = f"the cap of ε = {say_delta(self.epsilon)} at δ = {say_delta(self.delta)}"
        if after.delta > self.reserve:
            raise BeyondCap(
                f"This asks for δ = {say_number(asked.delta)} without being Gaussian, and {cap} "
                f"keeps {say_number(self.reserve)} for that."
            )
        counted = say_number(self.epsilon_of(asked.mu))
        if math.isinf(asked.epsilon):
            raise BeyondCap(
                f"This asks for ε = {counted}, and ε = {spoken_down(self.left(before))} is left of "
                f"{cap}."
            )
        pure = self.left_pure(before)
        left = f"{spoken_down(self.left(before))} of such" if pure == 0 else spoken_down(pure)
        raise BeyondCap(
            f"This asks for a pure ε = {say_number(asked.epsilon)}, which counts as ε = {counted} "
            f"beside Gaussian noise, and ε = {left} is left of {cap}."
        )


def spoken_down(epsilon: float) -> str:
    """What is left, in three significant digits, never more than it is."""
    if epsilon == 0:
        return "0"
    # The margin keeps 1 - 0.4 = 0.59999… from becoming 0.599.
    digits = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(epsilon * _ROUNDING)
    return f"{digits.normalize():f}"


# A bound on the privacy loss that holds at every moment, for whoever stops when it suits.

# M_0: a little more than one release at epsilon = 1 and delta = 0.01 spends. Fixed here, and so
# beforehand.
_FIRST_MU = 0.55
# Everything below the epoch of this number belongs to it: nobody asks for so little.
_LOWEST_EPOCH = -20


def odometer_epsilon(mu: float, delta: float) -> float:
    """Bound on the privacy loss after releases with this root of their sum of mu squared.

    Parameters
    ----------
    mu : float
        At least 0.
    delta : float
        In (0, 1): the chance that the loss is larger at any time.

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
    return _of_epoch(max(k, _LOWEST_EPOCH), delta)


def counted_epsilon(mu: float, number: int, delta: float, *, distance: float = 0.0) -> float:
    """What holds when equal releases stop at this number, whatever made them stop there.

    Parameters
    ----------
    mu : float
        At least 0: of each of them.
    number : int
        At least 1.
    delta : float
        In (0, 1): for all numbers at which they could have stopped, together.
    distance : float
        Total variation between each as it is drawn and the ideal one; it takes (1 + e^epsilon)
        number distance of this number's part of delta. Infinite where that is more than half.

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
    together, part = math.sqrt(number) * mu, 6 * delta / (math.pi * number) ** 2
    at_most = gaussian_epsilon(part / 2, 1.0, together)
    taken = (1 + math.exp(min(at_most, 700))) * number * distance * (1 + 1e-12)
    return gaussian_epsilon(part - taken, 1.0, together) if taken <= part / 2 else math.inf


@lru_cache(maxsize=1024)
def _of_epoch(k: int, delta: float) -> float:
    # Wider than the epoch by what the rounding above lets in.
    mu = _FIRST_MU * 2 ** (k / 2) * (1 + 1e-9)
    part = delta / ((math.pi**2 / 3 - 1) * (1 + abs(k)) ** 2)

    def bound(c: float) -> float:
        excess = gaussian_delta(c, 1.0, mu) / part
        return c - math.log1p(-excess) if excess < 1 else math.inf

    least = gaussian_epsilon(part, 1.0, mu)
    # Every c gives a bound: where the search ends decides how good it is, not whether it holds.
    found = minimize_scalar(bound, bounds=(least, least + 10 * mu), method="bounded")
    return float(bound(found.x))
