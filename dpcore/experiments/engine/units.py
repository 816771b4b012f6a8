"""Units of work of a sweep: cells that share one draw of the noise in one repetition."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from dpcore.errors import ParameterError
from dpcore.experiments.engine.blas_threads import one_blas_thread
from dpcore.experiments.engine.spec import Row, Spec

# Function from problem key to problem; called from several threads.
ProblemSource = Callable[[Any], Any]


@dataclass(frozen=True)
class Finished:
    """Rows of one repetition of one cell, or the reason why there are none."""

    cell: int
    repetition: int
    rows: tuple[Row, ...]
    reason: str | None = None


@dataclass(frozen=True)
class Unit:
    """Cells of a sweep that share one draw of the noise in one repetition.

    cells: Positions in the sweep's grid.
    specs: Specs of those cells.
    """

    cells: tuple[int, ...]
    specs: tuple[Spec, ...]
    repetition: int

    @property
    def family(self) -> type[Spec]:
        return type(self.specs[0])

    def fingerprint(self) -> str:
        """Return a digest of the unit's computation, independent of its position in a grid."""
        specs = [asdict(cast(Any, spec)) for spec in self.specs]
        parts = [self.family.experiment, specs, self.repetition]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def units_of(specs: Mapping[int, Spec]) -> tuple[Unit, ...]:
    """Return the units of a sweep, in the order in which they should run.

    Cells with the same data, rows and sites are consecutive, because the data take the memory.
    Among them, every cell gets its first repetition before any cell gets its second, so that curves
    fill in evenly.

    specs: Feasible cells by position.
    """
    groups: dict[tuple[Hashable, int], list[int]] = {}
    for cell, spec in specs.items():
        draw = spec.experiment, *spec.draw_key()
        for repetition in range(spec.n_repetitions()):
            groups.setdefault((draw, repetition), []).append(cell)
    units = [
        Unit(tuple(cells), tuple(specs[cell] for cell in cells), repetition)
        for (_, repetition), cells in groups.items()
    ]
    first_use: dict[Hashable, int] = {}

    def position_key(position: int) -> tuple[int, ...]:
        unit = units[position]
        key = unit.specs[0].problem_key(unit.repetition)
        shared = ("data", unit.family.data_of(key)), ("problem", key)
        return *(first_use.setdefault(part, position) for part in shared), unit.repetition

    return tuple(units[position] for position in sorted(range(len(units)), key=position_key))


def run_unit(
    unit: Unit,
    problems: ProblemSource | None = None,
    checkpoint: Callable[[], None] = lambda: None,
    *,
    threads: int = 1,
) -> tuple[Finished, ...]:
    """Run every cell of a unit on one draw.

    problems: Function from problem key to problem; the family's `load` by default.
    checkpoint: Called regularly; an exception ends the unit.
    threads: Number of threads that the draw may use.
    """
    family = unit.family
    try:
        with one_blas_thread():
            key = unit.specs[0].problem_key(unit.repetition)
            problem = (problems or family.load)(key)
            outcomes = family.run(
                unit.specs, problem, unit.repetition, threads=threads, checkpoint=checkpoint
            )
    except ParameterError as error:
        if len(unit.specs) == 1:
            return (Finished(unit.cells[0], unit.repetition, (), str(error)),)
        # One infeasible cell must not fail the other cells of the unit.
        return tuple(
            finished
            for cell, spec in zip(unit.cells, unit.specs, strict=True)
            for finished in run_unit(Unit((cell,), (spec,), unit.repetition), problems, checkpoint)
        )
    return tuple(
        Finished(cell, unit.repetition, tuple(rows))
        for cell, rows in zip(unit.cells, outcomes, strict=True)
    )
