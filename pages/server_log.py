"""Log of the server: one line for a message that no browser sends, and limits per minute.

Streamlit and its web server log a traceback for each malformed WebSocket message and for each run
that ends with an error, so that anyone who reaches the port could fill the disk.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable

# Streamlit has no option for single messages; its level of logging also hides this app's errors.
# A logger with another name in a later version is not limited, which `tests/server/test_log.py`
# detects.
_LOGGERS = (
    "streamlit.web.server.starlette.starlette_websocket",
    "streamlit.runtime.app_session",
    "streamlit.error_util",
    "uvicorn.error",
)
_BEGINNINGS = (
    "Error deserializing back message",
    "Error processing back message",
    "Client tried to ",
    "Client WebSocket message size ",
    "Rejecting WebSocket connection ",
    "No handler for ",
    "Invalid HTTP request received",
)
# Functions of the web server that fail if a frame contains text instead of bytes.
_BYTE_READERS = ("receive_bytes", "_websocket_endpoint")
# Streamlit's error if a widget state has an empty id, which no browser sends.
_EMPTY_ID = 'has no key ""'
_MAX_LINES, _MAX_TRACEBACKS, _SECONDS, _MAX_LENGTH = 20, 5, 60.0, 200


class MalformedMessages(logging.Filter):
    """Filter that shortens records about malformed messages to one line and limits their number.

    Errors of this app keep their tracebacks, of which there is also a limit.

    now: Function that returns seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic):
        super().__init__()
        self._now, self._lock = now, threading.Lock()
        self._start, self._n_lines, self._n_tracebacks = -_SECONDS, 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is logged."""
        message = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        is_text_frame = _is_text_frame(error)
        is_malformed = message.startswith(_BEGINNINGS) or is_text_frame or _EMPTY_ID in str(error)
        if error is None and not is_malformed:
            return True
        with self._lock:
            if self._now() - self._start >= _SECONDS:
                self._start, self._n_lines, self._n_tracebacks = self._now(), 0, 0
            if not is_malformed and self._n_tracebacks < _MAX_TRACEBACKS:
                self._n_tracebacks += 1
                return True
            self._n_lines += 1
            n_lines = self._n_lines
        if n_lines > _MAX_LINES:
            return False
        if is_text_frame:
            message, error = "A client sent text instead of bytes", None
        line = message if error is None else f"{message.strip()} ({type(error).__name__}: {error})"
        # A visitor's bytes may contain line breaks and control characters.
        record.msg = line[:_MAX_LENGTH].encode("unicode_escape").decode("ascii")
        record.args, record.exc_info, record.exc_text = (), None, None
        return True


def _is_text_frame(error: BaseException | None) -> bool:
    if not isinstance(error, (KeyError, TypeError)) or error.__traceback__ is None:
        return False
    return traceback.extract_tb(error.__traceback__)[-1].name in _BYTE_READERS


def limit_malformed_messages() -> None:
    """Install the filter on the loggers of Streamlit and its web server."""
    message_filter = MalformedMessages()
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(message_filter)
