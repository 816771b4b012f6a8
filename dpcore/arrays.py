"""Array types, thread pools, and parallel work on blocks of rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from threading import Thread
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
"""Single or double precision."""

IntArray = NDArray[np.integer[Any]]
"""Integers: labels, row numbers, counts."""

AnyArray = NDArray[Any]
"""Arrays of any type, for example class labels that are strings."""

BoolArray = NDArray[np.bool_]


P = ParamSpec("P")
R = TypeVar("R")


@cache
def can_start_threads() -> bool:
    """Return whether this Python can start threads; Python in a browser cannot."""
    thread = Thread(target=int)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


def executor(workers: int) -> Executor:
    """Return a pool of threads, or one that runs each job on submission if threads cannot start.

    Jobs must not wait for a job that is submitted later.
    """
    return ThreadPoolExecutor(workers) if can_start_threads() else _SerialExecutor()


class _SerialExecutor(Executor):
    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future: Future[R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001, stored in the future, as in a thread
            future.set_exception(error)
        return future


# Queried once, because the query takes longer than the moment of a small site.
PROCESSORS = os.cpu_count() or 1

Block = TypeVar("Block")
Made = TypeVar("Made")


def row_blocks(rows: IntArray, block_rows: int) -> Iterator[slice | IntArray]:
    """Yield blocks of ascending row numbers; adjacent rows as a slice, which needs no copy."""
    for start in range(0, len(rows), block_rows):
        block = rows[start : start + block_rows]
        first, last = int(block[0]), int(block[-1])
        yield slice(first, last + 1) if last - first == len(block) - 1 else block


def map_blocks(
    make: Callable[[Block], Made], blocks: Iterable[Block], workers: int = PROCESSORS
) -> Iterator[Made]:
    """Yield make(block) for each block, in order, computed by parallel threads."""
    blocks = iter(blocks)
    first = list(islice(blocks, 2 * workers))
    if workers < 2 or len(first) < 2:
        yield from map(make, first)
        yield from map(make, blocks)
        return
    with executor(min(workers, len(first))) as pool:
        waiting = [pool.submit(make, block) for block in first]
        for block in blocks:
            yield waiting.pop(0).result()
            waiting.append(pool.submit(make, block))
        yield from (each.result() for each in waiting)
