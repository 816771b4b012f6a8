"""What a person's look at private results would have cost, had the data been real: the books.

The unit is a draw of noise, not a picture: whatever is computed from one noisy matrix is
post-processing and free. What each kind of result costs is in `dpcore.experiments.payments`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from dpcore.privacy import EVERYONE, Ledger, Release, Spent, composed_mu

_NOBODY = -1


@dataclass(frozen=True)
class Payment:
    """Draws of one kind of noise at one setting.

    Parameters
    ----------
    release : Release
        One draw: who pays, and how much.
    numbers : frozenset of int
        Which draws: repetition 0 seen here and repetition 0 seen there are one.
    what : tuple of str
        What was released from them: components, eigenvalues, a mean.
    seen : tuple of str
        By which algorithms.
    by_sites : bool
        Whether sites added the noise, each to what its own people gave.
    stream : str
        Unit noise that the laboratory holds while settings move, from the same seed; empty where
        the noise is of this payment alone.
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

    def merged(self, other: Payment) -> Payment:
        """Both of the same key: the draws of either, paid by everybody who pays for either."""
        ours, theirs = self.release, other.release
        dearer = max(ours, theirs, key=lambda release: release.epsilon)
        if EVERYONE in (ours.partition, theirs.partition):
            dearer = replace(dearer, partition=EVERYONE, sites=None)
        else:
            dearer = replace(dearer, sites=tuple(sorted({*ours.sites, *theirs.sites})))
        return Payment(
            dearer,
            self.numbers | other.numbers,
            tuple(dict.fromkeys((*self.what, *other.what))),
            tuple(dict.fromkeys((*self.seen, *other.seen))),
            self.by_sites,
            self.stream,
        )

    def composed(self) -> tuple[Release, ...]:
        """Releases that compose like all the draws; Gaussian ones fold into one, exactly."""
        if self.release.mu is not None:
            mu = composed_mu(*[self.release.mu] * self.draws)
            return (replace(self.release, mu=mu),)
        return tuple(
            replace(self.release, key=f"{self.release.key}#{number}") for number in self.numbers
        )


@dataclass
class Account:
    """Everything shown about one data set: payments by key, and what no budget covers."""

    dataset: str
    payments: dict[str, Payment] = field(default_factory=dict)
    uncovered: dict[str, str] = field(default_factory=dict)
    _spent: Spent | None = field(default=None, repr=False, compare=False)

    def pay(self, payment: Payment) -> bool:
        """Enter a payment; False if it was known and nothing is added."""
        key = payment.release.key
        known = self.payments.get(key)
        entry = payment if known is None else known.merged(payment)
        self.payments[key] = entry
        if known is not None and (entry.release, entry.numbers) == (known.release, known.numbers):
            return False
        self._spent = None
        return True

    @property
    def n_releases(self) -> int:
        return sum(payment.draws for payment in self.payments.values())

    @property
    def holds_noise(self) -> bool:
        """Whether one draw of unit noise serves several payments.

        Whoever has both solves for what the noise should hide: together they promise nothing,
        and their sum is that of fresh draws.
        """
        drawn = Counter(
            (payment.stream, number)
            for payment in self.payments.values()
            if payment.stream
            for number in payment.numbers
        )
        return max(drawn.values(), default=0) > 1

    @property
    def has_sites(self) -> bool:
        """Whether anything has been released by sites."""
        return any(payment.by_sites for payment in self.payments.values())

    def ledger(self) -> Ledger:
        return Ledger(
            tuple(release for payment in self.payments.values() for release in payment.composed())
        )

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
        return {
            site: ledger.spent_by_site(
                self.dataset, latest, _NOBODY if site is None else site
            ).epsilon(delta)
            for site in (*named, None)
        }

    def rows(self, delta: float) -> list[dict[str, object]]:
        """One row a payment, in order, with the total after it and the plain sum of epsilons.

        The last total is the smallest known. Those before it are quick bounds where kinds of
        noise are mixed, and never above the last.
        """
        rows, added_up = [], 0.0
        # Composing every prefix anew would take seconds after an hour of redraws.
        by_everybody, by_some = Spent(), Account(self.dataset)
        for key, payment in self.payments.items():
            release = payment.release
            added_up += payment.draws * release.epsilon
            if release.partition == EVERYONE:
                one = Ledger(payment.composed()).spent_by_person(self.dataset)
                by_everybody = by_everybody.and_then(one)
            else:
                by_some.payments[key] = payment
            so_far = by_everybody.and_then(by_some.spent_by_person())
            rows.append(
                {
                    "released": ", ".join(payment.what),
                    "noise_on": release.label,
                    "seen_as": ", ".join(payment.seen),
                    "who_pays": who_pays(release),
                    "mechanism": release.mechanism,
                    "draws": payment.draws,
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


def who_pays(release: Release) -> str:
    """The people who pay, in words."""
    if release.partition == EVERYONE:
        return "everybody"
    numbers = ", ".join(str(site + 1) for site in release.sites)
    return f"people of site{'s' if len(release.sites) > 1 else ''} {numbers}"
