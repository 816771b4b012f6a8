"""Limit on the threads of BLAS, shared by all threads of the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_users: list[object] = []
_limits: list[Any] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while any thread of this process is in the context.

    Results must not depend on the number of threads: a product that is split over two threads is
    summed in another order, which changes its last digits. Units of a sweep, sites and sessions run
    in parallel instead, which is faster than threads inside small products.
    """
    user = object()
    with _lock:
        if not _users:
            _limits.append(_controller().limit(limits=1, user_api="blas"))
        _users.append(user)
    try:
        yield
    finally:
        with _lock:
            _users.remove(user)
            if not _users:
                _limits.pop().restore_original_limits()


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    # The search for the libraries of a process is slow, and its result does not change.
    return ThreadpoolController()
