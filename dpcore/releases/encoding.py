"""Cells of a table to whole numbers on the grid, each cell by itself.

No cell can make a release fail: what is missing or no number stands in the middle, what is beyond
a limit at the limit, an unknown level nowhere. How often that happened is for the holder alone. Of
a person with too many rows the first are kept; a row without a person belongs to nobody and is
left out.
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
from dpcore.releases.dictionary import Column, Dictionary
from dpcore.releases.exact.integer_moments import exact_sum
from dpcore.releases.exact.integer_rows import are_within, on_grid
from dpcore.releases.tables import Block, Cells, Table

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Then: TypeAlias = Callable[[FloatArray], FloatArray]

# What is read as a number; anything else in such a column is missing.
_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf(inity)?))$"

# What is worked on together stays in a processor's cache.
_CELLS_IN_CACHE = 1 << 16
# Each has a block of its own, of 16 MB.
_MOST_THREADS = 4

_NOTHING = {"None", "nan", "NaT", "<NA>"}


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


def grid_blocks(
    table: Table,
    dictionary: Dictionary,
    reading: Reading | None = None,
    *,
    then: Then = lambda rows: rows,
) -> Iterator[FloatArray]:
    """The rows of a table on the grid, in blocks; some are made while one is worked with.

    reading: Counts what is met.
    then: What becomes of some rows on the grid, each by itself, while they are in the processor's
        cache; it may write over them.

    Yields
    ------
    ndarray of whole float64, shape (some rows, n_features), from -GRID to GRID but for `then`

    Raises
    ------
    ParameterError
        If a column is of a type that is neither number nor text.
    """
    limits = _limits(dictionary)

    def prepared(values: AnyArray) -> FloatArray:
        rows = np.empty(values.shape)
        deque(_pieces(values, limits, then, rows), maxlen=0)
        return rows

    yield from _side_by_side(prepared, _kept_values(table, dictionary, reading, limits))


def grid_sums(
    table: Table, dictionary: Dictionary, reading: Reading, *, then: Then
) -> Iterator[tuple[IntArray, int]]:
    """The exact sum of each of the blocks that `grid_blocks` would give, and its number of rows."""
    limits = _limits(dictionary)

    def summed(values: AnyArray) -> tuple[IntArray, int]:
        return exact_sum(_pieces(values, limits, then), dictionary.n_features)

    yield from _side_by_side(summed, _kept_values(table, dictionary, reading, limits))


def _kept_values(
    table: Table, dictionary: Dictionary, reading: Reading | None, limits: FloatArray
) -> Iterator[AnyArray]:
    """Features of the rows that count, in blocks."""
    rows_of = Counter[str]()
    for block in table.blocks():
        values = _values(block, dictionary)
        kept = np.ones(len(values), dtype=bool)
        if dictionary.person is not None:
            people = texts(block[dictionary.person], dictionary.person)
            kept = _kept(people, rows_of, dictionary.at_most)
        if reading is not None and len(values):
            _count(reading, values, kept, dictionary, limits)
        if len(values := values if kept.all() else values[kept]):
            yield values


def _side_by_side(work: Callable[[AnyArray], T], blocks: Iterator[AnyArray]) -> Iterator[T]:
    """What comes of each block, in their order, a few of them at once."""
    n_threads = min(os.cpu_count() or 1, _MOST_THREADS)
    with ThreadPoolExecutor(n_threads) as pool:
        coming: deque[Future[T]] = deque()
        for block in blocks:
            coming.append(pool.submit(work, block))
            if len(coming) >= n_threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def _pieces(
    values: AnyArray, limits: FloatArray, then: Then, rows: FloatArray | None = None
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
    if matrix is not None and matrix.dtype.kind in "fiub" and not has_levels:
        return matrix[:, : dictionary.n_features]
    found = [_features(column, block[column.name]) for column in dictionary.columns]
    # A column's cells lie side by side, as they come, and as narrow as they come.
    kinds = {each.dtype for each in found}
    kind = kinds.pop() if len(kinds) == 1 else np.dtype(np.float64)
    values, start = np.empty((len(found[0]), dictionary.n_features), kind, order="F"), 0
    for each in found:
        stop = start + each.shape[1]
        values[:, start:stop] = each
        start = stop
    return values


def _features(column: Column, cells: Cells) -> AnyArray:
    """A column's features side by side, of shape (rows, 1) or (rows, levels)."""
    if not column.levels:
        return numbers(cells, column.name)[:, None]
    import pyarrow as pa
    import pyarrow.compute as pc

    level = pc.index_in(texts(cells, column.name), value_set=pa.array(column.levels))
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


def numbers(cells: Cells, name: str) -> FloatArray:
    """Cells as numbers, not a number where there is none."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub":
        return cells
    # What holds nothing but arrays of numbers goes without its 40 MB.
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _decoded(cells, name)
    if array.null_count == 0 and pa.types.is_primitive(array.type):
        plain: FloatArray = array.to_numpy(zero_copy_only=False)
        return plain
    if pa.types.is_string(array.type):
        trimmed = pc.utf8_trim_whitespace(array)
        is_number = pc.match_substring_regex(trimmed, _NUMBER)
        array = pc.if_else(is_number, trimmed, pa.scalar(None, pa.string()))
    floats = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan)
    found: FloatArray = floats.to_numpy(zero_copy_only=False)
    return found


def texts(cells: Cells, name: str) -> pa.Array:
    """Cells as trimmed strings, nothing where there is none; numbers as they print."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _decoded(cells, name)
    if pa.types.is_string(array.type):
        trimmed = pc.utf8_trim_whitespace(array)
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    if pa.types.is_integer(array.type):
        return array.cast(pa.string())
    floats = np.asarray(numbers(cells, name), dtype=np.float64)
    values, place = np.unique(floats, return_inverse=True)
    names = [None if np.isnan(value) else f"{value:.17g}" for value in values]
    return pa.array(names, pa.string()).take(pa.array(place))


def _decoded(cells: Cells, name: str) -> pa.Array:
    """Numbers as they are, any text as plain strings, nothing at all as missing text."""
    import pyarrow as pa

    array = _arrow(cells) if isinstance(cells, np.ndarray) else cells
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    if any(test(kind) for test in is_number) or pa.types.is_string(kind):
        return array
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return array.cast(pa.string())
    if pa.types.is_decimal(kind):
        return array.cast(pa.float64())
    raise ParameterError(f"column {name!r}", "of numbers or texts", str(kind))


def _arrow(cells: AnyArray) -> pa.Array:
    import pyarrow as pa

    if cells.dtype.kind == "f":
        return pa.array(cells.astype(np.float64))
    if cells.dtype.kind in "iubU":
        return pa.array(cells.astype(cells.dtype.newbyteorder("=")))
    # Of mixed types, each cell as it prints: how one is read shall not depend on others.
    printed = map(str, cells)
    return pa.array([None if text in _NOTHING else text for text in printed], pa.string())


def _kept(people: pa.Array, rows_of: Counter[str], at_most: int) -> BoolArray:
    kept = np.zeros(len(people), dtype=bool)
    for row, person in enumerate(people.to_pylist()):
        if person is not None and rows_of[person] < at_most:
            rows_of[person] += 1
            kept[row] = True
    return kept
