"""Search for the smallest epsilon that reaches a target, over every private configuration.

Among configurations at the smallest epsilon, the search prefers the least trust, then the fewest
bytes. A configuration reaches the target if at least nine of ten runs do, first in the runs of the
search and then in ten fresh runs, as in `dpcore.experiments.decide.decision`. All configurations
are tried at the same values. A configuration that fails at a value is not tried at smaller ones,
since captured energy grows with epsilon at the same draws of the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Unpack

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.decide.ranking import (
    FEW_DRAWS,
    Configuration,
    Ranked,
    Trusted,
    cost_key,
    list_configurations,
    rank_configurations,
)
from dpcore.experiments.decide.run_statistics import FRESH_RUNS, count_hits, reaches_target
from dpcore.experiments.engine.grid import Cell, Grid, Points, Sweep
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.summaries import counted, percent
from dpcore.experiments.engine.sweep import RunOptions, SweepResult, collect
from dpcore.experiments.pca import RunSpec
from dpcore.params import EPSILONS

# A configuration whose first draws are this far below the target on average is not drawn again:
# draws of one setting differ by a few hundredths.
_LARGEST_GAP = 0.1


class Stopped(Exception):
    """Signal that the caller no longer needs the answer."""


def collect_all(grid: Grid, should_stop: Callable[[], bool], options: RunOptions) -> SweepResult:
    """Return all rows of a grid.

    Raises `Stopped` if `should_stop` ended the sweep.
    """
    result = collect(grid, should_stop=should_stop, **options)
    if should_stop():
        raise Stopped
    return result


@dataclass(frozen=True)
class SearchRound:
    """Configurations that were run at one epsilon."""

    value: float
    ranked: tuple[Ranked, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows of all configurations."""
        return tuple(row for option in self.ranked for row in option.rows)


@dataclass(frozen=True)
class Candidate:
    """A configuration that reaches the target, with the smallest epsilon at which it does.

    spec: Spec of the configuration at this epsilon.
    ranked: Draws of the search.
    fresh: Rows of the fresh runs, with noise that the search has not used.
    """

    value: float
    spec: RunSpec
    ranked: Ranked
    fresh: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Recommendation:
    """Answer of a search.

    base: Settings that are the same for all configurations.
    best, runner_up: The cheapest configuration, and the cheapest of the others; None if none
        reaches the target.
    without_trust: The cheapest configuration that needs no other party trusted.
    most: Round of the configuration that comes closest to the target, or exceeds it most.
    skipped: Settings that could not be run, with reasons.
    """

    base: RunSpec
    target: float
    best: Candidate | None
    runner_up: Candidate | None
    without_trust: Candidate | None
    most: SearchRound
    skipped: tuple[Row, ...]

    @property
    def fresh(self) -> tuple[Row, ...]:
        """Rows of the fresh runs of the best configuration."""
        return () if self.best is None else self.best.fresh

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows that no `SearchRound` contains."""
        candidates = (self.best, self.runner_up, self.without_trust)
        return tuple(
            row for candidate in candidates if candidate is not None for row in candidate.fresh
        )

    @property
    def sentence(self) -> str:
        """Answer as a sentence."""
        question = f"{percent(self.target)} of the optimum"
        setting = f"Setting: {_describe_base(self.base)}."
        if self.best is None:
            (most,) = self.most.ranked
            return (
                f"{question} is out of reach: the most is {percent(most.mean)}, "
                f"with {most.configuration.label} at ε = {self.most.value:.3g}. {setting}"
            )
        hits = count_hits([row["energy_ratio"] for row in self.fresh], self.target)
        second = ""
        if self.runner_up is not None:
            other = self.runner_up
            second = f" Next is {other.ranked.configuration.label} at ε = {other.value:.3g}."
        return (
            f"{question} takes ε = {self.best.value:.3g} with "
            f"{self.best.ranked.configuration.label}: "
            f"{hits} of {len(self.fresh)} fresh runs reach it.{second} {setting}"
        )


def _describe_base(spec: RunSpec) -> str:
    status = dataset_status(spec.dataset)
    rows = status.n_samples if spec.samples is None else spec.samples
    sites = f"{counted(spec.sites, 'site')} of {status.unit.of(rows // spec.sites)}"
    return f"{sites}, δ = {spec.delta:g}"


def recommend(
    base: RunSpec,
    target: float,
    *,
    protocols: Collection[str] | None = None,
    values: Sequence[float] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    **options: Unpack[RunOptions],
) -> Iterator[SearchRound | Recommendation]:
    """Find the configuration that reaches a target with the smallest epsilon, and the runner-up.

    base: Settings that are the same for all configurations. Its repetitions are the draws of each
        configuration in the
        search; its protocols, preparation, knowledge and calibration are replaced.
    target: Share of the optimum, in (0, 1).
    protocols: Protocols that may be recommended; all by default.
    values: Epsilons to try, in any order; by default the steps of the controls.
    should_stop: Ends the search without an answer.
    **options: Passed on to `run_sweep`.
    Yields `SearchRound`: After each epsilon that was tried.
    Yields `Recommendation`: Last, unless stopped.
    Raises `ParameterError` if the target is out of range, no protocol remains, or no epsilon can
        run.
    """
    if not 0 < target < 1:
        raise ParameterError("target", "between 0 and 1", target)
    configurations = list_configurations(base.dataset, protocols)
    if not configurations:
        raise ParameterError("protocol", "one that has noise of its own", protocols)
    search = _Search(base, target, tuple(sorted(values or EPSILONS)), should_stop, options)
    try:
        yield from search.run(configurations)
    except Stopped:
        return


@dataclass(frozen=True)
class _Search:
    """State of a search: the draws at each epsilon, None if a configuration cannot run."""

    base: RunSpec
    target: float
    epsilons: tuple[float, ...]
    should_stop: Callable[[], bool]
    options: RunOptions
    results: dict[tuple[float, Configuration], Ranked | None] = dataclass_field(
        default_factory=dict
    )
    skipped: list[Row] = dataclass_field(default_factory=list)

    def run(
        self, configurations: Sequence[Configuration]
    ) -> Generator[SearchRound | Recommendation, None, None]:
        best = yield from self.confirm(configurations, self.epsilons[0])
        runner_up = without_trust = None
        if best is not None:
            others = [
                configuration
                for configuration in configurations
                if configuration != best.ranked.configuration
            ]
            runner_up = yield from self.confirm(others, best.value)
            without_trust = yield from self.find_without_trust(configurations, (best, runner_up))
        elif not any(self.results.values()):
            reason = self.skipped[0]["skipped"] if self.skipped else None
            raise ParameterError("epsilon", "possible to run", reason)
        yield Recommendation(
            self.base, self.target, best, runner_up, without_trust, self.find_most(),
            tuple(self.skipped),
        )  # fmt: skip

    def find_without_trust(
        self, configurations: Sequence[Configuration], candidates: tuple[Candidate | None, ...]
    ) -> Generator[SearchRound, None, Candidate | None]:
        """Find the cheapest that needs no other party trusted, often one of `results`."""
        for candidate in candidates:
            if candidate is not None and candidate.ranked.trusted is Trusted.NOBODY:
                return candidate
        without_trust = [
            configuration
            for configuration in configurations
            if Ranked(configuration, ()).trusted is Trusted.NOBODY
        ]
        start = next(candidate.value for candidate in candidates if candidate is not None)
        return (yield from self.confirm(without_trust, start))

    def confirm(
        self, configurations: Sequence[Configuration], lowest: float
    ) -> Generator[SearchRound, None, Candidate | None]:
        """Find the cheapest, from an epsilon on, that reaches the target in fresh runs too.

        A search returns the luckiest of many draws. A configuration that fails in its fresh runs is
        replaced by the next configuration at the same epsilon, or at the next one.
        """
        start: float | None = lowest
        while start is not None:
            candidates = yield from self.find_cheapest(configurations, lowest=start)
            for candidate in candidates:
                fresh = self.run_fresh(candidate.spec)
                if reaches_target([row["energy_ratio"] for row in fresh], self.target):
                    return replace(candidate, fresh=fresh)
            start = self.next_epsilon(candidates[0].value) if candidates else None
        return None

    def next_epsilon(self, value: float) -> float | None:
        larger = self.epsilons[self.epsilons.index(value) + 1 :]
        return larger[0] if larger else None

    def find_cheapest(
        self, configurations: Sequence[Configuration], *, lowest: float
    ) -> Generator[SearchRound, None, list[Candidate]]:
        """Find the configurations that reach the target at the smallest epsilon, cheapest first."""
        low = self.epsilons.index(lowest) - 1
        high, reaching = len(self.epsilons), list[Ranked]()
        while configurations and high - low > 1:
            middle = (low + high) // 2
            yield from self.try_configurations(self.epsilons[middle], configurations)
            options = {
                configuration: self.results[self.epsilons[middle], configuration]
                for configuration in configurations
            }
            reached = [
                option
                for option in options.values()
                if option is not None and reaches_target(option.energies, self.target)
            ]
            if not reached:
                low = middle
                continue
            high, reaching = middle, reached
            # A configuration that cannot run here may run at another epsilon.
            configurations = [
                configuration
                for configuration, option in options.items()
                if option is None or option in reached
            ]
        return [
            Candidate(
                self.epsilons[high],
                self.make_spec(option.configuration, self.epsilons[high]),
                option,
            )
            for option in sorted(reaching, key=cost_key)
        ]

    def try_configurations(
        self, value: float, configurations: Sequence[Configuration]
    ) -> Generator[SearchRound, None, None]:
        """Run the configurations that have not been run at this epsilon."""
        specs: dict[Configuration, RunSpec] = {}
        for configuration in configurations:
            if (value, configuration) not in self.results:
                self.results[value, configuration] = None
                cell = self.make_cell(configuration, value)
                if cell.spec is None:
                    self.skipped.append({"configuration": configuration.label, **cell.as_row()})
                else:
                    specs[configuration] = cell.spec
        n_draws = min(FEW_DRAWS, self.base.repetitions)
        first = self.rank(replace(spec, repetitions=n_draws) for spec in specs.values())
        close = [
            option.configuration for option in first if option.mean >= self.target - _LARGEST_GAP
        ]
        ranked = [*(option for option in first if option.configuration not in close)]
        ranked += self.rank(specs[configuration] for configuration in close)
        self.results.update({(value, option.configuration): option for option in ranked})
        if ranked:
            yield SearchRound(value, tuple(ranked))

    def rank(self, specs: Iterable[RunSpec]) -> tuple[Ranked, ...]:
        return rank_configurations(self.run_specs(tuple(specs)))

    def run_specs(self, specs: tuple[RunSpec, ...]) -> tuple[Row, ...]:
        result = collect_all(Points(specs), self.should_stop, self.options)
        self.skipped.extend(result.skipped)
        return result.rows

    def run_fresh(self, spec: RunSpec) -> tuple[Row, ...]:
        """Run a spec with noise that the search has not used."""
        used = self.base.repetitions
        rows = self.run_specs((replace(spec, repetitions=used + FRESH_RUNS),))
        return tuple(row for row in rows if row["repetition"] >= used)

    def make_cell(self, configuration: Configuration, value: float) -> Cell:
        (cell,) = Sweep(configuration.spec(self.base), (("epsilon", (value,)),)).cells()
        return cell

    def make_spec(self, configuration: Configuration, value: float) -> RunSpec:
        return replace(configuration.spec(self.base), epsilon=value)

    def find_most(self) -> SearchRound:
        """Return the configuration and the epsilon with the largest captured energy."""
        runs = [
            (option.mean, value, option) for (value, _), option in self.results.items() if option
        ]
        _, value, option = max(runs, key=lambda run: run[:2])
        return SearchRound(value, (option,))
