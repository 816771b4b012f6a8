"""Exact sums and second moments of a table's rows, before any noise. Not for publication."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.release.dictionary import Dictionary
from dpcore.release.encoding import Reading, RowFunction, grid_blocks, grid_sums
from dpcore.release.integer_moments import add_row_counts, exact_second_moment
from dpcore.release.integer_rows import GRID, LENGTH, scale_to_length
from dpcore.release.scales import Scales
from dpcore.release.tables import Table

Watch = Callable[[float], None]
T = TypeVar("T")


def ignore_progress(share: float) -> None:
    """Ignore the share of the table that was read."""


def sum_rows(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    reading: Reading,
    watch: Watch = ignore_progress,
) -> tuple[IntArray, int]:
    """Return the exact sum of the bounded rows on the grid, and their number.

    reading: Counts of missing and clipped cells are added to it.
    watch: Called with the share of the table that was read.
    """
    total, n_rows = np.zeros(dictionary.n_features, dtype=np.int64), 0
    sums = grid_sums(table, dictionary, reading, then=_bound_rows(dictionary, scales))
    for block_sum, n_block_rows in _watch_blocks(sums, table, watch):
        n_rows = add_row_counts(n_block_rows, n_rows)
        total += block_sum
    return total, n_rows


def moment_of_rows(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    centre: FloatArray,
    watch: Watch = ignore_progress,
    *,
    on_sphere: bool,
) -> IntArray:
    """Return the exact second moment of the prepared rows around a centre.

    centre: ndarray of whole float64, shape (n_features,)
    on_sphere: Scale every row to one length; otherwise only shorten longer rows.
    watch: See `sum_rows`.
    """
    reach = 0 if on_sphere else math.isqrt(scales.squared_norm)
    bound = _bound_rows(dictionary, scales)

    def prepare(rows: FloatArray) -> FloatArray:
        centred = bound(rows)
        centred -= centre
        return scale_to_length(centred, LENGTH, reach, out=centred)

    rows = grid_blocks(table, dictionary, then=prepare)
    return exact_second_moment(_watch_blocks(rows, table, watch), dictionary.n_features)


def bounded_blocks(
    table: Table, dictionary: Dictionary, scales: Scales, watch: Watch = ignore_progress
) -> Iterator[FloatArray]:
    """Yield the rows on the grid that `sum_rows` adds, in blocks."""
    rows = grid_blocks(table, dictionary, then=_bound_rows(dictionary, scales))
    return _watch_blocks(rows, table, watch)


def _watch_blocks(blocks: Iterator[T], table: Table, watch: Watch) -> Iterator[T]:
    reported = 0.0
    for block in blocks:
        yield block
        if table.share_read > reported:
            reported = table.share_read
            watch(reported)


def _bound_rows(dictionary: Dictionary, scales: Scales) -> RowFunction:
    """Return a function that shortens rows to the norm in the sum's sensitivity."""
    bound = math.isqrt(scales.squared_norm)
    if scales.squared_norm == len(dictionary.columns) * GRID**2:
        return lambda rows: rows
    return lambda rows: scale_to_length(rows, bound, bound, out=rows)
