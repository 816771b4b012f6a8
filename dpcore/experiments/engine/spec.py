"""Interface of an experiment family (`Spec`), and its rows and charges.

A family is one subclass of `Spec`. A pickled spec names its class, so another machine needs only
the package to run it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from types import GenericAlias
from typing import Any, ClassVar, Self, TypeVar, cast, get_type_hints

from dpcore.errors import ParameterError
from dpcore.privacy import Charge, Guarantee, Release

Row = Mapping[str, Any]


class Spec(ABC):
    """Cell of an experiment: all settings that determine its rows to the last digit.

    A family of experiments is one subclass, a frozen dataclass with fields that JSON can represent.
    No other registration is needed. The subclass implements `row_type`, `outline` and `rows`; if
    it reads data also `problem_key` and `load`; and if specs share draws of noise also `run` and
    `after_draw`. A row contains the spec's fields and the measured values (`row_from`).

    experiment: Name under which rows are stored and draws of noise are charged. Fixed, so that
        stored rows do not depend on the names of modules, and never inherited: a class that
        declares none gets its module and class name.
    counted: Field that counts repetitions; each repetition is computed and stored separately.
    derived_fields: Names that a sweep may vary in addition to the fields (`with_values`).
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    experiment: ClassVar[str]
    counted: ClassVar[str] = "repetitions"
    derived_fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "experiment" not in vars(cls):
            cls.experiment = f"{cls.__module__}:{cls.__qualname__}"

    @classmethod
    @abstractmethod
    def row_type(cls) -> type:
        """Return the TypedDict of the rows."""

    @abstractmethod
    def outline(self) -> Sequence[Row]:
        """Return the fields of each row of one repetition that are fixed before the run."""

    @abstractmethod
    def rows(self, problem: Any, repetition: int) -> Sequence[Row]:
        """Compute the rows of one repetition."""

    def problem_key(self, repetition: int = 0) -> Hashable:  # noqa: ARG002
        """Return the key of the data side."""
        return None

    @classmethod
    def load(cls, key: Any) -> Any:  # noqa: ARG003
        """Load the data side of a key in this process; a family caches what its specs share."""
        return None

    @classmethod
    def data_of(cls, key: Any) -> Hashable:  # noqa: ARG003
        """Return a key of the large part of a problem; units with equal keys run consecutively."""
        return None

    def dataset_read(self) -> str | None:
        """Return the name of the data set whose rows are read, or None."""
        return getattr(self, "dataset", None)

    def check(self) -> None:  # noqa: B027
        """Raise `ParameterError` if the spec cannot run, without reading data."""

    @classmethod
    def after_draw(cls) -> tuple[str, ...]:
        """Return the fields that only affect the processing of drawn noise.

        Specs that differ only in these fields share a draw.
        """
        return ()

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
        """Compute the rows of several specs on one draw; each spec gets the rows of its own run.

        threads: Number of threads that a long draw may use.
        checkpoint: Function that a long draw calls regularly; it raises if the result is no longer
            needed.
        """
        return [spec.rows(problem, repetition) for spec in specs]

    def charges(
        self, guarantees: Mapping[str, Guarantee], draws: int | None = None
    ) -> list[Charge]:
        """Return the charges of the spec to the people whose rows are read, one for each noise.

        guarantees: Guarantee of each noise of one repetition by its name.
        draws: Number of repetitions that are charged; None for all.
        """
        numbers = frozenset(range(self.n_repetitions() if draws is None else draws))
        return merge_charges(
            self.charge(name, guarantee, numbers)
            for name, guarantee in guarantees.items()
            if is_charged(guarantee)
        )

    def charge(self, name: str, guarantee: Guarantee, draws: frozenset[int]) -> Charge:
        """Return the charge of one noise for these repetitions."""
        release = Release.of(
            guarantee,
            key=join_key(self.experiment, name, *self.draw_key()),
            label=name,
            dataset=cast("str", self.dataset_read()),
        )
        return Charge(release, draws, (name,))

    def with_values(self, values: dict[str, Any]) -> Self:
        """Return the spec with these values, including derived fields."""
        changed: Self = replace(cast(Any, self), **values)
        return changed

    def draw_seconds(self) -> float:
        """Estimate the duration of one repetition in seconds."""
        return 0.0

    @classmethod
    def problem_seconds(cls, key: Any) -> float:  # noqa: ARG003
        """Estimate the time to build a problem in seconds."""
        return 0.0

    # The methods below are the same in all families.

    def n_repetitions(self) -> int:
        return int(getattr(self, self.counted))

    def draw_key(self) -> tuple[object, ...]:
        """Return the values that specs with a shared draw have in common."""
        excluded = {*self.after_draw(), self.counted}
        return tuple(
            getattr(self, name) for name in self.__dataclass_fields__ if name not in excluded
        )

    def draw_identity(self) -> dict[str, Any]:
        """Return the fields of `draw_key` with their names, for JSON."""
        excluded = {*self.after_draw(), self.counted}
        fields = asdict(cast(Any, self))
        return {name: value for name, value in fields.items() if name not in excluded}

    def cell_identity(self) -> str:
        """Return the values that distinguish specs on one draw, as JSON."""
        return json.dumps([getattr(self, name) for name in self.after_draw()])

    def variable_fields(self) -> tuple[str, ...]:
        """Return the names that a sweep may vary."""
        fixed = ("protocols", self.counted)
        names = (name for name in self.__dataclass_fields__ if name not in fixed)
        return (*names, *self.derived_fields)

    def are_rows(self, rows: object) -> bool:
        """Return whether an object has the form of this spec's rows of one repetition.

        The object comes from a file and may be anything.
        """
        outline, kind = self.outline(), self.row_type()
        return (
            isinstance(rows, list)
            and len(rows) == len(outline)
            and all(isinstance(row, dict) and _has_fields(row, kind) for row in rows)
            and all(row | fixed == row for row, fixed in zip(rows, outline, strict=True))
        )


class PlannedSpec(Spec):
    """Spec whose guarantees follow from public numbers; it can be charged before it runs."""

    @abstractmethod
    def guarantees(self) -> Mapping[str, Guarantee]:
        """Return the guarantee of each noise of one repetition by its name, without reading rows.

        Raises `ParameterError` if the spec cannot run.
        """


def charges_of(specs: Iterable[PlannedSpec]) -> list[Charge]:
    """Return the charges of several specs, without reading rows; specs that cannot run are skipped.

    Noise that several specs read is charged once.
    """
    charges: list[Charge] = []
    for spec in specs:
        # The run itself reports the reason.
        with suppress(ParameterError):
            charges += spec.charges(spec.guarantees())
    return merge_charges(charges)


def merge_charges(charges: Iterable[Charge]) -> list[Charge]:
    """Merge the charges of each noise; equal keys in two data sets are two charges."""
    by_release: dict[tuple[str, str], Charge] = {}
    for charge in charges:
        key = charge.release.identity
        by_release[key] = by_release[key].merge(charge) if key in by_release else charge
    return list(by_release.values())


def is_charged(guarantee: Guarantee) -> bool:
    """Return whether a guarantee costs budget; exact and random components do not."""
    return guarantee.is_private and (guarantee.epsilon, guarantee.delta) != (0, 0)


def join_key(*parts: object) -> str:
    """Return a key made of the values that identify a draw."""
    return "|".join(map(str, parts))


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R", bound=Row)


def row_from(kind: type[R], spec: object, **results: object) -> R:
    """Return a row of this type: `results`, and the value of the spec for every other field."""
    return cast(
        "R",
        {
            name: results[name] if name in results else getattr(spec, name)
            for name, _ in _fields(kind)
        },
    )


def group_by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Group values by their keys, both in the order of the pairs."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def _has_fields(row: dict[str, Any], kind: type) -> bool:
    return all(name in row and isinstance(row[name], of) for name, of in _fields(kind))


@cache
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return names and types of a row's fields, in the form that `isinstance` accepts."""
    return tuple(
        # JSON may return a float without decimals as int, and list[float] as list.
        (
            name,
            int | float if of is float else of.__origin__ if isinstance(of, GenericAlias) else of,
        )
        for name, of in get_type_hints(kind).items()
    )
