"""What a person's look at private results would have cost, had the data been real: the books.

The unit is a draw of noise, not a picture: whatever is computed from one noisy matrix is
post-processing and free. What each kind of result costs is in
`dpcore.experiments.ledger.pca_charges`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from dpcore.errors import ParameterError
from dpcore.privacy import (
    EVERYONE,
    BeyondCap,
    Bound,
    Cap,
    Ledger,
    Release,
    Spent,
    composed_mu,
    odometer_epsilon,
)

_NOBODY = -1


@dataclass(frozen=True)
class Charge:
    """Draws of one kind of noise at one setting.

    release: One draw: who pays, and how much.
    numbers: Which draws: repetition 0 seen here and repetition 0 seen there are one.
    what: What was released from them: components, eigenvalues, a mean.
    seen: By which algorithms.
    by_sites: Whether sites added the noise, each to what its own people gave.
    stream: Unit noise that the laboratory holds while settings move, from the same seed; empty
        where the noise is of this charge alone.
    """

    release: Release
    numbers: frozenset[int] = frozenset({0})
    what: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    by_sites: bool = False
    stream: str = ""

    @property
    def draws(self) -> int:
        return len(self.numbers)

    def merged(self, other: Charge) -> Charge:
        """Both of the same key: the draws of either, paid by everybody who pays for either."""
        ours, theirs = self.release, other.release
        dearer = max(ours, theirs, key=lambda release: release.epsilon)
        if EVERYONE in (ours.partition, theirs.partition):
            dearer = replace(dearer, partition=EVERYONE, sites=None)
        else:
            sites = sorted({*(ours.sites or ()), *(theirs.sites or ())})
            dearer = replace(dearer, sites=tuple(sites))
        return Charge(
            dearer,
            self.numbers | other.numbers,
            tuple(dict.fromkeys((*self.what, *other.what))),
            tuple(dict.fromkeys((*self.seen, *other.seen))),
            self.by_sites,
            self.stream,
        )

    def composed(self) -> tuple[Release, ...]:
        """Releases that compose like all the draws; Gaussian ones fold into one, exactly."""
        one = self.release
        if one.mu is not None:
            return (replace(one, mu=composed_mu(*[one.mu] * self.draws)),)
        return tuple(replace(one, key=f"{one.key}#{number}") for number in self.numbers)


@dataclass
class Account:
    """Everything shown about one data set: charges by key, and what no budget covers.

    uncovered: What was shown that no guarantee covers, and why.
    cap: The most that may be spent on a person from `before` on.
    before: What had been paid when the cap was set.
    """

    dataset: str
    charges: dict[str, Charge] = field(default_factory=dict)
    uncovered: dict[str, str] = field(default_factory=dict)
    cap: Cap | None = None
    before: dict[str, Charge] = field(default_factory=dict)
    _spent: Spent | None = field(default=None, repr=False, compare=False)

    def set_cap(self, cap: Cap | None) -> None:
        """From now on nothing may be paid beyond this cap; what was paid before is outside it."""
        self.cap, self.before = cap, dict(self.charges)

    def goes_on_as(self, dataset: str) -> Account:
        """The books of the same people, whose rows are read in another way from now on."""

        def renamed(charges: dict[str, Charge]) -> dict[str, Charge]:
            # What is asked in the same words of other rows is another release.
            releases = {f"{self.dataset}|{key}": each for key, each in charges.items()}
            return {
                key: replace(each, release=replace(each.release, key=key, dataset=dataset))
                for key, each in releases.items()
            }

        charges, before = renamed(self.charges), renamed(self.before)
        return Account(dataset, charges, dict(self.uncovered), self.cap, before)

    def pay(self, *charges: Charge) -> bool:
        """Enter all of these charges, or none; False if they were known and nothing is added.

        Raises `ParameterError` if one is about other people: it would be in no total.
        Raises `BeyondCap` if there is a cap that they would exceed together; nothing is entered
            then.
        """
        entries, is_new = self._with(charges)
        if is_new:
            self._require_room(entries)
            self._spent = None
        self.charges = entries
        return is_new

    def require_room(self, *charges: Charge) -> None:
        """Raise what `pay` would, and enter nothing."""
        entries, is_new = self._with(charges)
        if is_new:
            self._require_room(entries)

    def _with(self, charges: Iterable[Charge]) -> tuple[dict[str, Charge], bool]:
        entries = dict(self.charges)
        for charge in charges:
            release = charge.release
            if release.dataset != self.dataset:
                raise ParameterError("dataset", f"the account's, {self.dataset}", release.dataset)
            known = entries.get(release.key)
            entries[release.key] = charge if known is None else known.merged(charge)
        return entries, bool(_beyond(entries, self.charges))

    def _require_room(self, entries: dict[str, Charge]) -> None:
        if self.cap is not None:
            drawn = _unit_draws(entries.values())
            if any(drawn[draw] > 1 for draw in _unit_draws(_beyond(entries, self.charges))):
                raise BeyondCap(
                    "This scales noise that another release has scaled, and from both the data can "
                    "be solved for: no cap admits them together. Redraw the noise first."
                )
            self.cap.require(
                self.bound_under_cap(),
                self._bound(_beyond(entries, self.before)),
                self._bound(_beyond(entries, self.charges)),
            )

    def _bound(self, charges: Iterable[Charge]) -> Bound:
        return _ledger_of(charges).bound_by_person(self.dataset)

    def bound_under_cap(self) -> Bound:
        """What the cap counts as spent."""
        return self._bound(_beyond(self.charges, self.before))

    def odometer_epsilon(self, delta: float) -> float:
        """A bound on everybody's privacy loss that holds whenever one stops.

        Infinite at ``delta=0`` unless everything is pure, and for approximate releases that are
        not Gaussian, which it does not cover.
        """
        bound = self._bound(self.charges.values())
        if bound.delta > 0:
            return math.inf
        # The loss of pure releases is never larger than their epsilons together.
        return min(bound.epsilon, odometer_epsilon(bound.mu, delta) if delta > 0 else math.inf)

    @property
    def n_releases(self) -> int:
        return sum(charge.draws for charge in self.charges.values())

    def holds_noise(self, others: Iterable[Account] = ()) -> bool:
        """Whether one draw of unit noise serves several charges, of this account or of others.

        Whoever has both solves for what the noise should hide: together they promise nothing,
        and their sum is that of fresh draws.
        """
        drawn = _unit_draws(self.charges.values())
        for other in others:
            if other is not self:
                elsewhere = _unit_draws(other.charges.values())
                drawn.update({draw: elsewhere[draw] for draw in drawn if draw in elsewhere})
        return max(drawn.values(), default=0) > 1

    @property
    def has_sites(self) -> bool:
        """Whether anything has been released by sites."""
        return any(charge.by_sites for charge in self.charges.values())

    def ledger(self) -> Ledger:
        return _ledger_of(self.charges.values())

    def spent_by_person(self) -> Spent:
        """A bound for everybody in the data set; worked out again only once something is paid."""
        if self._spent is None:
            self._spent = self.ledger().spent_by_person(self.dataset)
        return self._spent

    def epsilon_by_site(self, delta: float) -> dict[int | None, float]:
        """Epsilon so far by site of the latest split; None stands for sites nobody has named.

        Empty where no site has released anything alone.
        """
        ledger = self.ledger()
        partitions = [r.partition for r in ledger.releases if r.partition != EVERYONE]
        if not partitions:
            return {}
        latest = partitions[-1]
        named = sorted({s for r in ledger.releases if r.partition == latest for s in r.sites or ()})
        by_site: dict[int | None, float] = {}
        for site in (*named, None):
            number = _NOBODY if site is None else site
            by_site[site] = ledger.spent_by_site(self.dataset, latest, number).epsilon(delta)
        return by_site

    def rows(self, delta: float) -> list[dict[str, Any]]:
        """One row a charge, in order, with the total after it and the plain sum of epsilons.

        The last total is the smallest known. Those before it are quick bounds where kinds of
        noise are mixed, and never above the last.
        """
        rows: list[dict[str, Any]] = []
        added_up = 0.0
        # Composing every prefix anew would take seconds after an hour of redraws.
        by_everybody, by_some = Spent(), Account(self.dataset)
        for key, charge in self.charges.items():
            release = charge.release
            added_up += charge.draws * release.epsilon
            if release.partition == EVERYONE:
                one = Ledger(charge.composed()).spent_by_person(self.dataset)
                by_everybody = by_everybody.and_then(one)
            else:
                by_some.charges[key] = charge
            so_far = by_everybody.and_then(by_some.spent_by_person())
            rows.append(
                {
                    "released": ", ".join(charge.what),
                    "noise_on": release.label,
                    "seen_as": ", ".join(charge.seen),
                    "who_pays": who_pays(release),
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
            last = self.spent_by_person().epsilon(delta)
            rows[-1]["total_epsilon"] = last
            for row in rows:
                row["total_epsilon"] = min(row["total_epsilon"], last)
        return rows


def _ledger_of(charges: Iterable[Charge]) -> Ledger:
    return Ledger(tuple(release for charge in charges for release in charge.composed()))


def _unit_draws(charges: Iterable[Charge]) -> Counter[tuple[str, int]]:
    """How many charges scale each draw of unit noise, where it may be held."""
    return Counter((c.stream, number) for c in charges if c.stream for number in c.numbers)


def _beyond(charges: dict[str, Charge], known: dict[str, Charge]) -> list[Charge]:
    """What has been paid besides what was known: new draws, and old ones that others now pay."""
    new = []
    for key, charge in charges.items():
        earlier = known.get(key)
        if earlier is None or earlier.release != charge.release:
            new.append(charge)
        elif charge.numbers - earlier.numbers:
            new.append(replace(charge, numbers=charge.numbers - earlier.numbers))
    return new


def who_pays(release: Release) -> str:
    """The people who pay, in words."""
    if release.sites is None:
        return "everybody"
    numbers = ", ".join(str(site + 1) for site in release.sites)
    return f"people of site{'s' if len(release.sites) > 1 else ''} {numbers}"
