"""The privacy accountant: charges, their total, a cap (filter), a running bound (odometer).

Releases about the same people compose; releases about disjoint sites do not, for each person is
at one site. Gaussian releases compose exactly (their mu^2 add), anything else through the privacy
loss distributions of Google's `dp-accounting`, rounded upwards. This is the cost of a plan: the
number of releases and the guarantee of each are fixed beforehand. Adaptive decisions need a cap
(`Cap`) or the larger bound of `odometer_epsilon`. None of these bounds holds for releases that
share their noise: two of them at different scales can be solved for the data that the noise should
hide.

A result shown twice is one release: charges with a known key cost nothing.

**Filter.** A cap that is fixed beforehand refuses releases that would exceed it (a privacy filter).
A running total is the cost of a plan of exactly these releases, fixed beforehand. It is not a
guarantee if the total or the releases influence the decision to continue (Rogers, Roth, Ullman &
Vadhan 2016). A cap is.

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
   the law of a post-processing of W up to time M^2. There the likelihood ratio depends only on
   W(M^2), which is N(b M^2, M^2): everything together is M-GDP, that is (epsilon, delta - reserve).
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

4. *Nothing but pure.* Outcomes with releases beyond M^2 are among those with only pure releases,
   whose epsilon_j add up to epsilon at most: there P <= e^epsilon Q. All others are outcomes of
   the interaction that ends before it would exceed M^2, too, and 1 to 3 hold for them.

The reserve has to be fixed as well. Otherwise an analyst could spend the rest of delta on delta_j
exactly where the Gaussian releases gave no information.

Each person counts the releases that read their own row. At a bound that holds for all of them,
as `Accountant.bound_under_cap` is, the claim holds for every person at once.

References
----------
Rogers, Roth, Ullman & Vadhan (2016), "Privacy odometers and filters: pay-as-you-go composition".
Smith & Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy".
Whitehouse, Ramdas, Rogers & Wu (2023), "Fully adaptive composition in differential privacy".

**Odometer.** `odometer_epsilon` bounds the privacy loss at every data-dependent stopping time.

**Claim.** Let releases be mu_i-GDP given the past, each chosen after seeing all earlier ones, L_t
the privacy loss of the first t of them together (the logarithm of the ratio of their likelihoods
under two neighbours), V_t the sum of their mu_i^2. With `odometer_epsilon` as a function of V_t,

    P(there is a t with L_t > odometer_epsilon(sqrt(V_t), delta)) <= delta.

At any stopping time, the loss exceeds the shown bound with probability at most delta
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
sqrt(n) mu-GDP has at delta_n = 6 delta / (pi n)^2, and N the number at which the releases stop,
chosen after seeing them. Then for every event S of the releases until then, with laws P and Q under
two neighbours,

    P(S) <= sum over n of e^epsilon_n Q(S and N = n) + delta.

For S and N = n is an event of the first n, which are sqrt(n) mu-GDP (`dpcore.privacy.accountant`),
so that P(S and N = n) <= e^epsilon_n Q(S and N = n) + delta_n, and the delta_n add up to delta.
*QED* The guarantee at n is epsilon_n, a little more than that of a plan of n releases.

The price of adaptive stopping: at delta = 0.01 and mu from 0.3 to 10, between 1.3 and 3 times the
epsilon of a plan fixed beforehand.

References
----------
Rogers, Roth, Ullman & Vadhan (2016); Whitehouse, Ramdas, Rogers & Wu (2023), as in the filter.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
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

EVERYONE = ""
# Number that no site has.
_NO_SITE = -1

# Buckets of the discretised privacy loss, over its whole range: losses are rounded up by at most
# a hundred-thousandth of it each, which costs well under 1 % of epsilon for a hundred releases.
_PLD_BUCKETS = 100_000


@dataclass(frozen=True)
class Release:
    """Entry of one private release in the ledger.

    Parameters
    ----------
    key : str
        Settings and seed of the draw. The data set and the key identify the release.
    label : str
        Name of the release for users.
    dataset : str
        Data set whose rows are read. The same key of the same data set is the same result.
    mechanism : str
        Mechanism as named in `Guarantee`.
    epsilon, delta : float
        Exact guarantee for the people who pay.
    mu : float or None
        GDP parameter of Gaussian releases, which is used for composition.
    partition : str
        Name of the split into disjoint sites; `EVERYONE` when all people pay.
    sites : tuple of int, or None
        Sites of the partition whose people pay; None for every site.
    distance : float
        Total variation between the distribution that is drawn, for example in whole numbers, and
        that of the ideal release.
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
    distance: float = 0.0

    @property
    def identity(self) -> tuple[str, str]:
        """Return the data set and the key, which together identify the draw."""
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
        """Return the entry of a release with this guarantee."""
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
class Composition:
    """Composed guarantees: mu of all Gaussian releases, and (epsilon, delta) of all others."""

    mu: float = 0.0
    others: tuple[tuple[float, float], ...] = ()

    @property
    def is_mixed(self) -> bool:
        """Return whether `epsilon` needs a numerical convolution.

        Only Gaussian releases, or one other release, do not need it.
        """
        return len(self.others) > (self.mu == 0)

    def and_then(self, other: Composition) -> Composition:
        """Compose both for the same people."""
        others = sorted(self.others + other.others, reverse=True)
        return Composition(composed_mu(self.mu, other.mu), tuple(others))

    def or_else(self, other: Composition) -> Composition:
        """Combine both for disjoint people: an upper bound on both, exact if one dominates."""
        pairs = zip_longest(self.others, other.others, fillvalue=(0.0, 0.0))
        others = ((max(a[0], b[0]), max(a[1], b[1])) for a, b in pairs)
        return Composition(max(self.mu, other.mu), tuple(others))

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon known to hold for the composition at this delta."""
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
        """Return a fast bound by basic composition; the Gaussian part gets the remaining delta.

        It is never below `epsilon`, and equal to it if all releases are Gaussian.
        """
        rest = delta - math.fsum(part for _, part in self.others)
        if rest < 0:
            return math.inf
        gaussian = gaussian_epsilon(rest, 1.0, self.mu) if self.mu > 0 else 0.0
        return gaussian + math.fsum(epsilon for epsilon, _ in self.others)


@dataclass(frozen=True)
class Bound:
    """Upper bound of the charges to any person, as a filter counts it.

    Parameters
    ----------
    mu : float
        Root of the sum of mu squared. Releases that are not Gaussian count with their pure part.
    delta : float
        Sum of the deltas of the releases that are not Gaussian.
    epsilon : float
        Sum of the epsilons if every release is pure; infinite otherwise.
    distance : float
        Sum of the distances from the ideal releases.
    """

    mu: float = 0.0
    delta: float = 0.0
    epsilon: float = 0.0
    distance: float = 0.0


@dataclass(frozen=True)
class Charge:
    """Draws of one noise at one setting, and the results released from them.

    Parameters
    ----------
    release : Release
        Entry of one draw: who pays, and how much.
    numbers : frozenset of int
        Repetitions that were drawn. The same repetition of two charges is one draw.
    what : tuple of str
        Released quantities: components, eigenvalues, a mean.
    seen : tuple of str
        Algorithms that used the draws.
    by_sites : bool
        Whether each site added the noise to its own message.
    stream : str
        Unit noise that a simulation reuses, from the same seed, while settings change; empty if
        only this charge uses the noise.
    """

    release: Release
    numbers: frozenset[int] = frozenset({0})
    what: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    by_sites: bool = False
    stream: str = ""

    @property
    def draws(self) -> int:
        """Return the number of draws."""
        return len(self.numbers)

    def merged(self, other: Charge) -> Charge:
        """Return one charge for the draws of two charges with the same key.

        People who pay for either charge pay for the merged one. Sites of None are all sites.

        Raises
        ------
        ParameterError
            If both charges are for people of a partition, and the partitions differ.
        """
        ours, theirs = self.release, other.release
        dearer = max(ours, theirs, key=lambda release: release.epsilon)
        if EVERYONE in (ours.partition, theirs.partition):
            dearer = replace(dearer, partition=EVERYONE, sites=None)
        elif ours.partition != theirs.partition:
            raise ParameterError(
                "partition", f"{ours.partition!r} of both charges", theirs.partition
            )
        elif ours.sites is None or theirs.sites is None:
            dearer = replace(dearer, sites=None)
        else:
            dearer = replace(dearer, sites=tuple(sorted({*ours.sites, *theirs.sites})))
        return Charge(
            dearer,
            self.numbers | other.numbers,
            tuple(dict.fromkeys((*self.what, *other.what))),
            tuple(dict.fromkeys((*self.seen, *other.seen))),
            self.by_sites,
            self.stream,
        )

    def releases(self) -> tuple[Release, ...]:
        """Return releases that compose like all draws; Gaussian draws are combined into one,
        exactly.
        """
        one = self.release
        if one.mu is not None:
            mu = composed_mu(*[one.mu] * self.draws)
            return (replace(one, mu=mu, distance=self.draws * one.distance),)
        return tuple(replace(one, key=f"{one.key}#{number}") for number in self.numbers)

    def who_pays(self) -> str:
        """Describe the people who pay."""
        if self.release.sites is None:
            return "everybody"
        numbers = ", ".join(str(site + 1) for site in self.release.sites)
        return f"people of site{'s' if len(self.release.sites) > 1 else ''} {numbers}"


@dataclass
class Accountant:
    """Ledger of all releases about the people of one data set: charges by key, total and cap.

    A session keeps the accountant in memory. A project, and a site of a study, build it from a
    ledger on disk (`dpcore.release.project`). A repeated charge costs nothing: a result shown twice
    is one release.

    Parameters
    ----------
    dataset : str
        Data set whose rows are read.
    charges : dict of str to Charge
        Charges by the keys of their releases, in the order they were made.
    uncovered : dict of str to str
        Results shown without a guarantee, and the reasons.
    cap : Cap, optional
        Largest total charge to a person after `before`.
    before : dict of str to Charge
        Charges at the time the cap was set.
    """

    dataset: str
    charges: dict[str, Charge] = field(default_factory=dict)
    uncovered: dict[str, str] = field(default_factory=dict)
    cap: Cap | None = None
    before: dict[str, Charge] = field(default_factory=dict)
    _composed: Composition | None = field(default=None, repr=False, compare=False)

    def set_cap(self, cap: Cap | None) -> None:
        """Limit all later charges by a cap; earlier charges do not count against it."""
        self.cap, self.before = cap, dict(self.charges)

    def goes_on_as(self, dataset: str) -> Accountant:
        """Return the accountant of the same people, after a change of their data set."""

        def renamed(charges: dict[str, Charge]) -> dict[str, Charge]:
            # The same query of other rows is another release.
            releases = {f"{self.dataset}|{key}": each for key, each in charges.items()}
            return {
                key: replace(each, release=replace(each.release, key=key, dataset=dataset))
                for key, each in releases.items()
            }

        charges, before = renamed(self.charges), renamed(self.before)
        return Accountant(dataset, charges, dict(self.uncovered), self.cap, before)

    def charge(self, *charges: Charge) -> bool:
        """Enter all of these charges, or none; return False if all were known and cost nothing.

        Raises
        ------
        ParameterError
            If a charge is about another data set: no total would contain it.
        BeyondCap
            If the charges together would exceed the cap; then none is entered.
        """
        entries, is_new = self._with(charges)
        if is_new:
            self._require(entries)
            self._composed = None
        self.charges = entries
        return is_new

    def require(self, *charges: Charge) -> None:
        """Raise the errors of `charge` without entering anything."""
        entries, is_new = self._with(charges)
        if is_new:
            self._require(entries)

    def _with(self, charges: Iterable[Charge]) -> tuple[dict[str, Charge], bool]:
        entries = dict(self.charges)
        for charge in charges:
            release = charge.release
            if release.dataset != self.dataset:
                raise ParameterError(
                    "dataset", f"the accountant's, {self.dataset}", release.dataset
                )
            earlier = entries.get(release.key)
            entries[release.key] = charge if earlier is None else earlier.merged(charge)
        return entries, bool(_beyond(entries, self.charges))

    def _require(self, entries: dict[str, Charge]) -> None:
        if self.cap is not None:
            new = _beyond(entries, self.charges)
            drawn = _unit_draws(entries.values())
            if any(drawn[draw] > 1 for draw in _unit_draws(new)):
                raise BeyondCap(
                    "This scales noise that another release has scaled, and from both the data can "
                    "be solved for: no cap admits them together. Redraw the noise first."
                )
            after = _bound(_beyond(entries, self.before))
            self.cap.require(self.bound_under_cap(), after, _bound(new))

    def bound_under_cap(self) -> Bound:
        """Return the largest charge to any person that counts against the cap."""
        return _bound(_beyond(self.charges, self.before))

    def composed(self, *, site: int | None = None, partition: str | None = None) -> Composition:
        """Return a bound for every person; each split counts with its most charged site.

        Parameters
        ----------
        site, partition : optional
            Restrict the bound to the people of one site of a split (the latest by default), at any
            site of other splits.
        """
        if site is None:
            # Recomputed only after a new charge.
            if self._composed is None:
                self._composed = _compose_for_everyone(_releases_of(self.charges.values()))
            return self._composed
        releases = _releases_of(self.charges.values())
        split = self.latest_partition if partition is None else partition
        others = [release for release in releases if release.partition != split]
        own = _compose(r for r in releases if r.partition == split and _pays(r, site))
        return _compose_for_everyone(others).and_then(own)

    def total(self, delta: float, *, site: int | None = None, stopping: bool = False) -> float:
        """Return epsilon of all charges at this delta.

        Parameters
        ----------
        delta : float
            Failure probability, in [0, 1).
        site : int, optional
            Site of the latest split for whose people epsilon is returned; by default a bound for
            all people.
        stopping : bool
            Whether epsilon has to hold at any data-dependent stopping time (odometer). Otherwise it
            is that of a plan of exactly these releases, fixed beforehand. The odometer is infinite
            at `delta` = 0 unless all releases are pure, and for approximate releases that are not
            Gaussian.
        """
        if not stopping:
            return self.composed(site=site).epsilon(delta)
        bound = _bound(self.charges.values())
        if bound.delta > 0:
            return math.inf
        # The loss of pure releases never exceeds the sum of their epsilons.
        return min(bound.epsilon, odometer_epsilon(bound.mu, delta) if delta > 0 else math.inf)

    @property
    def n_releases(self) -> int:
        return sum(charge.draws for charge in self.charges.values())

    @property
    def has_sites(self) -> bool:
        """Return whether sites have released anything."""
        return any(charge.by_sites for charge in self.charges.values())

    @property
    def latest_partition(self) -> str:
        """Return the split named last by a release of some sites; `EVERYONE` if there is none."""
        splits = [each.release.partition for each in self.charges.values()]
        return next((split for split in reversed(splits) if split != EVERYONE), EVERYONE)

    def holds_noise(self, others: Iterable[Accountant] = ()) -> bool:
        """Return whether several charges, of this or other data sets, use one draw of unit noise.

        Two releases with one noise can be solved for the data that the noise should hide. They have
        no joint guarantee, and their sum is that of independent draws.
        """
        drawn = _unit_draws(self.charges.values())
        for other in others:
            if other is not self:
                elsewhere = _unit_draws(other.charges.values())
                drawn.update({draw: elsewhere[draw] for draw in drawn if draw in elsewhere})
        return max(drawn.values(), default=0) > 1

    def epsilon_by_site(self, delta: float) -> dict[int | None, float]:
        """Return epsilon by site of the latest split; None represents all other sites.

        The result is empty if all releases are charged to all people.
        """
        latest = self.latest_partition
        if latest == EVERYONE:
            return {}
        releases = (each.release for each in self.charges.values())
        named = sorted({s for r in releases if r.partition == latest for s in r.sites or ()})
        return {
            site: self.total(delta, site=_NO_SITE if site is None else site)
            for site in (*named, None)
        }

    def rows(self, delta: float) -> list[dict[str, Any]]:
        """Return one row per charge, with the total after it and the plain sum of epsilons.

        The last total is the smallest known. Earlier totals are fast bounds if kinds of noise are
        mixed, and never above the last.
        """
        rows: list[dict[str, Any]] = []
        added_up = 0.0
        # Composing every prefix from scratch takes seconds for a long ledger.
        for_everyone, by_some = Composition(), Accountant(self.dataset)
        for key, charge in self.charges.items():
            release = charge.release
            added_up += charge.draws * release.epsilon
            if release.partition == EVERYONE:
                for_everyone = for_everyone.and_then(_compose(charge.releases()))
            else:
                by_some.charges[key], by_some._composed = charge, None
            so_far = for_everyone.and_then(by_some.composed())
            rows.append(
                {
                    "released": ", ".join(charge.what),
                    "noise_on": release.label,
                    "seen_as": ", ".join(charge.seen),
                    "who_pays": charge.who_pays(),
                    "mechanism": release.mechanism,
                    "draws": charge.draws,
                    "epsilon": release.epsilon,
                    "delta": release.delta,
                    "mu": release.mu,
                    "total_epsilon": so_far.added_up(delta),
                    "total_delta": delta,
                    "sum_of_epsilons": added_up,
                }
            )
        if rows:
            last = rows[-1]["total_epsilon"] = self.total(delta)
            for row in rows:
                row["total_epsilon"] = min(row["total_epsilon"], last)
        return rows


def _releases_of(charges: Iterable[Charge]) -> list[Release]:
    return [release for charge in charges for release in charge.releases()]


def _unit_draws(charges: Iterable[Charge]) -> Counter[tuple[str, int]]:
    """Count the charges that scale each reusable draw of unit noise."""
    return Counter((c.stream, number) for c in charges if c.stream for number in c.numbers)


def _beyond(charges: dict[str, Charge], earlier_charges: dict[str, Charge]) -> list[Charge]:
    """Return the charges that are new: new draws, and draws that further people now pay for."""
    new = []
    for key, charge in charges.items():
        earlier = earlier_charges.get(key)
        if earlier is None or earlier.release != charge.release:
            new.append(charge)
        elif charge.numbers - earlier.numbers:
            new.append(replace(charge, numbers=charge.numbers - earlier.numbers))
    return new


def _bound(charges: Iterable[Charge]) -> Bound:
    """Return a bound for every person that holds for adaptively chosen releases.

    People pay for their own site, and for the most charged site of every split.
    """
    releases = _releases_of(charges)
    gaussian = (
        release if release.mu is not None else replace(release, mu=pure_mu(release.epsilon))
        for release in releases
    )
    delta = math.fsum(release.delta for release in releases if release.mu is None)
    is_pure = delta == 0 and all(release.mu is None for release in releases)
    pure = (epsilon for epsilon, _ in _compose_for_everyone(releases).others)
    return Bound(
        _compose_for_everyone(list(gaussian)).mu,
        delta,
        math.fsum(pure) if is_pure else math.inf,
        sum(release.distance for release in releases),
    )


def _compose_for_everyone(releases: Sequence[Release]) -> Composition:
    total = _compose(release for release in releases if release.partition == EVERYONE)
    for partition in dict.fromkeys(release.partition for release in releases):
        if partition != EVERYONE:
            total = total.and_then(_worst_site([r for r in releases if r.partition == partition]))
    return total


def _pays(release: Release, site: int) -> bool:
    return release.sites is None or site in release.sites


def _worst_site(releases: list[Release]) -> Composition:
    named = {site for release in releases for site in release.sites or ()}
    # A site without own releases still pays for releases of all sites.
    worst = _compose(release for release in releases if release.sites is None)
    for site in sorted(named):
        worst = worst.or_else(_compose(release for release in releases if _pays(release, site)))
    return worst


def _compose(releases: Iterable[Release]) -> Composition:
    mus, others = [0.0], []
    for release in releases:
        if release.mu is not None:
            mus.append(release.mu)
        elif (release.epsilon, release.delta) != (0.0, 0.0):
            others.append((release.epsilon, release.delta))
    return Composition(composed_mu(*mus), tuple(sorted(others, reverse=True)))


def _epsilon_of_one(epsilon: float, own_delta: float, delta: float) -> float:
    """Return the smallest epsilon at `delta` of a release that is (epsilon, own_delta)-DP.

    The profile of the worst such release is own_delta + (1 - own_delta) (e^epsilon - e^x) / (1 +
    e^epsilon) at x (Kairouz, Oh & Viswanath 2015).
    """
    if delta < own_delta:
        return math.inf
    excess = (delta - own_delta) / (1 - own_delta)
    # e^x / e^epsilon, which does not overflow.
    ratio = 1 - excess * (1 + 1 / odds_factor(epsilon))
    return max(0.0, epsilon + math.log(ratio)) if ratio > 0 else 0.0


@lru_cache(maxsize=256)
def _epsilon_by_pld(mu: float, others: tuple[tuple[float, float], ...], delta: float) -> float:
    # Takes a second to import, and only mixed ledgers need it.
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


# Tolerance as in `Guarantee.keeps_asked`: mu is a root, and a release that exactly fills the cap
# must be admitted.
_ROUNDING = 1 + 1e-9


class BeyondCap(Exception):
    """Error for charges that would exceed a cap; its message is one sentence for users."""


class BeyondReserve(BeyondCap):
    """Error for charges that would exceed the reserve of a cap's delta."""


@dataclass(frozen=True)
class Cap:
    """Largest total charge to a person, valid at any stopping time.

    Parameters
    ----------
    epsilon, delta : float
        Guarantee of all releases under the cap together; both positive, epsilon finite.
    reserve : float
        Part of delta, in [0, delta), for approximate releases that are not Gaussian, and for the
        distance of the drawn distribution from the ideal.

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
        """Return the largest root of a sum of mu squared that the cap admits."""
        return gaussian_mu(PrivacyBudget(self.epsilon, self.delta - self.reserve))

    def admits(self, spent: Bound) -> bool:
        """Return whether the cap admits a total charge."""
        return self.share(spent) <= _ROUNDING and self._reserved(spent) <= self.reserve

    def _reserved(self, spent: Bound) -> float:
        return spent.delta + delta_of_distance(spent.distance, self.epsilon)

    def share(self, spent: Bound) -> float:
        """Return the used share of the cap: in mu squared, or in epsilon while all releases are
        pure.
        """
        return min((spent.mu / self.mu) ** 2, spent.epsilon / self.epsilon)

    def left(self, spent: Bound) -> float:
        """Return the largest epsilon, at the cap's delta, of one more Gaussian release."""
        return self.epsilon_of(math.sqrt(max(0.0, self.mu**2 - spent.mu**2)))

    def left_pure(self, spent: Bound) -> float:
        """Return the largest epsilon of one more pure release if all are pure."""
        return max(0.0, self.epsilon - spent.epsilon)

    def epsilon_of(self, mu: float) -> float:
        """Return epsilon of a Gaussian release at the cap's delta without its reserve."""
        if mu == 0 or math.isinf(mu):
            return mu
        return gaussian_epsilon(self.delta - self.reserve, 1.0, mu)

    def require(self, before: Bound, after: Bound, asked: Bound) -> None:
        """Raise an error if the cap does not admit the total after new releases.

        Parameters
        ----------
        before, after : Bound
            Totals before and after the new releases.
        asked : Bound
            Total of only the new releases, for the message.

        Raises
        ------
        BeyondReserve
            If the reserve does not admit the new releases.
        BeyondCap
            If the cap does not admit the new releases.
        """
        if self.admits(after):
            return
        cap = f"the cap of ε = {say_delta(self.epsilon)} at δ = {say_delta(self.delta)}"
        if self._reserved(after) > self.reserve and after.distance > 0:
            raise BeyondReserve(
                f"The sampler's distance would take δ = {say_number(self._reserved(after))}, and "
                f"the cap keeps {say_number(self.reserve)} for that: a cap of larger δ, or smaller "
                "ε, keeps more."
            )
        if after.delta > self.reserve:
            raise BeyondReserve(
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
            f"next to Gaussian noise, and ε = {left} is left of {cap}."
        )


def delta_of_distance(distance: float, epsilon: float) -> float:
    """Return (1 + e^epsilon) tau, rounded up: the addition to delta by a total variation of tau.

    distance: tau.
    """
    return (1 + math.exp(min(epsilon, 700))) * distance * (1 + 1e-12)


def spoken_down(epsilon: float) -> str:
    """Format an epsilon with three significant digits, rounded down."""
    if epsilon == 0:
        return "0"
    # The margin keeps 1 - 0.4 = 0.59999… from becoming 0.599.
    digits = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(epsilon * _ROUNDING)
    return f"{digits.normalize():f}"


# M_0: a little more than mu of one release at epsilon = 1 and delta = 0.01. It must not depend on
# data.
_FIRST_MU = 0.55
# Smallest epoch; it also covers all smaller totals, which do not occur in practice.
_LOWEST_EPOCH = -20


def odometer_epsilon(mu: float, delta: float) -> float:
    """Return the odometer's bound on the privacy loss after releases with this composed mu.

    Parameters
    ----------
    mu : float
        Root of the sum of mu squared, at least 0.
    delta : float
        Probability, in (0, 1), that the loss is larger at any time.

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
    """Return epsilon of equal releases that stop at this number for any data-dependent reason.

    Parameters
    ----------
    mu : float
        GDP parameter of each release, at least 0.
    number : int
        Number of releases, at least 1.
    delta : float
        Failure probability, in (0, 1), for all possible numbers together.
    distance : float
        Total variation between each drawn release and the ideal one. It uses (1 + e^epsilon) number
        distance of this number's part of delta. Epsilon is infinite if that is more than half.

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
    spent = (1 + math.exp(min(at_most, 700))) * number * distance * (1 + 1e-12)
    return gaussian_epsilon(part - spent, 1.0, together) if spent <= part / 2 else math.inf


@lru_cache(maxsize=1024)
def _of_epoch(k: int, delta: float) -> float:
    # Wider than the epoch, to cover the rounding in `odometer_epsilon`.
    mu = _FIRST_MU * 2 ** (k / 2) * (1 + 1e-9)
    part = delta / ((math.pi**2 / 3 - 1) * (1 + abs(k)) ** 2)

    def bound(c: float) -> float:
        excess = gaussian_delta(c, 1.0, mu) / part
        return c - math.log1p(-excess) if excess < 1 else math.inf

    least = gaussian_epsilon(part, 1.0, mu)
    # Every c gives a valid bound; the search only makes it tighter.
    found = minimize_scalar(bound, bounds=(least, least + 10 * mu), method="bounded")
    return float(bound(found.x))
