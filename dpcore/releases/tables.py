"""Tables of people in files or in memory, read in blocks of the columns that a dictionary names.

A file that is no table gives one sentence, which repeats nothing of what is in it. Nothing is
written, and memory is bounded by the blocks but for NPZ, which has to be unpacked as a whole.
"""

from __future__ import annotations

import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

# What pyarrow, NumPy and zipfile raise of a damaged file; ArrowInvalid is a ValueError.
DAMAGED = (ValueError, OSError, EOFError, NotImplementedError, KeyError, TypeError,
           MemoryError, zipfile.BadZipFile)  # fmt: skip
Cells: TypeAlias = "np.ndarray[Any, Any] | pa.Array"
Block: TypeAlias = dict[str, Cells]

_BLOCK_CELLS = 1 << 21
LONGEST_LINE = 1 << 22
_LARGEST_NPZ = 1 << 31
_SOUND = {
    ".csv": "a CSV table in UTF-8: a header, as many cells in every row, no line above 4 MB",
    ".parquet": "a sound Parquet file",
    ".npz": "an NPZ file of at most 2 GB unpacked, with a matrix X or an array a column",
    ".npy": "an NPY file with a matrix of numbers",
}


class Table:
    """Where rows come from; they can be read again and again.

    Parameters
    ----------
    data : path, mapping of str to arrays (a DataFrame is one), or ndarray
        A matrix has the dictionary's columns in their order. Files are .csv, .parquet, .npz or
        .npy.
    keys : sequence of str
        Columns that are read.
    width : int
        Features that a row becomes, where that is more: it decides how many rows a block has.

    Raises
    ------
    ParameterError
        If it is no such table, or has not every one of these columns once.
    OSError
        If the file cannot be opened.
    """

    def __init__(self, data: Any, keys: Sequence[str], width: int = 0) -> None:
        self._keys = list(keys)
        self._rows = max(1, _BLOCK_CELLS // max(len(self._keys), width))
        self._path = Path(data) if isinstance(data, str | Path) else None
        if self._path is None:
            self._data = self._columns_of(data)
            return
        self._ending = self._path.suffix.lower()
        if self._ending not in _SOUND:
            raise ParameterError("data", f"a file named {', '.join(_SOUND)}", self._path.name)
        with self._one_sentence():
            self._path.open("rb").close()
        if self._ending.startswith(".np"):
            with self._one_sentence():
                self._data = self._columns_of(_unpacked(self._path))
        for _ in self.blocks():
            break

    def blocks(self) -> Iterator[Block]:
        """The columns of some thousand rows at a time.

        Raises
        ------
        ParameterError
            If the file turns out to be no table.
        """
        if self._path is None or self._ending.startswith(".np"):
            n_rows = len(self._data[self._keys[0]])
            for start in range(0, n_rows, self._rows):
                part = slice(start, start + self._rows)
                yield {key: column[part] for key, column in self._data.items()}
            return
        with self._one_sentence():
            read = self._csv if self._ending == ".csv" else self._parquet
            for batch in read():
                for start in range(0, batch.num_rows, self._rows):
                    part = batch.slice(start, self._rows)
                    yield {key: part.column(key) for key in self._keys}

    def _csv(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import csv

        as_text = csv.ConvertOptions(
            column_types=dict.fromkeys(self._keys, pa.string()), include_columns=self._keys
        )
        blocks = csv.ReadOptions(block_size=LONGEST_LINE, use_threads=False)
        with csv.open_csv(self._path, read_options=csv.ReadOptions(block_size=LONGEST_LINE)) as it:
            self._check(it.schema.names)
        with csv.open_csv(self._path, read_options=blocks, convert_options=as_text) as it:
            yield from it

    def _parquet(self) -> Iterator[pa.RecordBatch]:
        from pyarrow import parquet

        with parquet.ParquetFile(self._path) as file:
            self._check(file.schema_arrow.names)
            # One row group after another: all at once stay in memory until the last is read.
            for group in range(file.num_row_groups):
                yield from file.iter_batches(self._rows, row_groups=[group], columns=self._keys)

    def _columns_of(self, data: Any) -> dict[str, Cells]:
        if isinstance(data, Mapping) and set(data) == {"X"} != set(self._keys):
            data = data["X"]
        if isinstance(data, np.ndarray):
            if data.ndim != 2 or data.shape[1] != len(self._keys):
                raise ParameterError(
                    "data", f"a matrix of {len(self._keys)} columns, in their order", data.shape
                )
            return {key: data[:, i] for i, key in enumerate(self._keys)}
        try:
            self._check([str(name) for name in data])
            columns = {key: _cells(data[key]) for key in self._keys}
        except ParameterError:
            raise
        except (TypeError, KeyError, ValueError) as error:
            raise ParameterError("data", "a path, a table or a matrix", type(data)) from error
        if len(set(map(len, columns.values()))) > 1:
            raise ParameterError("data", "columns of one length", "others")
        return columns

    def _check(self, names: Sequence[str]) -> None:
        counts = Counter(names)
        for key in self._keys:
            if counts[key] != 1:
                raise ParameterError(
                    "data", f"a table with one column {key!r}, as in the dictionary", counts[key]
                )

    @contextmanager
    def _one_sentence(self) -> Iterator[None]:
        try:
            yield
        except (ParameterError, FileNotFoundError, PermissionError):
            raise
        except DAMAGED as error:
            where = self._path.name if self._path else ""
            raise ParameterError("data", _SOUND[self._ending], where) from error


def _cells(column: Any) -> Cells:
    import pyarrow as pa

    cells = column if isinstance(column, pa.Array) else np.asarray(column)
    if isinstance(cells, np.ndarray) and cells.ndim != 1:
        raise ParameterError("data", "columns of one cell a row", cells.shape)
    return cells


def _unpacked(path: Path) -> Any:
    if path.suffix.lower() == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    return unpacked_npz(path, _LARGEST_NPZ)


def unpacked_npz(file: Path | BinaryIO, most_bytes: int) -> dict[str, AnyArray]:
    """The arrays of an NPZ file, if they are what it declares, and no more than so many bytes.

    Raises
    ------
    ValueError, OSError, zipfile.BadZipFile and what else NumPy raises of a damaged file.
    """
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > most_bytes:
            raise ValueError("too large")
        for member in members:
            _refuse_empty_promises(archive, member)
    if not isinstance(file, Path):
        file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def _refuse_empty_promises(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """NumPy makes room for what a header declares, whatever comes after it."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, kind = read(file)
    if math.prod(shape) * kind.itemsize > member.file_size:
        raise ValueError("less than it declares")
