"""Charges: what private results would have cost the people they are about.

The unit is a draw of noise, not a picture: whatever is computed from one noisy matrix is
post-processing and free. The cost of private components is therefore told by which draws of which
noise they were computed from.

Protocols whose entries name the same noise read the same draw of it, and K, R and the
message only cut it differently, so all of those share a charge. A key names the people, the
settings of the noise and the seed, and nothing that is chosen afterwards.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from dpcore.data import DatasetStatus, dataset_status, split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.cca_runs import TITLES, CcaSpec, CutViews, ViewSource
from dpcore.experiments.classification_runs import (
    CENTRING,
    PCA,
    RANDOM_PRIVATE,
    TRAINING,
    ClassificationSpec,
    canonical,
    stage_budgets,
)
from dpcore.experiments.engine import Spec
from dpcore.experiments.pca import BUYING, NO_KNOWLEDGE, RunSpec, kept_features
from dpcore.experiments.statistic_runs import HISTOGRAM, StatisticSpec
from dpcore.experiments.summaries import counted
from dpcore.pca.protocols.protocol import Kind, NoiseIdentity
from dpcore.pca.protocols.register import PROTOCOLS, protocol
from dpcore.pca.settings import sites_that_answer
from dpcore.privacy import (
    EVERYONE,
    BeyondCap,
    Bound,
    Cap,
    Guarantee,
    Ledger,
    Release,
    Spent,
    composed_mu,
    odometer_epsilon,
)
from dpcore.streams import Purpose, Repetition, stream

# What a person's look at private results would have cost, had the data been real: the books.

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


# What private components cost: which draws of which noise they were computed from.

COMPONENTS = "components"

# A spec or a row: the settings of a release by the names of their fields.
Cell = Mapping[str, Any]


def promised(spec: RunSpec, key: str, dataset: DatasetStatus) -> Guarantee:
    """The guarantee that a run of the spec's first draw would come with, no row being read.

    Raises `ParameterError` if the spec cannot run.
    """
    n_samples = dataset.n_samples if spec.samples is None else spec.samples
    sizes = dataset.site_sizes
    # Sites skewed by label have equal sizes.
    sites = split_sites(
        n_samples,
        spec.sites,
        how="equal" if spec.split == "dirichlet" else spec.split,
        labels=np.repeat(np.arange(len(sizes)), sizes) if sizes else None,
        rng=stream(spec.seed, Purpose.SPLIT, 0),
    )
    components = spec.components or dataset.default_components
    if components is None:
        raise ParameterError("components", f"given for {spec.dataset}", None)
    settings = spec.settings(dataset.n_features, components)
    there = sites_that_answer(settings, spec.sites, Repetition(spec.seed))
    n_there = [len(sites[number]) for number in there]
    n_features = kept_features(spec.knowledge, dataset.n_features)
    return protocol(key).promise(settings, n_there, n_features)


def of_run(
    spec: RunSpec,
    guarantees: Mapping[str, Guarantee],
    n_samples: int,
    draws: int,
    what: tuple[str, ...] = (COMPONENTS,),
) -> list[Charge]:
    """What a spec's protocols cost: one charge for each noise they read.

    guarantees: mapping of protocol to Guarantee
    n_samples: People who take part.
    draws: The first so many repetitions.
    what: What was released.
    """
    cell = vars(spec) | {"samples": n_samples}
    return together(
        _of_components(cell, key, guarantee, frozenset(range(draws)), what)
        for key, guarantee in guarantees.items()
        if is_charged(guarantee)
    )


def of_plan(specs: Iterable[Spec]) -> list[Charge]:
    """What runs will cost, no row being read; those that cannot run cost nothing.

    Of PCA noise that several specs read is paid once; of another family that says what its specs
    promise (`Spec.guarantees`) every draw is.
    """
    charges: list[Charge] = []
    for asked in specs:
        if not isinstance(asked, RunSpec):
            charges += _of_draws(asked)
            continue
        dataset = dataset_status(asked.dataset)
        n_samples = dataset.n_samples if asked.samples is None else asked.samples
        spec = replace(asked, components=asked.components or dataset.default_components)
        try:
            guarantees = {key: promised(spec, key, dataset) for key in spec.protocols}
        except ParameterError:
            continue
        charges += of_run(spec, guarantees, n_samples, spec.repetitions)
    return together(charges)


def _of_draws(spec: Spec) -> list[Charge]:
    dataset = spec.dataset_read()
    if dataset is None:
        return []
    charges = []
    for name, guarantee in spec.guarantees().items():
        if is_charged(guarantee):
            key = joined(spec.experiment, name, *spec.draw_key())
            release = Release.of(guarantee, key=key, label=name, dataset=dataset)
            charges.append(Charge(release, frozenset(range(spec.n_repetitions())), (name,)))
    return charges


def of_rows(rows: Iterable[Cell], what: tuple[str, ...] = (COMPONENTS,)) -> list[Charge]:
    """What the runs behind some tidy rows cost, over all their data sets."""
    numbers: dict[tuple[object, ...], set[int]] = {}
    examples: dict[tuple[object, ...], Cell] = {}
    for row in rows:
        # Settings after the noise differ from row to row of a sweep; one of each will do.
        same = (row["protocol"], row["dataset"], row["exact_epsilon"],
                *identity(row, row["protocol"]))  # fmt: skip
        numbers.setdefault(same, set()).add(row["repetition"])
        examples.setdefault(same, row)
    return together(
        _of_components(row, row["protocol"], guarantee, frozenset(numbers[same]), what)
        for same, row in examples.items()
        if is_charged(guarantee := _guarantee_of(row))
    )


def is_charged(guarantee: Guarantee) -> bool:
    """Whether anything is promised, and anything spent: neither exact nor random components are."""
    return guarantee.is_private and (guarantee.epsilon, guarantee.delta) != (0, 0)


def together(charges: Iterable[Charge]) -> list[Charge]:
    """One charge for each noise; equal keys in two data sets are two."""
    found: dict[tuple[str, str], Charge] = {}
    for charge in charges:
        key = charge.release.identity
        found[key] = found[key].merged(charge) if key in found else charge
    return list(found.values())


def identity(cell: Cell, key: str) -> tuple[object, ...]:
    """What tells this noise on these people from any other."""
    preparation, as_published = cell["preparation"], reads_rows_first(cell)
    buys_mean = preparation in BUYING
    knowledge = cell.get("knowledge", NO_KNOWLEDGE)
    reads = (
        cell.get(name) if buys_mean or name != "mean_share" else 0.0
        for name in noise_of(cell, key).settings
    )
    return (
        matrix_of(cell, key),
        cell.get("task"),
        preparation,
        None if as_published else cell["norm_bound"],
        *([] if knowledge == NO_KNOWLEDGE else [knowledge]),
        *filter(None, [None if as_published else cell.get("limits")]),
        cell["epsilon"],
        *reads,
        *(people_of(cell) if protocol(key).is_distributed else people_of(cell)[:3]),
    )


def reads_rows_first(cell: Cell) -> bool:
    """Whether centring and scaling read every row before any promise starts."""
    return bool(cell["preparation"] == "published")


def noise_of(cell: Cell, key: str) -> NoiseIdentity:
    """What a protocol reads under a cell's preparation."""
    return protocol(key).reads(on_sphere=cell.get("preparation") == "sphere")


def people_of(cell: Cell) -> tuple[object, ...]:
    """Who takes part, and, from the fourth on, who is where."""
    skew = cell["concentration"] if cell["split"] == "dirichlet" else None
    who = (cell["samples"], cell["seed"], cell["resample"])
    return (*who, cell["sites"], cell["split"], skew)


def matrix_of(cell: Cell, key: str) -> str:
    """What a protocol adds its noise to, in words that tell its noise from that of others."""
    return noise_of(cell, key).of(counted(cell["sites"], "site"))


def label_of(cell: Cell, key: str, matrix: str) -> str:
    """What a person would call draws of one noise; the usual preparation goes without saying."""
    reads = noise_of(cell, key).settings
    settings = [cell[name] for name in ("calibration", "noise") if name in reads]
    prepared = [
        said
        for name, usual in (("preparation", "sphere"), ("knowledge", NO_KNOWLEDGE), ("limits", ""))
        if (said := cell.get(name, usual)) != usual
    ]
    told = ", ".join([*settings, *prepared, f"seed {cell['seed']}"])
    return f"{matrix}, {cell['samples']:,} rows, ε = {cell['epsilon']:g}, {told}"


def held_stream(cell: Cell, key: str) -> str:
    """The unit noise that repetitions of a seed scale, whatever people and settings it is for."""
    return joined(noise_of(cell, key).words, cell["seed"])


def joined(*parts: object) -> str:
    """A key from what identifies a draw."""
    return "|".join(map(str, parts))


def _of_components(
    cell: Cell, key: str, guarantee: Guarantee, drawn: frozenset[int], what: tuple[str, ...]
) -> Charge:
    entry = protocol(key)
    # Where every site releases, everybody pays through one; only a site alone spares the others,
    # unless who is there, or which site is the first to be there, is drawn anew each time.
    alone = entry.is_alone and not cell["resample"] and not cell["dropped_sites"]
    release = Release.of(
        guarantee,
        key=joined(*identity(cell, key)),
        label=label_of(cell, key, matrix_of(cell, key)),
        dataset=cell["dataset"],
        partition=joined(*people_of(cell)) if alone else EVERYONE,
        sites=(0,) if alone else None,
    )
    stream_held = held_stream(cell, key)
    return Charge(release, drawn, what, (entry.title,), entry.is_distributed, stream_held)


def _guarantee_of(row: Cell) -> Guarantee:
    if protocol(row["protocol"]).kind is Kind.PURE:
        mechanism = "exponential" if row["sigma"] is None else "laplace"
        return Guarantee(None, row["exact_epsilon"], 0.0, mechanism, "")
    return Guarantee(None, row["exact_epsilon"], row["delta"], "gaussian", "", mu=row["mu"])


# What canonical pairs, statistics and classifiers cost, as `ledger.pca_charges` says it.

TYPED_NUMBERS = "the typed numbers"

_MODELS = {"svm": "an SVM", "logistic": "a logistic regression"}


def of_pairs(
    source: ViewSource,
    spec: CcaSpec,
    guarantees: Mapping[str, Guarantee],
    n_samples: int,
    draws: int,
) -> list[Charge]:
    """What canonical pairs cost: one charge for each noisy joint moment, as `of_run`."""
    charges = []
    cell = vars(spec) | {"samples": n_samples, "resample": False}
    bounds = (source, spec.x_share, spec.x_norm_bound, spec.y_norm_bound)
    for name, guarantee in guarantees.items():
        if not is_charged(guarantee):
            continue
        entry = PROTOCOLS[name]
        matrix = matrix_of(cell, name).replace("moment", "joint moment")
        key = ("pairs", *bounds, *identity(cell | {"norm_bound": None}, name))
        release = Release.of(
            guarantee,
            key=joined(*key),
            label=label_of(cell, name, matrix),
            dataset=dataset_of(source),
            partition=joined("pairs", source, *people_of(cell)) if entry.is_alone else EVERYONE,
            sites=(0,) if entry.is_alone else None,
        )
        charges.append(
            Charge(
                release,
                frozenset(range(draws)),
                ("canonical pairs",),
                (f"CCA: {TITLES[name]}",),
                entry.is_distributed,
                held_stream(cell, name),
            )
        )
    return together(charges)


def dataset_of(source: ViewSource) -> str:
    """The data set whose people two views are of."""
    if isinstance(source, CutViews):
        return source.dataset
    return (
        f"two drawn views of {source.people:,} people ({source.columns} columns each, "
        f"{source.shared} shared, noise {source.noise:g})"
    )


def of_statistic(
    dataset: str | None,
    identity: tuple[object, ...],
    name: str,
    spec: StatisticSpec,
    guarantee: Guarantee,
) -> Charge:
    """What one mean, variance or histogram costs.

    dataset: None stands for numbers that somebody typed.
    identity: Tells the column, or the numbers, from any other.
    name: What a person calls the column.
    """
    settings: tuple[object, ...] = (
        spec.kind,
        spec.low,
        spec.high,
        spec.epsilon,
        spec.mechanism,
        spec.seed,
    )
    if spec.kind == HISTOGRAM:
        settings += (spec.bins,)
    if spec.mechanism == "gaussian":
        settings += (spec.delta,)
    # Typed numbers are their own identity, and may be many.
    column = sha256(repr(identity).encode()).hexdigest()
    release = Release.of(
        guarantee,
        key=joined("statistic", column, *settings),
        label=f"the {spec.kind} of {name}, ε = {spec.epsilon:g}, seed {spec.seed}",
        dataset=dataset or TYPED_NUMBERS,
    )
    # Of typed numbers nothing keys the noise but how many there are.
    stream = "" if dataset else joined("typed", len(identity), *settings)
    return Charge(release, what=(spec.kind,), seen=(name,), stream=stream)


def of_pipeline(
    spec: ClassificationSpec, guarantees: Mapping[str, Guarantee], draws: int
) -> list[Charge]:
    """What the stages of a classifier cost: a mean, a noisy moment, the training.

    guarantees: mapping of stage to Guarantee. As in
        `dpcore.experiments.classification_runs.Outcome`.
    draws: The first so many repetitions.
    """
    if not guarantees:
        return []
    spec = canonical(spec)
    entry = PROTOCOLS[spec.protocol]
    # What the rule gives the mean follows from what it and the PCA have together.
    by_rule = spec.centring_share is None
    mean_mu, pca = stage_budgets(replace(spec, centring_share=0.0) if by_rule else spec)
    mean = "by rule" if by_rule else mean_mu
    people = ("classification", *vars(spec.key()).values(), entry.is_distributed)
    noise: tuple[object, ...] = ()
    if pca is not None:
        reads = {name: getattr(spec, name, None) for name in noise_of({}, spec.protocol).settings}
        noise = (matrix_of(vars(spec), spec.protocol), pca.epsilon, pca.delta, *reads.values())
    everything = tuple(value for name, value in vars(spec).items() if name != "repetitions")
    matrix = matrix_of(vars(spec), spec.protocol)
    found = "random" if spec.pipeline == RANDOM_PRIVATE else "private"
    stages = {
        CENTRING: (
            (mean, *(noise[1:3] if by_rule else ())),
            "the mean of those who learn",
            "mean",
            "centring",
        ),
        PCA: ((mean, *noise), f"{matrix} of those who learn", COMPONENTS, entry.title),
        TRAINING: (
            everything,
            f"training {_MODELS[spec.model]} on {found} components",
            "classifier",
            "training",
        ),
    }
    charges = []
    for stage, guarantee in guarantees.items():
        if not is_charged(guarantee):
            continue
        settings, label, what, seen_as = stages[stage]
        release = Release.of(
            guarantee,
            key=joined(stage, *people, *settings),
            label=f"{label}, ε = {spec.epsilon:g} in all, seed {spec.seed}",
            dataset=spec.dataset,
        )
        by_sites = stage != TRAINING and entry.is_distributed
        seen = (f"Classification: {seen_as}",)
        stream = joined(noise_of({}, entry.key).words if stage == PCA else stage, spec.seed)
        charges.append(Charge(release, frozenset(range(draws)), (what,), seen, by_sites, stream))
    return charges
