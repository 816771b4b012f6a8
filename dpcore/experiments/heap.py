"""One heap for the threads of a sweep, which hold large arrays for a short time."""

from __future__ import annotations

import ctypes
import sys

# From malloc.h of the GNU C library.
_M_ARENA_MAX = -8


def one_heap() -> None:
    """Let threads that begin from now on share the heap there is (GNU C library only).

    It would give each thread a heap of its own and keep there what that thread has freed: 60 MB
    more on MNIST's panels. LAPACK takes the time, not allocation, so sharing costs nothing.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, 1)
