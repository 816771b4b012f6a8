"""The units of a sweep on a Dask cluster, by the address of its scheduler."""

from __future__ import annotations

import itertools
import logging
import socket
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from threading import Event
from typing import TYPE_CHECKING

from dpcore.errors import ParameterError
from dpcore.experiments.engine.result_store import software_fingerprint
from dpcore.experiments.engine.work_units import Finished, Unit, run_unit

if TYPE_CHECKING:
    from dask.distributed import Client, as_completed

_ASK_EVERY = 0.05  # seconds between questions whether to stop
_PATIENCE = 5  # seconds for a scheduler to answer
_PATIENCE_FOR_WORKERS = 15  # seconds without a single worker


def on_cluster(
    units: Iterable[Unit], *, scheduler: str, stop: Event
) -> Iterator[tuple[Unit, tuple[Finished, ...]]]:
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
) -> Iterator[tuple[Unit, tuple[Finished, ...]]]:
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
