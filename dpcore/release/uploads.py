"""Tables in uploaded files, held in memory.

Nothing is written to disk, and errors repeat nothing of a file's content.
"""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.errors import DataUnavailable, ParameterError
from dpcore.release.cells import Cells, Marks, is_date, names_of, numbers_of
from dpcore.release.dictionary import MOST_FEATURES
from dpcore.release.numpy_files import unpack_npz
from dpcore.release.table_file import DAMAGED, TEXT_ENDINGS, WORKBOOK, Block, Header, TableFile
from dpcore.release.tables import Table, header_of

LARGEST_UPLOAD = 50_000_000
LARGEST_UNPACKED = 500_000_000
_FIRST_ROWS = 1_000
_ANY_DATES = Marks(days_since=date(1970, 1, 1))
_TEXT_REQUIREMENT = "a table as text with a header and as many cells in every row"
_READABLE = {
    **dict.fromkeys(
        (*TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS)), _TEXT_REQUIREMENT
    ),
    WORKBOOK: "a sound workbook with a header",
    ".parquet": "a sound Parquet file of numbers and texts",
    ".npz": "a sound NPZ file with a matrix X or an array a column",
}
UPLOADS = tuple(_READABLE)


@dataclass(frozen=True, eq=False)
class Upload:
    """Table in memory, read from an uploaded file.

    file: The file, with its content if it can be read with another layout.
    columns: Columns as `Table` reads them.
    left_out: Skipped columns, with the reason.
    header: Header of a text or workbook.
    """

    file: TableFile
    columns: Block
    left_out: Mapping[str, str] = field(default_factory=dict)
    header: Header | None = None

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def digest(self) -> str:
        """SHA-256 of the file's content, or the name of a table without a file."""
        content = self.file.content
        return self.name if content is None else hashlib.sha256(content).hexdigest()

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def kind_of(self, column: str) -> str:
        """Return the kind of the first thousand cells: numbers, dates or texts. Not private."""
        first = self.columns[column][:_FIRST_ROWS]
        if isinstance(first, pa.Array) and is_date(first.type):
            return "dates"
        marks = Marks(decimal=self.columns.decimal or ".", thousands=self.columns.thousands or "")
        are_there = pc.is_valid(names_of(first, column)).to_numpy(zero_copy_only=False)
        if np.isfinite(numbers_of(first, column, marks))[are_there].all():
            return "numbers"
        days = numbers_of(first, column, _ANY_DATES)
        return "dates" if np.isfinite(days)[are_there].all() else "texts"


def make_upload(name: str, columns: Mapping[str, Any]) -> Upload:
    """Return a table that is in memory already, under the name of a file."""
    return Upload(TableFile(name), Block(columns))


def read_upload(name: str, content: bytes, **layout: Any) -> Upload:
    """Read the columns of a file whose content is in memory.

    name: Name of a text, workbook, .parquet or .npz file.
    layout: Other arguments of `TableFile`.
    Raises `ParameterError` if the file has another type, is larger than 50 MB or 500 MB unpacked,
        or has an ambiguous layout.
    """
    file = TableFile(name, content, **layout)
    if file.ending not in _READABLE:
        raise ParameterError("file", f"named {', '.join(UPLOADS)}", name)
    if len(content) > LARGEST_UPLOAD:
        raise ParameterError(
            "file", f"at most {LARGEST_UPLOAD // 10**6} MB (the command line takes larger ones)",
            f"{len(content) / 1e6:.0f} MB",
        )  # fmt: skip
    try:
        read = {".parquet": _parquet, ".npz": _npz}.get(file.ending, _read_rows)
        upload = read(file)
        lengths = set(map(len, upload.columns.values()))
        if len(lengths) > 1:
            raise ValueError("no table")
    except (ParameterError, DataUnavailable):
        raise
    except DAMAGED as error:
        raise ParameterError("file", _READABLE[file.ending], file.name) from error
    if not lengths:
        reasons = "; ".join(sorted(set(upload.left_out.values())))
        raise ParameterError("file", "a table with columns of numbers or texts", reasons or "none")
    if lengths == {0}:
        raise ParameterError("file", "a table with rows", file.name)
    return upload


def _read_rows(file: TableFile) -> Upload:
    """Read a text or a workbook."""
    header = header_of(file)
    if header is None:
        raise ParameterError("file", f"named {', '.join(UPLOADS)}", file.name)
    names, left_out = _unique_names(header.names)
    if not names:
        raise ParameterError("file", "a table whose columns have different names", file.name)
    parts: dict[str, list[Cells]] = {name: [] for name in names}
    size, like = 0, Block()
    # Later readings with other columns must use the same line.
    file = replace(file, header_line=header.line, sheet=header.sheet or None)
    if file.is_text:
        file = replace(file, separator=header.separator)
    table = Table(file, names)
    for block in table.blocks():
        like = block
        for name, cells in block.items():
            parts[name].append(cells)
            size += int(cells.nbytes)
        _check_size(size)
    columns = {name: _join(cells) for name, cells in parts.items()}
    block = like.copy_with(columns)
    block.n_joined_lines = table.n_joined_lines
    return Upload(file, block, left_out, header)


def _join(cells: list[Cells]) -> Cells:
    first = cells[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(cells)
    # An Arrow array holds at most 2 GB of text, far more than an upload.
    return pa.concat_arrays(cells)


def _parquet(file: TableFile) -> Upload:
    from pyarrow import parquet

    content = pa.BufferReader(file.content)
    with parquet.ParquetFile(content) as stored:
        schema = stored.schema_arrow
        different, left_out = _unique_names(schema.names)
        kinds = {name: schema.field(name).type for name in different}
        names = [name for name, kind in kinds.items() if _is_readable(kind)]
        left_out |= {
            name: f"of the type {kind}, neither numbers nor texts nor dates"
            for name, kind in kinds.items()
            if name not in names
        }
        _check_size(stored.metadata.num_rows * 8 * len(names))
    # Reading dictionary-encoded columns stores repeated texts once.
    as_stored = [name for name in names if _is_text(kinds[name])]
    table = parquet.read_table(
        pa.BufferReader(file.content), columns=names, read_dictionary=as_stored
    )
    for name in as_stored:
        _check_size(sum(map(_unpacked_size, table.column(name).chunks)))
    return Upload(file, Block(_columns_of(table)), left_out)


def _npz(file: TableFile) -> Upload:
    arrays: dict[str, Any] = unpack_npz(io.BytesIO(file.content or b""), LARGEST_UNPACKED)
    matrix = arrays.get("X")
    if matrix is not None and matrix.ndim == 2:
        arrays = {f"x{number}": column for number, column in enumerate(matrix.T, 1)}
    _unique_names(list(arrays))
    columns = {name: each for name, each in arrays.items() if each.ndim == 1}
    left_out = {
        name: f"an array of {each.ndim} dimensions, not one cell a row"
        for name, each in arrays.items()
        if each.ndim != 1
    }
    return Upload(file, Block(columns), left_out)


def _unique_names(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the names of unique columns, and the reasons why others are skipped."""
    if len(names) > MOST_FEATURES:
        raise ParameterError("file", f"a table of at most {MOST_FEATURES:,} columns", len(names))
    counts = Counter(names)
    left_out = {
        name: f"the name of {count} columns" if name else "without a name"
        for name, count in counts.items()
        if count > 1 or not name
    }
    return [name for name in counts if name not in left_out], left_out


def _columns_of(table: pa.Table) -> dict[str, Cells]:
    def one(chunks: pa.ChunkedArray) -> pa.Array:
        joined = chunks.combine_chunks()
        is_stored = pa.types.is_dictionary(joined.type)
        return joined.dictionary_decode() if is_stored else joined

    return {name: one(table.column(name)) for name in table.column_names}


def _is_text(kind: pa.DataType) -> bool:
    of = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(of) or pa.types.is_large_string(of))


def _is_readable(kind: pa.DataType) -> bool:
    is_one = (
        pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, is_date
    )  # fmt: skip
    return _is_text(kind) or any(test(kind) for test in is_one)


def _unpacked_size(chunk: pa.Array) -> int:
    if not pa.types.is_dictionary(chunk.type):
        return int(chunk.nbytes)
    return int(pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0)


def _check_size(n_bytes: int) -> None:
    if n_bytes > LARGEST_UNPACKED:
        most = f"at most {LARGEST_UNPACKED // 10**6} MB unpacked"
        raise ParameterError("file", most, f"{n_bytes / 1e6:.0f} MB")
