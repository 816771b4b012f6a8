"""Visitors take turns: one script at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_TURN = threading.Lock()
_ours = threading.local()
# Somebody's long computation must not keep the others from answers that are ready.
_PATIENCE_SECONDS = 0.3
# A browser takes what arrives within 10 ms as one piece, and needs about this long to draw a chart.
_BREATH_SECONDS = 0.05


@contextmanager
def taken() -> Iterator[None]:
    """Wait until nobody else's page is being written, or for a moment at most.

    The interpreter runs one thread at a time. Twenty scripts at once share it in slices, so that
    everybody waits for the last one, and pay for every switch; one after the other, each is
    served in a twentieth of that time once their turns have spread out.
    """
    _ours.held = _TURN.acquire(timeout=_PATIENCE_SECONDS)
    try:
        yield
    finally:
        _give_up()


def breath() -> None:
    """Let the browser draw what it has, and others have their turn, before the rest is sent."""
    ours = _give_up()
    time.sleep(_BREATH_SECONDS)
    if ours:
        _ours.held = _TURN.acquire(timeout=_PATIENCE_SECONDS)


def _give_up() -> bool:
    held = getattr(_ours, "held", False)
    if held:
        _ours.held = False
        _TURN.release()
    return held
