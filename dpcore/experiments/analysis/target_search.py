"""The trade-off turned round: what does a target energy cost?

The smallest epsilon, the fewest people at a site, the smallest R or the most sites that reach a
target, by bisection over real runs. Every run of a search meets the same draws of noise, so that
captured energy is as good as monotone along the axis and one draw's answer can be told from
another's.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from statistics import fmean
from typing import Unpack

from dpcore.data import dataset_status
from dpcore.errors import ParameterError, require_one_of
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Grid, RunOptions, Sweep, SweepResult, collect
from dpcore.experiments.pca.sentences import counted, percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca.protocols.register import protocol

# Values on the axis of a search: this many in each factor of ten, 10 % apart.
_PER_DECADE = 24
_EPSILON_DECADES = (-3, 2)
_MOST_SITES = 100
AXES = ("epsilon", "people_per_site", "intermediate_dim", "sites")


@dataclass(frozen=True)
class Tried:
    """One run of a search.

    energies: Energy ratio of each draw.
    """

    value: float
    energies: tuple[float, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Answer:
    """What a target costs.

    spec: What was held.
    value: The cheapest value at which the draws reach the target on average; None if none does.
    luckiest, unluckiest: The same for the draw that needs least, and for the one that needs most.
    tried: Every run of the search, in the order of the axis.
    """

    spec: RunSpec
    protocol: str
    field: str
    target: float
    value: float | None
    luckiest: float | None
    unluckiest: float | None
    tried: tuple[Tried, ...]

    @property
    def sentence(self) -> str:
        """The answer for a slide."""
        spec, title = self.spec, protocol(self.protocol).title
        held = held_in_words(spec, self.field)
        wanted = f"{percent(self.target)} of the optimum with {title} at {held}"
        if self.value is None:
            best = max(self.tried, key=lambda tried: fmean(tried.energies))
            return (
                f"{wanted} is out of reach: the most is {percent(fmean(best.energies))}, "
                f"at {value_in_words(self.field, best.value)}."
            )
        takes = "is kept up to" if self.field == "sites" else "takes"
        range_ = ""
        if self.luckiest != self.unluckiest:
            ends = (self.luckiest, self.unluckiest)
            known = sorted(value for value in ends if value is not None)
            least, most = known[0], known[-1]
            last = "out of reach" if len(known) < len(ends) else f"{most:,.3g}"
            range_ = f" (single draws: {least:,.3g} to {last})"
        return f"{wanted} {takes} {value_in_words(self.field, self.value)}{range_}."


def search(
    spec: RunSpec,
    field: str,
    target: float,
    *,
    protocol: str = "dpdis",
    values: Sequence[float] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    **options: Unpack[RunOptions],
) -> Iterator[Tried | Answer]:
    """Look for the cheapest value of a field that reaches a target.

    Bisection supposes that energy grows with epsilon, with the people of a site and with R, and
    falls with the number of sites. For R it need not under svd truncation, and one decomposition
    serves all; there every value is run and the smallest that reaches the target is taken.

    spec: What is held; its repetitions are the draws.
    field: {"epsilon", "people_per_site", "intermediate_dim", "sites"}. With "sites" the people in
        all are held, otherwise the sites.
    target: In (0, 1), a share of the optimum.
    values: Where to look; by default the whole range the data set allows, 10 % apart.
    should_stop: Ends the search without an answer.
    **options: As for `run_sweep`.
    Yields `Tried`: As they are run.
    Yields `Answer`: Last, unless stopped.
    Raises `ParameterError` if the field or target is unknown or no value can run.
    """
    require_one_of("field", field, AXES)
    if not 0 < target < 1:
        raise ParameterError("target", "between 0 and 1", target)
    base = replace(spec, protocols=(protocol,))
    feasible = _feasible(base, field, tuple(values or values_on_axis(spec, field)))
    trials = _Trials(base, field, feasible, should_stop, options)
    try:
        if field == "intermediate_dim":
            yield from trials.run(feasible)
        on_average = yield from trials.first(fmean, target)
        luckiest = yield from trials.first(max, target)
        unluckiest = yield from trials.first(min, target)
    except Stopped:
        return
    tried = tuple(trials.known[value] for value in sorted(trials.known))
    yield Answer(spec, protocol, field, target, on_average, luckiest, unluckiest, tried)


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


@dataclass(frozen=True)
class _Trials:
    """Values that can run, in the order of what is wanted, and the runs of them so far.

    known: Value -> its run.
    """

    base: RunSpec
    field: str
    feasible: Sequence[float]
    should_stop: Callable[[], bool]
    options: RunOptions
    known: dict[float, Tried] = dataclass_field(default_factory=dict)

    def run(self, wanted: Sequence[float]) -> list[Tried]:
        sweep = Sweep(self.base, ((self.field, tuple(wanted)),))
        rows = collected(sweep, self.should_stop, self.options).rows
        for value in wanted:
            own = tuple(row for row in rows if row[self.field] == value)
            self.known[value] = Tried(value, tuple(row["energy_ratio"] for row in own), own)
        return [self.known[value] for value in wanted]

    def first(
        self, measure: Callable[[Sequence[float]], float], target: float
    ) -> Generator[Tried, None, float | None]:
        """The cheapest value whose energies reach the target; None if none does."""

        def is_enough(value: float) -> bool:
            return measure(self.known[value].energies) >= target

        if self.field == "intermediate_dim":
            return next(filter(is_enough, self.feasible), None)
        low, high = -1, len(self.feasible)  # the first that is enough is in (low, high]
        while high - low > 1:
            middle = _middle(self.feasible, self.known, low, high)
            value = self.feasible[middle]
            if value not in self.known:
                yield from self.run([value])
            low, high = (low, middle) if is_enough(value) else (middle, high)
        return self.feasible[high] if high < len(self.feasible) else None


def iso_energy_sweep(
    spec: RunSpec, epsilons: Sequence[float], people_per_site: Sequence[int]
) -> Sweep:
    """The sweep behind an iso-energy map over (epsilon, people per site)."""
    return Sweep(spec, (("people_per_site", tuple(people_per_site)), ("epsilon", tuple(epsilons))))


def _feasible(base: RunSpec, field: str, values: tuple[float, ...]) -> list[float]:
    """Those values that can run, from the one that is wanted most to the dearest."""
    cells = Sweep(base, ((field, values),)).cells()
    feasible = sorted(cell.values[0][1] for cell in cells if cell.spec is not None)
    if not feasible:
        raise ParameterError(field, "possible to run", cells[0].reason if cells else None)
    return feasible[::-1] if field == "sites" else feasible  # the most sites are what one wants


def _middle(feasible: Sequence[float], known: Mapping[float, Tried], low: int, high: int) -> int:
    # What has been run already narrows the interval for nothing.
    inside = [i for i in range(low + 1, high) if feasible[i] in known]
    middle = (low + high) // 2
    if not inside:
        return middle
    return inside[min(bisect_left(inside, middle), len(inside) - 1)]


def values_on_axis(spec: RunSpec, field: str) -> tuple[float, ...]:
    """Values that a search tries, ascending: the whole range the data set allows, 10 % apart."""
    status = dataset_status(spec.dataset)
    if field == "epsilon":
        low, high = (_PER_DECADE * decade for decade in _EPSILON_DECADES)
        return tuple(float(f"{10 ** (i / _PER_DECADE):.3g}") for i in range(low, high + 1))
    if field == "sites":
        people = status.n_samples if spec.samples is None else spec.samples
        return tuple(range(1, min(_MOST_SITES, people // 2) + 1))
    if field == "intermediate_dim":
        return _whole_numbers(1, status.n_features)
    return _whole_numbers(2, status.n_samples // spec.sites)


def _whole_numbers(least: int, most: int) -> tuple[int, ...]:
    count = math.ceil(_PER_DECADE * math.log10(most / least)) if most > least else 1
    steps = {round(least * (most / least) ** (i / count)) for i in range(count + 1)}
    return tuple(sorted(steps))


def value_in_words(field: str, value: float) -> str:
    """A value on the axis with its name."""
    return {
        "epsilon": f"ε = {value:.3g}",
        "people_per_site": f"{value:,.0f} people per site",
        "intermediate_dim": f"R = {value:.0f}",
        "sites": counted(int(value), "site"),
    }[field]


def held_in_words(spec: RunSpec, field: str) -> str:
    """What is held while a field varies."""
    status = dataset_status(spec.dataset)
    people = status.n_samples if spec.samples is None else spec.samples
    if field == "sites":
        parts = [f"{people:,} people in all"]
    else:
        parts = [counted(spec.sites, "site")]
        if field != "people_per_site":
            parts[0] += f" of {people // spec.sites:,} people"
    if field != "epsilon":
        parts.append(f"ε = {spec.epsilon:g}")
    parts.append(f"δ = {spec.delta:g}")
    return ", ".join(parts)
