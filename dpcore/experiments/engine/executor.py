"""Who computes the units of a sweep: threads of this process, or a Dask cluster.

Threads, not processes: the work is LAPACK, BLAS and NumPy's generators, which release the
interpreter lock (`dpcore.spectra.eigen` sees to the first), so that two threads measure 1.88
to 1.90 times one on MNIST's panel of nine cells a draw, and two processes 1.92 to 1.96, hardly
more (tests/benchmarks/bench_sweep.py). But threads share the data set and the site
moments, and every process would hold them again.
"""

from __future__ import annotations

import itertools
import logging
import queue
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from dpcore.data.dataset import held_name
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import ProblemSource
from dpcore.experiments.engine.result_store import Claim, Store, software_fingerprint
from dpcore.experiments.engine.work_units import Finished, Unit, run_unit

if TYPE_CHECKING:
    from dask.distributed import Client, as_completed

Outcome = tuple[tuple[Finished, ...], bool]
Computed = Iterator[tuple[Unit, tuple[Finished, ...]]]
_ASK_EVERY = 0.05  # seconds between questions whether to stop
_PATIENCE = 5  # seconds for a scheduler to answer
_PATIENCE_FOR_WORKERS = 15  # seconds without a single worker
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
    compute: Callable[[Iterable[Unit]], Computed],
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
    compute: Callable[[Iterable[Unit]], Computed],
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
) -> Computed:
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


def on_cluster(units: Iterable[Unit], *, scheduler: str, stop: Event) -> Computed:
    """Units as they are finished; those of a worker that dies are computed by another.

    units: Taken a few at a time, as there is room. Without any, nobody is called.
    scheduler: Address, "tcp://host:8786".
    Raises `ParameterError` if no scheduler answers there, or it stops answering before the units
        have ended.
    """
    upcoming = iter(units)
    first = next(upcoming, None)
    if first is None:
        return
    with _client(scheduler) as client:
        from dask.distributed import as_completed
        from distributed.client import ClosedClientError
        from distributed.comm.core import CommClosedError

        arriving = as_completed(loop=client.loop)
        try:
            yield from _computed(
                itertools.chain([first], upcoming), client, arriving, scheduler, stop
            )
        except (ClosedClientError, CommClosedError, CancelledError) as error:
            raise ParameterError(
                "scheduler", "reachable until the end; what had arrived is kept", scheduler
            ) from error


def _computed(
    units: Iterator[Unit], client: Client, arriving: as_completed, scheduler: str, stop: Event
) -> Computed:
    running: dict[object, Unit] = {}
    while not stop.is_set():
        _wait_for_workers(client, scheduler, stop)
        # A few more than can run, so that no worker waits, and no more, so that stopping and
        # sharing with other sessions stay quick.
        room = 2 * max(1, sum(client.nthreads().values())) - len(running)
        for unit in itertools.islice(units, max(0, room)):
            future = client.submit(run_unit, unit, key=_task_key(unit))
            running[future.key] = unit
            arriving.add(future)
        if not running:
            return
        asked = time.monotonic()
        while not arriving.has_ready():
            if stop.wait(_ASK_EVERY):
                return
            if time.monotonic() - asked > 1:
                _wait_for_workers(client, scheduler, stop)
                asked = time.monotonic()
        future = next(arriving)
        finished = future.result()
        future.release()
        yield running.pop(future.key), finished


def _wait_for_workers(client: Client, scheduler: str, stop: Event) -> None:
    since = time.monotonic()
    while not stop.is_set() and not client.nthreads():
        if time.monotonic() - since > _PATIENCE_FOR_WORKERS:
            raise ParameterError(
                "scheduler",
                f"one with workers, of which none came within {_PATIENCE_FOR_WORKERS} seconds",
                scheduler,
            )
        stop.wait(_ASK_EVERY)


def _client(scheduler: str) -> Client:
    try:
        from dask.distributed import Client
    except ImportError as error:
        brought = "pip install 'dp-pca-lab[cluster]' brings"
        raise ParameterError(
            "scheduler", f"left out without dask, which {brought}", scheduler
        ) from error
    _knock(scheduler)
    # What Dask has to say of an answer that is no scheduler's is said below in a sentence.
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        return Client(scheduler, set_as_default=False, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise _no_scheduler(scheduler) from error
    finally:
        log.setLevel(level)


def _knock(scheduler: str) -> None:
    """Refuse an address where nobody listens, which Dask takes long to find out."""
    _, _, place = scheduler.rpartition("://")
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port[:6]) < 1 << 16:
        raise ParameterError("scheduler", "an address such as tcp://host:8786", scheduler)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, ValueError) as error:  # a host's name can be impossible too
        raise _no_scheduler(scheduler) from error


def _no_scheduler(scheduler: str) -> ParameterError:
    return ParameterError("scheduler", "the address of a running Dask scheduler", scheduler)


def _task_key(unit: Unit) -> str:
    # The same unit of the same software has one name on a cluster, whoever asks for it.
    return f"dpcore-{software_fingerprint()}-{unit.fingerprint()}"
