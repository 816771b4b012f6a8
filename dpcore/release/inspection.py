"""Count how a dictionary reads a table, before anything is charged.

The counts are exact and not private; nothing is written. Use them to correct how cells are
written (a decimal mark, a unit, a code). Limits that are changed because of them were read from
the rows, which violates the assumptions of a certificate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arrays import BoolArray
from dpcore.release.cells import Cells, Marks, is_date, name_of_text, names_of, numbers_of
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.encoding import people_of, require_decimal_mark
from dpcore.release.table_file import Block
from dpcore.release.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class ColumnCounts:
    """Cells of one column.

    Attributes
    ----------
    missing : int
        With nothing in them, or a code that stands for nothing.
    unknown : int
        Neither missing nor a number, or no level of the dictionary.
    below, above : int
        Beyond a limit, and moved to it.
    """

    missing: int = 0
    unknown: int = 0
    below: int = 0
    above: int = 0


@dataclass
class Inspection:
    """What was met in a table.

    Attributes
    ----------
    n_rows : int
    columns : dict of str to ColumnCounts
        By the dictionary's columns, in their order.
    n_people : int or None
        Named in the dictionary's person column; None without one.
    n_nameless, n_beyond : int
        Rows without a person, and beyond the most that a person may have: both are left out.
    """

    n_rows: int = 0
    columns: dict[str, ColumnCounts] = field(default_factory=dict)
    n_people: int | None = None
    n_nameless: int = 0
    n_beyond: int = 0

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """Columns without a number, or a known level, in any row."""
        return tuple(
            name
            for name, counts in self.columns.items()
            if self.n_rows and counts.missing + counts.unknown == self.n_rows
        )


def inspect_table(data: Any, dictionary: Dictionary) -> Inspection:
    """Count what a release would read: nothing is charged, and nothing written.

    Parameters
    ----------
    data : path, TableFile, mapping of str to arrays, DataFrame, ndarray, Dask array or DataFrame
        As in `Table`.
    dictionary : Dictionary

    Raises
    ------
    ParameterError
        If the table does not fit the dictionary, or it cannot be told how it is to be read.
    OSError
        If a file cannot be read.
    """
    found = Inspection(columns={each.name: ColumnCounts() for each in dictionary.columns})
    rows_of = Counter[str]()
    for block in Table(data, dictionary.keys).blocks():
        require_decimal_mark(block, dictionary)
        for column in dictionary.columns:
            marks = dictionary.marks_of(column, block.decimal, block.thousands)
            cells, counts = block[column.name], found.columns[column.name]
            _count(counts, cells, column, marks)
        found.n_rows += len(block[dictionary.keys[0]])
        if dictionary.person is not None:
            found.n_nameless += _count_people(rows_of, block, dictionary)
    if dictionary.person is not None:
        found.n_people = len(rows_of)
        found.n_beyond = sum(max(0, rows - dictionary.at_most) for rows in rows_of.values())
    return found


def _count(counts: ColumnCounts, cells: Cells, column: Column, marks: Marks) -> None:
    if column.levels:
        names = names_of(cells, column.name, marks)
        is_missing = _is_null(names)
        is_read = _is_in(names, column.levels)
    else:
        numbers = numbers_of(cells, column.name, marks)
        is_missing = _is_missing(cells, column.name, marks)
        is_read = ~np.isnan(numbers)
        counts.below += int(np.count_nonzero(numbers < column.lower))
        counts.above += int(np.count_nonzero(numbers > column.upper))
    counts.missing += int(np.count_nonzero(is_missing))
    counts.unknown += int(np.count_nonzero(~is_missing & ~is_read))


def _count_people(rows_of: Counter[str], block: Block, dictionary: Dictionary) -> int:
    """Add up each person's rows; how many have none."""
    people = people_of(block, dictionary.person or "", dictionary.marks_of(None))
    rows_of.update(people.drop_null().to_pylist())
    return int(people.null_count)


def _is_missing(cells: Cells, name: str, marks: Marks) -> BoolArray:
    import pyarrow as pa

    if isinstance(cells, pa.Array) and is_date(cells.type):
        return _is_null(cells)
    return _is_null(names_of(cells, name, marks))


def _is_null(names: pa.Array) -> BoolArray:
    found: BoolArray = names.is_null().to_numpy(zero_copy_only=False)
    return found


def _is_in(names: pa.Array, levels: tuple[str, ...]) -> BoolArray:
    import pyarrow as pa

    known = pa.array(map(name_of_text, levels), pa.string())
    found: BoolArray = pc.is_in(names, value_set=known, skip_nulls=True).to_numpy(
        zero_copy_only=False
    )
    return found
