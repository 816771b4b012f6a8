"""Table files: name, layout options, blocks of columns, and checks that all formats share."""

from __future__ import annotations

import codecs
import csv
import math
import os
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from tokenize import TokenError
from typing import Any

import numpy as np
import pyarrow as pa

from dpcore.errors import DataUnavailable, ParameterError
from dpcore.release.cells import Cells

# Exceptions of pyarrow, NumPy and zipfile for damaged files. ArrowInvalid is a ValueError;
# passwords and unsupported columns or compressions raise RuntimeError.
DAMAGED = (ValueError, OSError, EOFError, RuntimeError, KeyError, TypeError, MemoryError,
           SyntaxError, TokenError, zipfile.BadZipFile, zlib.error, csv.Error)  # fmt: skip
BUFFER = 1 << 16
_MOST_FOOTER = 1000
TEXT_ENDINGS = (".csv", ".tsv", ".txt")
WORKBOOK = ".xlsx"
_TEXT_REQUIREMENT = "a table as text: a header, as many cells in every row, no line above 4 MB"
REQUIREMENTS = {
    **dict.fromkeys(
        (*TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS)), _TEXT_REQUIREMENT
    ),
    WORKBOOK: "a sound workbook of at most 256 MB unpacked, with a header",
    ".parquet": "a sound Parquet file",
    ".npz": "a sound NPZ file of at most 2 GB unpacked, with a matrix X or an array a column",
    ".npy": "an NPY file with a matrix of numbers",
}
# Names of separators in messages.
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def require_regular_file(parameter: str, path: Path | str) -> None:
    """Refuse devices and pipes, which may never end; a missing file raises FileNotFoundError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ParameterError(parameter, "a regular file, no device, pipe or folder", str(path))


class Block(dict[str, Cells]):
    """Columns of some rows.

    matrix: Matrix of the columns, if they come from one.
    are_texts: Whether all cells of the source are texts, so that no cell changes another's type.
    decimal, thousands: Marks that the data holder gave for the file.
    is_decimal_open: Whether the decimal mark of the file is unknown.
    n_joined_lines: Lines that quotes joined to the line before, in the file of a whole table.
    n_empty_rows: Skipped rows without any cell, in the file of a whole table.
    """

    matrix: np.ndarray[Any, Any] | None = None
    are_texts: bool = False
    decimal: str | None = None
    thousands: str | None = None
    is_decimal_open: bool = False
    n_joined_lines: int = 0
    n_empty_rows: int = 0

    def copy_with(self, columns: Mapping[str, Cells]) -> Block:
        """Return a block of other columns or rows of the same source."""
        block = Block(columns)
        block.are_texts, block.is_decimal_open = self.are_texts, self.is_decimal_open
        block.decimal, block.thousands = self.decimal, self.thousands
        block.n_joined_lines, block.n_empty_rows = self.n_joined_lines, self.n_empty_rows
        return block


@dataclass(frozen=True)
class TableFile:
    """File with a table, and its layout where the header leaves it open.

    Parameters
    ----------
    path : path
        The ending gives the format: .csv, .tsv or .txt, also with .gz; .xlsx, .parquet, .npz, .npy.
    content : bytes, optional
        Content of the file, if it is in memory.
    separator : str, optional
        Character between cells. Default: found from the header.
    text_encoding : str, optional
        Default: given by a byte order mark, else UTF-8.
    header_line : int, optional
        Line of a text, or row of a sheet, with the column names, from 1. Default: the first that
        has all names that are read.
    footer_lines : int
        Number of lines at the end that are not rows.
    sheet : str, optional
        Sheet of a workbook. Default: the only one with such a header.
    decimal, thousands : str, optional
        Marks in the numbers of this file; they replace those of the dictionary's [cells].

    Raises
    ------
    ParameterError
        If the ending is unknown, or a value is out of range.
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
        if self.ending not in REQUIREMENTS:
            raise ParameterError("data", f"a file named {', '.join(REQUIREMENTS)}", self.name)
        if self.separator is not None and (
            len(self.separator) != 1 or self.separator in '"\r\n' or ord(self.separator) > 127
        ):
            raise ParameterError("separator", "one character, but no quote", self.separator)
        if self.header_line is not None and not 1 <= self.header_line <= 1 << 20:
            raise ParameterError("header_line", "from 1 to a million", self.header_line)
        if not 0 <= self.footer_lines <= _MOST_FOOTER:
            raise ParameterError("footer_lines", f"from 0 to {_MOST_FOOTER}", self.footer_lines)
        if self.text_encoding is not None:
            object.__setattr__(self, "text_encoding", _check_encoding(self.text_encoding))

    @property
    def name(self) -> str:
        """Name of the file, without its folder."""
        return PurePath(self.path).name

    @property
    def ending(self) -> str:
        """Lower-case ending of the name; .gz counts with the ending before it."""
        endings = [suffix.lower() for suffix in PurePath(self.path).suffixes]
        return "".join(endings[-2:] if endings[-1:] == [".gz"] else endings[-1:])

    def require_readable(self) -> None:
        """Refuse a path that is no regular file; raise `OSError` if it cannot be opened."""
        if self.content is None:
            require_regular_file("data", self.path)
            # Raises FileNotFoundError and PermissionError before other readers do.
            open(self.path, "rb").close()

    @property
    def is_text(self) -> bool:
        """Whether the ending is that of a delimited text."""
        return self.ending.removesuffix(".gz") in TEXT_ENDINGS

    def open(self) -> Any:
        """Open the file as an Arrow stream of its bytes."""
        in_memory = self.content is not None
        return pa.BufferReader(self.content) if in_memory else pa.OSFile(str(self.path))

    def unpack(self, stream: Any) -> Any:
        """Return the stream, decompressed if the ending is .gz."""
        is_packed = self.ending.endswith(".gz")
        return pa.CompressedInputStream(stream, "gzip") if is_packed else stream


def _check_encoding(encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
        "".encode(codec.name)
    except (LookupError, UnicodeError) as error:
        constraint = "the name of an encoding, such as utf-8, utf-16, latin-1 or cp1252"
        raise ParameterError("text_encoding", constraint, encoding) from error
    return "utf-8-sig" if codec.name == "utf-8" else codec.name


def require_columns(keys: Sequence[str], names: Sequence[str], where: str = "") -> None:
    """Refuse a table that does not have each of the columns exactly once.

    where: Position of the names, for the message.
    """
    counts = Counter(names)
    for key in keys:
        if counts[key] == 1:
            continue
        spelled = {_letters(name) for name in names}
        explanation = "another spelling of it" if _letters(key) in spelled else "none"
        raise ParameterError(
            "data", f"a table with one column {key!r}, as in the dictionary",
            f"{counts[key] or explanation}{where}" if where or not counts[key] else counts[key],
        )  # fmt: skip


def _letters(name: str) -> str:
    """Return a name in lower case without spaces, signs and invisible characters."""
    return "".join(filter(str.isalnum, name.casefold()))


@contextmanager
def refuse_damaged(ending: str, name: str) -> Iterator[None]:
    """Report exceptions of damaged files as a `ParameterError` that repeats none of the content."""
    try:
        yield
    except (ParameterError, FileNotFoundError, PermissionError, DataUnavailable):
        raise
    except DAMAGED as error:
        raise ParameterError("data", REQUIREMENTS[ending], name) from error


@dataclass(frozen=True)
class Header:
    """Column names of a table and their position.

    names: Column names without surrounding spaces.
    line: Line of a text, or row of a sheet, from 1.
    separator: Separator of a text.
    encoding: Encoding of a text.
    length: Number of characters of a text before its first row.
    has_mark: Whether the text begins with a byte order mark.
    sheet: Name of the sheet of a workbook.
    """

    names: tuple[str, ...]
    line: int
    separator: str = ""
    encoding: str = ""
    length: int = 0
    has_mark: bool = False
    sheet: str = ""


def refuse_numbers(header: Header, file: TableFile) -> None:
    """Refuse a header with numbers, which is probably a row, unless its line was given."""
    if file.header_line is None and any(map(_is_number, header.names)):
        raise ParameterError(
            "data",
            "a table with its columns' names in a line above the rows (or header_line, if names "
            "are numbers)",
            f"numbers in line {header.line}",
        )


def _is_number(text: str) -> bool:
    try:
        # Columns may be called NaN or Inf.
        return math.isfinite(float(text.replace(",", ".")))
    except ValueError:
        return False
