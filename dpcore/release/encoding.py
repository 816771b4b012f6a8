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
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from dpcore.release.integer_rows import are_within, clip_to_grid
from dpcore.release.table_file import Block
from dpcore.release.tables import Table

T = TypeVar("T")
RowFunction: TypeAlias = Callable[[FloatArray], FloatArray]
# Rows of one step fit into the processor's cache.
_CELLS_IN_CACHE = 1 << 16
# Each thread holds a block of 16 MB.
_MOST_THREADS = 4
MOST_JOINED_LINES = 10


@dataclass
class Reading:
    """Exact counts of a reading. They are not private, and for the data holder only.

    Attributes
    ----------
    n_rows : int
        Rows read.
    n_left_out : int
        Rows without a person, or more than the dictionary's `at_most` of one person.
    n_joined_lines : int
        Lines of a text file that quotes joined to the line before.
    n_empty_rows : int
        Rows of a text or sheet without any cell, blank lines included. They are not read.
    missing, clipped : Counter of str
        Cells of each column without a number or a known level, and beyond a limit.
    """

    n_rows: int = 0
    n_left_out: int = 0
    n_joined_lines: int = 0
    n_empty_rows: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    clipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Reading) -> None:
        """Add the counts of another part of the table."""
        self.n_rows += other.n_rows
        self.n_left_out += other.n_left_out
        self.n_joined_lines += other.n_joined_lines
        self.n_empty_rows += other.n_empty_rows
        self.missing.update(other.missing)
        self.clipped.update(other.clipped)

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """Columns without a number, or a known level, in any row."""
        return tuple(name for name, n in self.missing.items() if 0 < n == self.n_rows)

    @property
    def missing_shares(self) -> dict[str, float]:
        """Share of missing or unreadable cells of each column that has any, largest first."""
        shares = {name: n / self.n_rows for name, n in self.missing.items() if n}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))


def grid_blocks(
    table: Table,
    dictionary: Dictionary,
    reading: Reading | None = None,
    *,
    then: RowFunction = lambda rows: rows,
) -> Iterator[FloatArray]:
    """Yield the rows of a table on the grid, in blocks that are prepared in parallel.

    Parameters
    ----------
    table : Table
    dictionary : Dictionary
    reading : Reading, optional
        Counts are added to it.
    then : callable
        Function of some rows on the grid that treats each row by itself; it may overwrite them.
        Blocks are small enough for the processor's cache.
    Yields: ndarray of whole float64, shape (some rows, n_features), from -GRID to GRID before
        `then`
    Raises `ParameterError` if a column is of a type that is neither number nor text.
    """
    limits = _limits(dictionary)

    def prepared(values: AnyArray) -> FloatArray:
        rows = np.empty(values.shape)
        deque(_encode(values, limits, then, rows), maxlen=0)
        return rows

    values = _select_values(table, dictionary, reading, limits)
    yield from _map_blocks(prepared, values, table.n_threads)


def grid_sums(
    table: Table, dictionary: Dictionary, reading: Reading, *, then: RowFunction
) -> Iterator[tuple[IntArray, int]]:
    """Yield the exact sum and the number of rows of each block of `grid_blocks`."""
    limits = _limits(dictionary)

    def summed(values: AnyArray) -> tuple[IntArray, int]:
        return exact_sum(_encode(values, limits, then), dictionary.n_features)

    values = _select_values(table, dictionary, reading, limits)
    yield from _map_blocks(summed, values, table.n_threads)


def _select_values(
    table: Table, dictionary: Dictionary, reading: Reading | None, limits: FloatArray
) -> Iterator[AnyArray]:
    """Yield the features of the selected rows, in blocks."""
    rows_of = Counter[str]()
    for block in table.blocks():
        require_decimal_mark(block, dictionary)
        values = _feature_values(block, dictionary)
        is_selected = np.ones(len(values), dtype=bool)
        if dictionary.person is not None:
            people = people_of(block, dictionary.person, dictionary.marks_of(None))
            is_selected = _select_rows(people, rows_of, dictionary.at_most)
        if reading is not None and len(values):
            _count_cells(reading, values, is_selected, dictionary, limits)
        if len(values := values if is_selected.all() else values[is_selected]):
            yield values
    require_balanced_quotes(table, dictionary)
    if reading is not None:
        reading.n_joined_lines += table.n_joined_lines
        reading.n_empty_rows += table.n_empty_rows


def require_balanced_quotes(table: Table, dictionary: Dictionary) -> None:
    """Refuse a text file in which quotes joined many lines: rows would be lost silently.

    table: Table whose blocks have all been read.
    """
    if table.n_joined_lines > MOST_JOINED_LINES and not dictionary.multiline:
        raise ParameterError(
            "data",
            "a text in which quoted cells contain few line breaks, or multiline = true under "
            "[cells] of the dictionary; an unbalanced quote swallows rows",
            f"{table.n_joined_lines:,} lines that are part of a cell",
        )


def require_decimal_mark(block: Block, dictionary: Dictionary) -> None:
    """Refuse a file whose decimal mark is unknown: a guess would depend on the rows."""
    are_numbers = [not (column.levels or column.days_since) for column in dictionary.columns]
    are_open = [column.decimal is None for column in dictionary.columns]
    if (
        block.is_decimal_open
        and dictionary.decimal is None
        and any(
            is_number and is_open for is_number, is_open in zip(are_numbers, are_open, strict=True)
        )
    ):
        raise ParameterError(
            "decimal", "given as point or comma, since cells are not separated by commas", "neither"
        )


def _map_blocks(
    work: Callable[[AnyArray], T], blocks: Iterator[AnyArray], n_threads: int | None = None
) -> Iterator[T]:
    """Yield the result of each block, in order, from several threads."""
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


def _encode(
    values: AnyArray, limits: FloatArray, then: RowFunction, rows: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Yield rows on the grid, in pieces that fit into the processor's cache."""
    step = max(1, _CELLS_IN_CACHE // values.shape[1])
    buffer, (lower, upper, middle) = np.empty((step, values.shape[1])), limits
    for start in range(0, len(values), step):
        some = values[start : start + step]
        out = buffer[: len(some)] if rows is None else rows[start : start + step]
        done = then(clip_to_grid(some, lower, upper, middle, out))
        if done is not out:
            out[:] = done
        yield out


def _limits(dictionary: Dictionary) -> FloatArray:
    """Return lower limit, upper limit and middle of every feature; levels have 0, 1 and 0."""
    of_columns = [
        [(0.0, 1.0, 0.0)] * len(column.levels) or [(column.lower, column.upper, column.middle)]
        for column in dictionary.columns
    ]
    return np.array(list(chain(*of_columns)), dtype=np.float64).T


def _feature_values(block: Block, dictionary: Dictionary) -> AnyArray:
    """Return the features as numbers: NaN if missing, and 0 or 1 for levels."""
    matrix = block.matrix
    has_levels = dictionary.n_features > len(dictionary.columns)
    marks = [
        dictionary.marks_of(column, block.decimal, block.thousands) for column in dictionary.columns
    ]
    is_plain = not has_levels and not any(marks_of_column.missing for marks_of_column in marks)
    if matrix is not None and matrix.dtype.kind in "fiub" and is_plain:
        return matrix[:, : dictionary.n_features]
    features = [
        _features(column, block[column.name], marks_of_column)
        for column, marks_of_column in zip(dictionary.columns, marks, strict=True)
    ]
    # Columns keep their memory layout and their type if all have the same.
    kinds = {feature.dtype for feature in features}
    kind = kinds.pop() if len(kinds) == 1 else np.dtype(np.float64)
    values, start = np.empty((len(features[0]), dictionary.n_features), kind, order="F"), 0
    for feature in features:
        stop = start + feature.shape[1]
        values[:, start:stop] = feature
        start = stop
    return values


def _features(column: Column, cells: Cells, marks: Marks) -> AnyArray:
    """Return a column's features, shape (rows, 1) or (rows, levels)."""
    if not column.levels:
        return numbers_of(cells, column.name, marks)[:, None]
    levels = pa.array(map(name_of_text, column.levels), pa.string())
    level = pc.index_in(names_of(cells, column.name, marks), value_set=levels, skip_nulls=True)
    position = pc.fill_null(level, -1).to_numpy(zero_copy_only=False)
    on: AnyArray = position[:, None] == np.arange(len(column.levels))
    return on


def _count_cells(
    reading: Reading,
    values: AnyArray,
    is_selected: BoolArray,
    dictionary: Dictionary,
    limits: FloatArray,
) -> None:
    reading.n_rows += len(values)
    reading.n_left_out += int(np.count_nonzero(~is_selected))
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
    """Return the name of each row's person, null if there is none.

    marks: Codes of missing cells.
    """
    cells = block[person]
    if block.are_texts and not isinstance(cells, np.ndarray):
        return without_missing(names_as_written(cells), marks)
    return names_of(cells, person, marks)


def _select_rows(people: pa.Array, rows_of: Counter[str], at_most: int) -> BoolArray:
    is_selected = np.zeros(len(people), dtype=bool)
    for row, person in enumerate(people.to_pylist()):
        if person is not None and rows_of[person] < at_most:
            rows_of[person] += 1
            is_selected[row] = True
    return is_selected
