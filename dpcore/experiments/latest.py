"""The latest few results of something slow and large, made once however many threads ask."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Latest(Generic[T]):
    """A function of hashable arguments that remembers its latest results.

    Whoever asks first computes; whoever asks meanwhile waits for that result instead of
    computing it again, which for a data set would also take its memory twice.

    Parameters
    ----------
    make : callable
    keep : int
        How many results, the most recently asked for.
    """

    def __init__(self, make: Callable[..., T], keep: int):
        self._make = make
        self._keep = keep
        self._results: OrderedDict[tuple[Hashable, ...], Future[T]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, *key: Hashable) -> T:
        with self._lock:
            future = self._results.get(key)
            mine = future is None
            if mine:
                # Room is made before, not after: the old result's memory is wanted for the new.
                while len(self._results) >= self._keep:
                    self._results.popitem(last=False)
                future = self._results[key] = Future()
            else:
                self._results.move_to_end(key)
        if mine:
            try:
                future.set_result(self._make(*key))
            except BaseException as error:
                with self._lock:
                    if self._results.get(key) is future:
                        del self._results[key]
                future.set_exception(error)
                raise
        return future.result()

    def __contains__(self, key: tuple[Hashable, ...]) -> bool:
        """Whether the result of these arguments is kept or being made."""
        with self._lock:
            return key in self._results

    def peek(self, *key: Hashable) -> T | None:
        """The result if it is there; None where one would have to wait for it."""
        with self._lock:
            future = self._results.get(key)
        return future.result() if future is not None and future.done() else None

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._results.clear()
