"""Scheduler of sweeps: run a grid of specs on threads or a Dask cluster, and yield tidy rows.

A cell that cannot run is skipped with a reason. A cell gives the same rows, to the last digit, in a
run of its own, in a sweep, with any number of workers, and on another machine of the same kind. Its
random streams are keyed by purpose, and results that cells share do not depend on which cells share
them (`dpcore.experiments.engine.spec`).

Workers are threads, not processes. Most of the work is LAPACK, BLAS and NumPy's generators, which
release the interpreter lock (`dpcore.spectra.lapack` does so for LAPACK). Two threads are 1.88 to
1.90 times as fast as one on MNIST's panel of nine cells per draw, and two processes 1.92 to 1.96
times (tests/benchmarks/bench_sweep.py). Threads share the data set and the site moments; every
process would need its own copy.
"""

from __future__ import annotations

import itertools
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from dpcore.cluster import results_on_cluster
from dpcore.data.dataset import held_name
from dpcore.errors import ParameterError
from dpcore.experiments.engine.grid import Grid
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.store import Claim, Store, software_fingerprint
from dpcore.experiments.engine.units import Finished, ProblemSource, Unit, run_unit, units_of

if TYPE_CHECKING:
    from dask.distributed import Client, Future


Outcome = tuple[tuple[Finished, ...], bool]
Computed = Iterator[tuple[Unit, tuple[Finished, ...]]]
_ASK_EVERY = 0.05  # seconds between calls of `should_stop`
_END_OF_RESULTS = object()
_MOST_WORKERS = 1024


class _Stopped(Exception):
    """Raised inside a unit whose result is no longer needed."""


def results(
    units: Sequence[Unit],
    *,
    workers: int,
    store: Store | None,
    scheduler: str | None,
    should_stop: Callable[[], bool],
    problems: ProblemSource | None,
) -> Iterator[Outcome]:
    """Yield finished units, each with whether it was in the store.

    Units are computed in a separate thread, so that a request to stop is answered promptly even
    while a data set is being read. A unit in progress then ends at its next site.
    """
    if not 1 <= workers <= _MOST_WORKERS:
        raise ParameterError("workers", f"in [1, {_MOST_WORKERS}]", workers)
    if any(held_name(unit.specs) for unit in units):
        # An uploaded table exists only in this session: its results are not written to disk, and
        # other machines do not have it.
        store = scheduler = None
    stop = Event()
    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
    compute = partial(_compute_in_threads, workers=workers, problems=problems, stop=stop)
    if scheduler is not None:
        compute = partial(_compute_on_cluster, scheduler=scheduler, stop=stop)

    pool = ThreadPoolExecutor(1)
    work = pool.submit(_compute_all, units, store, compute, stop, arrived.put)
    work.add_done_callback(lambda _: arrived.put(_END_OF_RESULTS))
    try:
        while not should_stop():
            try:
                item = arrived.get(timeout=_ASK_EVERY)
            except queue.Empty:
                continue
            if item is _END_OF_RESULTS:
                work.result()  # raises the error of the thread
                return
            yield item
    finally:
        stop.set()
        pool.shutdown(wait=False)


def _compute_all(
    units: Sequence[Unit],
    store: Store | None,
    compute: Callable[[Iterable[Unit]], Computed],
    stop: Event,
    deliver: Callable[[Outcome], None],
) -> None:
    """Deliver every unit until `stop` is set."""
    if store is not None:
        _compute_missing(units, store, compute, stop, deliver)
        return
    for _, finished in compute(itertools.takewhile(lambda _: not stop.is_set(), units)):
        deliver((finished, False))


def _compute_missing(
    units: Sequence[Unit],
    store: Store,
    compute: Callable[[Iterable[Unit]], Computed],
    stop: Event,
    deliver: Callable[[Outcome], None],
) -> None:
    """Deliver every unit: from the store, computed here, or computed by another session."""
    claims: dict[Unit, Claim] = {}
    waiting = list(units)

    def missing(candidates: list[Unit]) -> Iterator[Unit]:
        for unit in itertools.takewhile(lambda _: not stop.is_set(), candidates):
            rows, claim = _look_up_or_claim(store, unit)
            if rows is not None:
                deliver((rows, True))
            elif claim is None:
                waiting.append(unit)
            else:
                claims[unit] = claim
                yield unit

    try:
        while waiting and not stop.is_set():
            candidates, waiting = waiting, []
            for unit, finished in compute(missing(candidates)):
                store.keep(unit, finished)
                claims.pop(unit).release()
                deliver((finished, False))
            if waiting:
                stop.wait(_ASK_EVERY)
    finally:
        for claim in claims.values():
            claim.release()


def _look_up_or_claim(store: Store, unit: Unit) -> tuple[tuple[Finished, ...] | None, Claim | None]:
    """Return the stored rows of a unit, or a claim to compute it.

    Both are None while another session holds the claim.
    """
    if (rows := store.look_up(unit)) is not None or (claim := store.claim(unit)) is None:
        return rows, None
    if (rows := store.look_up(unit)) is None:
        return None, claim
    claim.release()  # finished by another session just before
    return rows, None


def _compute_in_threads(
    units: Iterable[Unit], *, workers: int, problems: ProblemSource | None, stop: Event
) -> Computed:
    def checkpoint() -> None:
        if stop.is_set():
            raise _Stopped

    def task(unit: Unit, threads: int = 1) -> tuple[Unit, tuple[Finished, ...]]:
        checkpoint()
        return unit, run_unit(unit, problems, checkpoint, threads=threads)

    units = iter(units)
    # The first unit runs with all threads, because its rows appear first on a page.
    for unit in itertools.islice(units, 1):
        yield task(unit, workers)
    # joblib is slow to import, and pages that compute nothing here must not wait for it.
    from joblib import Parallel, delayed

    pool = Parallel(
        n_jobs=workers,
        prefer="threads",
        return_as="generator_unordered",
        pre_dispatch="n_jobs",
        batch_size=1,
    )
    yield from pool(delayed(task)(unit) for unit in units)


def _compute_on_cluster(units: Iterable[Unit], *, scheduler: str, stop: Event) -> Computed:
    """Yield units as they are finished; the units of a worker that dies are computed by another.

    units: Submitted as workers become free. Without units, no connection is made.
    scheduler: Address, "tcp://host:8786".
    Raises `ParameterError` if no scheduler answers there, or it stops answering before the units
        have ended.
    """
    upcoming = iter(units)
    first = next(upcoming, None)
    if first is None:
        return

    def submit(client: Client, unit: Unit) -> Future[Any]:
        return client.submit(run_unit, unit, key=_task_key(unit))

    yield from results_on_cluster(
        itertools.chain([first], upcoming), submit, scheduler=scheduler, stop=stop
    )


def _task_key(unit: Unit) -> str:
    # The same unit of the same software has the same name on a cluster in all sessions.
    return f"dpcore-{software_fingerprint()}-{unit.fingerprint()}"


@dataclass(frozen=True)
class SweepEvent:
    """Finished rows and the progress of a sweep.

    finished: Rows of one or more (cell, repetition), each with the position of its cell.
    skipped: tuple of row. Infeasible cells with their reasons; cells that are known in advance come
        first.
    done, total: Draws, that is (cell, repetition) pairs, of the feasible cells.
    stored: Number of finished draws that were in the store already.
    seconds: Time since the start of the sweep.
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
        """Return an estimate from the draws computed until now; None before the first."""
        computed = self.done - self.stored
        return self.seconds / computed * (self.total - self.done) if computed else None


@dataclass(frozen=True)
class SweepResult:
    """All rows in the order of the grid, and the skipped cells."""

    rows: tuple[Row, ...]
    skipped: tuple[Row, ...]


class RunOptions(TypedDict, total=False):
    """Options of `run_sweep` that do not change its rows."""

    workers: int
    store: Store | None
    scheduler: str | None
    problems: ProblemSource | None


def run_sweep(
    sweep: Grid,
    *,
    workers: int = 1,
    store: Store | None = None,
    scheduler: str | None = None,
    should_stop: Callable[[], bool] | None = None,
    problems: ProblemSource | None = None,
) -> Iterator[SweepEvent]:
    """Run a sweep and yield rows as they are finished, in no particular order.

    workers: Number of threads of this process. Ignored with a scheduler.
    store: Store in which finished rows are looked up and saved. Two sweeps that share a store and a
        cell compute it once, also from different processes.
    scheduler: Address of a Dask scheduler whose workers compute instead ("tcp://host:8786"). They
        load data sets themselves, so each needs the data files in its own data home.
    should_stop: Called several times a second; the sweep ends soon after it returns True, and rows
        that were yielded before remain valid.
    problems: Function from problem key to problem, called from several threads; the family's `load`
        by default. Ignored with a scheduler.
    Yields: An immediate first event with the cells that are known to be infeasible, then one event
        for each finished unit.
    Raises `ParameterError` if the scheduler cannot be reached.
    Raises `DataUnavailable` if a data set's files are absent.
    """
    cells = sweep.cells()
    units = units_of({i: cell.spec for i, cell in enumerate(cells) if cell.spec is not None})
    total = sum(len(unit.specs) for unit in units)
    started = time.perf_counter()
    done = stored = 0

    def event(finished: tuple[Finished, ...], skipped: tuple[Row, ...]) -> SweepEvent:
        return SweepEvent(finished, skipped, done, total, stored, time.perf_counter() - started)

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
        skipped: list[Row] = []
        for result in finished:
            if result.reason is not None and result.cell not in refused:
                refused.add(result.cell)
                skipped.append(replace(cells[result.cell], reason=result.reason).as_row())
        yield event(finished, tuple(skipped))


def collect(
    sweep: Grid,
    *,
    should_stop: Callable[[], bool] | None = None,
    **options: Unpack[RunOptions],
) -> SweepResult:
    """Run a sweep to its end and return its rows in the order of the grid.

    should_stop, **options: Parameters of `run_sweep`.
    """
    finished: list[Finished] = []
    skipped: list[Row] = []
    for event in run_sweep(sweep, should_stop=should_stop, **options):
        finished.extend(event.finished)
        skipped.extend(event.skipped)
    return SweepResult(in_order(finished), tuple(skipped))


def in_order(finished: list[Finished]) -> tuple[Row, ...]:
    """Return rows by the position of their cell, then by repetition."""
    ordered = sorted(finished, key=lambda result: (result.cell, result.repetition))
    return tuple(row for result in ordered for row in result.rows)
