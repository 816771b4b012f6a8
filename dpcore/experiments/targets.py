"""Search for what reaches a target, rank every private way, energy per byte.

One curve for every (epsilon, delta): captured energy against the size of the noise.

Under each calibration the noise of a site of n people is m / n times a unit draw, where m
depends on epsilon, delta and the calibration only; so does that of a trusted aggregator with all
N people, of the private mean, and of CAPE's messages. With the people, sites, K, R, shape of the
noise and all else held, two settings with the same m are therefore the same computation, draw by
draw. A sweep over epsilon at one delta gives the energy at every other (epsilon, delta): exact
at the m of its points, interpolated between them.

The number of people enters through m / n as well, but another number means other people, so
there the curve holds only as far as their second moments agree.

What is best for an epsilon: every way to a private answer, at one promise, ranked.

A way is a protocol, a preparation and what is publicly known. All are run at the same exact
(epsilon, delta), on the same people and from the first row on; pure protocols promise the same
epsilon without the delta. The numbers are those of the runs themselves: there are no others.

What reaches a target at the least cost, over every way to a private answer.

The cheapest is the one that needs the smallest epsilon (or the fewest people, the smallest R, the
most sites); of several, the one that trusts least, and then the one that sends fewest bytes. All
ways are tried at the same values, and those that fail at a value are not tried at dearer wishes:
as in `target_search`, energy is supposed to grow along the axis, at the same draws of the noise.

Captured energy for the bytes a site really sends.

Two families of messages, both post-processing of the same noisy second moment: proxies at an R
and a precision, and the whole matrix with dithered rounding to a step of k sigma.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from dataclasses import field as dataclass_field
from enum import StrEnum
from statistics import fmean, stdev
from typing import Unpack

from scipy.special import betaincinv, stdtr

from dpcore.data import dataset_status, unit_of
from dpcore.data.loading import entry_of
from dpcore.data.splits import MOST_SITES
from dpcore.errors import ParameterError, require_one_of
from dpcore.experiments.engine import Row, gathered
from dpcore.experiments.knowledge import NO_KNOWLEDGE, count_directions, describe_knowledge
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.summaries import counted, percent
from dpcore.experiments.sweep import Cell, Grid, Points, RunOptions, Sweep, SweepResult, collect
from dpcore.params import EPSILONS, PEOPLE_PER_SITE
from dpcore.pca.protocols.protocol import Protocol
from dpcore.pca.protocols.register import PROTOCOLS, protocol
from dpcore.pca.settings import NATIVE, PRECISIONS, ROUNDED

# The trade-off turned round: what does a target energy cost?

# Of R in each factor of ten.
_PER_DECADE = 24
AXES = ("epsilon", "people_per_site", "intermediate_dim", "sites")


class Stopped(Exception):
    """Nobody waits for the answer any more."""


def collected(grid: Grid, should_stop: Callable[[], bool], options: RunOptions) -> SweepResult:
    """All rows of a grid.

    Raises `Stopped` if it was told to stop on the way.
    """
    result = collect(grid, should_stop=should_stop, **options)
    if should_stop():
        raise Stopped
    return result


def iso_energy_sweep(
    spec: RunSpec, epsilons: Sequence[float], people_per_site: Sequence[int]
) -> Sweep:
    """The sweep over (epsilon, people per site)."""
    return Sweep(spec, (("people_per_site", tuple(people_per_site)), ("epsilon", tuple(epsilons))))


def value_in_words(field: str, value: float, dataset: str) -> str:
    """A value on the axis with its name, on a data set."""
    return {
        "epsilon": f"ε = {value:.3g}",
        "people_per_site": f"{unit_of(dataset).of(round(value))} per site",
        "intermediate_dim": f"R = {value:.0f}",
        "sites": counted(int(value), "site"),
    }[field]


def held_in_words(spec: RunSpec, field: str) -> str:
    """What is held while a field varies."""
    status = dataset_status(spec.dataset)
    rows = status.n_samples if spec.samples is None else spec.samples
    if field == "sites":
        parts = [f"{status.unit.of(rows)} in all"]
    else:
        parts = [counted(spec.sites, "site")]
        if field != "people_per_site":
            parts[0] += f" of {status.unit.of(rows // spec.sites)}"
    if field != "epsilon":
        parts.append(f"ε = {spec.epsilon:g}")
    parts.append(f"δ = {spec.delta:g}")
    return ", ".join(parts)


# What is best for an epsilon: every way to a private answer, at one promise, ranked.

# Preparations that are private from the first row, best first as a rule.
PRIVATE_PREPARATIONS = ("sphere", "bounded", "none")
KNOWN_OF_PICTURES = "dct:20"
# Draws that a ranking begins with.
FEW_DRAWS = 2


class Trusted(StrEnum):
    """Who has to be trusted beside one's own site, least first, as a sentence's end."""

    NOBODY = "nobody"
    OTHER_SITES = "enough other sites, to keep their masks to themselves"
    HOLDER = "the one that is sent everyone's rows"

    @property
    def rank(self) -> int:
        """0 for nobody, and more for more."""
        return list(Trusted).index(self)


def trusted_by(entry: Protocol) -> Trusted:
    """Who a protocol needs trusted."""
    if not entry.is_distributed:
        return Trusted.HOLDER
    masked = entry.noise is not None and "honest_sites" in entry.noise.settings
    return Trusted.OTHER_SITES if masked else Trusted.NOBODY


@dataclass(frozen=True)
class Way:
    """A way to a private answer.

    preparation: {"sphere", "bounded", "none"}
    """

    protocol: str
    preparation: str
    knowledge: str

    @property
    def prepared(self) -> str:
        """The preparation and what is known, as in "sphere, lowest 20 % of frequencies"."""
        known = "" if self.knowledge == NO_KNOWLEDGE else f", {describe_knowledge(self.knowledge)}"
        return f"{'not centred' if self.preparation == 'none' else self.preparation}{known}"

    @property
    def label(self) -> str:
        """As in "DPdisPCA (sphere)"."""
        return f"{protocol(self.protocol).title} ({self.prepared})"

    def spec(self, base: RunSpec) -> RunSpec:
        """The base run this way, calibrated so that it keeps exactly what it promises.

        R is at most the dimensions that a public subspace leaves.

        Raises `ParameterError` if epsilon is infinite, which promises nothing.
        """
        if math.isinf(base.epsilon):
            raise ParameterError(
                "epsilon", "finite: without noise nothing is private", base.epsilon
            )
        left = count_directions(self.knowledge, entry_of(base.dataset).n_features)
        rank = base.intermediate_dim
        return replace(
            base,
            intermediate_dim=None if rank is None else min(rank, left),
            protocols=(self.protocol,),
            preparation=self.preparation,
            knowledge=self.knowledge,
            calibration="analytic",
        )


def ways_for(dataset: str, protocols: Collection[str] | None = None) -> tuple[Way, ...]:
    """Every way there is for a data set; of these protocols alone where some are given."""
    pictures = entry_of(dataset).image_shape is not None
    left_out = reasons_left_out()
    return tuple(
        Way(key, preparation, knowledge)
        for preparation in PRIVATE_PREPARATIONS
        for knowledge in (NO_KNOWLEDGE, KNOWN_OF_PICTURES)[: 1 + pictures]
        for key in PROTOCOLS
        if key not in left_out and (protocols is None or key in protocols)
    )


def reasons_left_out() -> dict[str, str]:
    """Protocols of the register that no ranking has, with the reason."""
    reasons: dict[str, str] = {}
    seen: dict[object, str] = {}
    for key, entry in PROTOCOLS.items():
        if entry.noise is None:
            reasons[key] = "reads no noise: it promises nothing, or never looks at the rows"
        elif (same := seen.setdefault((entry.release, entry.noise.name), key)) != key:
            reasons[key] = f"is the same release as {PROTOCOLS[same].title}"
    return reasons


def ranking_points(base: RunSpec, ways: Sequence[Way]) -> tuple[Points, ...]:
    """Sweeps that rank ways: a few draws of each, then all of them, and Markov chains last.

    base: Its repetitions are the draws; its protocols, preparation, knowledge and calibration give
        way.
    """
    specs = [way.spec(base) for way in ways]
    quick = tuple(spec for spec in specs if not _runs_chains(spec))
    slow = tuple(spec for spec in specs if _runs_chains(spec))
    few = tuple(replace(spec, repetitions=min(FEW_DRAWS, spec.repetitions)) for spec in quick)
    return tuple(Points(part) for part in (few, quick, slow) if part)


def _runs_chains(spec: RunSpec) -> bool:
    noise = protocol(spec.protocols[0]).noise
    return noise is not None and "chains" in noise.settings


@dataclass(frozen=True)
class Ranked:
    """A way and its draws.

    rows: One a draw.
    """

    way: Way
    rows: tuple[Row, ...]

    @property
    def protocol(self) -> str:
        return self.way.protocol

    @property
    def prepared(self) -> str:
        return self.way.prepared

    @property
    def energies(self) -> tuple[float, ...]:
        """Energy ratio of each draw."""
        return tuple(row["energy_ratio"] for row in self.rows)

    @property
    def mean(self) -> float:
        return fmean(self.energies)

    @property
    def trusted(self) -> Trusted:
        return trusted_by(protocol(self.protocol))

    @property
    def bytes_per_site(self) -> int:
        return max(int(row["bytes_per_site"]) for row in self.rows)

    @property
    def n_rounds(self) -> int:
        return max(int(row["n_rounds"]) for row in self.rows)


def ranked(rows: Iterable[Row]) -> tuple[Ranked, ...]:
    """Ways by the mean energy of their draws, most first; of equals whoever trusts least.

    rows: Of one base; a draw that is there twice counts once.
    """
    draws: dict[Way, dict[int, Row]] = {}
    for row in rows:
        way = Way(row["protocol"], row["preparation"], row["knowledge"])
        draws.setdefault(way, {})[row["repetition"]] = row
    found = [Ranked(way, tuple(own[n] for n in sorted(own))) for way, own in draws.items()]
    return tuple(sorted(found, key=lambda each: (-each.mean, *cheapness(each))))


def cheapness(each: Ranked) -> tuple[float, ...]:
    """What makes one of several dear, beside epsilon: trust first, then bytes; then energy."""
    return each.trusted.rank, each.bytes_per_site, -each.mean


# What a search for the cheapest way gives: rounds of runs, a recommendation at the end, and how
# sure its few draws make one: chances that follow from the draws, and what they suppose.


def chance_of_mean_above(values: Sequence[float], level: float) -> float | None:
    """Posterior chance that the mean of all possible draws is above a level.

    For independent normal draws of unknown mean and spread under the usual flat prior (Jeffreys'
    for location and log scale), the mean is Student's t around theirs: of n draws with mean m and
    standard deviation s, the chance is T_{n-1}((m - level) sqrt(n) / s).

    Returns: None for fewer than two draws, which say nothing of their spread.
    """
    if len(values) < 2:
        return None
    ahead, spread = fmean(values) - level, stdev(values)
    if spread == 0:
        return 0.5 + 0.5 * (ahead > 0) - 0.5 * (ahead < 0)
    return float(stdtr(len(values) - 1, ahead * math.sqrt(len(values)) / spread))


def chance_ahead(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The same chance that the first captures more than the second on average.

    Draws of one number may share their noise, so it is their differences that are looked at.
    """
    return chance_of_mean_above([a - b for a, b in zip(first, second, strict=False)], 0.0)


def least_share(successes: int, draws: int, *, confidence: float = 0.95) -> float:
    """A lower confidence limit of how often a single draw succeeds (Clopper & Pearson 1934).

    Raises `ParameterError` unless there are draws, and no more successes than draws.
    """
    if not 0 <= successes <= draws or draws < 1:
        raise ParameterError("successes", f"in [0, draws={draws}], of at least one", successes)
    if successes == 0:
        return 0.0
    return float(betaincinv(successes, draws - successes + 1, 1 - confidence))


@dataclass(frozen=True)
class SearchRound:
    """Ways that were run at one value of the axis."""

    value: float
    ranked: tuple[Ranked, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows of all of them."""
        return tuple(row for each in self.ranked for row in each.rows)


@dataclass(frozen=True)
class Found:
    """A way that reaches the target, and the cheapest value at which it does.

    spec: What it runs there.
    ranked: Its draws in the search.
    """

    value: float
    spec: RunSpec
    ranked: Ranked


@dataclass(frozen=True)
class Recommendation:
    """What a target costs at least.

    base: What was held.
    best, runner_up: The cheapest, and the cheapest of the others; None if no way reaches the
        target.
    untrusting: The cheapest that needs nobody trusted.
    most: Where nothing reaches the target: the way that comes closest, and where.
    fresh: As many further draws of the best, which had no part in the search.
    skipped: Settings that could not be run, with reasons.
    """

    base: RunSpec
    field: str
    target: float
    best: Found | None
    runner_up: Found | None
    untrusting: Found | None
    most: SearchRound
    fresh: tuple[Row, ...]
    skipped: tuple[Row, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Those that no `SearchRound` has."""
        return self.fresh

    @property
    def sentence(self) -> str:
        """The answer for a slide."""
        held = held_in_words(self.base, self.field)
        wanted = f"{percent(self.target)} of the optimum at {held}"
        if self.best is None:
            (most,) = self.most.ranked
            where = value_in_words(self.field, self.most.value, self.base.dataset)
            return (
                f"{wanted} is out of reach: the most is {percent(most.mean)}, "
                f"with {most.way.label} at {where}."
            )
        takes = "is kept up to" if self.field == "sites" else "takes"
        named = value_in_words(self.field, self.best.value, self.base.dataset)
        second = ""
        if self.runner_up is not None:
            other = value_in_words(self.field, self.runner_up.value, self.base.dataset)
            second = f"; next is {self.runner_up.ranked.way.label} at {other}"
        return f"{wanted} {takes} {named} with {self.best.ranked.way.label}{second}."


# What reaches a target at the least cost, over every way to a private answer.

# A way whose first few draws are this far below the target on average is not drawn further: draws
# of one setting differ by a few hundredths.
_OUT_OF_SIGHT = 0.1


def recommend(
    base: RunSpec,
    target: float,
    field: str = "epsilon",
    *,
    protocols: Collection[str] | None = None,
    values: Sequence[float] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    **options: Unpack[RunOptions],
) -> Iterator[SearchRound | Recommendation]:
    """Find the cheapest way that reaches a target on average in fresh draws too; the runner-up.

    base: What is held; its repetitions are the draws of each way. Its protocols, preparation,
        knowledge and calibration are what is looked for.
    target: In (0, 1), a share of the optimum.
    field: {"epsilon", "people_per_site", "intermediate_dim", "sites"}
    protocols: Those that may be recommended; by default the whole register.
    values: Where to look, in any order; by default the steps of the controls, so that an answer can
        be set: a smaller difference is not worth trusting anybody for.
    should_stop: Ends the search without an answer.
    **options: As for `run_sweep`.
    Yields `SearchRound`: As they are run.
    Yields `Recommendation`: Last, unless stopped.
    Raises `ParameterError` if the field or the target is unknown, no protocol has what is looked
        for, or none of its values can run.
    """
    require_one_of("field", field, AXES)
    if not 0 < target < 1:
        raise ParameterError("target", "between 0 and 1", target)
    ways = [way for way in ways_for(base.dataset, protocols) if has_field(way.protocol, field)]
    if not ways:
        raise ParameterError(
            "protocol", f"one that has {_NEEDED.get(field, 'noise of its own')}", protocols
        )
    axis = sorted(values or _steps(base, field), reverse=field == "sites")
    search = _Search(base, target, field, tuple(axis), should_stop, options)
    try:
        yield from search.run(ways)
    except Stopped:
        return


_NEEDED = {"intermediate_dim": "an R, as those that send leading directions do", "sites": "sites"}


def has_field(key: str, field: str) -> bool:
    """Whether a protocol has what is to be found."""
    entry = protocol(key)
    return {"intermediate_dim": entry.wants_proxies, "sites": entry.has_sites}.get(field, True)


@dataclass(frozen=True)
class _Search:
    """Ways at values, and the runs of them so far; None for one that could not be run.

    `axis` has the value that is wanted most first.
    """

    base: RunSpec
    target: float
    field: str
    axis: tuple[float, ...]
    should_stop: Callable[[], bool]
    options: RunOptions
    known: dict[tuple[float, Way], Ranked | None] = dataclass_field(default_factory=dict)
    skipped: list[Row] = dataclass_field(default_factory=list)

    def run(self, ways: Sequence[Way]) -> Generator[SearchRound | Recommendation, None, None]:
        best = yield from self.confirmed(ways, self.axis[0])
        runner_up = untrusting = None
        if best is not None:
            others = [way for way in ways if way != best.ranked.way]
            runner_up = yield from self.confirmed(others, best.value)
            untrusting = yield from self.untrusting(ways, (best, runner_up))
        elif not any(self.known.values()):
            reason = self.skipped[0]["skipped"] if self.skipped else None
            raise ParameterError(self.field, "possible to run", reason)
        fresh = () if best is None else self.fresh(best)
        yield Recommendation(
            self.base, self.field, self.target, best, runner_up, untrusting,
            self.most(), fresh, tuple(self.skipped),
        )  # fmt: skip

    def untrusting(
        self, ways: Sequence[Way], found: tuple[Found | None, ...]
    ) -> Generator[SearchRound, None, Found | None]:
        """The cheapest that needs nobody trusted; often found already."""
        for each in found:
            if each is not None and each.ranked.trusted is Trusted.NOBODY:
                return each
        own = [way for way in ways if Ranked(way, ()).trusted is Trusted.NOBODY]
        start = next(each.value for each in found if each is not None)
        return (yield from self.confirmed(own, start))

    def confirmed(
        self, ways: Sequence[Way], from_: float
    ) -> Generator[SearchRound, None, Found | None]:
        """The cheapest that reaches the target in fresh draws too.

        A search takes the luckiest of many draws, so a way whose fresh draws stay below the target
        on average gives place to the next, here or at the next value.
        """
        start: float | None = from_
        while start is not None:
            found = yield from self.cheapest(ways, from_=start)
            for each in found:
                if fmean(row["energy_ratio"] for row in self.fresh(each)) >= self.target:
                    return each
            start = self.after(found[0].value) if found else None
        return None

    def after(self, value: float) -> float | None:
        """The next value on the axis, which is wanted less."""
        beyond = self.axis[self.axis.index(value) + 1 :]
        return beyond[0] if beyond else None

    def cheapest(
        self, ways: Sequence[Way], *, from_: float
    ) -> Generator[SearchRound, None, list[Found]]:
        """Ways that reach the target at the cheapest value where any does, cheapest first.

        from_: A value before which none of them is looked for.
        """
        low = self.axis.index(from_) - 1
        high, reaching = len(self.axis), list[Ranked]()
        while ways and high - low > 1:
            middle = (low + high) // 2
            yield from self.tried(self.axis[middle], ways)
            here = {way: self.known[self.axis[middle], way] for way in ways}
            reached = [each for each in here.values() if each and each.mean >= self.target]
            if not reached:
                low = middle
                continue
            high, reaching = middle, reached
            # What cannot run here may yet run further on.
            ways = [way for way, each in here.items() if each is None or each in reached]
        return [
            Found(self.axis[high], self.at(each.way, self.axis[high]).spec, each)
            for each in sorted(reaching, key=cheapness)
        ]

    def tried(self, value: float, ways: Sequence[Way]) -> Generator[SearchRound, None, None]:
        """Run those ways that have not been run at this value."""
        specs: dict[Way, RunSpec] = {}
        for way in ways:
            if (value, way) not in self.known:
                self.known[value, way] = None
                cell = self.at(way, value)
                if cell.spec is None:
                    self.skipped.append({"way": way.label, **cell.as_row()})
                else:
                    specs[way] = cell.spec
        few = min(FEW_DRAWS, self.base.repetitions)
        first = self.ranked(replace(spec, repetitions=few) for spec in specs.values())
        close = [each.way for each in first if each.mean >= self.target - _OUT_OF_SIGHT]
        found = [*(each for each in first if each.way not in close)]
        found += self.ranked(specs[way] for way in close)
        self.known.update({(value, each.way): each for each in found})
        if found:
            yield SearchRound(value, tuple(found))

    def ranked(self, specs: Iterable[RunSpec]) -> tuple[Ranked, ...]:
        return ranked(self.rows(tuple(specs)))

    def rows(self, specs: tuple[RunSpec, ...]) -> tuple[Row, ...]:
        result = collected(Points(specs), self.should_stop, self.options)
        self.skipped.extend(result.skipped)
        return result.rows

    def fresh(self, best: Found) -> tuple[Row, ...]:
        """Draws of the best that had no part in finding it."""
        draws = self.base.repetitions
        rows = self.rows((replace(best.spec, repetitions=2 * draws),))
        return tuple(row for row in rows if row["repetition"] >= draws)

    def at(self, way: Way, value: float) -> Cell:
        (cell,) = Sweep(way.spec(self.base), ((self.field, (value,)),)).cells()
        return cell

    def most(self) -> SearchRound:
        """The way and the value that come closest, or go furthest beyond."""
        runs = [(each.mean, value, each) for (value, _), each in self.known.items() if each]
        _, value, each = max(runs, key=lambda run: run[:2])
        return SearchRound(value, (each,))


def _steps(base: RunSpec, field: str) -> tuple[float, ...]:
    """Values of the controls, and the data set's own largest number of people; of R, 10 % apart."""
    if field == "epsilon":
        return EPSILONS
    status = dataset_status(base.dataset)
    if field == "people_per_site":
        most = status.n_samples // base.sites
        return (*(n for n in PEOPLE_PER_SITE if n < most), most)
    if field == "sites":
        people = status.n_samples if base.samples is None else base.samples
        return tuple(range(1, min(MOST_SITES, people // 2) + 1))
    count = math.ceil(_PER_DECADE * math.log10(status.n_features))
    steps = {round(status.n_features ** (i / count)) for i in range(count + 1)} if count else {1}
    return tuple(sorted(steps))


# Captured energy for the bytes a site really sends.

STEPS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
RATIOS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


@dataclass(frozen=True)
class RatePoint:
    """One way to send a message.

    family: "proxy" or "whole matrix".
    intermediate_dim: R of a proxy.
    bytes_per_site: Mean length of a site's message.
    energy, least, greatest: Energy ratio: mean, and extremes over the draws.
    is_best: No other way sends fewer bytes and captures as much.
    """

    family: str
    encoding: str
    intermediate_dim: int | None
    bytes_per_site: float
    energy: float
    least: float
    greatest: float
    is_best: bool = False

    @property
    def label(self) -> str:
        """ "R = 100, float32", "step 1 σ", "as it is"."""
        if self.family == "proxy":
            return f"R = {self.intermediate_dim}, {self.encoding}"
        if self.encoding.startswith(ROUNDED):
            return f"step {self.encoding.removeprefix(ROUNDED)} σ"
        return "as it is" if self.encoding == NATIVE else self.encoding

    def as_row(self) -> Row:
        """The point as a row of a table, with its label."""
        return {"label": self.label, **asdict(self)}


def rate_sweeps(
    spec: RunSpec,
    *,
    ratios: Sequence[float] = RATIOS,
    precisions: Sequence[str] = PRECISIONS,
    steps: Sequence[float] = STEPS,
) -> tuple[Sweep, Sweep]:
    """The two sweeps of a frontier: proxies over R and precision, whole matrices over the step.

    They meet the same draws of noise; run both and hand all their rows to `rate_points`.
    """
    rounded = tuple(f"{ROUNDED}{step:g}" for step in steps)
    return (
        Sweep(
            replace(spec, protocols=("dpdis",)),
            (("intermediate_ratio", tuple(ratios)), ("encoding", tuple(precisions))),
        ),
        Sweep(replace(spec, protocols=("full",)), (("encoding", (NATIVE, *rounded)),)),
    )


def rate_points(rows: Sequence[Row]) -> tuple[RatePoint, ...]:
    """Points of the energy-against-bytes plane, fewest bytes first, with the frontier marked.

    rows: Of "dpdis" and "full", equal but for R and encoding.
    """
    ways = gathered((_way_of(row), row) for row in rows)
    points = []
    for way, members in ways.items():
        energies = [row["energy_ratio"] for row in members]
        points.append(
            RatePoint(
                *way,
                fmean(row["bytes_sent"] / row["sites"] for row in members),
                fmean(energies),
                min(energies),
                max(energies),
            )
        )
    points.sort(key=lambda point: (point.bytes_per_site, -point.energy))
    best = float("-inf")
    marked = []
    for point in points:
        marked.append(replace(point, is_best=point.energy > best))
        best = max(best, point.energy)
    return tuple(marked)


def _way_of(row: Row) -> tuple[str, str, int | None]:
    if row["protocol"] == "dpdis":
        return "proxy", row["encoding"], row["intermediate_dim"]
    return "whole matrix", row["encoding"], None
