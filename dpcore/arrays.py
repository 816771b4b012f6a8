"""Array types, and blocks of rows worked on side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

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
    with ThreadPoolExecutor(min(workers, len(first))) as pool:
        waiting = [pool.submit(make, block) for block in first]
        for block in blocks:
            yield waiting.pop(0).result()
            waiting.append(pool.submit(make, block))
        yield from (each.result() for each in waiting)
