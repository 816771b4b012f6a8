"""Visitors take turns: one script at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

_TURN = threading.Lock()
_ours = threading.local()
_waiting: set[int] = set()
_turns: deque[float] = deque(maxlen=100)  # when they were taken, of late
_LATELY_SECONDS = 1.0
# Somebody's long computation must not keep the others from answers that are ready.
_PATIENCE_SECONDS = 1.0
# A browser takes what arrives within 10 ms as one piece, and needs about this long to draw a chart.
_BREATH_SECONDS = 0.05
# Long enough for whoever waits to take the turn.
_BLINK_SECONDS = 0.001


@contextmanager
def taken() -> Iterator[None]:
    """Wait until nobody else's page is being written, or for a moment at most.

    The interpreter runs one thread at a time. Twenty scripts at once share it in slices, so that
    everybody waits for the last one, and pay for every switch. One after the other, nobody waits
    longer than that, and most much less (tests/benchmarks/bench_sessions.py). Whoever has the
    turn keeps it.
    """
    if getattr(_ours, "held", False):
        yield
        return
    _take()
    try:
        yield
    finally:
        _give_up()


def breath() -> None:
    """Let the browser draw what it has before the rest is sent, unless others are waiting."""
    if not _waiting:
        _pause(_BREATH_SECONDS)


def give_way() -> None:
    """Let whoever waits have a turn in the middle of a long computation."""
    if _waiting:
        _pause(_BLINK_SECONDS)


def is_wanted() -> bool:
    """Whether somebody waits for a turn."""
    return bool(_waiting)


def unhurried(seconds: float) -> float:
    """After how long a part of a page may ask to be drawn again: longer, the more is going on."""
    now = time.monotonic()
    return seconds * (1 + sum(now - at < _LATELY_SECONDS for at in tuple(_turns)))


@contextmanager
def spare() -> Iterator[bool]:
    """A turn that nobody else wants, if there is one: for what a page goes on to fill in."""
    ours = not getattr(_ours, "held", False) and not _waiting and _TURN.acquire(blocking=False)
    _ours.held = ours or getattr(_ours, "held", False)
    try:
        yield _ours.held
    finally:
        if ours:
            _give_up()


@contextmanager
def others() -> Iterator[None]:
    """Others' turn, while ours would only wait for a data set or for somebody's numbers."""
    ours = _give_up()
    try:
        yield
    finally:
        if ours:
            _take()


def _pause(seconds: float) -> None:
    with others():
        time.sleep(seconds)


def _take() -> None:
    me = threading.get_ident()
    _waiting.add(me)
    try:
        _ours.held = _TURN.acquire(timeout=_PATIENCE_SECONDS)
        _turns.append(time.monotonic())
    finally:
        _waiting.discard(me)


def _give_up() -> bool:
    held = getattr(_ours, "held", False)
    if held:
        _ours.held = False
        _TURN.release()
    return held
