"""Whose turn it is among the jobs that run beside the pages."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ASK_EVERY = 0.05  # seconds between questions whether a waiting job is still wanted


class Turns:
    """A few jobs at a time; the others wait, first come, first served.

    Parameters
    ----------
    places : int
        How many have their turn at the same time.
    """

    def __init__(self, places: int):
        self._places = places
        self._queue: deque[object] = deque()
        self._moved = threading.Condition()

    @contextmanager
    def taken(self, should_stop: Callable[[], bool]) -> Iterator[bool]:
        """Wait for a turn and hold it inside; False where nobody wanted it any more."""
        me = object()
        with self._moved:
            self._queue.append(me)
        try:
            yield self._has_come(me, should_stop)
        finally:
            with self._moved:
                self._queue.remove(me)
                self._moved.notify_all()

    def _has_come(self, me: object, should_stop: Callable[[], bool]) -> bool:
        with self._moved:
            while self._queue.index(me) >= self._places:
                if should_stop():
                    return False
                self._moved.wait(_ASK_EVERY)
            return True
