"""Ledger of all releases about the people of one data set.

The total is the cost of a plan: the number of releases and the guarantee of each are fixed
beforehand. Adaptive decisions need a cap (`dpcore.privacy.cap`) or the larger bound of the odometer
(`dpcore.privacy.odometer`). None of these bounds holds for releases that share their noise: two of
them at different scales can be solved for the data that the noise should hide.

A result shown twice is one release: charges with a known key cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from dpcore.errors import ParameterError
from dpcore.privacy.cap import BeyondCap, Cap
from dpcore.privacy.charges import (
    EVERYONE,
    Bound,
    Charge,
    bound_of,
    compose,
    compose_for_everyone,
    new_charges,
    pays,
    releases_of,
    unit_draws,
)
from dpcore.privacy.composition import Composition
from dpcore.privacy.odometer import odometer_epsilon

# Number that no site has.
_NO_SITE = -1


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

    def with_dataset(self, dataset: str) -> Accountant:
        """Return the accountant of the same people, after a change of their data set."""

        def renamed(charges: dict[str, Charge]) -> dict[str, Charge]:
            # The same query of other rows is another release.
            releases = {f"{self.dataset}|{key}": charge for key, charge in charges.items()}
            return {
                key: replace(release, release=replace(release.release, key=key, dataset=dataset))
                for key, release in releases.items()
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
        entries, is_new = self._with_charges(charges)
        if is_new:
            self._require(entries)
            self._composed = None
        self.charges = entries
        return is_new

    def require(self, *charges: Charge) -> None:
        """Raise the errors of `charge` without entering anything."""
        entries, is_new = self._with_charges(charges)
        if is_new:
            self._require(entries)

    def _with_charges(self, charges: Iterable[Charge]) -> tuple[dict[str, Charge], bool]:
        entries = dict(self.charges)
        for charge in charges:
            release = charge.release
            if release.dataset != self.dataset:
                raise ParameterError(
                    "dataset", f"the accountant's, {self.dataset}", release.dataset
                )
            earlier = entries.get(release.key)
            entries[release.key] = charge if earlier is None else earlier.merge(charge)
        return entries, bool(new_charges(entries, self.charges))

    def _require(self, entries: dict[str, Charge]) -> None:
        if self.cap is not None:
            new = new_charges(entries, self.charges)
            drawn = unit_draws(entries.values())
            if any(drawn[draw] > 1 for draw in unit_draws(new)):
                raise BeyondCap(
                    "This scales noise that another release has scaled, and from both the data can "
                    "be solved for: no cap admits them together. Redraw the noise first."
                )
            after = bound_of(new_charges(entries, self.before))
            self.cap.require(self.bound_under_cap(), after, bound_of(new))

    def bound_under_cap(self) -> Bound:
        """Return the largest charge to any person that counts against the cap."""
        return bound_of(new_charges(self.charges, self.before))

    def composed(self, *, site: int | None = None, partition: str | None = None) -> Composition:
        """Return a bound for every person; of each split, the most charged site counts.

        Parameters
        ----------
        site, partition : optional
            Restrict the bound to the people of one site of a split (the latest by default), at any
            site of other splits.
        """
        if site is None:
            # Recomputed only after a new charge.
            if self._composed is None:
                self._composed = compose_for_everyone(releases_of(self.charges.values()))
            return self._composed
        releases = releases_of(self.charges.values())
        split = self.latest_partition if partition is None else partition
        others = [release for release in releases if release.partition != split]
        of_site = compose(r for r in releases if r.partition == split and pays(r, site))
        return compose_for_everyone(others).and_then(of_site)

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
        bound = bound_of(self.charges.values())
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
        """Return the split of the latest release of some sites; `EVERYONE` if there is none."""
        splits = [charge.release.partition for charge in self.charges.values()]
        return next((split for split in reversed(splits) if split != EVERYONE), EVERYONE)

    def holds_noise(self, others: Iterable[Accountant] = ()) -> bool:
        """Return whether several charges, of this or other data sets, use one draw of unit noise.

        Two releases with one noise can be solved for the data that the noise should hide. They have
        no joint guarantee, and their sum is that of independent draws.
        """
        drawn = unit_draws(self.charges.values())
        for other in others:
            if other is not self:
                elsewhere = unit_draws(other.charges.values())
                drawn.update({draw: elsewhere[draw] for draw in drawn if draw in elsewhere})
        return max(drawn.values(), default=0) > 1

    def epsilon_by_site(self, delta: float) -> dict[int | None, float]:
        """Return epsilon by site of the latest split; None represents all other sites.

        The result is empty if all releases are charged to all people.
        """
        latest = self.latest_partition
        if latest == EVERYONE:
            return {}
        releases = (charge.release for charge in self.charges.values())
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
        basic_bound = 0.0
        # Composing every prefix from scratch takes seconds for a long ledger.
        for_everyone, by_some = Composition(), Accountant(self.dataset)
        for key, charge in self.charges.items():
            release = charge.release
            basic_bound += charge.draws * release.epsilon
            if release.partition == EVERYONE:
                for_everyone = for_everyone.and_then(compose(charge.releases()))
            else:
                by_some.charges[key], by_some._composed = charge, None
            so_far = for_everyone.and_then(by_some.composed())
            rows.append(
                {
                    "released": ", ".join(charge.quantities),
                    "noise_on": release.label,
                    "seen_as": ", ".join(charge.algorithms),
                    "who_pays": charge.who_pays(),
                    "mechanism": release.mechanism,
                    "draws": charge.draws,
                    "epsilon": release.epsilon,
                    "delta": release.delta,
                    "mu": release.mu,
                    "total_epsilon": so_far.basic_bound(delta),
                    "total_delta": delta,
                    "sum_of_epsilons": basic_bound,
                }
            )
        if rows:
            last = rows[-1]["total_epsilon"] = self.total(delta)
            for row in rows:
                row["total_epsilon"] = min(row["total_epsilon"], last)
        return rows
