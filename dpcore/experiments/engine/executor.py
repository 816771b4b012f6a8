"""Who computes the units of a sweep: threads of this process, or a Dask cluster.

Threads, not processes: the work is LAPACK, BLAS and NumPy's generators, which release the
interpreter lock (`dpcore.spectra.lapack` sees to the first), so that two threads measure 1.88
to 1.90 times one on MNIST's panel of nine cells a draw, and two processes 1.92 to 1.96, hardly
more (tests/benchmarks/bench_sweep.py). But threads share the data set and the site
moments, and every process would hold them again.
"""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

from dpcore.data.held_tables import held_name
from dpcore.errors import ParameterError
from dpcore.experiments.engine.dask_backend import on_cluster
from dpcore.experiments.engine.experiment import ProblemSource
from dpcore.experiments.engine.result_store import Claim, Store
from dpcore.experiments.engine.work_units import Finished, Unit, run_unit

Outcome = tuple[tuple[Finished, ...], bool]
Compute = Callable[[Iterable[Unit]], Iterator[tuple[Unit, tuple[Finished, ...]]]]
_ASK_EVERY = 0.05  # seconds between questions whether to stop
_END = object()
_MOST_WORKERS = 1024


class _Stopped(Exception):
    """Raised inside a unit that nobody waits for any more."""


def results(
    units: Sequence[Unit],
    *,
    workers: int,
    store: Store | None,
    scheduler: str | None,
    should_stop: Callable[[], bool],
    problems: ProblemSource | None,
) -> Iterator[Outcome]:
    """Finished units as they come, and whether they were in the store.

    Units are computed in a thread of their own, so that a request to stop is answered within a
    moment even while a data set is being read. What is half done then ends at its next site.
    """
    if not 1 <= workers <= _MOST_WORKERS:
        raise ParameterError("workers", f"in [1, {_MOST_WORKERS}]", workers)
    if any(held_name(unit.specs) for unit in units):
        # Rows in one session's hands: nothing of them is written, and no other machine has them.
        store = scheduler = None
    stop = Event()
    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
    compute = partial(_in_threads, workers=workers, problems=problems, stop=stop)
    if scheduler is not None:
        compute = partial(on_cluster, scheduler=scheduler, stop=stop)

    pool = ThreadPoolExecutor(1)
    work = pool.submit(_compute_all, units, store, compute, stop, arrived.put)
    work.add_done_callback(lambda _: arrived.put(_END))
    try:
        while not should_stop():
            try:
                item = arrived.get(timeout=_ASK_EVERY)
            except queue.Empty:
                continue
            if item is _END:
                work.result()  # raises what went wrong
                return
            yield item
    finally:
        stop.set()
        pool.shutdown(wait=False)


def _compute_all(
    units: Sequence[Unit],
    store: Store | None,
    compute: Compute,
    stop: Event,
    deliver: Callable[[Outcome], None],
) -> None:
    """Deliver every unit, unless told to stop."""
    if store is not None:
        _compute_missing(units, store, compute, stop, deliver)
        return
    for _, finished in compute(itertools.takewhile(lambda _: not stop.is_set(), units)):
        deliver((finished, False))


def _compute_missing(
    units: Sequence[Unit],
    store: Store,
    compute: Compute,
    stop: Event,
    deliver: Callable[[Outcome], None],
) -> None:
    """Deliver every unit: from the store, from here, or from another session that is at it."""
    claims: dict[Unit, Claim] = {}
    waiting = list(units)

    def missing(candidates: list[Unit]) -> Iterator[Unit]:
        for unit in itertools.takewhile(lambda _: not stop.is_set(), candidates):
            found, claim = _found_or_claimed(store, unit)
            if found is not None:
                deliver((found, True))
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


def _found_or_claimed(store: Store, unit: Unit) -> tuple[tuple[Finished, ...] | None, Claim | None]:
    """What is kept of a unit, or else the right to compute it; neither, if another has that."""
    if (found := store.look_up(unit)) is not None or (claim := store.claim(unit)) is None:
        return found, None
    if (found := store.look_up(unit)) is None:
        return None, claim
    claim.release()  # finished by another session just before
    return found, None


def _in_threads(
    units: Iterable[Unit], *, workers: int, problems: ProblemSource | None, stop: Event
) -> Iterator[tuple[Unit, tuple[Finished, ...]]]:
    def checkpoint() -> None:
        if stop.is_set():
            raise _Stopped

    def task(unit: Unit, threads: int = 1) -> tuple[Unit, tuple[Finished, ...]]:
        checkpoint()
        return unit, run_unit(unit, problems, checkpoint, threads=threads)

    units = iter(units)
    # The first alone, its sites shared out: whoever watches waits for this one.
    for unit in itertools.islice(units, 1):
        yield task(unit, workers)
    # Takes as long to import as all of this room, and a page that computes nothing here waits.
    from joblib import Parallel, delayed

    pool = Parallel(
        n_jobs=workers,
        prefer="threads",
        return_as="generator_unordered",
        pre_dispatch="n_jobs",
        batch_size=1,
    )
    yield from pool(delayed(task)(unit) for unit in units)
