"""A file of people's rows that is in memory and stays there: its columns, to choose from.

Nothing is written, and an error repeats nothing of what is in the file.
"""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.errors import ParameterError
from dpcore.releases.dictionary import MOST_FEATURES
from dpcore.releases.encoding import numbers, texts
from dpcore.releases.tables import DAMAGED, Cells, unpacked_npz

LARGEST_UPLOAD = 50_000_000
LARGEST_UNPACKED = 500_000_000
_LOOKED_AT, _LONGEST_LINE = 1_000, 1 << 22
_READABLE = {
    ".csv": "a CSV table in UTF-8 with a header and as many cells in every row",
    ".parquet": "a sound Parquet file of numbers and texts",
    ".npz": "a sound NPZ file with a matrix X or an array a column",
}


@dataclass(frozen=True, eq=False)
class Upload:
    """A table in memory.

    name: Of the file.
    columns: As `Table` takes them.
    """

    name: str
    columns: dict[str, Cells]

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def is_numeric(self, column: str) -> bool:
        """Whether the first thousand cells are numbers, where there are any; for the holder."""
        first = self.columns[column][:_LOOKED_AT]
        are_there = pc.is_valid(texts(first, column)).to_numpy(zero_copy_only=False)
        return bool(np.isfinite(numbers(first, column))[are_there].all())


def read_upload(name: str, content: bytes) -> Upload:
    """The columns of a file.

    name: Ends in .csv, .parquet or .npz.
    Raises `ParameterError` if it is no such file, or larger than 50 MB, or more than 500 MB
        unpacked.
    """
    ending = PurePath(name).suffix.lower()
    if ending not in _READABLE:
        raise ParameterError("file", f"named {', '.join(_READABLE)}", name)
    if len(content) > LARGEST_UPLOAD:
        raise ParameterError(
            "file", f"at most {LARGEST_UPLOAD // 10**6} MB (the command line takes larger ones)",
            f"{len(content) / 1e6:.0f} MB",
        )  # fmt: skip
    read = {".csv": _csv, ".parquet": _parquet, ".npz": _npz}[ending]
    try:
        columns = read(content)
        if not columns or len(set(map(len, columns.values()))) > 1:
            raise ValueError("no table")
    except ParameterError:
        raise
    except DAMAGED as error:
        raise ParameterError("file", _READABLE[ending], name) from error
    if not len(next(iter(columns.values()))):
        raise ParameterError("file", "a table with rows", name)
    return Upload(name, columns)


def _csv(content: bytes) -> dict[str, Cells]:
    from pyarrow import csv

    blocks = csv.ReadOptions(block_size=_LONGEST_LINE, use_threads=False)
    with csv.open_csv(pa.BufferReader(content), read_options=blocks) as it:
        names = _checked(it.schema.names)
    as_text = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    table = csv.read_csv(pa.BufferReader(content), read_options=blocks, convert_options=as_text)
    return _whole(table)


def _parquet(content: bytes) -> dict[str, Cells]:
    from pyarrow import parquet

    with parquet.ParquetFile(pa.BufferReader(content)) as file:
        schema = file.schema_arrow
        _checked(schema.names)
        names = [field.name for field in schema if _is_readable(field.type)]
        _check_size(file.metadata.num_rows * 8 * len(names))
    # As the dictionaries they are stored as: a text that is repeated is there once.
    as_stored = [field.name for field in schema if field.name in names and _is_text(field.type)]
    table = parquet.read_table(pa.BufferReader(content), columns=names, read_dictionary=as_stored)
    for name in as_stored:
        _check_size(sum(map(_unpacked_size, table.column(name).chunks)))
    return _whole(table)


def _npz(content: bytes) -> dict[str, Cells]:
    arrays: dict[str, Any] = unpacked_npz(io.BytesIO(content), LARGEST_UNPACKED)
    matrix = arrays.get("X")
    if matrix is not None and matrix.ndim == 2:
        arrays = {f"x{number}": column for number, column in enumerate(matrix.T, 1)}
    _checked(list(arrays))
    return {name: each for name, each in arrays.items() if each.ndim == 1}


def _checked(names: list[str]) -> list[str]:
    if len(names) > MOST_FEATURES:
        raise ParameterError("file", f"a table of at most {MOST_FEATURES:,} columns", len(names))
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ParameterError("file", "a table whose columns have different names", twice[0])
    return names


def _whole(table: pa.Table) -> dict[str, Cells]:
    def one(chunks: pa.ChunkedArray) -> pa.Array:
        # The text of one array is at most 2 GB, and an upload far less.
        joined = chunks.combine_chunks()
        is_stored = pa.types.is_dictionary(joined.type)
        return joined.dictionary_decode() if is_stored else joined

    return {name: one(table.column(name)) for name in table.column_names}


def _is_text(kind: pa.DataType) -> bool:
    of = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(of) or pa.types.is_large_string(of))


def _is_readable(kind: pa.DataType) -> bool:
    is_one = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return _is_text(kind) or any(test(kind) for test in is_one)


def _unpacked_size(chunk: pa.Array) -> int:
    if not pa.types.is_dictionary(chunk.type):
        return int(chunk.nbytes)
    return int(pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0)


def _check_size(n_bytes: int) -> None:
    if n_bytes > LARGEST_UNPACKED:
        most = f"at most {LARGEST_UNPACKED // 10**6} MB unpacked"
        raise ParameterError("file", most, f"{n_bytes / 1e6:.0f} MB")
