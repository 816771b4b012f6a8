"""Work on a Dask cluster: connect, hand out tasks a few at a time, bring back their results.

A task whose worker dies is computed by another worker. Where scheduler or workers are lost for good
that is one sentence, and the caller has every result that arrived, each once.
"""

from __future__ import annotations

import itertools
import logging
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

# Where pages and commands look for the address of a scheduler.
SCHEDULER_VARIABLE = "DPCORE_SCHEDULER"

T = TypeVar("T")
_ASK_EVERY = 0.05  # seconds between questions whether to stop
_PATIENCE = 5  # seconds for a scheduler to answer
_PATIENCE_FOR_WORKERS = 15  # seconds without a single worker


class ClusterLost(ParameterError):
    """A scheduler, or all its workers, that are gone before the work has ended."""


def results_on_cluster(
    items: Iterable[T],
    submit: Callable[[Client, T], Future[Any]],
    *,
    scheduler: str,
    stop: Event | None = None,
) -> Iterator[tuple[T, Any]]:
    """Each item with the result of its task, as tasks are finished.

    items: Taken a few at a time, as there is room.
    submit: Hands an item's task to a client.
    scheduler: Address, "tcp://host:8786".
    stop: Ends the work early once it is set.
    Raises `ParameterError` if no scheduler answers there, and `ClusterLost` if it stops answering,
        or has no workers left, before the tasks have ended.
    """
    stop = Event() if stop is None else stop
    with _connected(scheduler) as client:
        from dask.distributed import as_completed
        from distributed.client import ClosedClientError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        arriving = as_completed(loop=client.loop)
        try:
            yield from _results(iter(items), submit, client, arriving, scheduler, stop)
        except KilledWorker as error:
            raise ClusterLost(
                "scheduler", "one whose workers outlive a task, which ended several", scheduler
            ) from error
        except (ClosedClientError, CommClosedError, CancelledError) as error:
            raise ClusterLost(
                "scheduler", "reachable until the end; what had arrived is kept", scheduler
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
        # A few more than can run, so that no worker waits, and no more, so that stopping and
        # sharing with other sessions stay quick.
        room = 2 * max(1, sum(client.nthreads().values())) - len(running)
        for item in itertools.islice(items, max(0, room)):
            future = submit(client, item)
            running[future.key] = item
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
            raise ClusterLost(
                "scheduler",
                f"one with workers, of which none came within {_PATIENCE_FOR_WORKERS} seconds",
                scheduler,
            )
        stop.wait(_ASK_EVERY)


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    try:
        from dask.distributed import Client
    except ImportError as error:
        brought = "pip install 'dp-pca-lab[cluster]' brings"
        raise ParameterError(
            "scheduler", f"left out without dask, which {brought}", scheduler
        ) from error
    _knock(scheduler)
    # What Dask has to say of a lost scheduler, or of an answer that is none's, becomes a sentence.
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        try:
            client = Client(scheduler, set_as_default=False, timeout=_PATIENCE)
        except (OSError, ValueError) as error:
            raise _no_scheduler(scheduler) from error
        with client:
            yield client
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
