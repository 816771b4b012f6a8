"""Write the columns of a whole file to a stream; for a process with limits (`reading_worker`)."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from dpcore.errors import ParameterError
from dpcore.release.cells import Cells, is_date, is_text, mixed_cells, normal_form, text_lengths
from dpcore.release.delimited_text import DelimitedText, find_header
from dpcore.release.dictionary import MOST_FEATURES
from dpcore.release.numpy_files import unpack_npz
from dpcore.release.parquet_files import (
    LONGEST_TEXT,
    open_parquet,
    read_row_groups,
    text_too_long,
)
from dpcore.release.reading_limits import FileFacts, ReadingLimits, check_size
from dpcore.release.table_file import WORKBOOK, Block, TableFile
from dpcore.release.workbook import Workbook

_BATCH_ROWS = 1 << 14


def write_columns(
    file: TableFile, keys: Sequence[str] | None, limits: ReadingLimits, sink: BinaryIO
) -> FileFacts:
    """Write columns as an Arrow stream, batch by batch, and return the facts about the file.

    keys: Names of the columns; none writes nothing. Default: all that have a name of their own.
    Raises `ParameterError`, or an exception of `DAMAGED`, if the file is not a table.
    """
    reader = _READERS.get(file.ending, _TextReader)(file, keys, limits)
    if keys is not None and not keys:
        return reader.facts
    n_bytes = 0
    stream: pa.RecordBatchStreamWriter | None = None
    for block in reader.blocks():
        for cells in block.values():
            lengths = text_lengths(cells)
            if lengths is not None and (longest := int(lengths.max(initial=0))) > LONGEST_TEXT:
                raise text_too_long(longest)
            n_bytes += int(cells.nbytes if lengths is None else lengths.sum())
            check_size(n_bytes, limits)
        batch = pa.record_batch({name: _as_arrow(cells) for name, cells in block.items()})
        stream = stream or pa.ipc.new_stream(sink, batch.schema)
        stream.write_batch(batch)
    if stream is None:
        raise ParameterError("data", "a table with rows", file.name)
    stream.close()
    return reader.facts


class _Reader(ABC):
    """Reader of one format.

    blocks: Yields columns of some rows.
    facts: Complete after the last block.
    """

    def __init__(self, file: TableFile, keys: Sequence[str] | None, limits: ReadingLimits) -> None:
        self.file, self.limits = file, limits
        self.facts = FileFacts(decimal=file.decimal, thousands=file.thousands)
        self.keys = self.choose_columns() if keys is None else list(keys)

    @abstractmethod
    def choose_columns(self) -> list[str]:
        """Return the names of the columns that can be read."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield columns of some rows."""

    def choose_among(self, kinds: Mapping[str, str], names: Sequence[str]) -> list[str]:
        """Return the names of columns that can be read, and state why others are left out.

        kinds: Fault of the columns of each name; empty if it can be read.
        """
        if len(names) > MOST_FEATURES:
            constraint = f"a table of at most {MOST_FEATURES:,} columns"
            raise ParameterError("data", constraint, len(names))
        counts = Counter(names)
        for name, count in counts.items():
            fault = kinds.get(name, "")
            if count > 1:
                fault = f"the name of {count} columns"
            elif not name:
                fault = "without a name"
            if fault:
                self.facts.left_out[name] = fault
        chosen = [name for name in counts if name not in self.facts.left_out]
        if not chosen:
            faults = "; ".join(sorted(set(self.facts.left_out.values())))
            constraint = "a table with columns of numbers or texts, of different names"
            raise ParameterError("data", constraint, faults or "none")
        return chosen


class _TextReader(_Reader):
    def choose_columns(self) -> list[str]:
        header = find_header(self.file, ())
        # Rows are read below the same line, by the same separator.
        self.file = replace(self.file, header_line=header.line, separator=header.separator)
        return self.choose_among({}, header.names)

    def blocks(self) -> Iterator[Block]:
        text = DelimitedText(self.file, self.keys)
        self.facts.header = text.header
        for block, _ in text.batches():
            self.facts.are_texts, self.facts.is_decimal_open = True, block.is_decimal_open
            yield block
        self.facts.n_joined_lines = text.n_joined_lines
        self.facts.n_empty_rows = text.n_empty_rows


class _WorkbookReader(_Reader):
    def __init__(self, file: TableFile, keys: Sequence[str] | None, limits: ReadingLimits) -> None:
        self._book = Workbook(file, keys or ())
        super().__init__(file, keys, limits)
        self.facts.header, self._book.keys = self._book.header, self.keys

    def choose_columns(self) -> list[str]:
        return self.choose_among({}, self._book.header.names)

    def blocks(self) -> Iterator[Block]:
        yield from self._book.batches()
        self.facts.n_empty_rows = self._book.n_empty_rows


class _ParquetReader(_Reader):
    def choose_columns(self) -> list[str]:
        with self.file.open() as stream, open_parquet(stream) as stored:
            schema: pa.Schema = stored.schema_arrow
            groups = [stored.metadata.row_group(number) for number in range(stored.num_row_groups)]
            check_size(sum(group.total_byte_size for group in groups), self.limits)
        names = list(map(normal_form, schema.names))
        kinds = {
            name: "" if _is_readable(kind) else f"of the type {kind}, no number, text or date"
            for name, kind in zip(names, schema.types, strict=True)
        }
        return self.choose_among(kinds, names)

    def blocks(self) -> Iterator[Block]:
        for block, _ in read_row_groups(self.file, self.keys, _BATCH_ROWS):
            yield block


class _NpzReader(_Reader):
    def choose_columns(self) -> list[str]:
        content = self.file.content
        source = Path(self.file.path) if content is None else io.BytesIO(content)
        self._arrays: dict[str, Any] = unpack_npz(source, self.limits.unpacked)
        matrix = self._arrays.get("X")
        if matrix is not None and matrix.ndim == 2:
            self._arrays = {f"x{number}": column for number, column in enumerate(matrix.T, 1)}
        kinds = {
            name: "" if array.ndim == 1 else f"an array of {array.ndim} dimensions"
            for name, array in self._arrays.items()
        }
        return self.choose_among(kinds, list(self._arrays))

    def blocks(self) -> Iterator[Block]:
        columns = {name: self._arrays[name] for name in self.keys}
        lengths = set(map(len, columns.values()))
        if len(lengths) > 1:
            raise ParameterError("data", "columns of one length", "others")
        for start in range(0, lengths.pop(), _BATCH_ROWS):
            rows = slice(start, start + _BATCH_ROWS)
            yield Block({name: column[rows] for name, column in columns.items()})


_READERS: dict[str, type[_Reader]] = {
    WORKBOOK: _WorkbookReader,
    ".parquet": _ParquetReader,
    ".npz": _NpzReader,
}


def _as_arrow(cells: Cells) -> pa.Array:
    """Return cells as an array of numbers, texts, dates or `MIXED`."""
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "fiub" and cells.dtype.itemsize <= 8:
            return pa.array(np.ascontiguousarray(cells.astype(cells.dtype.newbyteorder("="))))
        return mixed_cells(cells)
    decoded = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
    is_other = is_text(decoded.type) or pa.types.is_null(decoded.type)
    return decoded.cast(pa.string()) if is_other else decoded


def _is_readable(kind: pa.DataType) -> bool:
    of = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal,
             pa.types.is_null)  # fmt: skip
    return is_text(of) or is_date(of) or any(test(of) for test in tests)
