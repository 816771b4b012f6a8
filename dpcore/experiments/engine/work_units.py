"""Units of work: one draw of the noise, serving every cell that differs only in what is done
with it afterwards (of PCA: K, R, truncation, encoding)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Experiment, ProblemSource, Row, Spec, experiment_of

_lock = Lock()
_users: list[object] = []
_limits: list[Any] = []


@dataclass(frozen=True)
class Finished:
    """Rows of one repetition of one cell, or the reason why there are none."""

    cell: int
    repetition: int
    rows: tuple[Row, ...]
    reason: str | None = None


@dataclass(frozen=True)
class Unit:
    """Cells of a sweep that share everything up to the noise of one repetition.

    cells: Positions in the sweep's grid.
    specs: Of those cells.
    """

    cells: tuple[int, ...]
    specs: tuple[Spec, ...]
    repetition: int

    @property
    def experiment(self) -> Experiment[Any, Any, Any]:
        return experiment_of(self.specs[0])

    def fingerprint(self) -> str:
        """Digest of what the unit computes, wherever it stands in a grid."""
        family = self.specs[0].experiment
        parts = [family, [asdict(spec) for spec in self.specs], self.repetition]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def units_of(specs: Mapping[int, Spec]) -> tuple[Unit, ...]:
    """Units of a sweep, in the order in which they are best run.

    Cells on the same data, people and sites come together, since those take the memory; among
    them every cell has its first repetition before any has its second, so that curves fill in
    evenly.

    specs: Feasible cells by position.
    """
    groups: dict[tuple[Hashable, int], list[int]] = {}
    for cell, spec in specs.items():
        experiment = experiment_of(spec)
        draw = spec.experiment, *experiment.draw_key(spec)
        for repetition in range(experiment.n_repetitions(spec)):
            groups.setdefault((draw, repetition), []).append(cell)
    units = [
        Unit(tuple(cells), tuple(specs[cell] for cell in cells), repetition)
        for (_, repetition), cells in groups.items()
    ]
    first_use: dict[Hashable, int] = {}

    def turn(position: int) -> tuple[int, ...]:
        unit = units[position]
        key = unit.experiment.problem_key(unit.specs[0], unit.repetition)
        shared = ("data", unit.experiment.data_of(key)), ("problem", key)
        return *(first_use.setdefault(part, position) for part in shared), unit.repetition

    return tuple(units[position] for position in sorted(range(len(units)), key=turn))


def run_unit(
    unit: Unit,
    problems: ProblemSource | None = None,
    checkpoint: Callable[[], None] = lambda: None,
    *,
    threads: int = 1,
) -> tuple[Finished, ...]:
    """Run every cell of a unit on one draw.

    problems: Problem key -> problem; the family's own by default.
    checkpoint: Called now and then; what it raises ends the unit.
    threads: What a draw may be shared among.
    """
    experiment = unit.experiment
    try:
        with one_blas_thread():
            key = experiment.problem_key(unit.specs[0], unit.repetition)
            problem = (problems or experiment.problem)(key)
            outcomes = experiment.run(
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread for as long as anybody in this process is inside.

    Numbers must not depend on how many there are: a product split over two threads is added up in
    another order than one that is not, and its last digits differ. Units of a sweep, sites and
    sessions run side by side instead, which uses a machine better than threads inside one small
    product.
    """
    me = object()
    with _lock:
        if not _users:
            _limits.append(_controller().limit(limits=1, user_api="blas"))
        _users.append(me)
    try:
        yield
    finally:
        with _lock:
            _users.remove(me)
            if not _users:
                _limits.pop().restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries of a process takes a while; they don't change.
    return ThreadpoolController()
