"""Tables of people in files or in memory, read in blocks of the columns that a dictionary names.

A file that is no table gives one sentence, which repeats nothing of what is in it. Nothing is
written, and memory is bounded by the blocks but for NPZ, which has to be unpacked as a whole.
"""

from __future__ import annotations

import math
import mmap
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

# What pyarrow, NumPy and zipfile raise of a damaged file; ArrowInvalid is a ValueError, and of an
# archive with a password, or a kind of column or compression that nobody reads, a RuntimeError.
DAMAGED = (ValueError, OSError, EOFError, RuntimeError, KeyError, TypeError, MemoryError,
           SyntaxError, TokenError, zipfile.BadZipFile)  # fmt: skip
Cells: TypeAlias = "np.ndarray[Any, Any] | pa.Array"

_BLOCK_CELLS = 1 << 21
_BUFFER = 1 << 16
_LONGEST_LINE = 1 << 22
_LARGEST_NPZ = 1 << 31
_SOUND = {
    ".csv": "a CSV table in UTF-8: a header, as many cells in every row, no line above 4 MB",
    ".parquet": "a sound Parquet file",
    ".npz": "an NPZ file of at most 2 GB unpacked, with a matrix X or an array a column",
    ".npy": "an NPY file with a matrix of numbers",
}


class Block(dict[str, Cells]):
    """Columns of some rows.

    matrix: Where they are those of one.
    are_texts: Whether the source has nothing but texts, so that no cell decides another's type.
    """

    matrix: np.ndarray[Any, Any] | None = None
    are_texts: bool = False


class Table:
    """Where rows come from; they can be read again and again.

    Parameters
    ----------
    data : path, mapping of str to arrays (a DataFrame is one), ndarray, Dask array or DataFrame
        A matrix has the dictionary's columns in their order. Files are .csv, .parquet, .npz or
        .npy. What is Dask's is computed by Dask, a part at a time.
    keys : sequence of str
        Columns that are read.
    width : int
        Features that a row becomes, where that is more: it decides how many rows a block has.

    Attributes
    ----------
    share_read : float
        How far the last reading has come, from 0 to 1.

    Raises
    ------
    ParameterError
        If it is no such table, or has not every one of these columns once.
    OSError
        If the file cannot be opened.
    """

    def __init__(self, data: Any, keys: Sequence[str], width: int = 0) -> None:
        self.share_read = 0.0
        self._keys = list(keys)
        self._rows = max(1, _BLOCK_CELLS // max(len(self._keys), width))
        self._path, self._ending = None, ""
        if isinstance(data, str | Path):
            self._path = Path(data)
            self._ending = self._path.suffix.lower()
            if self._ending not in _SOUND:
                raise ParameterError("data", f"a file named {', '.join(_SOUND)}", self._path.name)
        with self._one_sentence():
            if self._path is not None:
                self._path.open("rb").close()
            if self._path is not None and self._ending.startswith(".np"):
                data = _unpacked(self._path)
            is_streamed = self._ending in (".csv", ".parquet")
            self._parts = [] if is_streamed else list(self._parts_of(data))
        for _ in self.blocks():
            break

    def blocks(self) -> Iterator[Block]:
        """The columns of some thousand rows at a time.

        Raises
        ------
        ParameterError
            If the file turns out to be no table.
        """
        self.share_read = 0.0
        with self._one_sentence():
            if self._parts:
                yield from self._in_parts()
                return
            read = self._csv if self._ending == ".csv" else self._parquet
            for batch, share in read():
                for start in range(0, batch.num_rows, self._rows):
                    part = batch.slice(start, self._rows)
                    block = Block({key: part.column(key) for key in self._keys})
                    block.are_texts = self._ending == ".csv"
                    yield block
                self.share_read = share
        self.share_read = 1.0

    def _in_parts(self) -> Iterator[Block]:
        for number, part in enumerate(self._parts):
            columns = part()
            n_rows = len(columns[self._keys[0]])
            for start in range(0, n_rows, self._rows):
                rows = slice(start, start + self._rows)
                block = Block({key: column[rows] for key, column in columns.items()})
                block.matrix = None if columns.matrix is None else columns.matrix[rows]
                block.are_texts = columns.are_texts
                yield block
                self.share_read = (number + min(1, rows.stop / n_rows)) / len(self._parts)
                _let_go(columns.matrix)

    def _csv(self) -> Iterator[tuple[pa.RecordBatch, float]]:
        import pyarrow as pa
        from pyarrow import csv

        as_text = csv.ConvertOptions(
            column_types=dict.fromkeys(self._keys, pa.string()), include_columns=self._keys
        )
        blocks = csv.ReadOptions(block_size=_LONGEST_LINE, use_threads=False)
        with csv.open_csv(self._path, read_options=csv.ReadOptions(block_size=_LONGEST_LINE)) as it:
            self._check(it.schema.names)
        with (
            pa.OSFile(str(self._path)) as file,
            csv.open_csv(file, read_options=blocks, convert_options=as_text) as it,
        ):
            for batch in it:
                yield batch, file.tell() / file.size()

    def _parquet(self) -> Iterator[tuple[pa.RecordBatch, float]]:
        from pyarrow import parquet

        # With a buffer a column's pages are read as they are needed, and not all at once.
        with parquet.ParquetFile(self._path, buffer_size=_BUFFER) as file:
            self._check(file.schema_arrow.names)
            n_rows = 0
            # One row group after another: all at once stay in memory until the last is read.
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(
                    self._rows, row_groups=[group], columns=self._keys, use_threads=False
                ):
                    n_rows += batch.num_rows
                    yield batch, n_rows / file.metadata.num_rows

    def _parts_of(self, data: Any) -> Iterator[Callable[[], Block]]:
        """The table as one part in memory, or as the parts that Dask has."""
        if type(data).__module__.partition(".")[0] not in {"dask", "dask_expr"}:
            columns = self._columns_of(data)
            yield lambda: columns
        elif hasattr(data, "columns"):
            self._check([str(name) for name in data.columns])
            for part in data[self._keys].partitions:
                yield partial(self._computed, part)
        else:
            whole_rows = data.rechunk({1: -1})
            for number in range(whole_rows.numblocks[0]):
                yield partial(self._computed, whole_rows.blocks[number])

    def _computed(self, part: Any) -> Block:
        return self._columns_of(part.compute())

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
            self._check([str(name) for name in data])
            columns = Block({key: _cells(data[key]) for key in self._keys})
            columns.are_texts = isinstance(data, Block) and data.are_texts
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
            if self._path is None:
                raise
            raise ParameterError("data", _SOUND[self._ending], self._path.name) from error


def _let_go(matrix: Any) -> None:
    """Pages of a file that were read need not stay in this process's memory."""
    mapped = getattr(matrix, "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _cells(column: Any) -> Cells:
    import pyarrow as pa

    if isinstance(column, list | tuple):
        # NumPy would give all cells one type.
        return np.fromiter(column, dtype=object, count=len(column))
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

    Raises `ValueError`, `OSError`, `zipfile.BadZipFile` and what else NumPy raises of a damaged
        file.
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
