"""Table files: name, layout options, blocks of columns, and checks that all formats share."""

from __future__ import annotations

import codecs
import csv
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from tokenize import TokenError
from typing import Any

import numpy as np

from dpcore.errors import DataUnavailable, ParameterError
from dpcore.release.cells import Cells

# What pyarrow, NumPy and zipfile raise of a damaged file; ArrowInvalid is a ValueError, and of an
# archive with a password, or a kind of column or compression that nobody reads, a RuntimeError.
DAMAGED = (ValueError, OSError, EOFError, RuntimeError, KeyError, TypeError, MemoryError,
           SyntaxError, TokenError, zipfile.BadZipFile, csv.Error)  # fmt: skip


BUFFER = 1 << 16


_MOST_FOOTER = 1000


TEXTS = (".csv", ".tsv", ".txt")


WORKBOOK = ".xlsx"


_A_TEXT = "a table as text: a header, as many cells in every row, no line above 4 MB"


SOUND = {
    **dict.fromkeys((*TEXTS, *(f"{ending}.gz" for ending in TEXTS)), _A_TEXT),
    WORKBOOK: "a sound workbook of at most 256 MB unpacked, with a header",
    ".parquet": "a sound Parquet file",
    ".npz": "an NPZ file of at most 2 GB unpacked, with a matrix X or an array a column",
    ".npy": "an NPY file with a matrix of numbers",
}


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
        if self.ending not in SOUND:
            raise ParameterError("data", f"a file named {', '.join(SOUND)}", self.name)
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


def require_columns(keys: Sequence[str], names: Sequence[str], where: str = "") -> None:
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
def refuse_damaged(ending: str, name: str) -> Iterator[None]:
    try:
        yield
    except (ParameterError, FileNotFoundError, PermissionError, DataUnavailable):
        raise
    except DAMAGED as error:
        raise ParameterError("data", SOUND[ending], name) from error


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


def refuse_numbers(header: Header, file: TableFile) -> None:
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
