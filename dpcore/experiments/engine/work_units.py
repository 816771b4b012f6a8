"""Units of work: one draw of the noise, serving every cell that differs only in what is done
with it afterwards (K, R, truncation, encoding)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from dpcore.errors import ParameterError
from dpcore.experiments.pca.problem import ProblemSource
from dpcore.experiments.pca.runs import Row, run_repetitions
from dpcore.experiments.pca.spec import RunSpec


@dataclass(frozen=True)
class Finished:
    """Rows of one repetition of one cell, or the reason why there are none."""

    cell: int
    repetition: int
    rows: tuple[Row, ...]
    reason: str | None = None


@dataclass(frozen=True)
class Unit:
    """Cells of a sweep that share everything up to the noisy second moments of one repetition.

    Parameters
    ----------
    cells : tuple of int
        Positions in the sweep's grid.
    specs : tuple of RunSpec
        Of those cells.
    repetition : int
    """

    cells: tuple[int, ...]
    specs: tuple[RunSpec, ...]
    repetition: int

    def fingerprint(self) -> str:
        """Digest of what the unit computes, wherever it stands in a grid."""
        parts = [[asdict(spec) for spec in self.specs], self.repetition]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    @property
    def draw(self) -> RunSpec:
        """What the cells share."""
        return noise_of(self.specs[0])


def noise_of(spec: RunSpec) -> RunSpec:
    """The spec without what is chosen after the noise has been drawn."""
    return replace(
        spec,
        components=None,
        intermediate_dim=None,
        truncation="svd",
        encoding="native",
        repetitions=1,
    )


def units_of(specs: Mapping[int, RunSpec]) -> tuple[Unit, ...]:
    """Units of a sweep, in the order in which they are best run.

    Cells on the same data, people and sites come together, since those take the memory; among
    them every cell has its first repetition before any has its second, so that curves fill in
    evenly.

    Parameters
    ----------
    specs : mapping of int to RunSpec
        Feasible cells by position.
    """
    groups: dict[tuple[RunSpec, int], list[int]] = {}
    for cell, spec in specs.items():
        for repetition in range(spec.repetitions):
            groups.setdefault((noise_of(spec), repetition), []).append(cell)
    units = [
        Unit(tuple(cells), tuple(specs[cell] for cell in cells), repetition)
        for (_, repetition), cells in groups.items()
    ]
    first_use: dict[object, int] = {}

    def turn(position: int) -> tuple[int, int, int]:
        unit = units[position]
        key = unit.draw.problem_key(unit.repetition)
        data = key.dataset, key.preparation, key.norm_bound
        first = tuple(first_use.setdefault(part, position) for part in (data, key))
        return *first, unit.repetition

    return tuple(units[position] for position in sorted(range(len(units)), key=turn))


def run_unit(
    unit: Unit,
    problems: ProblemSource,
    checkpoint: Callable[[], None] = lambda: None,
    *,
    threads: int = 1,
) -> tuple[Finished, ...]:
    """Run every cell of a unit on one draw.

    Parameters
    ----------
    unit : Unit
    problems : callable
        ProblemKey -> Problem.
    checkpoint : callable
        Called between sites; what it raises ends the unit.
    threads : int
        Sites worked on at the same time.
    """
    try:
        problem = problems(unit.specs[0].problem_key(unit.repetition))
        outcomes = run_repetitions(
            unit.specs, problem, unit.repetition, threads=threads, checkpoint=checkpoint
        )
    except ParameterError as error:
        if len(unit.specs) == 1:
            return (Finished(unit.cells[0], unit.repetition, (), str(error)),)
        # One cell that cannot run must not take the others with it.
        return tuple(
            finished
            for cell, spec in zip(unit.cells, unit.specs, strict=True)
            for finished in run_unit(Unit((cell,), (spec,), unit.repetition), problems, checkpoint)
        )
    return tuple(
        Finished(cell, unit.repetition, tuple(rows))
        for cell, rows in zip(unit.cells, outcomes, strict=True)
    )
