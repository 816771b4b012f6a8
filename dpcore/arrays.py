"""Array types, the largest entries of an array, and parallel work on blocks of rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
"""Single or double precision."""

IntArray = NDArray[np.integer[Any]]
"""Integers: labels, row numbers, counts."""

AnyArray = NDArray[Any]
"""Arrays of any type, for example class labels that are strings."""

BoolArray = NDArray[np.bool_]


# Queried once, because the query takes longer than the second moment of a small site.
PROCESSORS = os.cpu_count() or 1

Block = TypeVar("Block")
Made = TypeVar("Made")


def largest_entries(values: FloatArray, count: int) -> IntArray:
    """Return the indices of the entries with the largest absolute values, largest first."""
    order: IntArray = np.argsort(-np.abs(values), kind="stable")
    return order[:count]


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
    with ThreadPoolExecutor(min(workers, len(first))) as pool:
        waiting = [pool.submit(make, block) for block in first]
        for block in blocks:
            yield waiting.pop(0).result()
            waiting.append(pool.submit(make, block))
        yield from (future.result() for future in waiting)
