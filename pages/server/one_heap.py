"""One heap for the threads of this server, which hold large arrays for a short time."""

from __future__ import annotations

import ctypes
import sys

# From malloc.h of the GNU C library.
_M_ARENA_MAX = -8


def share_one_heap() -> None:
    """Let all threads of this process use one heap (GNU C library only), from its start on.

    The library would give each thread a heap of its own and keep there what that thread has freed:
    60 MB more on MNIST's panels, and hundreds in a server whose visitors come and go for minutes.
    LAPACK takes the time, not allocation, so sharing costs nothing. It changes the whole process
    for good, so only a server does it; whoever imports `dpcore` keeps the allocator as it is.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, 1)
