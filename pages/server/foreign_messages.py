"""Messages that no browser sends: one line each in the log, and a bound on how many."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable

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
_MOST_LINES, _SECONDS, _LONGEST = 20, 60.0, 200


class OneLine(logging.Filter):
    """Leaves one line of what is said of foreign messages, and so many of them a minute."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        super().__init__()
        self._now, self._lock = now, threading.Lock()
        self._began, self._n_lines = -_SECONDS, 0

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        is_text = _is_of_a_text(error)
        if not said.startswith(_TOLD) and not is_text:
            return True
        if is_text:
            said, error = "A text where Streamlit sends bytes", None
        with self._lock:
            if self._now() - self._began >= _SECONDS:
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
