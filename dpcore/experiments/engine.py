"""The engine: what a family of experiments declares, and its units of work.

A family is one `Experiment`: functions and names, in the family's own room. Its specs are frozen
dataclasses that say where it is ("module:name"), so that a spec alone, sent to another machine,
brings along everything that runs it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from pkgutil import resolve_name
from threading import Lock
from types import GenericAlias
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast, get_type_hints

from dpcore.arrays import threads_start
from dpcore.errors import ParameterError

# What the engine wants to know of a family of experiments: PCA, CCA, classification …

Row = Mapping[str, Any]
# A problem key -> what draws are made from; called from several threads.
ProblemSource = Callable[[Any], Any]


class Spec(Protocol):
    """A frozen dataclass that fixes rows to the last digit, JSON through and through."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def experiment(self) -> str:
        """Where its family is; a class attribute without annotation, so that it is no field."""


S = TypeVar("S", bound=Spec)
K = TypeVar("K", bound=Hashable)
P = TypeVar("P")
V = TypeVar("V")
R = TypeVar("R", bound=Row)


def _nothing(*_: object) -> float:
    return 0.0


@dataclass(frozen=True, eq=False)
class Experiment(Generic[S, K, P]):
    """A family of experiments.

    row: The TypedDict of its rows.
    outline: spec -> of each row of one repetition, in order, what is known of it beforehand, such
        as {"protocol": "full"}.
    run: (specs, problem, repetition, *, threads, checkpoint) -> rows of each spec, on one draw. The
        specs are equal but for `after_draw`; each must get what it gets alone. `threads` may be
        used, and `checkpoint` called, where a draw takes long: it raises when nobody waits.
    problem_key: (spec, repetition) -> all that the problem depends on.
    problem: key -> problem, in this process; what is shared is kept by whoever gives it.
    dataset: spec -> name of the data set whose rows are read, None where there is none.
    data_of: problem key -> what is large in it: problems on the same are run one after the other.
    check: Raises `ParameterError` for a spec that cannot run, without reading data.
    after_draw: Fields of what is done with the noise once it is drawn.
    repetitions: The field that counts repetitions; each is computed and kept by itself.
    derived_fields: What a sweep may vary beside the spec's fields.
    with_values: (spec, values by field) -> spec, derived fields included.
    draw_seconds, problem_seconds: spec -> seconds a repetition takes, and problem key -> seconds it
        takes to make; roughly.
    """

    row: type
    outline: Callable[[S], Sequence[Row]]
    run: Callable[..., Sequence[Sequence[Row]]]
    problem_key: Callable[[S, int], K]
    problem: Callable[[K], P]
    dataset: Callable[[S], str | None]
    data_of: Callable[[K], Hashable] = _nothing
    check: Callable[[S], object] = _nothing
    after_draw: tuple[str, ...] = ()
    repetitions: str = "repetitions"
    derived_fields: tuple[str, ...] = ()
    with_values: Callable[[S, dict[str, Any]], S] = lambda spec, values: replace(spec, **values)
    draw_seconds: Callable[[S], float] = _nothing
    problem_seconds: Callable[[K], float] = _nothing

    def n_repetitions(self, spec: S) -> int:
        return int(getattr(spec, self.repetitions))

    def draw_key(self, spec: S) -> tuple[object, ...]:
        """What specs that share a draw of the noise have in common."""
        apart = {*self.after_draw, self.repetitions}
        return tuple(getattr(spec, name) for name in spec.__dataclass_fields__ if name not in apart)

    def draw_identity(self, spec: S) -> dict[str, Any]:
        """The same with its names, as JSON has it."""
        apart = {*self.after_draw, self.repetitions}
        return {name: value for name, value in asdict(spec).items() if name not in apart}

    def cell_identity(self, spec: S) -> str:
        """What tells specs on one draw apart, as JSON."""
        return json.dumps([getattr(spec, name) for name in self.after_draw])

    def variable_fields(self, spec: S) -> tuple[str, ...]:
        """What a sweep may vary."""
        fixed = ("protocols", self.repetitions)
        own = (name for name in spec.__dataclass_fields__ if name not in fixed)
        return (*own, *self.derived_fields)

    def are_rows(self, spec: S, rows: object) -> bool:
        """Whether these, read from somewhere, are rows that the spec gives in one repetition."""
        outline = self.outline(spec)
        return (
            isinstance(rows, list)
            and len(rows) == len(outline)
            and all(isinstance(row, dict) and _has_fields(row, self.row) for row in rows)
            and all(row | known == row for row, known in zip(rows, outline, strict=True))
        )


def each_alone(rows_of: Callable[[Any, Any, int], Sequence[Row]]) -> Callable[..., list[Any]]:
    """`run` of a family whose specs share no draw: the rows of each, one spec after the other."""
    return lambda specs, problem, repetition, **_: [
        rows_of(spec, problem, repetition) for spec in specs
    ]


def row_from(kind: type[R], spec: object, **found: object) -> R:
    """A row of this kind: what has been found, and every other field as the spec has it."""
    return cast(
        "R",
        {name: found[name] if name in found else getattr(spec, name) for name, _ in _fields(kind)},
    )


def gathered(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Values by their keys, both in the order in which they come."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def experiment_of(spec: Spec) -> Experiment[Any, Any, Any]:
    """The family that a spec belongs to."""
    return _named(spec.experiment)


@cache
def _named(name: str) -> Experiment[Any, Any, Any]:
    found = resolve_name(name)
    if not isinstance(found, Experiment):
        raise ParameterError("experiment", "the place of an Experiment, module:name", name)
    return found


def _has_fields(row: dict[str, Any], kind: type) -> bool:
    return all(name in row and isinstance(row[name], of) for name, of in _fields(kind))


@cache
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """Names and types of a row's fields as `isinstance` takes them."""
    return tuple(
        # JSON writes whole floats as they are written here, and list[float] as a list.
        (
            name,
            int | float if of is float else of.__origin__ if isinstance(of, GenericAlias) else of,
        )
        for name, of in get_type_hints(kind).items()
    )


# Units of work: one draw of the noise, serving every cell that differs only in what is done with it
# afterwards (of PCA what is declared `after_noise`).

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
    if not threads_start():
        yield
        return
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
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    # Looking for the libraries of a process takes a while; they don't change.
    return ThreadpoolController()
