"""Cells of a table to whole numbers on the grid, each cell by itself.

No cell can make a release fail: what is missing or no number stands in the middle, what is beyond
a limit at the limit, an unknown level nowhere. How often that happened is for the holder alone. Of
a person with too many rows the first are kept; a row without a person belongs to nobody and is
left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arrays import AnyArray, BoolArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.releases.dictionary import Column, Dictionary
from dpcore.releases.exact.integer_rows import GRID, on_grid
from dpcore.releases.tables import Block, Cells, Table

# What is read as a number; anything else in such a column is missing.
_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf(inity)?))$"

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
    table: Table, dictionary: Dictionary, reading: Reading | None = None
) -> Iterator[FloatArray]:
    """The rows of a table on the grid, in blocks.

    Parameters
    ----------
    table : Table
    dictionary : Dictionary
    reading : Reading, optional
        Counts what is met.

    Yields
    ------
    ndarray of whole float64, shape (some rows, n_features), from -GRID to GRID

    Raises
    ------
    ParameterError
        If a column is of a type that is neither number nor text.
    """
    reading = Reading() if reading is None else reading
    rows_of: Counter[str] = Counter()
    for block in table.blocks():
        rows = _encoded(block, dictionary, reading)
        if dictionary.person is not None:
            texts = _texts(block[dictionary.person], dictionary.person)
            kept = _kept(texts, rows_of, dictionary.at_most)
            reading.n_left_out += int(np.count_nonzero(~kept))
            rows = rows[kept]
        yield rows


def on_grid_of(cells: Cells, column: Column, reading: Reading) -> FloatArray:
    """The features of one column, of shape (n_rows, n_features of the column).

    Parameters
    ----------
    cells : ndarray or pyarrow.Array, of numbers or texts
    column : Column
    reading : Reading
        Counts what is met.

    Raises
    ------
    ParameterError
        If the cells are neither.
    """
    if column.levels:
        level = pc.index_in(_texts(cells, column.name), value_set=pa.array(column.levels))
        position = pc.fill_null(level, -1).to_numpy(zero_copy_only=False)
        reading.missing[column.name] += int(np.count_nonzero(position < 0))
        one_hot: FloatArray = (position[:, None] == np.arange(len(column.levels))) * float(GRID)
        return one_hot
    values = _numbers(cells, column.name)
    reading.missing[column.name] += int(np.count_nonzero(np.isnan(values)))
    beyond = (values < column.lower) | (values > column.upper)
    reading.clipped[column.name] += int(np.count_nonzero(beyond))
    return on_grid(values, column.lower, column.upper, column.middle)[:, None]


def _encoded(block: Block, dictionary: Dictionary, reading: Reading) -> FloatArray:
    n_rows = len(block[dictionary.columns[0].name])
    reading.n_rows += n_rows
    rows, start = np.empty((n_rows, dictionary.n_features)), 0
    for column in dictionary.columns:
        stop = start + len(column.features)
        rows[:, start:stop] = on_grid_of(block[column.name], column, reading)
        start = stop
    return rows


def _numbers(cells: Cells, name: str) -> FloatArray:
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub":
        return cells.astype(np.float64)
    array = _decoded(cells, name)
    if pa.types.is_string(array.type):
        trimmed = pc.utf8_trim_whitespace(array)
        is_number = pc.match_substring_regex(trimmed, _NUMBER)
        array = pc.if_else(is_number, trimmed, pa.scalar(None, pa.string()))
    floats = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan)
    numbers: FloatArray = floats.to_numpy(zero_copy_only=False)
    return numbers


def _texts(cells: Cells, name: str) -> pa.Array:
    array = _decoded(cells, name)
    if pa.types.is_string(array.type):
        texts = pc.utf8_trim_whitespace(array)
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if pa.types.is_integer(array.type):
        return array.cast(pa.string())
    values, place = np.unique(_numbers(cells, name), return_inverse=True)
    names = [None if np.isnan(value) else f"{value:.17g}" for value in values]
    return pa.array(names, pa.string()).take(pa.array(place))


def _decoded(cells: Cells, name: str) -> pa.Array:
    """Numbers as they are, any text as plain strings, nothing at all as missing text."""
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
    if cells.dtype.kind in "fiubU":
        return pa.array(cells)
    # Of mixed types, each cell as it prints: how one is read shall not depend on others.
    texts = map(str, cells)
    return pa.array([None if text in _NOTHING else text for text in texts], pa.string())


def _kept(people: pa.Array, rows_of: Counter[str], at_most: int) -> BoolArray:
    kept = np.zeros(len(people), dtype=bool)
    for row, person in enumerate(people.to_pylist()):
        if person is not None and rows_of[person] < at_most:
            rows_of[person] += 1
            kept[row] = True
    return kept
