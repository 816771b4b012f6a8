"""Tables of people in files or in memory, read in blocks of the columns of a dictionary.

Memory is bounded by the size of a block, except for NPZ files and workbooks, which are unpacked as
a whole. Nothing is written. An unreadable file is reported in one sentence that repeats none of
its content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dpcore.errors import ParameterError
from dpcore.release.cells import Cells, normal_form, text_lengths
from dpcore.release.delimited_text import DelimitedText, find_header
from dpcore.release.numpy_files import free_mapped_pages, load_numpy_file
from dpcore.release.parquet_files import (
    ParquetPart,
    find_fragments,
    is_partitioned,
    open_parquet,
    parquet_parts,
    read_row_groups,
)
from dpcore.release.reading_limits import OF_THE_HOLDER
from dpcore.release.reading_process import read_in_process
from dpcore.release.table_file import (
    WORKBOOK,
    Block,
    Header,
    TableFile,
    refuse_damaged,
    require_columns,
)

# Cells of a block, and bytes of its texts.
_BLOCK_CELLS, _BLOCK_TEXT = 1 << 21, 1 << 26


class Table:
    """Source of rows that can be read several times.

    Parameters
    ----------
    data : path, TableFile, mapping of str to arrays (a DataFrame is one), ndarray, Dask array or
        DataFrame, pyarrow.dataset.Dataset
        A matrix has the dictionary's columns in their order. A path's ending gives the format, as
        in `TableFile`; the Parquet files of a folder, glob or URL are one table, in the order of
        their names (`parquet_parts`). Dask computes its tables part by part.
    keys : sequence of str
        Columns to read.
    width : int
        Number of features of an encoded row, if larger than the number of columns. It limits the
        rows of a block.

    Attributes
    ----------
    share_read : float
        Share of the table that the current reading has reached, from 0 to 1.
    n_joined_lines : int
        Lines of a text that quotes joined to the line before, after a complete reading.
    n_empty_rows : int
        Skipped rows of a text or sheet without any cell, after a complete reading.
    n_threads : int or None
        Number of threads that encode rows; None for one per processor.

    Raises
    ------
    ParameterError
        If data is not such a table, lacks one of the columns or has it twice, or its layout is
        ambiguous.
    OSError
        If the file cannot be opened.
    """

    def __init__(self, data: Any, keys: Sequence[str], width: int = 0) -> None:
        self.share_read = 0.0
        self.n_joined_lines = self.n_empty_rows = 0
        self.n_threads: int | None = None
        self._data = data
        self._keys = list(keys)
        self._rows = max(1, _BLOCK_CELLS // max(len(self._keys), width))
        is_file = isinstance(data, str | Path) and not is_partitioned(data)
        self._file = TableFile(data) if is_file else data
        self._text: DelimitedText | None = None
        self._parts: list[Callable[[], Block]] = []
        self._parquet: list[ParquetPart] | None = None
        if isinstance(data, ParquetPart):
            self._parquet = [data]
            return
        if is_partitioned(data):
            self._parquet = parquet_parts(data, self._keys)
        elif not isinstance(self._file, TableFile):
            self._file = None
            self._parts = list(self._parts_of(data))
        else:
            with refuse_damaged(self._file.ending, self._file.name):
                self._open(self._file)
        for _ in self.blocks():
            break

    def _open(self, file: TableFile) -> None:
        file.require_readable()
        if file.is_text:
            self._text = DelimitedText(file, self._keys)
        elif file.ending == WORKBOOK:
            block, _ = read_in_process(file, self._keys, OF_THE_HOLDER)
            self._parts = [lambda: block]
        elif file.ending.startswith(".np"):
            self._parts = list(self._parts_of(load_numpy_file(file)))

    def blocks(self) -> Iterator[Block]:
        """Yield the columns in blocks of some thousand rows.

        Raises
        ------
        ParameterError
            If a part of the file is not a table.
        """
        self.share_read = 0.0
        if self._parquet is not None:
            yield from self._parquet_blocks(self._parquet)
        elif self._parts or self._file is None:
            yield from self._blocks_of_parts()
        else:
            file = self._file
            if self._text is not None:
                read = self._text.batches
            else:
                read = partial(read_row_groups, file, self._keys, self._rows)
            with refuse_damaged(file.ending, file.name):
                for block, share in read():
                    yield from self._limit_rows(block)
                    self.share_read = share
            if self._text is not None:
                self.n_joined_lines = self._text.n_joined_lines
                self.n_empty_rows = self._text.n_empty_rows
        self.share_read = 1.0

    def _parquet_blocks(self, parts: Sequence[ParquetPart]) -> Iterator[Block]:
        n_all, n_before = max(1, sum(part.n_rows for part in parts)), 0
        for part in parts:
            with refuse_damaged(part.ending, part.name):
                for block, share in read_row_groups(part, self._keys, self._rows, part.groups):
                    yield from self._limit_rows(block)
                    self.share_read = (n_before + share * part.n_rows) / n_all
            n_before += part.n_rows

    def parts(self) -> list[tuple[Any, int]]:
        """Return parts that other processes can read, with their numbers of rows.

        Parts of a Dask table are not computed, and count as one row each.

        Raises
        ------
        ParameterError
            If the table is neither Parquet nor Dask.
        """
        file = self._file
        if self._parquet is not None:
            return [(part, part.n_rows) for part in self._parquet]
        if isinstance(file, TableFile) and file.ending == ".parquet" and file.content is None:
            return [(part, part.n_rows) for part in parquet_parts(file.path, self._keys)]
        if _is_dask(self._data):
            if hasattr(self._data, "columns"):
                return [
                    (part, 1)
                    for part in self._data[self._names_in(self._data.columns)].to_delayed()
                ]
            return [(part, 1) for part in self._data.rechunk({1: -1}).to_delayed().ravel()]
        raise ParameterError(
            "data", "Parquet (a file, folder, glob or URL) or a Dask table with a scheduler",
            file.name if isinstance(file, TableFile) else type(self._data).__name__,
        )  # fmt: skip

    def _limit_rows(self, block: Block) -> Iterator[Block]:
        """Yield blocks of at most `self._rows` rows and about `_BLOCK_TEXT` bytes of texts."""
        for rows in self._cut(block):
            part = block.copy_with({key: cells[rows] for key, cells in block.items()})
            part.matrix = None if block.matrix is None else block.matrix[rows]
            yield part

    def _cut(self, block: Block) -> Iterator[slice]:
        n_rows = len(block[self._keys[0]])
        of_columns = [text_lengths(cells) for cells in block.values()]
        lengths = [length for length in of_columns if length is not None]
        ends = np.cumsum(np.sum(lengths, axis=0, dtype=np.int64)) if lengths else np.zeros(n_rows)
        start = 0
        while start < n_rows:
            stop = start + self._rows
            before = ends[start - 1] if start else 0
            if ends[-1] - before > _BLOCK_TEXT:
                last = int(np.searchsorted(ends, before + _BLOCK_TEXT, side="right"))
                stop = min(stop, max(last, start + 1))
            yield slice(start, min(stop, n_rows))
            start = stop

    def _blocks_of_parts(self) -> Iterator[Block]:
        for number, part in enumerate(self._parts):
            columns = part()
            self.n_joined_lines, self.n_empty_rows = columns.n_joined_lines, columns.n_empty_rows
            n_rows, n_read = len(columns[self._keys[0]]), 0
            for block in self._limit_rows(columns):
                n_read += len(block[self._keys[0]])
                yield block
                self.share_read = (number + n_read / n_rows) / len(self._parts)
                free_mapped_pages(columns.matrix)

    def _parts_of(self, data: Any) -> Iterator[Callable[[], Block]]:
        """Yield functions that return the table's parts: one in memory, or those of Dask."""
        if not _is_dask(data):
            columns = self._columns_of(data)
            yield lambda: columns
        elif hasattr(data, "columns"):
            names = self._names_in(data.columns)
            for part in data[names].partitions:
                yield partial(self._compute_part, part)
        else:
            whole_rows = data.rechunk({1: -1})
            for number in range(whole_rows.numblocks[0]):
                yield partial(self._compute_part, whole_rows.blocks[number])

    def _compute_part(self, part: Any) -> Block:
        try:
            computed = part.compute()
        except UnicodeEncodeError as error:  # Dask stores texts in UTF-8
            raise ParameterError(
                "data", "of texts that UTF-8 can write", "half a surrogate pair"
            ) from error
        return self._columns_of(computed)

    def _columns_of(self, data: Any) -> Block:
        if isinstance(data, Mapping) and set(data) == {"X"} != set(self._keys):
            data = data["X"]
        if isinstance(data, np.ndarray):
            if data.ndim != 2 or data.shape[1] != len(self._keys):
                raise ParameterError(
                    "data", f"a matrix of {len(self._keys)} columns, in their order", data.shape
                )
            columns = Block(zip(self._keys, data.view(np.ndarray).T, strict=True))
            columns.matrix = data
            return columns
        try:
            names = self._names_in(data)
            source = data if isinstance(data, Block) else Block()
            cells = (_cells(data[name]) for name in names)
            columns = source.copy_with(dict(zip(self._keys, cells, strict=True)))
        except ParameterError:
            raise
        except (TypeError, KeyError, ValueError) as error:
            raise ParameterError("data", "a path, a table or a matrix", type(data)) from error
        if len(set(map(len, columns.values()))) > 1:
            raise ParameterError("data", "columns of one length", "others")
        return columns

    def _names_in(self, stored: Iterable[Any]) -> list[Any]:
        """Return the names of the columns as the table stores them."""
        names = {normal_form(str(name)): name for name in stored}
        require_columns(self._keys, [normal_form(str(name)) for name in stored])
        return [names[key] for key in self._keys]


def _is_dask(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] in {"dask", "dask_expr"}


def header_of(file: TableFile, keys: Sequence[str] = ()) -> Header | None:
    """Return the header of a text or workbook; None for other files.

    keys: Column names to find. Without any, the header is the given line, or the first that is
        not blank.
    Raises `ParameterError` if there is no such line, or the layout is ambiguous, and `OSError` if
    the file cannot be opened.
    """
    with refuse_damaged(file.ending, file.name):
        file.require_readable()
        if file.is_text:
            return find_header(file, keys)
        if file.ending == WORKBOOK:
            return read_in_process(file, keys, OF_THE_HOLDER)[1].header
        return None


def names_in(file: TableFile | Path | str) -> tuple[str, ...]:
    """Return the column names that Parquet or NPZ files store.

    file: The first file counts if it is a folder, glob or URL of Parquet files.
    Raises `ParameterError` if the file is damaged, or stores no names.
    """
    source: TableFile | ParquetPart
    if isinstance(file, TableFile):
        source = file
    else:
        first = find_fragments(file)[0]
        source = ParquetPart(first, os.path.basename(first.path), (), 0)
    with refuse_damaged(source.ending, source.name):
        if isinstance(source, TableFile):
            source.require_readable()
        if source.ending == ".parquet":
            with source.open() as stream, open_parquet(stream) as table:
                return tuple(map(normal_form, table.schema_arrow.names))
        if (
            isinstance(file, TableFile)
            and file.ending == ".npz"
            and (arrays := load_numpy_file(file)).keys() != {"X"}
        ):
            return tuple(arrays)
    raise ParameterError("data", "a file that names its columns", source.name)


def _cells(column: Any) -> Cells:
    if isinstance(column, list | tuple):
        # np.asarray would convert all cells to one type.
        return np.fromiter(column, dtype=object, count=len(column))
    cells = column if isinstance(column, pa.Array) else np.asarray(column)
    if isinstance(cells, np.ndarray) and cells.ndim != 1:
        raise ParameterError("data", "columns with one cell per row", cells.shape)
    return cells
