"""Count how a dictionary reads a table, before anything is charged.

The counts are exact and not private; nothing is written. Use them to correct how cells are
written (a decimal mark, a unit, a code). Limits that are changed because of them were read from
the rows, which violates the assumptions of a certificate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arrays import BoolArray
from dpcore.errors import truncate_text
from dpcore.release.cells import Cells, Marks, are_missing, name_of_text, names_of, numbers_of
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.encoding import people_of, require_balanced_quotes, require_decimal_mark
from dpcore.release.table_file import Block
from dpcore.release.tables import Table

_MOST_EXAMPLES, _LONGEST_EXAMPLE = 5, 30


@dataclass
class ColumnCounts:
    """Counts of the cells of one column.

    Attributes
    ----------
    missing : int
        Empty cells, and codes of missing cells.
    unknown : int
        Other cells without a number, or without a level of the dictionary.
    below, above : int
        Cells beyond a limit, which are moved to it.
    examples : list of str
        The first different `unknown` cells, shortened. They are private: show them only to the
        data holder.
    """

    missing: int = 0
    unknown: int = 0
    below: int = 0
    above: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass
class Inspection:
    """Exact counts of a table. They are not private, and for the data holder only.

    Attributes
    ----------
    n_rows : int
    columns : dict of str to ColumnCounts
        Counts of the dictionary's columns, in their order.
    n_people : int or None
        Number of names in the person column; None without one.
    n_nameless, n_beyond : int
        Rows without a person, and rows beyond `at_most` of one person. Both are skipped.
    n_joined_lines : int
        Lines of a text file that quotes joined to the line before.
    n_empty_rows : int
        Rows of a text or sheet without any cell, blank lines included. They are not read.
    """

    n_rows: int = 0
    columns: dict[str, ColumnCounts] = field(default_factory=dict)
    n_people: int | None = None
    n_nameless: int = 0
    n_beyond: int = 0
    n_joined_lines: int = 0
    n_empty_rows: int = 0

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """Columns without a number, or a known level, in any row."""
        return tuple(
            name
            for name, counts in self.columns.items()
            if self.n_rows and counts.missing + counts.unknown == self.n_rows
        )


def inspect_table(data: Any, dictionary: Dictionary) -> Inspection:
    """Count the cells that a release would read. Nothing is charged or written.

    Parameters
    ----------
    data : path, TableFile, mapping of str to arrays, DataFrame, ndarray, Dask array or DataFrame
        Argument of `Table`.
    dictionary : Dictionary

    Raises
    ------
    ParameterError
        If the table does not fit the dictionary, or its layout is ambiguous.
    OSError
        If a file cannot be read.
    """
    inspection = Inspection(columns={column.name: ColumnCounts() for column in dictionary.columns})
    rows_of = Counter[str]()
    table = Table(data, dictionary.keys)
    for block in table.blocks():
        require_decimal_mark(block, dictionary)
        for column in dictionary.columns:
            marks = dictionary.marks_of(column, block.decimal, block.thousands)
            cells, counts = block[column.name], inspection.columns[column.name]
            _count_cells(counts, cells, column, marks)
        inspection.n_rows += len(block[dictionary.keys[0]])
        if dictionary.person is not None:
            inspection.n_nameless += _count_people(rows_of, block, dictionary)
    require_balanced_quotes(table, dictionary)
    inspection.n_joined_lines, inspection.n_empty_rows = table.n_joined_lines, table.n_empty_rows
    if dictionary.person is not None:
        inspection.n_people = len(rows_of)
        inspection.n_beyond = sum(max(0, rows - dictionary.at_most) for rows in rows_of.values())
    return inspection


def _count_cells(counts: ColumnCounts, cells: Cells, column: Column, marks: Marks) -> None:
    if column.levels:
        names = names_of(cells, column.name, marks)
        is_missing = _is_null(names)
        is_read = _is_in(names, column.levels)
    else:
        numbers = numbers_of(cells, column.name, marks)
        is_missing = are_missing(cells, column.name, marks)
        is_read = ~np.isnan(numbers)
        counts.below += int(np.count_nonzero(numbers < column.lower))
        counts.above += int(np.count_nonzero(numbers > column.upper))
    counts.missing += int(np.count_nonzero(is_missing))
    is_unknown = ~is_missing & ~is_read
    counts.unknown += int(np.count_nonzero(is_unknown))
    if is_unknown.any() and len(counts.examples) < _MOST_EXAMPLES:
        _add_examples(counts.examples, names_of(cells, column.name, marks), is_unknown)


def _add_examples(examples: list[str], names: pa.Array, is_unknown: BoolArray) -> None:
    for name in names.filter(pa.array(is_unknown)).unique().to_pylist():
        if len(examples) == _MOST_EXAMPLES:
            return
        example = truncate_text(name, _LONGEST_EXAMPLE)
        if example not in examples:
            examples.append(example)


def _count_people(rows_of: Counter[str], block: Block, dictionary: Dictionary) -> int:
    """Count each person's rows, and return the number of rows without a person."""
    people = people_of(block, dictionary.person or "", dictionary.marks_of(None))
    rows_of.update(people.drop_null().to_pylist())
    return int(people.null_count)


def _is_null(names: pa.Array) -> BoolArray:
    is_missing: BoolArray = names.is_null().to_numpy(zero_copy_only=False)
    return is_missing


def _is_in(names: pa.Array, levels: tuple[str, ...]) -> BoolArray:
    level_names = pa.array(map(name_of_text, levels), pa.string())
    is_level: BoolArray = pc.is_in(names, value_set=level_names, skip_nulls=True).to_numpy(
        zero_copy_only=False
    )
    return is_level
