"""Grid of a sweep: its cells, feasible or not, and the cost of running them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from dpcore.errors import ParameterError, require_one_of
from dpcore.experiments.engine.spec import Row, Spec

Values = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Cell:
    """Point of a sweep's grid: a spec, or the reason why there is none.

    values: tuple of (field, value). Values that distinguish the cell from the sweep's other cells.
    reason: Reason why the cell cannot run.
    """

    values: Values
    spec: Any
    reason: str | None = None

    def as_row(self) -> Row:
        """Return the cell as a row of the table of skipped cells."""
        return {**dict(self.values), "skipped": self.reason}


class Grid(Protocol):
    """Interface of the cells of one family: a `Sweep` or `Points`."""

    @property
    def family(self) -> str:
        """Return the module and class of the specs; empty if there are no cells."""

    def cells(self) -> tuple[Cell, ...]:
        """Return every point, feasible or not."""


@dataclass(frozen=True)
class Sweep:
    """Base spec and its varied fields, over the grid of their values.

    vary: tuple of (field, values). The last field varies fastest. Fields of the spec, and names
        that its family derives: for PCA, "intermediate_ratio" sets R = ratio K and
        "people_per_site" sets N = people S.
    Raises `ParameterError` if a field is unknown, appears twice or has no values.
    """

    base: Any
    vary: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def __post_init__(self) -> None:
        allowed = self.base.variable_fields()
        used: set[str] = set()
        for field, values in self.vary:
            require_one_of("vary", field, allowed)
            if field in used:
                raise ParameterError("vary", "a field at most once", field)
            if not values:
                raise ParameterError("vary", f"given values for {field}", values)
            used.add(field)

    @property
    def family(self) -> str:
        return str(self.base.experiment)

    def cells(self) -> tuple[Cell, ...]:
        """Return every point of the grid, feasible or not."""
        fields = [field for field, _ in self.vary]
        grid = itertools.product(*(values for _, values in self.vary))
        return tuple(_cell(self.base, tuple(zip(fields, point, strict=True))) for point in grid)


@dataclass(frozen=True)
class Points:
    """List of specs that need not form a grid.

    specs: Specs of one family.
    """

    specs: tuple[Any, ...]

    @property
    def family(self) -> str:
        return str(self.specs[0].experiment) if self.specs else ""

    def cells(self) -> tuple[Cell, ...]:
        """Return a cell for each spec, feasible or not; its values are the fields that differ."""
        names = self.specs[0].__dataclass_fields__ if self.specs else ()
        varied = [name for name in names if len({getattr(s, name) for s in self.specs}) > 1]
        return tuple(
            _cell(spec, tuple((name, getattr(spec, name)) for name in varied))
            for spec in self.specs
        )


def _cell(base: Spec, values: Values) -> Cell:
    try:
        spec = base.with_values(dict(values))
        spec.check()
    except ParameterError as error:
        return Cell(values, None, str(error))
    return Cell(values, spec)


@dataclass(frozen=True)
class RunCost:
    """Upper bound of the cost of a run; stored draws cost no time.

    seconds: Time on one processor.
    """

    draws: int = 0
    rows: int = 0
    seconds: float = 0.0

    def __add__(self, other: RunCost) -> RunCost:
        return RunCost(
            self.draws + other.draws, self.rows + other.rows, self.seconds + other.seconds
        )

    def times(self, number: int) -> RunCost:
        """Return the cost of this number of runs."""
        return RunCost(self.draws * number, self.rows * number, self.seconds * number)


def cost_of_sweeps(sweeps: Iterable[Grid]) -> RunCost:
    """Return the cost of all feasible cells of the sweeps."""
    specs = [cell.spec for sweep in sweeps for cell in sweep.cells() if cell.spec is not None]
    problems = {
        (spec.problem_seconds, spec.problem_key(repetition))
        for spec in specs
        for repetition in range(spec.n_repetitions())
    }
    problem_cost = RunCost(seconds=sum(seconds(key) for seconds, key in problems))
    return sum(map(cost_of_spec, specs), problem_cost)


def cost_of_spec(spec: Spec) -> RunCost:
    """Return the cost of a spec's draws, without its problem."""
    cost_of_one = RunCost(1, len(spec.outline()), spec.draw_seconds())
    return cost_of_one.times(spec.n_repetitions())
