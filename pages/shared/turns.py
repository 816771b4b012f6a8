"""Visitors take turns: one script at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TURN = threading.Lock()
# Somebody's long computation must not keep the others from answers that are ready.
_PATIENCE_SECONDS = 0.3


@contextmanager
def taken() -> Iterator[None]:
    """Wait until nobody else's page is being written, or for a moment at most.

    The interpreter runs one thread at a time. Twenty scripts at once share it in slices, so that
    everybody waits for the last one, and pay for every switch; one after the other, each is
    served in a twentieth of that time once their turns have spread out.
    """
    mine = _TURN.acquire(timeout=_PATIENCE_SECONDS)
    try:
        yield
    finally:
        if mine:
            _TURN.release()
