"""What reaches a target at the least cost, over every way to a private answer.

The cheapest is the one that needs the smallest epsilon (or the fewest people, the smallest R, the
most sites); of several, the one that trusts least, and then the one that sends fewest bytes. All
ways are tried at the same values, and those that fail at a value are not tried at dearer wishes:
as in `target_search`, energy is supposed to grow along the axis, at the same draws of the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from statistics import fmean
from typing import Unpack

from dpcore.data import dataset_status
from dpcore.data.splits import MOST_SITES
from dpcore.errors import ParameterError, require_one_of
from dpcore.experiments.analysis.ranking import (
    FEW_DRAWS,
    Ranked,
    Trusted,
    Way,
    cheapness,
    ranked,
    ways_for,
)
from dpcore.experiments.analysis.recommendation import Found, Recommendation, Round
from dpcore.experiments.analysis.target_search import AXES, Stopped, collected, values_on_axis
from dpcore.experiments.engine.control_ranges import EPSILONS, PEOPLE_PER_SITE
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Cell, Points, RunOptions, Sweep
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca.protocols.register import protocol

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
) -> Iterator[Round | Recommendation]:
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
    Yields `Round`: As they are run.
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

    def run(self, ways: Sequence[Way]) -> Generator[Round | Recommendation, None, None]:
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
    ) -> Generator[Round, None, Found | None]:
        """The cheapest that needs nobody trusted; often found already."""
        for each in found:
            if each is not None and each.ranked.trusted is Trusted.NOBODY:
                return each
        own = [way for way in ways if Ranked(way, ()).trusted is Trusted.NOBODY]
        start = next(each.value for each in found if each is not None)
        return (yield from self.confirmed(own, start))

    def confirmed(self, ways: Sequence[Way], from_: float) -> Generator[Round, None, Found | None]:
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

    def cheapest(self, ways: Sequence[Way], *, from_: float) -> Generator[Round, None, list[Found]]:
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

    def tried(self, value: float, ways: Sequence[Way]) -> Generator[Round, None, None]:
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
            yield Round(value, tuple(found))

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

    def most(self) -> Round:
        """The way and the value that come closest, or go furthest beyond."""
        runs = [(each.mean, value, each) for (value, _), each in self.known.items() if each]
        _, value, each = max(runs, key=lambda run: run[:2])
        return Round(value, (each,))


def _steps(base: RunSpec, field: str) -> tuple[float, ...]:
    """Values of the controls, and the data set's own largest number of people."""
    if field == "epsilon":
        return EPSILONS
    if field == "people_per_site":
        status = dataset_status(base.dataset)
        most = status.n_samples // base.sites
        return (*(n for n in PEOPLE_PER_SITE if n < most), most)
    axis = values_on_axis(base, field)
    return tuple(n for n in axis if field != "sites" or n <= MOST_SITES)
