"""Single-flight cache: concurrent callers of one key share one computation; bounded in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from sys import getsizeof
from threading import Lock, Thread, current_thread
from types import FunctionType, ModuleType
from typing import Any, Generic, NoReturn, TypeVar, cast

import numpy as np

from dpcore.data.dataset import holder_of

T = TypeVar("T")
MOST_BYTES = 256 * 1024**2
_HOLDS_NOTHING = frozenset((bool, int, float, str, bytes, type(None)))
_ASK_EVERY = 0.5  # seconds between questions whether the maker of a result is still alive


@dataclass(slots=True)
class _Made(Generic[T]):
    """A future with its result, in a tenth of its memory: there are thousands of these."""

    made: T

    def done(self) -> bool:
        return True

    def cancelled(self) -> bool:
        return False

    def exception(self) -> None:
        return None

    def result(self, _: float | None = None) -> T:
        return self.made


@dataclass(eq=False, slots=True)
class _Kept(Generic[T]):
    # Only until the result is there: a thread that has ended may still hold all that it worked on,
    # such as the session of a visitor who has left.
    maker: Thread | None
    future: Future[T] | _Made[T]
    n_bytes: int = 0

    @property
    def promise(self) -> Future[T]:
        """The future of a result that is still to be made."""
        return cast(Future[T], self.future)


class OnceCache(Generic[T]):
    """A function of hashable arguments that remembers its latest results.

    Whoever asks first computes; whoever asks meanwhile waits for that result instead of
    computing it again, which for a data set would also take its memory twice. Results and
    ordinary errors are handed to all who wait. What interrupts the one who computes (an exit, a
    script that is told to stop, a lack of memory) is that one's own: the others compute.

    What is computed from a table in somebody's hands (`dpcore.data.dataset`) is kept with that
    table and not here: nobody else comes by it, and it goes when the table does.

    make: None where whoever asks brings it along.
    keep: How many results, the most recently asked for.
    most_bytes: What they may take together; the latest stays whatever it takes.
    """

    def __init__(self, make: Callable[..., T] | None, keep: int, most_bytes: int = MOST_BYTES):
        self._make = make or _missing
        self._keep = keep
        self._most_bytes = most_bytes
        self._results: OrderedDict[tuple[Hashable, ...], _Kept[T]] = OrderedDict()
        self._n_bytes = 0
        self._lock = Lock()

    def __call__(self, *key: Hashable, make: Callable[[], T] | None = None) -> T:
        """The result of a key, made where it is not there, by `make` if that is given.

        Raises `Exception`: what making it raised, for everybody who waited; nothing is kept of it.
        """
        if (own := self._of_holder(key)) is not None:
            return own(*key, make=make)
        kept, is_mine = self._claim(key)
        while not is_mine:
            while not _is_abandoned(kept):
                try:
                    return kept.future.result(_ASK_EVERY)
                except TimeoutError:
                    # One that the computation itself raised is its outcome.
                    if kept.future.done() and not kept.future.cancelled():
                        return kept.future.result()
                except CancelledError:
                    break
            kept, is_mine = self._claim(key)
        try:
            result = self._make(*key) if make is None else make()
        except BaseException as error:
            self._give_up(key, kept, error)
            raise
        self._put(key, kept, result)
        return result

    def _of_holder(self, named: tuple[Hashable, ...]) -> OnceCache[T] | None:
        """The cache of the table that a key names; None where it names none, or is here."""
        table = holder_of(named)
        if table is None:
            return None
        own: OnceCache[T] = _OfOneTable(self._make, self._keep, self._most_bytes)
        kept: OnceCache[T] = table.kept.setdefault(self, own)
        return kept

    def _claim(self, key: tuple[Hashable, ...]) -> tuple[_Kept[T], bool]:
        """The place of a result, and whether whoever asks is to make it."""
        with self._lock:
            kept = self._results.get(key)
            if is_mine := kept is None or _is_abandoned(kept):
                self._drop(key)
                # Room is made before, too: the old result's memory is wanted for the new.
                self._make_room(self._keep - 1)
                kept = self._results[key] = _Kept(current_thread(), Future())
            self._results.move_to_end(key)
            return kept, is_mine

    def _give_up(self, key: tuple[Hashable, ...], kept: _Kept[T], error: BaseException) -> None:
        with self._lock:
            if self._results.get(key) is kept:
                self._drop(key)
        if isinstance(error, Exception) and not isinstance(error, MemoryError):
            kept.promise.set_exception(error)
        else:
            kept.promise.cancel()

    def _put(self, key: tuple[Hashable, ...], kept: _Kept[T], result: T) -> None:
        n_bytes = bytes_held(result)
        with self._lock:
            kept.promise.set_result(result)
            kept.future, kept.maker = _Made(result), None
            if self._results.get(key) is kept:
                kept.n_bytes = n_bytes
                self._n_bytes += n_bytes
                self._make_room(self._keep)

    def _make_room(self, keep: int) -> None:
        """Let go of the oldest results, but not of those being made, nor of the very latest."""
        while len(self._results) > keep or self._n_bytes > self._most_bytes:
            finished = (key for key, kept in self._results.items() if kept.future.done())
            oldest = next(finished, None)
            if oldest is None or (len(self._results) <= keep and next(finished, None) is None):
                return
            self._drop(oldest)

    def _drop(self, key: tuple[Hashable, ...]) -> None:
        kept = self._results.pop(key, None)
        if kept is not None:
            self._n_bytes -= kept.n_bytes

    def __contains__(self, key: tuple[Hashable, ...]) -> bool:
        """Whether the result of these arguments is kept or being made."""
        if (own := self._of_holder(key)) is not None:
            return key in own
        with self._lock:
            return key in self._results

    def peek(self, *key: Hashable) -> T | None:
        """The result if it is there; None where one would have to wait for it."""
        if (own := self._of_holder(key)) is not None:
            return own.peek(*key)
        with self._lock:
            kept = self._results.get(key)
        if kept is None or not kept.future.done() or kept.future.cancelled():
            return None
        # An error is for those who waited for it.
        return None if kept.future.exception() else kept.future.result()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._results.clear()
            self._n_bytes = 0


class _OfOneTable(OnceCache[T]):
    def _of_holder(self, _: tuple[Hashable, ...]) -> None:
        return None


def bytes_held(result: object) -> int:
    """Memory of a result and of all that it holds, each object once, as far as Python tells."""
    seen: set[int] = set()
    total, waiting = 0, [result]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        total += value.nbytes if isinstance(value, np.ndarray) else getsizeof(value)
        if type(value) in _HOLDS_NOTHING:  # most of what a row has
            continue
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            waiting += value
        elif not isinstance(value, type | ModuleType | FunctionType):
            waiting += getattr(value, "__dict__", {}).values()
    return total


def _missing(*key: Hashable) -> NoReturn:
    raise LookupError(f"nobody brought along how to make {key}")


def _is_abandoned(kept: _Kept[Any]) -> bool:
    maker = kept.maker
    return not (kept.future.done() or (maker is not None and maker.is_alive()))
