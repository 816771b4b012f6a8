"""Encode a table's rows as integers on the dictionary's grid.

No cell can make a release fail: a missing or unreadable number becomes the column's middle, a
number beyond a limit becomes the limit, and an unknown level sets no level. Their counts are for
the data holder only. The first rows of each person are selected; rows without a person are
skipped.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.release.cells import (
    PLAIN,
    Cells,
    Marks,
    name_of_text,
    names_as_written,
    names_of,
    numbers_of,
    without_missing,
)
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.integer_moments import (
    exact_sum,
)
from dpcore.release.integer_rows import are_within, on_grid
from dpcore.release.table_file import Block
from dpcore.release.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


RowFunction: TypeAlias = Callable[[FloatArray], FloatArray]


# What is worked on together stays in a processor's cache.
_CELLS_IN_CACHE = 1 << 16


# Each has a block of its own, of 16 MB.
_MOST_THREADS = 4


@dataclass
class Reading:
    """What was met in the table: for the holder's eyes, and not for publication.

    Attributes
    ----------
    n_rows : int
        Rows read.
    n_left_out : int
        Rows without a person, or beyond the most that a person may have.
    missing, clipped : Counter of str
        Cells of each column: without a number or a known level, and beyond a limit.
    """

    n_rows: int = 0
    n_left_out: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    clipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Reading) -> None:
        """Count what was met in another part of the table, too."""
        self.n_rows += other.n_rows
        self.n_left_out += other.n_left_out
        self.missing.update(other.missing)
        self.clipped.update(other.clipped)

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """Columns without a number, or a known level, in any row."""
        return tuple(name for name, n in self.missing.items() if 0 < n == self.n_rows)


def grid_blocks(
    table: Table,
    dictionary: Dictionary,
    reading: Reading | None = None,
    *,
    then: RowFunction = lambda rows: rows,
) -> Iterator[FloatArray]:
    """The rows of a table on the grid, in blocks; some are made while one is worked with.

    Parameters
    ----------
    table : Table
    dictionary : Dictionary
    reading : Reading, optional
        Counts what is met.
    then : callable
        What becomes of some rows on the grid, each by itself, while they are in the processor's
        cache; it may write over them.
    Yields: ndarray of whole float64, shape (some rows, n_features), from -GRID to GRID but for
        `then`
    Raises `ParameterError` if a column is of a type that is neither number nor text.
    """
    limits = _limits(dictionary)

    def prepared(values: AnyArray) -> FloatArray:
        rows = np.empty(values.shape)
        deque(_pieces(values, limits, then, rows), maxlen=0)
        return rows

    values = _kept_values(table, dictionary, reading, limits)
    yield from _side_by_side(prepared, values, table.n_threads)


def grid_sums(
    table: Table, dictionary: Dictionary, reading: Reading, *, then: RowFunction
) -> Iterator[tuple[IntArray, int]]:
    """The exact sum of each of the blocks that `grid_blocks` gives, and its number of rows."""
    limits = _limits(dictionary)

    def summed(values: AnyArray) -> tuple[IntArray, int]:
        return exact_sum(_pieces(values, limits, then), dictionary.n_features)

    values = _kept_values(table, dictionary, reading, limits)
    yield from _side_by_side(summed, values, table.n_threads)


def _kept_values(
    table: Table, dictionary: Dictionary, reading: Reading | None, limits: FloatArray
) -> Iterator[AnyArray]:
    """Features of the rows that count, in blocks."""
    rows_of = Counter[str]()
    for block in table.blocks():
        require_decimal_mark(block, dictionary)
        values = _values(block, dictionary)
        kept = np.ones(len(values), dtype=bool)
        if dictionary.person is not None:
            people = people_of(block, dictionary.person, dictionary.marks_of(None))
            kept = _kept(people, rows_of, dictionary.at_most)
        if reading is not None and len(values):
            _count(reading, values, kept, dictionary, limits)
        if len(values := values if kept.all() else values[kept]):
            yield values


def require_decimal_mark(block: Block, dictionary: Dictionary) -> None:
    """Where a file may have either, it is asked for: a guess from the rows would depend on them."""
    are_numbers = [not (each.levels or each.days_since) for each in dictionary.columns]
    are_open = [each.decimal is None for each in dictionary.columns]
    if (
        block.is_decimal_open
        and dictionary.decimal is None
        and any(
            is_number and is_open for is_number, is_open in zip(are_numbers, are_open, strict=True)
        )
    ):
        raise ParameterError(
            "decimal", "said, as a point or a comma: cells are not separated by commas", "neither"
        )


def _side_by_side(
    work: Callable[[AnyArray], T], blocks: Iterator[AnyArray], n_threads: int | None = None
) -> Iterator[T]:
    """What comes of each block, in their order, a few of them at once."""
    if n_threads == 1:
        yield from map(work, blocks)
        return
    n_threads = n_threads or min(os.cpu_count() or 1, _MOST_THREADS)
    with ThreadPoolExecutor(n_threads) as pool:
        coming: deque[Future[T]] = deque()
        for block in blocks:
            coming.append(pool.submit(work, block))
            if len(coming) >= n_threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def _pieces(
    values: AnyArray, limits: FloatArray, then: RowFunction, rows: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Rows on the grid, so few at a time that whoever takes them finds them in the cache."""
    step = max(1, _CELLS_IN_CACHE // values.shape[1])
    buffer, (lower, upper, middle) = np.empty((step, values.shape[1])), limits
    for start in range(0, len(values), step):
        some = values[start : start + step]
        out = buffer[: len(some)] if rows is None else rows[start : start + step]
        done = then(on_grid(some, lower, upper, middle, out))
        if done is not out:
            out[:] = done
        yield out


def _limits(dictionary: Dictionary) -> FloatArray:
    """Lower and upper limit and middle of every feature; levels go from 0, their middle, to 1."""
    of_columns = [
        [(0.0, 1.0, 0.0)] * len(column.levels) or [(column.lower, column.upper, column.middle)]
        for column in dictionary.columns
    ]
    return np.array(list(chain(*of_columns)), dtype=np.float64).T


def _values(block: Block, dictionary: Dictionary) -> AnyArray:
    """Features as numbers: not a number where there is none, and 0 or 1 for levels."""
    matrix = block.matrix
    has_levels = dictionary.n_features > len(dictionary.columns)
    marks = [
        dictionary.marks_of(column, block.decimal, block.thousands) for column in dictionary.columns
    ]
    is_plain = not has_levels and not any(each.missing for each in marks)
    if matrix is not None and matrix.dtype.kind in "fiub" and is_plain:
        return matrix[:, : dictionary.n_features]
    found = [
        _features(column, block[column.name], each)
        for column, each in zip(dictionary.columns, marks, strict=True)
    ]
    # A column's cells lie side by side, as they come, and as narrow as they come.
    kinds = {each.dtype for each in found}
    kind = kinds.pop() if len(kinds) == 1 else np.dtype(np.float64)
    values, start = np.empty((len(found[0]), dictionary.n_features), kind, order="F"), 0
    for each in found:
        stop = start + each.shape[1]
        values[:, start:stop] = each
        start = stop
    return values


def _features(column: Column, cells: Cells, marks: Marks) -> AnyArray:
    """A column's features side by side, of shape (rows, 1) or (rows, levels)."""
    if not column.levels:
        return numbers_of(cells, column.name, marks)[:, None]
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = pa.array(map(name_of_text, column.levels), pa.string())
    level = pc.index_in(names_of(cells, column.name, marks), value_set=levels, skip_nulls=True)
    position = pc.fill_null(level, -1).to_numpy(zero_copy_only=False)
    on: AnyArray = position[:, None] == np.arange(len(column.levels))
    return on


def _count(
    reading: Reading,
    values: AnyArray,
    kept: BoolArray,
    dictionary: Dictionary,
    limits: FloatArray,
) -> None:
    reading.n_rows += len(values)
    reading.n_left_out += int(np.count_nonzero(~kept))
    lower, upper, _ = limits
    within, start = are_within(values, lower, upper), 0
    if within.all() and len(within) == len(dictionary.columns):
        return
    for column in dictionary.columns:
        cells = values[:, start : start + len(column.features)]
        if column.levels:
            reading.missing[column.name] += int((~cells.any(axis=1)).sum())
        elif not within[start]:
            clipped = (cells < lower[start]) | (cells > upper[start])
            reading.clipped[column.name] += int(clipped.sum())
            reading.missing[column.name] += int(np.isnan(cells).sum())
        start += len(column.features)


def people_of(block: Block, person: str, marks: Marks = PLAIN) -> pa.Array:
    """The name of each row's person, null where there is none.

    marks: Say which cells name nobody.
    """
    cells = block[person]
    if block.are_texts and not isinstance(cells, np.ndarray):
        return without_missing(names_as_written(cells), marks)
    return names_of(cells, person, marks)


def _kept(people: pa.Array, rows_of: Counter[str], at_most: int) -> BoolArray:
    kept = np.zeros(len(people), dtype=bool)
    for row, person in enumerate(people.to_pylist()):
        if person is not None and rows_of[person] < at_most:
            rows_of[person] += 1
            kept[row] = True
    return kept
