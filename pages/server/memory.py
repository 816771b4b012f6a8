"""A server's memory over days: one heap for all threads, and freed pages given back."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable

from pages.shell.streamlit_internals import expire_sessions

Trim = Callable[[int], int]
# From malloc.h of the GNU C library.
_M_ARENA_MAX = -8
_SECONDS = 20.0
# What is let go of then.
ON_TIDYING: list[Callable[[], None]] = []


def keep_flat() -> None:
    """Let this process take no more memory than what is alive, from its start on.

    The GNU C library gives each thread a heap of its own and keeps there what that thread has
    freed: 60 MB more on MNIST's panels, and hundreds where visitors come and go. One heap is
    enough, since LAPACK takes the time and not allocation. Sessions that have ended hang in cycles,
    and nothing is collected after each run of a script (`.streamlit/config.toml` says why), so
    that is done three times a minute, and the pages it frees go back to the system. All this
    changes the whole process, so only a server does it.
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is not None and hasattr(library, "mallopt"):
        library.mallopt(_M_ARENA_MAX, 1)
    trim = getattr(library, "malloc_trim", None)
    threading.Thread(target=_tidy_for_ever, args=(trim,), daemon=True).start()


def _tidy_for_ever(trim: Trim | None) -> None:
    while True:
        time.sleep(_SECONDS)
        tidy(trim)


def let_go() -> None:
    """Keep nothing of what sessions that have ended were holding."""
    for drop in ON_TIDYING:
        drop()


def tidy(trim: Trim | None) -> None:
    """Collect cycles, and give free pages back where the C library can."""
    expire_sessions()
    gc.collect()
    let_go()
    if trim is not None:
        trim(0)
