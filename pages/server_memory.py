"""Memory of the server: unused results are dropped and freed memory returns to the system."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable

_CHECK_SECONDS = 5.0
_MAX_ARENAS = 2
_M_ARENA_MAX = -8  # from malloc.h of the GNU C library


def limit_arenas() -> None:
    """Limit the heaps of the GNU C library, which otherwise keeps up to eight per processor.

    Streamlit starts a thread for each session. Memory that one thread frees is not available to
    threads of another heap. `MALLOC_ARENA_MAX` in the environment takes precedence.
    """
    mallopt = _c_function("mallopt")
    if mallopt is not None and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt(_M_ARENA_MAX, _MAX_ARENAS)


def start_dropping_unused() -> None:
    """Start the thread that drops unused results."""
    threading.Thread(target=_drop_repeatedly, name="drop unused", daemon=True).start()


def _drop_repeatedly() -> None:
    # A server without visitors does not need the modules of the first page.
    while (cache := sys.modules.get("dpcore.experiments.engine.cache")) is None:
        time.sleep(_CHECK_SECONDS)
    time.sleep(_CHECK_SECONDS)
    _freeze_loaded_objects()
    trim = _c_function("malloc_trim")
    while True:
        # The heap has holes after results of different sizes; only a trim returns them.
        if cache.drop_unused(time.monotonic()) and trim is not None:
            trim(0)
        time.sleep(_CHECK_SECONDS)


def _freeze_loaded_objects() -> None:
    """Exempt the objects of loaded modules from later garbage collections.

    With forty visitors a full collection stopped all page runs for .2 s every seven seconds.
    """
    gc.collect()
    gc.freeze()


def _c_function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library, or None where the library has no such function."""
    if sys.platform != "linux":
        return None
    function: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    return function
