"""Tables of people in files or in memory, read in blocks, cell by cell.

A file that is no table gives one sentence, which repeats nothing of what is in it. Nothing is
written, and memory is bounded by the blocks but for NPZ and workbooks, which have to be unpacked.

**What decides how a text is read.** Its encoding by its byte order mark, its separator and the line
of its header by that header, which is public: the first line in which the dictionary's columns are
all to be found. All else is the holder's to say, or a dictionary's. Nothing is found out from the
rows: a separator or a decimal mark that was guessed from them could be another one for one cell
more, and would then move everybody's row. What cannot be told is asked for in a sentence.

Cells of a column, each read by itself: as a number, and as the name of a level or a person.

A program that reads a table gives a column one type, and one cell can change that of all others:
a blank turns whole numbers into floating-point ones and flags into objects, a word turns numbers
into texts. If the type decided how the others are read, one person's cell would move everybody's
row, and no sensitivity would hold. So a cell's number and its name depend on its value alone,
however it is stored: 1, 1.0, True, "1", " 01 " and "true" have the number 1 and the name "1".

How cells are written where that is not plain (a decimal comma, a unit, dates, codes for what is
missing) is the dictionary's to say, or the file's holder's: `Marks`. It is never found out from
the cells, since then one of them could decide it for all.
"""

from __future__ import annotations

import codecs
import csv
import glob
import io
import math
import mmap
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from itertools import islice
from numbers import Number
from pathlib import Path, PurePath
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import DataUnavailable, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

# Tables of people in files or in memory, read in blocks of the columns that a dictionary names.

# What pyarrow, NumPy and zipfile raise of a damaged file; ArrowInvalid is a ValueError, and of an
# archive with a password, or a kind of column or compression that nobody reads, a RuntimeError.
DAMAGED = (ValueError, OSError, EOFError, RuntimeError, KeyError, TypeError, MemoryError,
           SyntaxError, TokenError, zipfile.BadZipFile, csv.Error)  # fmt: skip
Cells: TypeAlias = "np.ndarray[Any, Any] | pa.Array"

_BLOCK_CELLS = 1 << 21
# Of a part that a worker sums at once, but that a row group is never cut: so many that a sum of
# D x D numbers is small beside them, so few that no worker waits long for the last.
PART_ROWS = 1 << 17
_BUFFER = 1 << 16
_LONGEST_LINE = 1 << 22
_LARGEST_NPZ = 1 << 31
# A workbook in memory is some ten times its cells' text.
_LARGEST_WORKBOOK = 1 << 28
_SHEET_ROWS = 1 << 14
# Of a text, in which the names of columns are looked for: characters, and lines.
_FIRST_LOOK, _MOST_PREAMBLE = 1 << 16, 50
_MOST_FOOTER = 1000
# As Arrow says it.
_RAGGED = re.compile(r"Row #(\d+): Expected \d+ columns, got (\d+)")
# Rows among which a ragged one is looked for once more, to say its line.
_MOST_COUNTED = 1 << 20
TEXTS = (".csv", ".tsv", ".txt")
WORKBOOK = ".xlsx"
_A_TEXT = "a table as text: a header, as many cells in every row, no line above 4 MB"
_SOUND = {
    **dict.fromkeys((*TEXTS, *(f"{ending}.gz" for ending in TEXTS)), _A_TEXT),
    WORKBOOK: "a sound workbook of at most 256 MB unpacked, with a header",
    ".parquet": "a sound Parquet file",
    ".npz": "an NPZ file of at most 2 GB unpacked, with a matrix X or an array a column",
    ".npy": "an NPY file with a matrix of numbers",
}
# How other files begin that are often called a text.
_KINDS = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "ZIP, as workbooks are", b"PAR1": "Parquet"}
# What a separator is called.
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


class Block(dict[str, Cells]):
    """Columns of some rows.

    matrix: Where they are those of one.
    are_texts: Whether the source has nothing but texts, so that no cell decides another's type.
    decimal, thousands: The marks that the file's holder says it has.
    is_decimal_open: Whether numbers may as well have a decimal comma as a point.
    """

    matrix: np.ndarray[Any, Any] | None = None
    are_texts: bool = False
    decimal: str | None = None
    thousands: str | None = None
    is_decimal_open: bool = False

    def like(self, columns: Mapping[str, Cells]) -> Block:
        """Other columns or rows of the same source."""
        block = Block(columns)
        block.are_texts, block.is_decimal_open = self.are_texts, self.is_decimal_open
        block.decimal, block.thousands = self.decimal, self.thousands
        return block


@dataclass(frozen=True)
class TableFile:
    """A file with a table, and how it is laid out where its header does not tell.

    Parameters
    ----------
    path : path
        Its name says what it is: .csv, .tsv or .txt, each perhaps .gz; .xlsx, .parquet, .npz, .npy.
    content : bytes, optional
        What is in it, where that is in memory.
    separator : str, optional
        The character between cells.
    text_encoding : str, optional
        UTF-8 unless a byte order mark says another.
    header_line : int, optional
        Line of a text, or row of a sheet, in which the columns' names are, from 1. The first in
        which all are that are read.
    footer_lines : int
        Lines at the end that are no rows.
    sheet : str, optional
        Of a workbook. The only one with such a header.
    decimal, thousands : str, optional
        Marks in this file's numbers, where its dictionary has others for all columns, or none.

    Raises
    ------
    ParameterError
        If it is no such file by its name, or a value is out of range.
    """

    path: Path | str
    content: bytes | None = None
    separator: str | None = None
    text_encoding: str | None = None
    header_line: int | None = None
    footer_lines: int = 0
    sheet: str | None = None
    decimal: str | None = None
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.ending not in _SOUND:
            raise ParameterError("data", f"a file named {', '.join(_SOUND)}", self.name)
        if self.separator is not None and (
            len(self.separator) != 1 or self.separator in '"\r\n' or ord(self.separator) > 127
        ):
            raise ParameterError("separator", "one character, but no quote", self.separator)
        if self.header_line is not None and not 1 <= self.header_line <= 1 << 20:
            raise ParameterError("header_line", "from 1 to a million", self.header_line)
        if not 0 <= self.footer_lines <= _MOST_FOOTER:
            raise ParameterError("footer_lines", f"from 0 to {_MOST_FOOTER}", self.footer_lines)
        if self.text_encoding is not None:
            object.__setattr__(self, "text_encoding", _encoding_named(self.text_encoding))

    @property
    def name(self) -> str:
        """Of the file, without its folder."""
        return PurePath(self.path).name

    @property
    def ending(self) -> str:
        """What its name says it is, of a text with or without .gz."""
        endings = [each.lower() for each in PurePath(self.path).suffixes]
        return "".join(endings[-2:] if endings[-1:] == [".gz"] else endings[-1:])

    @property
    def is_text(self) -> bool:
        """Whether it is a text by its name, packed or not."""
        return self.ending.removesuffix(".gz") in TEXTS

    def opened(self) -> Any:
        """Its bytes as they are, as a stream of Arrow's."""
        import pyarrow as pa

        in_memory = self.content is not None
        return pa.BufferReader(self.content) if in_memory else pa.OSFile(str(self.path))

    def unpacked(self, stream: Any) -> Any:
        """What is in the stream of a text."""
        import pyarrow as pa

        is_packed = self.ending.endswith(".gz")
        return pa.CompressedInputStream(stream, "gzip") if is_packed else stream


def _encoding_named(encoding: str) -> str:
    try:
        found = codecs.lookup(encoding)
        "".encode(found.name)
    except (LookupError, UnicodeError) as error:
        wish = "that of a text, as utf-8, utf-16, latin-1 or cp1252"
        raise ParameterError("text_encoding", wish, encoding) from error
    return "utf-8-sig" if found.name == "utf-8" else found.name


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a file of Parquet, which may be one of many that make a table.

    fragment: Of `pyarrow.dataset`. It says where the file is, and can be sent to a worker.
    name: As sentences say it.
    groups: Which row groups, in their order.
    n_rows: In these.
    """

    fragment: Any
    name: str
    groups: tuple[int, ...]
    n_rows: int
    ending: str = ".parquet"

    def opened(self) -> Any:
        """The whole file as a stream of Arrow's."""
        return self.fragment.open()


def is_partitioned(data: Any) -> bool:
    """Whether it is a folder, a glob, a URL, or a data set of Arrow's: many files, one table."""
    if isinstance(data, str | Path):
        place = str(data)
        return "://" in place or Path(place).is_dir() or _is_glob(place)
    return type(data).__module__ in ("pyarrow._dataset", "pyarrow.dataset")


def _is_glob(place: str) -> bool:
    return not Path(place).exists() and bool(set("*?[") & set(place))


def parquet_parts(data: Any, keys: Sequence[str]) -> list[ParquetPart]:
    """The row groups of all files of a table, a part for so many rows, in the order of their names.

    Every file has to have each of the columns once, with numbers, texts or dates where the first
    file has them. Whole numbers and floating-point ones may differ, since a blank alone turns one
    into the other; a column without any cell, or a file without any row, fits everywhere.

    data: Folder, glob or URL of files of Parquet; one such file; `pyarrow.dataset.Dataset`.
    Raises `ParameterError` if there is no such file, or one is damaged or differs: its name is
        said.
    """
    from pyarrow import parquet

    parts: list[ParquetPart] = []
    kinds: dict[str, tuple[str, str]] = {}
    fragments = _fragments(data)
    folder = os.path.commonpath([os.path.dirname(each.path) or "." for each in fragments])
    for fragment in fragments:
        name = os.path.relpath(fragment.path, folder)
        whole = ParquetPart(fragment, name, (), 0)
        with _one_sentence(whole), whole.opened() as stream, parquet.ParquetFile(stream) as file:
            try:
                _require_columns(keys, file.schema_arrow.names)
            except ParameterError as error:
                raise ParameterError("data", "files of one schema", f"{name}: {error}") from error
            n_rows = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            for key in keys if sum(n_rows) else ():
                kind = _kind_of(file.schema_arrow.field(key).type)
                first, there = kinds.setdefault(key, (name, kind)) if kind else ("", kind)
                if kind != there:
                    raise ParameterError(
                        "data", f"files of one schema: {key!r} has {there} in {first}",
                        f"{kind} in {name}",
                    )  # fmt: skip
        parts += _grouped(whole, n_rows)
    return parts


def _fragments(data: Any) -> list[Any]:
    """Of each file, in an order that depends on their names alone."""
    from pyarrow import dataset

    if not isinstance(data, str | Path):
        if getattr(data, "_scan_options", None):
            raise ParameterError("data", "a data set of whole files, without a filter", "a filter")
        found = list(data.get_fragments())
        if not all(hasattr(each, "row_groups") for each in found):
            raise ParameterError("data", "a data set of Parquet files", type(data).__name__)
        return sorted(found, key=lambda each: str(each.path))
    system, root, names = _files_at(str(data))
    # What programs write beside the files: _SUCCESS, .crc.
    names = [
        name
        for name in names
        if not any(part[0] in "._" for part in PurePath(os.path.relpath(name, root)).parts)
    ]
    if others := [name for name in names if not name.endswith(".parquet")]:
        other = os.path.basename(min(others))
        raise ParameterError(
            "data", "Parquet files alone, or a glob such as folder/*.parquet", other
        )
    if not names:
        raise ParameterError("data", "a place with files named .parquet", str(data))
    form = dataset.ParquetFileFormat()
    return [form.make_fragment(name, filesystem=system) for name in sorted(set(names))]


def _files_at(place: str) -> tuple[Any, str, list[str]]:
    """Where files are, the folder they are looked for in, and their names."""
    from pyarrow import fs

    if "://" in place:
        try:
            system, path = fs.FileSystem.from_uri(place)
            info = system.get_file_info(path)
            if info.type == fs.FileType.Directory:
                chosen = system.get_file_info(fs.FileSelector(path, recursive=True))
                return system, path, [each.path for each in chosen if each.is_file]
            return system, os.path.dirname(path), [path] if info.is_file else []
        except (ValueError, OSError, ImportError, NotImplementedError) as error:
            raise ParameterError("data", "a URL that Arrow can open here", place) from error
    system = fs.LocalFileSystem()
    if Path(place).is_dir():
        return system, place, [str(each) for each in Path(place).rglob("*") if each.is_file()]
    names = glob.glob(place, recursive=True) if _is_glob(place) else [place]
    found = [name for name in names if os.path.isfile(name)]
    return system, os.path.commonpath([os.path.dirname(name) for name in found] or [""]), found


def _kind_of(kind: pa.DataType) -> str:
    """What a column of this type has, as sentences say it; nothing of one without any cell."""
    import pyarrow as pa

    if pa.types.is_null(kind):
        return ""
    if pa.types.is_dictionary(kind):
        return _kind_of(kind.value_type)
    if is_date(kind):
        return "dates"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if any(test(kind) for test in texts):
        return "texts"
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return "numbers" if any(test(kind) for test in numbers) else str(kind)


def _grouped(whole: ParquetPart, n_rows: Sequence[int]) -> Iterator[ParquetPart]:
    """Its row groups, in parts of at most `PART_ROWS` where a row group is not larger itself."""
    groups: list[int] = []
    for group, n in enumerate(n_rows):
        if groups and sum(n_rows[each] for each in groups) + n > PART_ROWS:
            yield replace(whole, groups=tuple(groups), n_rows=sum(n_rows[g] for g in groups))
            groups = []
        groups.append(group)
    if groups:
        yield replace(whole, groups=tuple(groups), n_rows=sum(n_rows[g] for g in groups))


class Table:
    """Where rows come from; they can be read again and again.

    Parameters
    ----------
    data : path, TableFile, mapping of str to arrays (a DataFrame is one), ndarray, Dask array or
        DataFrame, pyarrow.dataset.Dataset
        A matrix has the dictionary's columns in their order. Of a path the name says what it is,
        as in `TableFile`; a folder, a glob or a URL has files of Parquet that make one table, in
        the order of their names (`parquet_parts`). What is Dask's is computed by Dask, a part at a
        time.
    keys : sequence of str
        Columns that are read.
    width : int
        Features that a row becomes, where that is more: it decides how many rows a block has.

    Attributes
    ----------
    share_read : float
        How far the last reading has come, from 0 to 1.
    n_threads : int or None
        Among which what becomes of rows is shared; as many as there are processors without it.

    Raises
    ------
    ParameterError
        If it is no such table, or has not every one of these columns once, or it cannot be told how
        it is to be read.
    OSError
        If the file cannot be opened.
    """

    def __init__(self, data: Any, keys: Sequence[str], width: int = 0) -> None:
        self.share_read = 0.0
        self.n_threads: int | None = None
        self._data = data
        self._keys = list(keys)
        self._rows = max(1, _BLOCK_CELLS // max(len(self._keys), width))
        is_file = isinstance(data, str | Path) and not is_partitioned(data)
        self._file = TableFile(data) if is_file else data
        self._text: _Text | None = None
        self._workbook: _Workbook | None = None
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
            with _one_sentence(self._file):
                self._open(self._file)
        for _ in self.blocks():
            break

    def _open(self, file: TableFile) -> None:
        if file.content is None:
            open(file.path, "rb").close()
        if file.is_text:
            self._text = _Text(file, self._keys)
        elif file.ending == WORKBOOK:
            self._workbook = _Workbook(file, self._keys)
        elif file.ending.startswith(".np"):
            self._parts = list(self._parts_of(_unpacked(file)))

    def blocks(self) -> Iterator[Block]:
        """The columns of some thousand rows at a time.

        Raises
        ------
        ParameterError
            If the file turns out to be no table.
        """
        self.share_read = 0.0
        if self._parquet is not None:
            yield from self._in_parquet(self._parquet)
        elif self._parts or self._file is None:
            yield from self._in_parts()
        else:
            file = self._file
            if self._text is not None:
                read = self._text.batches
            elif self._workbook is not None:
                read = self._workbook.batches
            else:
                read = partial(_parquet, file, self._keys, self._rows)
            with _one_sentence(file):
                for block, share in read():
                    yield from self._cut(block)
                    self.share_read = share
        self.share_read = 1.0

    def _in_parquet(self, parts: Sequence[ParquetPart]) -> Iterator[Block]:
        n_all, n_before = max(1, sum(part.n_rows for part in parts)), 0
        for part in parts:
            with _one_sentence(part):
                for block, share in _parquet(part, self._keys, self._rows, part.groups):
                    yield from self._cut(block)
                    self.share_read = (n_before + share * part.n_rows) / n_all
            n_before += part.n_rows

    def parts(self) -> list[tuple[Any, int]]:
        """Tables that make this one, each to be read where it is sent, and the rows they have.

        Of a Dask table they are its parts, not yet computed, and the rows of each are counted as
        one.

        Raises
        ------
        ParameterError
            If it is neither Parquet nor Dask's, and so is read in one place.
        """
        file = self._file
        if self._parquet is not None:
            return [(part, part.n_rows) for part in self._parquet]
        if isinstance(file, TableFile) and file.ending == ".parquet" and file.content is None:
            return [(part, part.n_rows) for part in parquet_parts(file.path, self._keys)]
        if _is_dask(self._data):
            if hasattr(self._data, "columns"):
                return [(part, 1) for part in self._data[self._keys].to_delayed()]
            return [(part, 1) for part in self._data.rechunk({1: -1}).to_delayed().ravel()]
        raise ParameterError(
            "data", "Parquet (a file, folder, glob or URL) or a Dask table with a scheduler",
            file.name if isinstance(file, TableFile) else type(self._data).__name__,
        )  # fmt: skip

    def _cut(self, block: Block) -> Iterator[Block]:
        """Into so few rows that what becomes of them fits into memory."""
        for start in range(0, len(block[self._keys[0]]), self._rows):
            rows = slice(start, start + self._rows)
            yield block.like({key: cells[rows] for key, cells in block.items()})

    def _in_parts(self) -> Iterator[Block]:
        for number, part in enumerate(self._parts):
            columns = part()
            n_rows = len(columns[self._keys[0]])
            for start in range(0, n_rows, self._rows):
                rows = slice(start, start + self._rows)
                block = columns.like({key: column[rows] for key, column in columns.items()})
                block.matrix = None if columns.matrix is None else columns.matrix[rows]
                yield block
                self.share_read = (number + min(1, rows.stop / n_rows)) / len(self._parts)
                _let_go(columns.matrix)

    def _parts_of(self, data: Any) -> Iterator[Callable[[], Block]]:
        """The table as one part in memory, or as the parts that Dask has."""
        if not _is_dask(data):
            columns = self._columns_of(data)
            yield lambda: columns
        elif hasattr(data, "columns"):
            _require_columns(self._keys, [str(name) for name in data.columns])
            for part in data[self._keys].partitions:
                yield partial(self._computed, part)
        else:
            whole_rows = data.rechunk({1: -1})
            for number in range(whole_rows.numblocks[0]):
                yield partial(self._computed, whole_rows.blocks[number])

    def _computed(self, part: Any) -> Block:
        try:
            computed = part.compute()
        except UnicodeEncodeError as error:  # Dask keeps texts as UTF-8
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
            _require_columns(self._keys, [str(name) for name in data])
            source = data if isinstance(data, Block) else Block()
            columns = source.like({key: _cells(data[key]) for key in self._keys})
        except ParameterError:
            raise
        except (TypeError, KeyError, ValueError) as error:
            raise ParameterError("data", "a path, a table or a matrix", type(data)) from error
        if len(set(map(len, columns.values()))) > 1:
            raise ParameterError("data", "columns of one length", "others")
        return columns


def _is_dask(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] in {"dask", "dask_expr"}


def _parquet(
    file: TableFile | ParquetPart,
    keys: Sequence[str],
    most_rows: int,
    groups: Sequence[int] | None = None,
) -> Iterator[tuple[Block, float]]:
    """Columns of some rows, and the share of these row groups, or of all, that is read."""
    import pyarrow as pa
    from pyarrow import parquet

    # With a buffer a column's pages are read as they are needed, and not all at once.
    with (
        file.opened() as stream,
        parquet.ParquetFile(stream, buffer_size=_BUFFER) as table,
    ):
        _require_columns(keys, table.schema_arrow.names)
        groups = range(table.num_row_groups) if groups is None else groups
        n_rows, n_all = 0, sum(table.metadata.row_group(group).num_rows for group in groups)
        # One row group after another: all at once stay in memory until the last is read.
        for group in groups:
            for batch in table.iter_batches(
                most_rows, row_groups=[group], columns=list(keys), use_threads=False
            ):
                n_rows += batch.num_rows
                columns = {key: batch.column(key) for key in keys}
                for column in columns.values():
                    # What a damaged file refers to may not be there.
                    column.validate(full=isinstance(column, pa.DictionaryArray))
                yield Block(columns), n_rows / n_all


def _require_columns(keys: Sequence[str], names: Sequence[str], where: str = "") -> None:
    """Refuse a table that has not each of these columns once. Of others it may have several.

    where: The line of the names.
    """
    counts = Counter(names)
    for key in keys:
        if counts[key] == 1:
            continue
        spelled = {_letters(name) for name in names}
        found = "another spelling of it" if _letters(key) in spelled else "none"
        raise ParameterError(
            "data", f"a table with one column {key!r}, as in the dictionary",
            f"{counts[key] or found}{where}" if where or not counts[key] else counts[key],
        )  # fmt: skip


def _letters(name: str) -> str:
    """A name without what is overlooked: capitals, spaces, signs, characters that are not seen."""
    return "".join(filter(str.isalnum, name.casefold()))


@contextmanager
def _one_sentence(file: TableFile | ParquetPart) -> Iterator[None]:
    try:
        yield
    except (ParameterError, FileNotFoundError, PermissionError, DataUnavailable):
        raise
    except DAMAGED as error:
        raise ParameterError("data", _SOUND[file.ending], file.name) from error


@dataclass(frozen=True)
class Header:
    """Where the names of a table's columns are.

    names: As they are written, without spaces around them.
    line: Of a text, or row of a sheet, from 1.
    separator: Of a text.
    encoding: Of a text.
    length: Characters of a text up to its first row.
    has_mark: Whether the text begins with a byte order mark.
    sheet: Of a workbook.
    """

    names: tuple[str, ...]
    line: int
    separator: str = ""
    encoding: str = ""
    length: int = 0
    has_mark: bool = False
    sheet: str = ""


def header_of(file: TableFile, keys: Sequence[str] = ()) -> Header | None:
    """The names of a text's or a workbook's columns; None of another file.

    keys: Names that are looked for. Without any the header is the line that is said to be it, or
        the first that is not blank.
    Raises `ParameterError` if there is no such line, or it cannot be told how it is to be read.
    """
    with _one_sentence(file):
        if file.is_text:
            return _text_header(file, keys)
        return _Workbook(file, keys).header if file.ending == WORKBOOK else None


def names_in(file: TableFile | Path | str) -> tuple[str, ...]:
    """The names of the columns of a file that has them itself: Parquet or NPZ.

    file: Of a folder, glob or URL of Parquet files the first one says them.

    Raises `ParameterError` if it is damaged, or has none.
    """
    from pyarrow import parquet

    source: TableFile | ParquetPart
    if isinstance(file, TableFile):
        source = file
    else:
        first = _fragments(file)[0]
        source = ParquetPart(first, os.path.basename(first.path), (), 0)
    with _one_sentence(source):
        if source.ending == ".parquet":
            with source.opened() as stream, parquet.ParquetFile(stream) as table:
                return tuple(table.schema_arrow.names)
        if (
            isinstance(file, TableFile)
            and file.ending == ".npz"
            and (arrays := _unpacked(file)).keys() != {"X"}
        ):
            return tuple(arrays)
    raise ParameterError("data", "a file that names its columns", source.name)


class _Text:
    """A table as text, read a few megabytes at a time."""

    def __init__(self, file: TableFile, keys: Sequence[str]) -> None:
        self.file, self.keys = file, list(keys)
        self.header = _text_header(file, keys)

    def batches(self) -> Iterator[tuple[Block, float]]:
        """Columns of some rows, as texts, and the share of the file that is read."""
        with self.file.opened() as file:
            try:
                for batch in self._opened(file):
                    share = 1.0 if file.closed else file.tell() / file.size()
                    yield self._block(batch), share
            except ParameterError:
                raise
            except DAMAGED as error:
                raise self._fault(error) from error

    def _opened(self, file: Any) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        # Only what is read has a name: of the other columns several may have one.
        names = [
            name if name in self.keys else f"\0{place}"
            for place, name in enumerate(self.header.names)
        ]
        return arrow_csv.open_csv(
            self._rows_of(file),
            read_options=arrow_csv.ReadOptions(
                block_size=_LONGEST_LINE, use_threads=False, column_names=names
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.header.separator,
                # Otherwise where a block ends would decide what a quoted line break is.
                newlines_in_values=True,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self.keys, pa.string()), include_columns=self.keys
            ),
        )

    def _rows_of(self, file: Any) -> Any:
        """The stream of what is below the header, in UTF-8."""
        import pyarrow as pa

        stream, header = self.file.unpacked(file), self.header
        if self.file.footer_lines or header.encoding not in ("utf-8", "utf-8-sig"):
            rows = _rows_in_utf8(stream, header, self.file.footer_lines)
            return pa.PythonFile(_Chunks(rows), mode="r")
        beginning = _beginning(self.file, header.encoding, header.length)[0][: header.length]
        skipped = len(beginning.encode()) + (len(codecs.BOM_UTF8) if header.has_mark else 0)
        stream.read(skipped)
        return stream

    def _block(self, batch: pa.RecordBatch) -> Block:
        block = Block({key: batch.column(key) for key in self.keys})
        block.are_texts = True
        block.decimal, block.thousands = self.file.decimal, self.file.thousands
        # Between commas a decimal comma would be quoted, and .tsv files are written by programs.
        is_told = self.header.separator == "," or self.file.ending.startswith(".tsv")
        block.is_decimal_open = not is_told and self.file.decimal is None
        return block

    def _fault(self, error: Exception) -> ParameterError:
        """Why the text is no table, with the line where that can be said."""
        if ragged := _RAGGED.search(str(error)):
            (number, found), expected = ragged.groups(), len(self.header.names)
            line = self._line_of_ragged()
            place = f"row {number} below the header" if line is None else f"line {line}"
            return ParameterError(
                "data",
                f"a table with {expected} cell{'s' * (expected > 1)} in every row, as the header "
                f"in line {self.header.line} has (header_line and footer_lines tell of others)",
                f"{found} in {place}",
            )
        if "Empty CSV" in str(error):
            below = f"none below the header in line {self.header.line}"
            return ParameterError("data", "a table with rows", below)
        if (line := self._line_not_decoded()) is not None:
            return _wrong_encoding(self.header.encoding, line)
        return ParameterError("data", _SOUND[self.file.ending], self.file.name)

    def _line_of_ragged(self) -> int | None:
        """The first line with another number of cells than the header; None if far or not found."""
        try:
            with self.file.opened() as file:
                text = io.TextIOWrapper(
                    self.file.unpacked(file), self.header.encoding, "replace", newline=""
                )
                records = _records(text, self.header.separator, self.header.line)
                for line, cells, _ in islice(records, 1, _MOST_COUNTED):
                    if cells and len(cells) != len(self.header.names):
                        return line
        except (*DAMAGED, csv.Error):
            return None
        return None

    def _line_not_decoded(self) -> int | None:
        """The first line that is not in the encoding."""
        decoder, line = codecs.getincrementaldecoder(self.header.encoding)(), 1
        with self.file.opened() as file:
            stream = self.file.unpacked(file)
            try:
                while raw := stream.read(_BUFFER):
                    line += decoder.decode(raw).count("\n")
                decoder.decode(b"", final=True)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(self.header.encoding, "ignore")
                return line + before.count("\n")
            except DAMAGED:
                return None
        return None


def _wrong_encoding(encoding: str, line: int) -> ParameterError:
    name = encoding.removesuffix("-sig")
    wish = f"that of the file, as latin-1, cp1252 or utf-16; it is not {name}"
    return ParameterError("text_encoding", wish, f"other characters in line {line}")


class _Chunks(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            following = next(self._chunks, None)
            if following is None:
                return 0
            self._rest = following
        taken, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


def _rows_in_utf8(stream: Any, header: Header, footer_lines: int) -> Iterator[bytes]:
    """What is below the header, but for the lines at the end that are no rows."""
    decoder = codecs.getincrementaldecoder(header.encoding)()
    to_skip, held = header.length, ""
    while raw := stream.read(_BUFFER):
        text = decoder.decode(raw)
        skipped = min(to_skip, len(text))
        to_skip -= skipped
        held += text[skipped:]
        # The last line may not be whole.
        ready, held = _without_last_lines(held, footer_lines + 1)
        yield ready.encode()
    held += decoder.decode(b"", final=True)[to_skip:]
    yield _without_last_lines(held, footer_lines)[0].encode()


def _without_last_lines(text: str, n_lines: int) -> tuple[str, str]:
    """A text up to its last lines that are not blank, and those."""
    lines = list(io.StringIO(text, newline=""))
    cut, left = len(lines), n_lines
    while cut and left:
        cut -= 1
        left -= bool(lines[cut].strip())
    return "".join(lines[:cut]), "".join(lines[cut:])


def _encoding_of(file: TableFile) -> tuple[str, bool]:
    """As it is said, or by a text's first bytes; and whether a mark says it."""
    with file.opened() as stream:
        first = file.unpacked(stream).read(4)
    marks = {
        codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
    }  # fmt: skip
    for mark, encoding in marks.items():
        if first.startswith(mark) and file.text_encoding in (None, encoding):
            return encoding, True
    if file.text_encoding is not None:
        return file.text_encoding, False
    # The names of columns are mostly letters of one byte.
    zeros = tuple(each == 0 for each in first)
    without_mark = {(False, True) * 2: "utf-16-le", (True, False) * 2: "utf-16-be"}
    return without_mark.get(zeros, "utf-8"), False


def _beginning(
    file: TableFile, encoding: str, n_characters: int
) -> tuple[str, ParameterError | None]:
    """The first characters of a text: as many, or all there are, or some more.

    And why there are no more, where a line is not in this encoding.
    """
    decoder, text = codecs.getincrementaldecoder(encoding)(), ""
    with file.opened() as packed:
        stream = file.unpacked(packed)
        try:
            while len(text) < n_characters:
                raw = stream.read(_BUFFER)
                text += decoder.decode(raw, final=not raw)
                if not raw:
                    break
        except UnicodeDecodeError as error:
            text += error.object[: error.start].decode(encoding, "ignore")
            return text, _wrong_encoding(encoding, 1 + text.count("\n"))
    return text, None


def _records(
    lines: Iterable[str], separator: str, first_line: int = 1
) -> Iterator[tuple[int, list[str], int]]:
    """Rows of a text from a line on: that of each, its cells, and the characters up to its end."""
    read, consumed = 0, 0

    def counted() -> Iterator[str]:
        nonlocal read, consumed
        for line in lines:
            read += 1
            consumed += len(line)
            yield line

    of_text = counted()
    for _ in range(first_line - 1):
        next(of_text, None)
    start = read + 1
    for cells in csv.reader(of_text, delimiter=separator):
        yield start, cells, consumed
        start = read + 1


def _text_header(file: TableFile, keys: Sequence[str]) -> Header:
    _refuse_other_kinds(file)
    encoding, has_mark = _encoding_of(file)
    for n_characters in (_FIRST_LOOK, _LONGEST_LINE):
        text, fault = _beginning(file, encoding, n_characters)
        is_whole = len(text) < n_characters
        found = [
            Header(
                tuple(cell.strip() for cell in cells), line, separator, encoding, length, has_mark
            )
            for separator in _separators(file, _separator_said(text, file))
            for line, cells, length in _first_records(text, separator, file, is_whole)
        ]
        if is_whole or (found and not keys) or _having(found, keys):
            break
    if fault is not None and not _having(found, keys):
        raise fault
    if not found:
        raise ParameterError("data", _SOUND[file.ending], file.name)
    return _with_keys(found, keys, file) if keys else _likeliest(found, file)


def _having(found: Sequence[Header], keys: Sequence[str]) -> list[Header]:
    return [each for each in found if set(keys) <= set(each.names)]


def _refuse_other_kinds(file: TableFile) -> None:
    """Say of another kind of file which it is."""
    with file.opened() as stream:
        first = stream.read(4)
    for beginning, kind in _KINDS.items():
        if first.startswith(beginning) and not (kind == "gzip" and file.ending.endswith(".gz")):
            raise ParameterError("data", _SOUND[file.ending], f"a file of {kind}, {file.name}")


def _separators(file: TableFile, named: str | None) -> tuple[str, ...]:
    """Those that come into question: as Excel names it in a first line, or of all."""
    if named is not None and file.separator is None:
        return (named,)
    usual = {".tsv": "\t", ".txt": "\t"}.get(file.ending.removesuffix(".gz"), ",")
    return tuple(dict.fromkeys((file.separator or usual, usual, *SEPARATORS)))


def _separator_said(text: str, file: TableFile) -> str | None:
    """By a first line as Excel reads and writes it: sep=;"""
    first = text[:16].splitlines()[:1]
    is_named = bool(first) and first[0].lower().startswith("sep=") and len(first[0]) == len("sep=;")
    return first[0][-1] if is_named and file.header_line is None else None


def _first_records(
    text: str, separator: str, file: TableFile, is_whole: bool
) -> Iterator[tuple[int, list[str], int]]:
    """Where a header may be: the lines of a preamble and the one after it."""
    first_line = file.header_line or (2 if _separator_said(text, file) else 1)
    last_line = first_line if file.header_line is not None else _MOST_PREAMBLE
    try:
        records = _records(io.StringIO(text, newline=""), separator, first_line)
        for line, cells, length in records:
            if line > last_line or (length == len(text) and not is_whole):
                return
            if any(map(str.strip, cells)):
                yield line, cells, length
    except csv.Error:
        return


def _likeliest(found: Sequence[Header], file: TableFile) -> Header:
    """The first line, by the separator that cuts it into most names."""
    first = min(each.line for each in found)
    wanted = {file.separator} if file.separator is not None else set(SEPARATORS)
    there = [each for each in found if each.line == first and each.separator in wanted]
    header = max(there or found, key=lambda each: len(each.names))
    _refuse_numbers(header, file)
    return header


def _with_keys(found: Sequence[Header], keys: Sequence[str], file: TableFile) -> Header:
    """The first line in which all keys are.

    Raises `ParameterError` that says what the likeliest line lacks.
    """
    wanted, whole = set(keys), _having(found, keys)
    mine = [each for each in whole if file.separator in (None, each.separator)]
    if whole and not mine:
        told = SEPARATORS.get(whole[0].separator, whole[0].separator)
        wish = f"that of the file: the header in line {whole[0].line} has a {told} between names"
        raise ParameterError("separator", wish, file.separator)
    if mine:
        first = min(each.line for each in mine)
        at_first = [each for each in mine if each.line == first]
        if len({each.names for each in at_first}) > 1:
            wish = f"given: in line {first} the columns are there with several"
            raise ParameterError("separator", wish, "none")
        header = at_first[0]
        _require_columns(keys, header.names, f" in line {header.line}")
        return header
    likeliest = max(found, key=lambda each: len(wanted & set(each.names)))
    if not wanted & set(likeliest.names):
        likeliest = _likeliest(found, replace(file, separator=None))
    _require_columns(keys, likeliest.names, f" in line {likeliest.line}")
    return likeliest


def _refuse_numbers(header: Header, file: TableFile) -> None:
    if file.header_line is None and any(map(_is_number, header.names)):
        raise ParameterError(
            "data",
            "a table with its columns' names in a line above the rows (or header_line, if names "
            "are numbers)",
            f"numbers in line {header.line}",
        )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


class _Workbook:
    """A sheet of a workbook; it is unpacked as a whole."""

    def __init__(self, file: TableFile, keys: Sequence[str]) -> None:
        self.file, self.keys = file, list(keys)
        with _sound_workbook():
            self._book = _opened_workbook(file)
            names = list(self._book.sheet_names)
            if file.sheet is not None and file.sheet not in names:
                raise ParameterError("sheet", "one of the workbook's", file.sheet)
            chosen = names if file.sheet is None else [file.sheet]
            found = {name: list(self._first_rows(name)) for name in chosen}
        self.header = self._chosen({name: rows for name, rows in found.items() if rows})

    def batches(self) -> Iterator[tuple[Block, float]]:
        """Columns of some rows, each cell of its own type, and the share of the sheet."""
        sheet = self._book.get_sheet_by_name(self.header.sheet)
        places = [self.header.names.index(key) for key in self.keys]
        n_rows = max(1, sheet.total_height)
        rows = (
            (number, row)
            for number, row in enumerate(sheet.iter_rows(), 1)
            if number > self.header.line and any(cell != "" for cell in row)
        )
        held: list[tuple[int, list[Any]]] = []
        n_read = 0
        while True:
            with _sound_workbook():
                more = list(islice(rows, _SHEET_ROWS))
            if not more:
                break
            held += more
            ready = held[: max(0, len(held) - self.file.footer_lines)]
            held = held[len(ready) :]
            if ready:
                n_read += len(ready)
                yield self._block([row for _, row in ready], places), ready[-1][0] / n_rows
        if not n_read:
            below = f"none below the header in row {self.header.line}"
            raise ParameterError("data", "a table with rows", below)

    def _block(self, rows: list[list[Any]], places: list[int]) -> Block:
        columns: dict[str, Cells] = {}
        for key, place in zip(self.keys, places, strict=True):
            cells = (None if row[place] == "" else row[place] for row in rows)
            columns[key] = np.fromiter(cells, dtype=object, count=len(rows))
        block = Block(columns)
        block.decimal, block.thousands = self.file.decimal, self.file.thousands
        return block

    def _first_rows(self, sheet: str) -> Iterator[Header]:
        first = self.file.header_line or 1
        last = first if self.file.header_line is not None else _MOST_PREAMBLE
        rows = islice(self._book.get_sheet_by_name(sheet).iter_rows(), last)
        for line, row in enumerate(rows, 1):
            if line >= first and any(cell != "" for cell in row):
                yield Header(tuple(str(cell).strip() for cell in row), line, sheet=sheet)

    def _chosen(self, found: Mapping[str, list[Header]]) -> Header:
        """The sheet's header, if there is one sheet that can be meant."""
        if not found:
            raise ParameterError("data", _SOUND[WORKBOOK], self.file.name)
        if not self.keys:
            if len(found) > 1:
                wish = f"given, as there are several: {', '.join(found)}"
                raise ParameterError("sheet", wish, "none")
            header = next(iter(found.values()))[0]
            _refuse_numbers(header, self.file)
            return header
        whole = {
            name: each
            for name, rows in found.items()
            for each in reversed(rows)
            if set(self.keys) <= set(each.names)
        }
        if len(whole) > 1:
            wish = f"given, as several have these columns: {', '.join(whole)}"
            raise ParameterError("sheet", wish, "none")
        for header in whole.values():
            _require_columns(self.keys, header.names, f" in row {header.line}")
            return header
        every = [each for rows in found.values() for each in rows]
        likeliest = max(every, key=lambda each: len(set(self.keys) & set(each.names)))
        _require_columns(self.keys, likeliest.names, f" in row {likeliest.line}")
        return likeliest


def _opened_workbook(file: TableFile) -> Any:
    try:
        import python_calamine
    except ModuleNotFoundError as error:
        raise DataUnavailable(
            "a workbook is read with python-calamine, which pip install 'dp-pca-lab[excel]' brings"
        ) from error
    content = Path(file.path).read_bytes() if file.content is None else file.content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(member.file_size for member in archive.infolist()) > _LARGEST_WORKBOOK:
            raise ValueError("too large")
    return python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))


@contextmanager
def _sound_workbook() -> Iterator[None]:
    """What is raised of a damaged workbook as of other damaged files."""
    try:
        yield
    except BaseException as error:
        of = type(error)
        # A panic is what Rust has for a fault that nobody foresaw.
        if "python_calamine" in of.__module__ or of.__name__ == "PanicException":
            raise ValueError("a damaged workbook") from error
        raise


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


def _unpacked(file: TableFile) -> Any:
    if file.ending == ".npz":
        path = Path(file.path)
        return unpacked_npz(
            path if file.content is None else io.BytesIO(file.content), _LARGEST_NPZ
        )
    if file.content is None:
        return np.load(file.path, mmap_mode="r", allow_pickle=False)
    return np.load(io.BytesIO(file.content), allow_pickle=False)


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


# Cells of a column, each read by itself: as a number, and as the name of a level or a person.

# What is read as a number; anything else in such a column is missing.
_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf(inity)?))$"
_IS_NUMBER = re.compile(_NUMBER, re.ASCII)
# As programs write flags, and read them back from text.
_FLAGS = {"True": 1.0, "true": 1.0, "TRUE": 1.0, "False": 0.0, "false": 0.0, "FALSE": 0.0}
# As NumPy writes what is missing, where a text makes texts of all cells.
_MISSING = {"", "nan"}
# Beyond, a double does not say which whole number it was.
_LARGEST_WHOLE = 1 << 53
# A plain one, and those that keep a number on one line.
_SPACES = " \u00a0\u2009\u202f"
_SECONDS_A_DAY, _EPOCH = 86_400, date(1970, 1, 1)


@dataclass(frozen=True)
class Marks:
    """How the cells of a column are written.

    decimal: Between the whole part of a number and the rest.
    thousands: Between groups of three digits, or nothing.
    unit: A text before or after the number, or nothing.
    missing: Cells that stand for nothing, as they are written.
    days_since: Cells are dates, and their numbers are days since this one.
    date_order: {"ymd", "dmy", "mdy"}. Of dates that are no ISO dates.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    missing: tuple[str, ...] = ()
    days_since: date | None = None
    date_order: str = "ymd"

    @cached_property
    def missing_names(self) -> frozenset[str]:
        """The names of the cells that stand for nothing: -999, -999.0 and "-999" are one."""
        return frozenset(filter(None, map(name_of_text, self.missing)))

    @cached_property
    def missing_numbers(self) -> AnyArray:
        """The numbers among them."""
        import pyarrow as pa

        codes = pa.array(self.missing, pa.string())
        found = np.concatenate([_parsed(codes), _parsed(codes, replace(self, missing=()))])
        numbers: AnyArray = np.unique(found[np.isfinite(found)])
        return numbers


PLAIN = Marks()


def numbers_of(cells: Cells, name: str, marks: Marks = PLAIN) -> AnyArray:
    """Cells as numbers, not a number where there is none.

    name: Of the column.
    marks: How its texts are written.
    Returns: ndarray of numbers or flags, shape (n_rows,)
    Raises `ParameterError` if the column is of a type that is neither number nor text.
    """
    found = _numbers_of(cells, name, marks)
    if not marks.missing or not marks.missing_numbers.size:
        return found
    # A number that stands for nothing is none, however wide the column's numbers are.
    return np.where(np.isin(found, marks.missing_numbers), np.nan, found)


def _numbers_of(cells: Cells, name: str, marks: Marks) -> AnyArray:
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "fiub":
            return cells
        if cells.dtype.kind == "U" and (array := _utf8(cells)) is not None:
            return _parsed(array, marks)
        found, texts = _split(cells)
        is_text = np.array([text is not None for text in texts], dtype=bool)
        if is_text.any():
            import pyarrow as pa

            found[is_text] = _parsed(pa.array(texts[is_text], pa.string()), marks)
        return found
    import pyarrow as pa
    import pyarrow.compute as pc

    if marks.days_since is not None and is_date(cells.type):
        return _days_of_dates(cells, marks.days_since)
    array = _decoded(cells, name)
    if pa.types.is_string(array.type):
        return _parsed(array, marks)
    if array.null_count == 0:
        plain: AnyArray = array.to_numpy(zero_copy_only=False)
        return plain
    floats = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan)
    filled: FloatArray = floats.to_numpy(zero_copy_only=False)
    return filled


def names_of(cells: Cells, name: str, marks: Marks = PLAIN) -> pa.Array:
    """Cells as names of levels or people, null where there is none.

    Of whole numbers of 16 digits and more some have one name, as they have one double.

    name: Of the column.
    marks: Say which cells stand for nothing.
    Raises `ParameterError` as in `numbers_of`.
    """
    return without_missing(_names_of(cells, name), marks)


def without_missing(names: pa.Array, marks: Marks) -> pa.Array:
    """Names, null where they stand for nothing."""
    if not marks.missing:
        return names
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = pa.array(sorted({*marks.missing_names, *map(str.strip, marks.missing)}), pa.string())
    is_missing = pc.is_in(names, value_set=codes, skip_nulls=True)
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), names)


def _names_of(cells: Cells, name: str) -> pa.Array:
    import pyarrow as pa

    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "fiub":
            return _names_of_numbers(cells)
        if cells.dtype.kind == "U" and (array := _utf8(cells)) is not None:
            return _names_of(array, name)
        of_numbers, texts = _split(cells)
        return pa.array(
            [
                _name_of_number(number) if text is None else name_of_text(text)
                for number, text in zip(of_numbers.tolist(), texts, strict=True)
            ],
            pa.string(),
        )
    array = _decoded(cells, name)
    if not pa.types.is_string(array.type):
        return _names_of_numbers(numbers_of(array, name))
    different = array.dictionary_encode()
    named = [
        None if text is None else name_of_text(text) for text in different.dictionary.to_pylist()
    ]
    return pa.array(named, pa.string()).take(different.indices)


def names_as_written(cells: pa.Array) -> pa.Array:
    """Names of a source of nothing but texts: trimmed, no two of them taken for one number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(cells)
    is_missing = pc.is_in(trimmed, value_set=pa.array(sorted(_MISSING)))
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), trimmed)


def name_of_text(text: str) -> str | None:
    """The name that a text has as a cell, None if it stands for nothing."""
    text = text.strip()
    if text in _MISSING:
        return None
    if text in _FLAGS:
        return _name_of_number(_FLAGS[text])
    return _name_of_number(float(text)) if _IS_NUMBER.match(text) else text


def _name_of_number(number: float) -> str | None:
    if number != number:
        return None
    if number.is_integer():
        return str(int(number)) if abs(number) < _LARGEST_WHOLE else repr(number)
    # Programs differ in the last digit of what they read.
    return f"{number:.15g}"


def _names_of_numbers(cells: AnyArray) -> pa.Array:
    import pyarrow as pa

    if cells.dtype.kind in "iub":
        farthest = max(-int(cells.min(initial=0)), int(cells.max(initial=0)))
        if farthest < _LARGEST_WHOLE:
            return pa.array(cells.astype(np.int64)).cast(pa.string())
    different, place = np.unique(cells.astype(np.float64), return_inverse=True)
    named = [_name_of_number(number) for number in different.tolist()]
    return pa.array(named, pa.string()).take(pa.array(place))


def _parsed(texts: pa.Array, marks: Marks = PLAIN) -> FloatArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if marks.days_since is not None:
        return _of_different(texts, partial(days_of_text, marks=marks))
    trimmed = pc.utf8_trim_whitespace(texts)
    if marks.decimal != "." or marks.thousands or marks.unit:
        trimmed = _plainly_written(trimmed, marks)
    is_number = pc.match_substring_regex(trimmed, _NUMBER)
    digits = pc.if_else(is_number, trimmed, pa.scalar(None, pa.string()))
    values = pc.fill_null(pc.cast(digits, pa.float64()), np.nan)
    found: FloatArray = values.to_numpy(zero_copy_only=False)
    if digits.null_count > texts.null_count:
        flag = pc.index_in(trimmed, value_set=pa.array(list(_FLAGS)))
        of_flag = pa.array(list(_FLAGS.values())).take(flag)
        found = np.where(np.isnan(found), of_flag.to_numpy(zero_copy_only=False), found)
    return found


def _plainly_written(texts: pa.Array, marks: Marks) -> pa.Array:
    """Numbers without thousands mark and unit, with a decimal point; null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    decimal, thousands = re.escape(marks.decimal), re.escape(marks.thousands)
    whole = r"\d+"
    if thousands:
        # A space may be any of those that programs put between digits.
        thousands = f"[{_SPACES}]" if marks.thousands == " " else thousands
        whole = rf"(?:\d{{1,3}}(?:{thousands}\d{{3}})+|\d+)"
    number = rf"(?:{whole}(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?"
    unit = rf"(?:{re.escape(marks.unit)})?" if marks.unit else ""
    space = rf"[\s{_SPACES}]*" if marks.unit else ""
    pattern = rf"^([+-]?){space}{unit}{space}([+-]?)({number}){space}{unit}$"
    is_number = pc.match_substring_regex(texts, pattern)
    bare = pc.replace_substring_regex(texts, pattern, r"\1\2\3")
    if marks.thousands:
        bare = pc.replace_substring_regex(bare, thousands, "")
    bare = pc.replace_substring(bare, marks.decimal, ".")
    return pc.if_else(is_number, bare, pa.scalar(None, pa.string()))


# Where a date has its year, month and day; ISO dates are read in every order.
_ISO = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?Z?)?", re.ASCII
)
_ORDERS = {
    "ymd": re.compile(r"(?P<y>\d{4})([-./])(?P<m>\d{1,2})\2(?P<d>\d{1,2})", re.ASCII),
    "dmy": re.compile(r"(?P<d>\d{1,2})([-./])(?P<m>\d{1,2})\2(?P<y>\d{4})", re.ASCII),
    "mdy": re.compile(r"(?P<m>\d{1,2})([-./])(?P<d>\d{1,2})\2(?P<y>\d{4})", re.ASCII),
}
DATE_ORDERS = tuple(_ORDERS)


def days_of_text(text: str, marks: Marks) -> float:
    """Days from the marks' first date to the one that is written; not a number if none is."""
    text = text.strip()
    if found := _ISO.fullmatch(text):
        year, month, day, hour, minute, second = found.groups()
        part = (int(hour or 0) * 60 + int(minute or 0)) * 60 + float(second or 0)
    elif found := _ORDERS[marks.date_order].fullmatch(text):
        (year, month, day), part = found.group("y", "m", "d"), 0.0
    elif _IS_NUMBER.match(text):
        # A cell with a number has its days already, as a column of numbers would.
        return float(text)
    else:
        return math.nan
    try:
        days = (date(int(year), int(month), int(day)) - (marks.days_since or date.min)).days
    except ValueError:  # the 31st of April
        return math.nan
    return days + part / _SECONDS_A_DAY


def is_date(kind: pa.DataType) -> bool:
    """Whether a column of this type has dates, or moments."""
    import pyarrow as pa

    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _days_of_dates(cells: pa.Array, since: date) -> FloatArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    # Of moments with a time zone that of Greenwich, as they are kept.
    moments = pc.cast(pc.cast(cells, pa.timestamp("us"), safe=False), pa.int64())
    microseconds = pc.fill_null(pc.cast(moments, pa.float64(), safe=False), np.nan)
    found: FloatArray = microseconds.to_numpy(zero_copy_only=False)
    return found / (1e6 * _SECONDS_A_DAY) - (since - _EPOCH).days


def _of_different(texts: pa.Array, number: Callable[[str], float]) -> FloatArray:
    """The numbers of texts, each different one read once."""
    import pyarrow as pa

    different = texts.dictionary_encode()
    read = [math.nan if text is None else number(text) for text in different.dictionary.to_pylist()]
    taken = pa.array(read, pa.float64()).take(different.indices).fill_null(math.nan)
    found: FloatArray = taken.to_numpy(zero_copy_only=False)
    return found


def _utf8(cells: AnyArray) -> pa.Array | None:
    """An array of texts as Arrow has them; None if one of them is no text in UTF-8."""
    import pyarrow as pa

    try:
        return pa.array(cells.astype(cells.dtype.newbyteorder("=")), pa.string())
    except UnicodeError:
        return None


def _decoded(array: pa.Array, name: str) -> pa.Array:
    """Numbers as they are, any text as plain strings, nothing at all as missing text."""
    import pyarrow as pa

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
    dates = ", or given days_since in the dictionary" if is_date(kind) else ""
    raise ParameterError(f"column {name!r}", f"of numbers or texts{dates}", str(kind))


def _split(cells: AnyArray) -> tuple[FloatArray, AnyArray]:
    """Of each cell the number, or else the text; not a number and None where there is neither."""
    if cells.dtype.kind in "mM":
        # An object of whole nanoseconds would be a number.
        cells = cells.astype(f"{cells.dtype.kind}8[us]")
    found = np.full(len(cells), np.nan)
    texts = np.full(len(cells), None, dtype=object)
    for row, cell in enumerate(cells.astype(object)):
        value = _value(cell)
        if isinstance(value, str):
            texts[row] = value
        else:
            found[row] = value
    return found, texts


def _value(cell: Any) -> float | str:
    """A cell's number, or its text, by its own type."""
    if isinstance(cell, str):
        return _character_by_character(cell)
    if isinstance(cell, Number | np.bool_):
        return _real(cell)
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace")
    if isinstance(cell, np.datetime64 | np.timedelta64):
        cell = cell.astype(f"{cell.dtype.kind}8[us]").item()
    if cell is None or _is_not_itself(cell):
        return np.nan
    if isinstance(cell, datetime):
        # To the microsecond, as of an array of dates.
        return datetime.isoformat(cell, " ")
    if isinstance(cell, timedelta):
        return str(timedelta(cell.days, cell.seconds, cell.microseconds))
    return _character_by_character(str(cell))


def _character_by_character(text: str) -> str:
    # Half of a surrogate pair is no character: its number stays, which tells texts apart.
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _real(cell: Any) -> float:
    try:
        number = complex(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf
    except (TypeError, ValueError):
        return np.nan
    return number.real if number.imag == 0 else np.nan


def _is_not_itself(cell: Any) -> bool:
    """Whether a cell is one of the many things that stand for nothing."""
    try:
        return not bool(cell == cell)
    except (TypeError, ValueError):
        return True
