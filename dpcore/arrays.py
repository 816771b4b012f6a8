"""Array types, threads where there are any, and blocks of rows worked on side by side."""

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

# Arrays by what they hold; their shapes stand in the docstrings.

FloatArray = NDArray[np.floating[Any]]
"""Single or double precision."""

IntArray = NDArray[np.integer[Any]]
"""Whole numbers: labels, row numbers, counts."""

AnyArray = NDArray[Any]
"""Whatever the caller brings: class labels may be words."""

BoolArray = NDArray[np.bool_]


P = ParamSpec("P")
R = TypeVar("R")


@cache
def threads_start() -> bool:
    """Whether this Python starts threads; one in a browser's tab does not."""
    thread = Thread(target=int)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


def executor(workers: int) -> Executor:
    """So many threads; where none starts, each job is done as it is submitted, in turn.

    Jobs must therefore not wait for one that is submitted after them.
    """
    return ThreadPoolExecutor(workers) if threads_start() else _InTurn()


class _InTurn(Executor):
    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future: Future[R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001, its place is the future, as in a thread
            future.set_exception(error)
        return future


# Blocks of a table's rows, worked on side by side and taken in order.

# Asked once: the system takes longer to say it than a small site's moment takes.
PROCESSORS = os.cpu_count() or 1

Block = TypeVar("Block")
Made = TypeVar("Made")


def row_blocks(rows: IntArray, block_rows: int) -> Iterator[slice | IntArray]:
    """So many of these ascending row numbers at a time; neighbours as a slice, not to be copied."""
    for start in range(0, len(rows), block_rows):
        block = rows[start : start + block_rows]
        first, last = int(block[0]), int(block[-1])
        yield slice(first, last + 1) if last - first == len(block) - 1 else block


def mapped(
    make: Callable[[Block], Made], blocks: Iterable[Block], workers: int = PROCESSORS
) -> Iterator[Made]:
    """What is made of each block, in order; of a few blocks at a time by that many threads."""
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
