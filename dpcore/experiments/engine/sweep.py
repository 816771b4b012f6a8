"""Sweeps: a grid of frozen specs in, tidy rows out as they are finished.

A cell that cannot run is skipped with a reason. A cell gives the same rows, to the last digit,
alone, in a sweep, on one worker or many, and on another machine of the same kind: its random
streams are keyed by what they are for, and what cells share is computed in a way that does not
depend on who shares it (`dpcore.experiments.engine.work_units`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.engine.executor import results
from dpcore.experiments.engine.result_store import Store
from dpcore.experiments.engine.work_units import Finished, units_of
from dpcore.experiments.pca.problem import ProblemSource, local_problem
from dpcore.experiments.pca.runs import Row
from dpcore.experiments.pca.spec import SPEC_FIELDS, RunSpec
from dpcore.pca.messages.names import check_encoding
from dpcore.pca.protocols.register import protocol

# Fields that a person thinks in, worked out from others: R = ratio K, N = people S.
DERIVED_FIELDS = ("intermediate_ratio", "people_per_site")
VARIABLE_FIELDS = (
    *(field for field in SPEC_FIELDS if field not in ("protocols", "repetitions")),
    *DERIVED_FIELDS,
)

# R is at most the number of features, and that in the thousands.
_LARGEST_RATIO = 100_000


@dataclass(frozen=True)
class Cell:
    """One point of a sweep's grid: a spec, or the reason why there is none.

    Parameters
    ----------
    values : tuple of (field, value)
        What this cell sets in the sweep's base.
    spec : RunSpec or None
    reason : str or None
        Why the cell cannot run.
    """

    values: tuple[tuple[str, object], ...]
    spec: RunSpec | None
    reason: str | None = None

    def as_row(self) -> Row:
        """The cell as a row of the table of skipped cells."""
        return {**dict(self.values), "skipped": self.reason}


@dataclass(frozen=True)
class Sweep:
    """A base spec and the fields that vary, over the grid of their values.

    Parameters
    ----------
    base : RunSpec
    vary : tuple of (field, values)
        Fields of `VARIABLE_FIELDS`; the last varies fastest. "intermediate_ratio" sets
        R = ratio K and "people_per_site" N = people S, after the other fields are set.

    Raises
    ------
    ParameterError
        If a field is unknown, appears twice or has no values.
    """

    base: RunSpec
    vary: tuple[tuple[str, tuple], ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for field, values in self.vary:
            if field not in VARIABLE_FIELDS:
                raise ParameterError("vary", f"one of {', '.join(VARIABLE_FIELDS)}", field)
            if field in seen:
                raise ParameterError("vary", "a field at most once", field)
            if not values:
                raise ParameterError("vary", f"given values for {field}", values)
            seen.add(field)

    def cells(self) -> tuple[Cell, ...]:
        """Every point of the grid, feasible or not."""
        fields = [field for field, _ in self.vary]
        grid = itertools.product(*(values for _, values in self.vary))
        return tuple(_cell(self.base, tuple(zip(fields, point, strict=True))) for point in grid)


@dataclass(frozen=True)
class Event:
    """What arrived, and how far the sweep is.

    Parameters
    ----------
    finished : tuple of Finished
        Rows of one or more (cell, repetition), each with the position of its cell.
    skipped : tuple of dict
        Cells found infeasible, with their reasons; those known in advance come first.
    done, total : int
        Draws, that is (cell, repetition) pairs, of the feasible cells.
    stored : int
        How many of those done were in the store already.
    seconds : float
        Since the sweep began.
    """

    finished: tuple[Finished, ...]
    skipped: tuple[Row, ...]
    done: int
    total: int
    stored: int
    seconds: float

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for finished in self.finished for row in finished.rows)

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the draws computed so far; None before the first."""
        computed = self.done - self.stored
        return self.seconds / computed * (self.total - self.done) if computed else None


@dataclass(frozen=True)
class SweepResult:
    """All rows in the order of the grid, and the cells skipped."""

    rows: tuple[Row, ...]
    skipped: tuple[Row, ...]


def run_sweep(
    sweep: Sweep,
    *,
    workers: int = 1,
    store: Store | None = None,
    scheduler: str | None = None,
    should_stop: Callable[[], bool] | None = None,
    problems: ProblemSource = local_problem,
) -> Iterator[Event]:
    """Run a sweep; rows are handed over as they are finished, in no particular order.

    Parameters
    ----------
    sweep : Sweep
    workers : int
        Threads of this process. Not read with a scheduler.
    store : Store, optional
        Where finished rows are kept and looked up. Two sweeps that share a store and a cell
        compute it once, whichever processes they run in.
    scheduler : str, optional
        Address of a Dask scheduler whose workers compute instead ("tcp://host:8786"). They load
        data sets themselves, so each needs the data files in its own data home.
    should_stop : callable, optional
        Asked several times a second; once it says true the sweep ends within a moment, and
        everything yielded before stays true.
    problems : callable
        ProblemKey -> Problem, called from several threads. Not read with a scheduler.

    Yields
    ------
    Event
        The first at once, with what is known to be infeasible.

    Raises
    ------
    ParameterError
        If a protocol is unknown.
    DataUnavailable
        If a data set's files are not there.
    """
    cells = sweep.cells()
    units = units_of({i: cell.spec for i, cell in enumerate(cells) if cell.spec is not None})
    total = sum(len(unit.specs) for unit in units)
    started = time.perf_counter()
    done = stored = 0

    def event(finished: tuple[Finished, ...], skipped: tuple[Row, ...]) -> Event:
        return Event(finished, skipped, done, total, stored, time.perf_counter() - started)

    yield event((), tuple(cell.as_row() for cell in cells if cell.spec is None))
    refused: set[int] = set()
    for finished, was_stored in results(
        units,
        workers=workers,
        store=store,
        scheduler=scheduler,
        should_stop=should_stop or (lambda: False),
        problems=problems,
    ):
        done += len(finished)
        stored += len(finished) if was_stored else 0
        skipped = []
        for one in finished:
            if one.reason is not None and one.cell not in refused:
                refused.add(one.cell)
                skipped.append(replace(cells[one.cell], reason=one.reason).as_row())
        yield event(finished, tuple(skipped))


def collect(sweep: Sweep, **options: object) -> SweepResult:
    """Run a sweep to its end and put its rows in the order of the grid.

    Parameters
    ----------
    sweep : Sweep
    **options
        As for `run_sweep`.
    """
    finished: list[Finished] = []
    skipped: list[Row] = []
    for event in run_sweep(sweep, **options):
        finished.extend(event.finished)
        skipped.extend(event.skipped)
    return SweepResult(in_order(finished), tuple(skipped))


def in_order(finished: list[Finished]) -> tuple[Row, ...]:
    """Rows by the position of their cell, then by repetition, whenever they arrived."""
    ordered = sorted(finished, key=lambda one: (one.cell, one.repetition))
    return tuple(row for one in ordered for row in one.rows)


def _cell(base: RunSpec, values: tuple[tuple[str, object], ...]) -> Cell:
    try:
        spec = _with_values(base, dict(values))
        check_feasible(spec)
    except ParameterError as error:
        return Cell(values, None, str(error))
    return Cell(values, spec)


def _with_values(base: RunSpec, values: dict[str, object]) -> RunSpec:
    ratio = values.pop("intermediate_ratio", None)
    people = values.pop("people_per_site", None)
    if people is not None:
        values["samples"] = people * values.get("sites", base.sites)
    if ratio is not None:
        if not 0 < ratio <= _LARGEST_RATIO:
            constraint = f"greater than 0 and at most {_LARGEST_RATIO:,}"
            raise ParameterError("intermediate_ratio", constraint, ratio)
        components = values.get("components", base.components)
        if components is None:
            dataset = values.get("dataset", base.dataset)
            components = dataset_status(dataset).default_components
            if components is None:
                raise ParameterError("components", f"given for {dataset}", None)
        values["intermediate_dim"] = round(ratio * components)
    return replace(base, **values)


def check_feasible(spec: RunSpec) -> None:
    """Refuse, without reading any data, a spec that its data set cannot serve.

    Raises
    ------
    ParameterError
        Saying what is wrong with which parameter.
    """
    status = dataset_status(spec.dataset)
    if status.default_components is None and spec.components is None:
        raise ParameterError("components", f"given for {spec.dataset}", None)
    if spec.samples is not None and spec.samples > status.n_samples:
        here = " in the part that is here" if status.is_part else ""
        most = f"at most the {status.n_samples:,} people of {spec.dataset}{here}"
        raise ParameterError("samples", most, spec.samples)
    settings = spec.settings(status.n_features, status.default_components)
    entries = [protocol(key) for key in spec.protocols]
    for entry in entries:
        for whole in (False,) * entry.wants_proxies + (True,) * entry.wants_average:
            check_encoding(spec.encoding, whole=whole)
    n_samples = status.n_samples if spec.samples is None else spec.samples
    if n_samples < 2 * spec.sites:
        raise ParameterError("sites", f"at most half the {n_samples:,} people", spec.sites)
    fewest, more = divmod(n_samples, spec.sites)
    sites = [fewest + 1] * more + [fewest] * (spec.sites - more)
    for entry in entries:
        entry.promise(settings, sites, status.n_features)
