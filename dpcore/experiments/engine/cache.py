"""Cache in memory that computes each value once, even with concurrent callers."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from sys import getsizeof
from threading import Lock, Thread, current_thread
from types import FunctionType, ModuleType
from typing import Any, Generic, NoReturn, TypeVar, cast
from weakref import WeakSet

import numpy as np

from dpcore.data.dataset import holder_of

T = TypeVar("T")
MOST_BYTES = 256 * 1024**2
# Seconds without use after which `drop_unused` drops a result.
SECONDS_UNUSED = 600.0
_TYPES_WITHOUT_REFERENCES = frozenset((bool, int, float, str, bytes, type(None)))
_POLL_SECONDS = 0.5  # between checks whether the thread that computes a result is alive


@dataclass(slots=True)
class _FinishedFuture(Generic[T]):
    """Finished future with its result, in a tenth of a future's memory.

    A cache may contain thousands of them.
    """

    value: T

    def done(self) -> bool:
        return True

    def cancelled(self) -> bool:
        return False

    def exception(self) -> None:
        return None

    def result(self, _: float | None = None) -> T:
        return self.value


@dataclass(eq=False, slots=True)
class _Entry(Generic[T]):
    # Set only until the result is finished: an ended thread may still reference its data, such as
    # the session of a visitor.
    maker: Thread | None
    future: Future[T] | _FinishedFuture[T]
    last_use: float
    n_bytes: int = 0

    @property
    def pending_future(self) -> Future[T]:
        """Return the future of a result that is still being computed."""
        return cast(Future[T], self.future)


class OnceCache(Generic[T]):
    """Thread-safe cache of a function of hashable arguments, with a bounded number of results.

    The first caller of a key computes the result; concurrent callers wait for it. A second
    computation would take the memory of a data set twice. Results and ordinary errors are passed to
    all waiting callers. An interruption of the computing thread (an exit, the end of a script, a
    lack of memory) affects only this thread; a waiting caller then computes the result.

    Results computed from an uploaded table (`dpcore.data.dataset`) are stored with the table. Other
    sessions cannot read them, and they are deleted with the table.

    make: Function of the key; None if every call passes its own.
    keep: Largest number of results; the least recently used are dropped.
    most_bytes: Largest total size; the latest result stays at any size.
    seconds_unused: Time without use after which `drop_unused` drops results.
    """

    def __init__(
        self,
        make: Callable[..., T] | None,
        keep: int,
        most_bytes: int = MOST_BYTES,
        seconds_unused: float = SECONDS_UNUSED,
    ):
        self._make = make or _refuse_call
        self._keep = keep
        self._most_bytes = most_bytes
        self._seconds_unused = seconds_unused
        self._results: OrderedDict[tuple[Hashable, ...], _Entry[T]] = OrderedDict()
        self._n_bytes = 0
        self._lock = Lock()
        with _caches_lock:
            _caches.add(self)

    def __call__(self, *key: Hashable, make: Callable[[], T] | None = None) -> T:
        """Return the result of a key, computed by `make` or the cache's function if it is missing.

        Raises `Exception`: the error of the computation, for all waiting callers. Errors are not
            cached.
        """
        if (table_cache := self._cache_of_table(key)) is not None:
            return table_cache(*key, make=make)
        entry, is_mine = self._claim(key)
        while not is_mine:
            while not _is_abandoned(entry):
                try:
                    return entry.future.result(_POLL_SECONDS)
                except TimeoutError:
                    # Raised by the computation itself, not by the wait.
                    if entry.future.done() and not entry.future.cancelled():
                        return entry.future.result()
                except CancelledError:
                    break
            entry, is_mine = self._claim(key)
        try:
            result = self._make(*key) if make is None else make()
        except BaseException as error:
            self._give_up(key, entry, error)
            raise
        self._put(key, entry, result)
        return result

    def _cache_of_table(self, named: tuple[Hashable, ...]) -> OnceCache[T] | None:
        """Return the cache of the table that a key names, or None."""
        table = holder_of(named)
        if table is None:
            return None
        if self not in table.results:
            settings = (self._keep, self._most_bytes, self._seconds_unused)
            table.results.setdefault(self, _TableCache(self._make, *settings))
        of_table: OnceCache[T] = table.results[self]
        return of_table

    def _claim(self, key: tuple[Hashable, ...]) -> tuple[_Entry[T], bool]:
        """Return the entry of a key, and whether the caller has to compute it."""
        with self._lock:
            entry = self._results.get(key)
            if is_mine := entry is None or _is_abandoned(entry):
                self._drop(key)
                # Dropped before the computation, which needs the memory of the old result.
                self._make_room(self._keep - 1)
                entry = self._results[key] = _Entry(current_thread(), Future(), 0.0)
            entry.last_use = time.monotonic()
            self._results.move_to_end(key)
            return entry, is_mine

    def _give_up(self, key: tuple[Hashable, ...], entry: _Entry[T], error: BaseException) -> None:
        with self._lock:
            if self._results.get(key) is entry:
                self._drop(key)
        if isinstance(error, Exception) and not isinstance(error, MemoryError):
            entry.pending_future.set_exception(error)
        else:
            entry.pending_future.cancel()

    def _put(self, key: tuple[Hashable, ...], entry: _Entry[T], result: T) -> None:
        n_bytes = bytes_held(result)
        with self._lock:
            entry.pending_future.set_result(result)
            entry.future, entry.maker = _FinishedFuture(result), None
            if self._results.get(key) is entry:
                entry.n_bytes, entry.last_use = n_bytes, time.monotonic()
                self._n_bytes += n_bytes
                self._make_room(self._keep)

    def _make_room(self, keep: int) -> None:
        """Drop the oldest finished results, except the very latest."""
        while len(self._results) > keep or self._n_bytes > self._most_bytes:
            finished = (key for key, entry in self._results.items() if entry.future.done())
            oldest = next(finished, None)
            if oldest is None or (len(self._results) <= keep and next(finished, None) is None):
                return
            self._drop(oldest)

    def _drop(self, key: tuple[Hashable, ...]) -> None:
        entry = self._results.pop(key, None)
        if entry is not None:
            self._n_bytes -= entry.n_bytes

    def __contains__(self, key: tuple[Hashable, ...]) -> bool:
        """Return whether the result of a key is cached or being computed."""
        if (table_cache := self._cache_of_table(key)) is not None:
            return key in table_cache
        with self._lock:
            return key in self._results

    def peek(self, *key: Hashable) -> T | None:
        """Return the result if it is finished, else None."""
        if (table_cache := self._cache_of_table(key)) is not None:
            return table_cache.peek(*key)
        with self._lock:
            entry = self._results.get(key)
        if entry is None or not entry.future.done() or entry.future.cancelled():
            return None
        # Errors are raised only in callers that waited for the result.
        return None if entry.future.exception() else entry.future.result()

    def drop_unused(self, now: float) -> int:
        """Drop results that were not used for `seconds_unused`, and return their number.

        now: Time of `time.monotonic`.
        """
        with self._lock:
            unused = [
                key
                for key, entry in self._results.items()
                if entry.future.done() and now - entry.last_use > self._seconds_unused
            ]
            for key in unused:
                self._drop(key)
        return len(unused)

    def clear(self) -> None:
        """Drop all results."""
        with self._lock:
            self._results.clear()
            self._n_bytes = 0


_caches: WeakSet[OnceCache[Any]] = WeakSet()
_caches_lock = Lock()


def drop_unused(now: float) -> int:
    """Drop the unused results of all caches of this process, and return their number.

    A server calls this repeatedly; a sweep or a script keeps its results.

    now: Time of `time.monotonic`.
    """
    with _caches_lock:
        caches = list(_caches)
    return sum(cache.drop_unused(now) for cache in caches)


class _TableCache(OnceCache[T]):
    def _cache_of_table(self, _: tuple[Hashable, ...]) -> None:
        return None


def bytes_held(result: object) -> int:
    """Return the memory of a result and of the objects in it, each counted once."""
    counted: set[int] = set()
    total, waiting = 0, [result]
    while waiting:
        value = waiting.pop()
        if id(value) in counted:
            continue
        counted.add(id(value))
        total += value.nbytes if isinstance(value, np.ndarray) else getsizeof(value)
        if type(value) in _TYPES_WITHOUT_REFERENCES:  # most values of a row
            continue
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            waiting += value
        elif not isinstance(value, type | ModuleType | FunctionType):
            waiting += getattr(value, "__dict__", {}).values()
    return total


def _refuse_call(*key: Hashable) -> NoReturn:
    raise LookupError(f"no function to compute {key}")


def _is_abandoned(entry: _Entry[Any]) -> bool:
    maker = entry.maker
    return not (entry.future.done() or (maker is not None and maker.is_alive()))
