"""The engine: what a family of experiments declares, and its units of work.

A family is one subclass of `Spec`. A spec, sent to another machine, brings along everything that
runs it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from threading import Lock
from types import GenericAlias
from typing import Any, ClassVar, Self, TypeVar, cast, get_type_hints

from dpcore.arrays import threads_start
from dpcore.errors import ParameterError
from dpcore.privacy import Charge, Guarantee, Release

# What the engine wants to know of a family of experiments: PCA, CCA, classification …

Row = Mapping[str, Any]
# A problem key -> what draws are made from; called from several threads.
ProblemSource = Callable[[Any], Any]


class Spec:
    """One cell of an experiment: all that fixes its rows to the last digit.

    A family of experiments is one subclass, a frozen dataclass of fields that JSON can hold, and
    nothing is registered elsewhere. It gives `row_type`, `outline`, `problem_key`, `load`, and
    `rows` or, where specs share a draw of the noise, `run`. What a row is: its spec, and what was
    found (`row_from`).

    experiment: What rows on disk are kept under: where the class is.
    counted: The field that counts repetitions; each is computed and kept by itself.
    derived_fields: What a sweep may vary beside the fields (`with_values`).
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    experiment: ClassVar[str]
    counted: ClassVar[str] = "repetitions"
    derived_fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.experiment = f"{cls.__module__}:{cls.__qualname__}"

    @classmethod
    def row_type(cls) -> type:
        """The TypedDict of its rows."""
        raise NotImplementedError

    def outline(self) -> Sequence[Row]:
        """Of each row of one repetition, in order, what is known of it beforehand."""
        raise NotImplementedError

    def problem_key(self, repetition: int = 0) -> Hashable:  # noqa: ARG002
        """All that the data side depends on."""
        return None

    @classmethod
    def load(cls, key: Any) -> Any:  # noqa: ARG003
        """The data side of a key, in this process; a family keeps what its specs share."""
        return None

    @classmethod
    def data_of(cls, key: Any) -> Hashable:  # noqa: ARG003
        """What is large in a problem: those on the same are run one after the other."""
        return None

    def dataset_read(self) -> str | None:
        """Name of the data set whose rows are read, None where there is none."""
        return getattr(self, "dataset", None)

    def check(self) -> None:
        """Raise `ParameterError` if it cannot run, without reading data."""

    @classmethod
    def after_draw(cls) -> tuple[str, ...]:
        """Fields of what is done with the noise once it is drawn: equal but for these, specs share
        a draw."""
        return ()

    def rows(self, problem: Any, repetition: int) -> Sequence[Row]:
        """The rows of one repetition."""
        raise NotImplementedError

    @classmethod
    def run(
        cls,
        specs: Sequence[Any],
        problem: Any,
        repetition: int,
        *,
        threads: int = 1,  # noqa: ARG003
        checkpoint: Callable[[], None] = lambda: None,  # noqa: ARG003
    ) -> Sequence[Sequence[Row]]:
        """The rows of each of several specs on one draw, each as it gets them alone.

        threads: May be used where a draw takes long.
        checkpoint: To be called then: it raises when nobody waits.
        """
        return [spec.rows(problem, repetition) for spec in specs]

    def guarantees(self) -> Mapping[str, Guarantee]:
        """What each noise of one repetition promises, by its name, no row being read.

        Raises `ParameterError` if it cannot run.
        """
        raise NotImplementedError

    def charges(
        self, guarantees: Mapping[str, Guarantee] | None = None, draws: int | None = None
    ) -> list[Charge]:
        """What those whose rows are read are charged: one charge for each noise.

        guarantees: Of each noise, where they are known; else `guarantees`.
        draws: The first so many repetitions; None for all.
        """
        dataset = self.dataset_read()
        if dataset is None:
            return []
        numbers = frozenset(range(self.n_repetitions() if draws is None else draws))
        return [
            Charge(
                Release.of(
                    guarantee,
                    key=joined(self.experiment, name, *self.draw_key()),
                    label=name,
                    dataset=dataset,
                ),
                numbers,
                (name,),
            )
            for name, guarantee in (self.guarantees() if guarantees is None else guarantees).items()
            if is_charged(guarantee)
        ]

    def with_values(self, values: dict[str, Any]) -> Self:
        """Itself with these values, derived fields included."""
        changed: Self = replace(cast(Any, self), **values)
        return changed

    def draw_seconds(self) -> float:
        """What a repetition takes, roughly."""
        return 0.0

    @classmethod
    def problem_seconds(cls, key: Any) -> float:  # noqa: ARG003
        """What a problem takes to make, roughly."""
        return 0.0

    # What follows, for every family.

    def n_repetitions(self) -> int:
        return int(getattr(self, self.counted))

    def draw_key(self) -> tuple[object, ...]:
        """What specs that share a draw of the noise have in common."""
        apart = {*self.after_draw(), self.counted}
        return tuple(getattr(self, name) for name in self.__dataclass_fields__ if name not in apart)

    def draw_identity(self) -> dict[str, Any]:
        """The same with its names, as JSON has it."""
        apart = {*self.after_draw(), self.counted}
        fields = asdict(cast(Any, self))
        return {name: value for name, value in fields.items() if name not in apart}

    def cell_identity(self) -> str:
        """What tells specs on one draw apart, as JSON."""
        return json.dumps([getattr(self, name) for name in self.after_draw()])

    def variable_fields(self) -> tuple[str, ...]:
        """What a sweep may vary."""
        fixed = ("protocols", self.counted)
        own = (name for name in self.__dataclass_fields__ if name not in fixed)
        return (*own, *self.derived_fields)

    def are_rows(self, rows: object) -> bool:
        """Whether these, read from somewhere, are rows that it gives in one repetition."""
        outline, kind = self.outline(), self.row_type()
        return (
            isinstance(rows, list)
            and len(rows) == len(outline)
            and all(isinstance(row, dict) and _has_fields(row, kind) for row in rows)
            and all(row | known == row for row, known in zip(rows, outline, strict=True))
        )


def charges_of(specs: Iterable[Spec]) -> list[Charge]:
    """What runs will be charged, no row being read; those that cannot run cost nothing.

    Noise that several specs read is charged once.
    """
    charges: list[Charge] = []
    for spec in specs:
        # The reason is said where they are run.
        with suppress(ParameterError):
            charges += spec.charges()
    return merged(charges)


def merged(charges: Iterable[Charge]) -> list[Charge]:
    """One charge for each noise; equal keys in two data sets are two."""
    found: dict[tuple[str, str], Charge] = {}
    for charge in charges:
        key = charge.release.identity
        found[key] = found[key].merged(charge) if key in found else charge
    return list(found.values())


def is_charged(guarantee: Guarantee) -> bool:
    """Whether anything is promised, and anything spent: neither exact nor random components are."""
    return guarantee.is_private and (guarantee.epsilon, guarantee.delta) != (0, 0)


def joined(*parts: object) -> str:
    """A key from what identifies a draw."""
    return "|".join(map(str, parts))


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R", bound=Row)


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
    def family(self) -> type[Spec]:
        return type(self.specs[0])

    def fingerprint(self) -> str:
        """Digest of what the unit computes, wherever it stands in a grid."""
        specs = [asdict(cast(Any, spec)) for spec in self.specs]
        parts = [self.family.experiment, specs, self.repetition]
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
        draw = spec.experiment, *spec.draw_key()
        for repetition in range(spec.n_repetitions()):
            groups.setdefault((draw, repetition), []).append(cell)
    units = [
        Unit(tuple(cells), tuple(specs[cell] for cell in cells), repetition)
        for (_, repetition), cells in groups.items()
    ]
    first_use: dict[Hashable, int] = {}

    def turn(position: int) -> tuple[int, ...]:
        unit = units[position]
        key = unit.specs[0].problem_key(unit.repetition)
        shared = ("data", unit.family.data_of(key)), ("problem", key)
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
