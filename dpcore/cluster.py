"""Run tasks on a Dask cluster and yield their results.

Another worker repeats a task whose worker dies. If the scheduler or all workers are lost, one error
is raised, and the caller has received every finished result exactly once.
"""

from __future__ import annotations

import itertools
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from dask.distributed import Client, Future

# Environment variable with the address of a scheduler.
SCHEDULER_VARIABLE = "DPCORE_SCHEDULER"

T = TypeVar("T")
_POLL_INTERVAL = 0.05  # seconds between checks of the stop event
_TIMEOUT = 5  # seconds for an answer of the scheduler
_WORKERS_TIMEOUT = 15  # seconds without any worker


class ClusterLost(ParameterError):
    """Error: the scheduler or all its workers were lost before the tasks finished."""


def scheduler_of_environment() -> str | None:
    """Return the address of the scheduler that this machine's owner set, or None."""
    return os.environ.get(SCHEDULER_VARIABLE) or None


def results_on_cluster(
    items: Iterable[T],
    submit: Callable[[Client, T], Future[Any]],
    *,
    scheduler: str,
    stop: Event | None = None,
) -> Iterator[tuple[T, Any]]:
    """Yield each item with the result of its task, in the order of completion.

    items: Items, consumed as workers become free.
    submit: Function that submits the task of an item to a client.
    scheduler: Address such as "tcp://host:8786".
    stop: Event that ends the work early.

    Raises `ParameterError` if no scheduler answers, and `ClusterLost` if the scheduler or all
    workers are lost before the tasks finish.
    """
    stop = Event() if stop is None else stop
    with _connect(scheduler) as client:
        from dask.distributed import as_completed
        from distributed.client import ClosedClientError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        arriving = as_completed(loop=client.loop)
        try:
            yield from _results(iter(items), submit, client, arriving, scheduler, stop)
        except KilledWorker as error:
            raise ClusterLost(
                "scheduler", "one whose workers survive a task; a task ended several", scheduler
            ) from error
        except (ClosedClientError, CommClosedError, CancelledError) as error:
            raise ClusterLost(
                "scheduler", "reachable until the end; finished results are saved", scheduler
            ) from error


def _results(
    items: Iterator[T],
    submit: Callable[[Client, T], Future[Any]],
    client: Client,
    arriving: Any,
    scheduler: str,
    stop: Event,
) -> Iterator[tuple[T, Any]]:
    running: dict[object, T] = {}
    while not stop.is_set():
        _wait_for_workers(client, scheduler, stop)
        # Twice the number of threads keeps all workers busy. More would delay a stop and block
        # other sessions.
        free = 2 * max(1, sum(client.nthreads().values())) - len(running)
        for item in itertools.islice(items, max(0, free)):
            future = submit(client, item)
            running[future.key] = item
            arriving.add(future)
        if not running:
            return
        last_check = time.monotonic()
        while not arriving.has_ready():
            if stop.wait(_POLL_INTERVAL):
                return
            if time.monotonic() - last_check > 1:
                _wait_for_workers(client, scheduler, stop)
                last_check = time.monotonic()
        future = next(arriving)
        finished = future.result()
        future.release()
        yield running.pop(future.key), finished


def _wait_for_workers(client: Client, scheduler: str, stop: Event) -> None:
    since = time.monotonic()
    while not stop.is_set() and not client.nthreads():
        if time.monotonic() - since > _WORKERS_TIMEOUT:
            raise ClusterLost(
                "scheduler",
                f"one with workers; none appeared within {_WORKERS_TIMEOUT} seconds",
                scheduler,
            )
        stop.wait(_POLL_INTERVAL)


@contextmanager
def _connect(scheduler: str) -> Iterator[Client]:
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise ParameterError(
            "scheduler",
            "left out without dask, which pip install 'dp-pca-lab[cluster]' brings",
            scheduler,
        ) from error
    _require_listener(scheduler)
    # Dask's log messages about a lost scheduler are replaced by one error.
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        try:
            client = Client(scheduler, set_as_default=False, timeout=_TIMEOUT)
        except (OSError, ValueError) as error:
            raise _scheduler_error(scheduler) from error
        with client:
            yield client
    finally:
        log.setLevel(level)


def _require_listener(scheduler: str) -> None:
    """Raise a ParameterError if no process listens at the address. Dask would wait much longer."""
    _, _, address = scheduler.rpartition("://")
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port[:6]) < 1 << 16:
        raise ParameterError("scheduler", "an address such as tcp://host:8786", scheduler)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_TIMEOUT).close()
    except (OSError, ValueError) as error:  # ValueError: impossible host name
        raise _scheduler_error(scheduler) from error


def _scheduler_error(scheduler: str) -> ParameterError:
    return ParameterError("scheduler", "the address of a running Dask scheduler", scheduler)
