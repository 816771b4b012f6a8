"""A server's process: its memory over days, its log, what it imports beforehand, public demos."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module

import streamlit as st

from dpcore.experiments.store import SIZE_VARIABLE
from pages.shell.streamlit_internals import expire_sessions, set_server_option

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


# A server for strangers: no table is taken, no room is opened, nothing is written.
#
# `DPCORE_PUBLIC_DEMO=1` says so for the whole server.

VARIABLE = "DPCORE_PUBLIC_DEMO"
# Places that take people's data, open rooms on this server, or write releases.
REFUSED = frozenset({"own_data", "release", "classroom"})


def is_public_demo() -> bool:
    """Whether this server is one."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def restrict_server() -> None:
    """As a server starts: nothing is kept on disk, and no upload is read."""
    if is_public_demo():
        from pages.shell import own_table

        os.environ[SIZE_VARIABLE] = "0"
        os.environ.pop(own_table.FOLDER_VARIABLE, None)
        set_server_option("server.maxUploadSize", 0)


def refuses(place: str) -> bool:
    """Whether a place is closed to the visitors of a public demo."""
    return is_public_demo() and place in REFUSED


def say_closed() -> None:
    """What stands in the place of a closed page."""
    st.info(
        "This is a public demo: it takes no tables, opens no rooms and writes nothing. On your own "
        "machine `pip install 'dp-pca-lab[dashboard]'` and `dp-pca-lab` open all of it.",
        icon="🔒",
    )


# Messages that no browser sends: one line each in the log, and a bound on how many.

# Where Streamlit and its web server say that they could not read a message, with a traceback.
_LOGGERS = (
    "streamlit.web.server.starlette.starlette_websocket",
    "streamlit.runtime.app_session",
    "streamlit.web.server.app_session",
    "uvicorn.error",
)
_TOLD = (
    "Error deserializing back message",
    "Error processing back message",
    "Client tried to ",
    "Client WebSocket message size ",
    "Rejecting WebSocket connection ",
    "No handler for ",
    "Invalid HTTP request received",
)
# Where the reading of a text ends; the web server says of it what it says of any error of ours.
_READS_BYTES = ("receive_bytes", "_websocket_endpoint")
_MOST_LINES, _MINUTE, _LONGEST = 20, 60.0, 200


class OneLine(logging.Filter):
    """Leaves one line of what is said of foreign messages, and so many of them a minute."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        super().__init__()
        self._now, self._lock = now, threading.Lock()
        self._began, self._n_lines = -_MINUTE, 0

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        is_text = _is_of_a_text(error)
        if not said.startswith(_TOLD) and not is_text:
            return True
        if is_text:
            said, error = "A text where Streamlit sends bytes", None
        with self._lock:
            if self._now() - self._began >= _MINUTE:
                self._began, self._n_lines = self._now(), 0
            self._n_lines += 1
            n_lines = self._n_lines
        if n_lines > _MOST_LINES:
            return False
        told = said if error is None else f"{said.strip()} ({type(error).__name__}: {error})"
        # What a visitor sent may be in it, line breaks and control characters too.
        record.msg = told[:_LONGEST].encode("unicode_escape").decode("ascii")
        record.args, record.exc_info, record.exc_text = (), None, None
        if n_lines == _MOST_LINES:
            record.msg += " (the last of this kind that is logged this minute)"
        return True


def _is_of_a_text(error: BaseException | None) -> bool:
    """Whether it was raised where a message is read as bytes and is a text."""
    if not isinstance(error, (KeyError, TypeError)) or error.__traceback__ is None:
        return False
    return traceback.extract_tb(error.__traceback__)[-1].name in _READS_BYTES


def keep_to_one_line() -> None:
    """For the whole server, as it starts."""
    one_line = OneLine()
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(one_line)


# What is imported before anybody asks for it.


def preload() -> None:
    """Import everything that the first page needs, and read its data set."""
    from dpcore.data import load_dataset
    from pages.server import caches
    from pages.shell.parameters import DEFAULTS

    for name in ("explore.play.page", "shell.story_card", "widgets.session_ledger"):
        import_module(f"pages.{name}")
    caches.one_blas_thread()
    load_dataset(DEFAULTS["dataset"])
    # Every other page needs it, and waits for it.
    import_module("pandas")
    # What has been imported stays: collections need not look at it again.
    gc.freeze()
