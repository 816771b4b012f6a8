"""What a person's look at private results would have cost, had the data been real.

The unit is a draw of noise, not a picture: whatever is computed from one noisy matrix is
post-processing and free. DPdisPCA, whole matrices and one site alone read the same noisy second
moments, and K, R and the truncation only cut them differently, so all of those share a payment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpcore.experiments.methods import METHODS
from dpcore.experiments.spec import RunSpec
from dpcore.privacy import EVERYONE, Guarantee, Ledger, Release, Spent, composed_mu

# Whose noisy matrix a method reads. One that is not here draws its components directly.
_NOISY_MATRIX = {
    "dpdis": "each site's moment",
    "full": "each site's moment",
    "local": "each site's moment",
    "pooled": "the pooled moment",
    "ag": "the pooled moment",
    "sulq": "the pooled moment, by SuLQ",
    "modsulq": "the pooled moment, by MOD-SuLQ",
    "cape": "the sites' average moment, by CAPE",
}

_NOBODY = -1


@dataclass(frozen=True)
class Payment:
    """Draws of one kind of noise at one setting.

    Parameters
    ----------
    release : Release
        One draw: who pays, and how much.
    draws : int
        How many independent ones.
    seen : tuple of str
        What has been shown from them.
    """

    release: Release
    draws: int = 1
    seen: tuple[str, ...] = ()

    def merged(self, other: Payment) -> Payment:
        """Both of the same key: the larger number of draws, everybody who pays for either."""
        ours, theirs = self.release, other.release
        dearer = max(ours, theirs, key=lambda release: release.epsilon)
        if EVERYONE in (ours.partition, theirs.partition):
            dearer = replace(dearer, partition=EVERYONE, sites=None)
        else:
            dearer = replace(dearer, sites=tuple(sorted({*ours.sites, *theirs.sites})))
        return Payment(
            dearer,
            max(self.draws, other.draws),
            tuple(dict.fromkeys((*self.seen, *other.seen))),
        )

    def composed(self) -> tuple[Release, ...]:
        """Releases that compose like all the draws; Gaussian ones fold into one, exactly."""
        if self.release.mu is not None:
            mu = composed_mu(*[self.release.mu] * self.draws)
            return (replace(self.release, mu=mu),)
        return tuple(
            replace(self.release, key=f"{self.release.key}#{draw}") for draw in range(self.draws)
        )


@dataclass
class Account:
    """Everything shown about one data set: payments by key, and what no budget covers."""

    dataset: str
    payments: dict[str, Payment] = field(default_factory=dict)
    uncovered: dict[str, str] = field(default_factory=dict)

    def pay(self, payment: Payment) -> bool:
        """Enter a payment; False if it was known and nothing is added."""
        key = payment.release.key
        known = self.payments.get(key)
        entry = payment if known is None else known.merged(payment)
        self.payments[key] = entry
        return known is None or (entry.release, entry.draws) != (known.release, known.draws)

    @property
    def n_releases(self) -> int:
        return sum(payment.draws for payment in self.payments.values())

    def ledger(self) -> Ledger:
        return Ledger(
            tuple(release for payment in self.payments.values() for release in payment.composed())
        )

    def spent_by_person(self) -> Spent:
        """A bound for everybody in the data set."""
        return self.ledger().spent_by_person(self.dataset)

    def epsilon_by_site(self, delta: float) -> dict[int | None, float]:
        """Epsilon so far by site of the latest split; None stands for sites nobody has named.

        Empty where nothing has been released by sites.
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

        The last total is the smallest known. Those before it are quick bounds, which differ from
        it only where kinds of noise are mixed.
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
                    "released": release.label,
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
            rows[-1]["total_epsilon"] = self.spent_by_person().epsilon(delta)
        return rows


def payments_of(spec: RunSpec, guarantees: Mapping[str, Guarantee], draws: int) -> list[Payment]:
    """What a spec's protocols cost: one payment for each noisy matrix they read."""
    payments: dict[str, Payment] = {}
    for protocol, guarantee in guarantees.items():
        if not guarantee.is_private or guarantee.mechanism == "data-independent":
            continue
        payment = Payment(_release(spec, protocol, guarantee), draws, (METHODS[protocol].title,))
        key = payment.release.key
        payments[key] = payments[key].merged(payment) if key in payments else payment
    return list(payments.values())


def who_pays(release: Release) -> str:
    """The people who pay, in words."""
    if release.partition == EVERYONE:
        return "everybody"
    numbers = ", ".join(str(site + 1) for site in release.sites)
    return f"people of site{'s' if len(release.sites) > 1 else ''} {numbers}"


def _release(spec: RunSpec, protocol: str, guarantee: Guarantee) -> Release:
    noisy = _NOISY_MATRIX.get(protocol)
    budget = (spec.epsilon, spec.delta, spec.calibration, spec.noise)
    preparation = (spec.preparation, spec.norm_bound, spec.mean_share)
    draw = (spec.samples, spec.resample, spec.seed)
    own = () if noisy else (protocol, spec.components)
    if protocol == "cape":
        own = (spec.masks, spec.honest_sites)
    where = ()
    if METHODS[protocol].distributed:
        where = (spec.sites, spec.split, spec.problem_key().concentration)
    # Where every site releases, everybody pays through one; only a site alone spares the others.
    alone = protocol == "local"
    return Release.of(
        guarantee,
        key=_joined(noisy, *own, *budget, *preparation, *draw, *where),
        label=f"{noisy or 'components'}, ε = {spec.epsilon:g}, seed {spec.seed}",
        dataset=spec.dataset,
        partition=_joined(spec.samples, *where, spec.seed) if alone else EVERYONE,
        sites=(0,) if alone else None,
    )


def _joined(*parts: object) -> str:
    return "|".join(map(str, parts))
