"""Charges for releases, and the composition of the charges to each person.

Releases about the same people compose. Releases about disjoint sites do not, because each person is
at one site: a bound for every person counts the most charged site of each split.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dpcore.errors import ParameterError
from dpcore.privacy.budget import Guarantee
from dpcore.privacy.composition import Composition
from dpcore.privacy.gaussian import composed_mu
from dpcore.privacy.interpretation import guarantee_mu, pure_mu

EVERYONE = ""


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
class Charge:
    """Draws of one noise at one setting, and the results released from them.

    Parameters
    ----------
    release : Release
        Entry of one draw: who pays, and how much.
    numbers : frozenset of int
        Repetitions that were drawn. The same repetition of two charges is one draw.
    quantities : tuple of str
        Released quantities: components, eigenvalues, a mean.
    algorithms : tuple of str
        Algorithms that used the draws.
    by_sites : bool
        Whether each site added the noise to its own message.
    stream : str
        Unit noise that a simulation reuses, from the same seed, while settings change; empty if
        only this charge uses the noise.
    """

    release: Release
    numbers: frozenset[int] = frozenset({0})
    quantities: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    by_sites: bool = False
    stream: str = ""

    @property
    def draws(self) -> int:
        """Return the number of draws."""
        return len(self.numbers)

    def merge(self, other: Charge) -> Charge:
        """Return one charge for the draws of two charges with the same key.

        People who pay for either charge pay for the merged one. Sites of None are all sites.

        Raises
        ------
        ParameterError
            If both charges are for people of a partition, and the partitions differ.
        """
        first, second = self.release, other.release
        combined = max(first, second, key=lambda release: release.epsilon)
        if EVERYONE in (first.partition, second.partition):
            combined = replace(combined, partition=EVERYONE, sites=None)
        elif first.partition != second.partition:
            raise ParameterError(
                "partition", f"{first.partition!r} of both charges", second.partition
            )
        elif first.sites is None or second.sites is None:
            combined = replace(combined, sites=None)
        else:
            combined = replace(combined, sites=tuple(sorted({*first.sites, *second.sites})))
        return Charge(
            combined,
            self.numbers | other.numbers,
            tuple(dict.fromkeys((*self.quantities, *other.quantities))),
            tuple(dict.fromkeys((*self.algorithms, *other.algorithms))),
            self.by_sites,
            self.stream,
        )

    def releases(self) -> tuple[Release, ...]:
        """Return releases that compose like all draws.

        Gaussian draws are combined into one, exactly.
        """
        release = self.release
        if release.mu is not None:
            mu = composed_mu(*[release.mu] * self.draws)
            return (replace(release, mu=mu, distance=self.draws * release.distance),)
        return tuple(replace(release, key=f"{release.key}#{number}") for number in self.numbers)

    def who_pays(self) -> str:
        """Describe the people who pay."""
        if self.release.sites is None:
            return "all people"
        numbers = ", ".join(str(site + 1) for site in self.release.sites)
        return f"people of site{'s' if len(self.release.sites) > 1 else ''} {numbers}"


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


def releases_of(charges: Iterable[Charge]) -> list[Release]:
    return [release for charge in charges for release in charge.releases()]


def unit_draws(charges: Iterable[Charge]) -> Counter[tuple[str, int]]:
    """Count the charges that scale each reusable draw of unit noise."""
    return Counter((c.stream, number) for c in charges if c.stream for number in c.numbers)


def new_charges(charges: dict[str, Charge], earlier_charges: dict[str, Charge]) -> list[Charge]:
    """Return the charges that are new: new draws, and draws that further people now pay for."""
    new = []
    for key, charge in charges.items():
        earlier = earlier_charges.get(key)
        if earlier is None or earlier.release != charge.release:
            new.append(charge)
        elif charge.numbers - earlier.numbers:
            new.append(replace(charge, numbers=charge.numbers - earlier.numbers))
    return new


def bound_of(charges: Iterable[Charge]) -> Bound:
    """Return a bound for every person that holds for adaptively chosen releases.

    People pay for their own site, and for the most charged site of every split.
    """
    releases = releases_of(charges)
    gaussian = (
        release if release.mu is not None else replace(release, mu=pure_mu(release.epsilon))
        for release in releases
    )
    delta = math.fsum(release.delta for release in releases if release.mu is None)
    is_pure = delta == 0 and all(release.mu is None for release in releases)
    pure = (epsilon for epsilon, _ in compose_for_everyone(releases).others)
    return Bound(
        compose_for_everyone(list(gaussian)).mu,
        delta,
        math.fsum(pure) if is_pure else math.inf,
        sum(release.distance for release in releases),
    )


def compose_for_everyone(releases: Sequence[Release]) -> Composition:
    total = compose(release for release in releases if release.partition == EVERYONE)
    for partition in dict.fromkeys(release.partition for release in releases):
        if partition != EVERYONE:
            total = total.and_then(_worst_site([r for r in releases if r.partition == partition]))
    return total


def pays(release: Release, site: int) -> bool:
    return release.sites is None or site in release.sites


def _worst_site(releases: list[Release]) -> Composition:
    named = {site for release in releases for site in release.sites or ()}
    # A site without own releases still pays for releases of all sites.
    worst = compose(release for release in releases if release.sites is None)
    for site in sorted(named):
        worst = worst.or_else(compose(release for release in releases if pays(release, site)))
    return worst


def compose(releases: Iterable[Release]) -> Composition:
    mus, others = [0.0], []
    for release in releases:
        if release.mu is not None:
            mus.append(release.mu)
        elif (release.epsilon, release.delta) != (0.0, 0.0):
            others.append((release.epsilon, release.delta))
    return Composition(composed_mu(*mus), tuple(sorted(others, reverse=True)))
