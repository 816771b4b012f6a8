"""The ledger: what has been released about a data set, who paid, and how it adds up.

Releases about the same people compose; releases about disjoint sites do not, for each person is
at one site. Gaussian releases compose exactly (their mu^2 add), anything else through the privacy
loss distributions of Google's `dp-accounting`, rounded upwards. That is what a plan costs: how
many releases, and how private each, fixed beforehand. Whoever decides that while looking needs a
cap (`dpcore.privacy.filter`) or the larger bound of `dpcore.privacy.odometer`. None of it holds
for releases that share their noise: two of those at different scales can be solved for what the
noise should hide.

A result shown twice is one release: entries with a known key cost nothing. A ledger never
changes; `add` returns another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from dpcore.errors import ParameterError
from dpcore.privacy.budget import Guarantee
from dpcore.privacy.gaussian import composed_mu, gaussian_epsilon
from dpcore.privacy.meaning import guarantee_mu, odds_factor, pure_mu

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
