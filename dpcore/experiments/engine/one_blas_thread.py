"""One BLAS thread while numbers are computed: they must not depend on how many there are.

A product split over two threads is added up in another order than one that is not, and its last
digits differ. Units of a sweep, sites and sessions run side by side instead, which uses a
machine better than threads inside one small product.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_users: list[object] = []
_limits: list[Any] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread for as long as anybody in this process is inside."""
    me = object()
    with _lock:
        if not _users:
            _limits.append(_controller().limit(limits=1, user_api="blas"))
        _users.append(me)
    try:
        yield
    finally:
        with _lock:
            _users.remove(me)
            if not _users:
                _limits.pop().restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries of a process takes a while; they don't change.
    return ThreadpoolController()
