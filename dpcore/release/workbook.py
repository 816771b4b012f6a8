"""Read a sheet of an Excel workbook, which is unpacked as a whole.

The library that reads workbooks ends the process if memory runs out: `reading_process` calls it.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from dpcore.errors import DataUnavailable, ParameterError
from dpcore.release.cells import Cells, mixed_cells, name_of_text, normal_form
from dpcore.release.delimited_text import MOST_PREAMBLE
from dpcore.release.table_file import (
    REQUIREMENTS,
    WORKBOOK,
    Block,
    Header,
    TableFile,
    refuse_numbers,
    require_columns,
)

# Bytes unpacked. A workbook in memory takes about ten times the text of its cells.
_LARGEST_WORKBOOK = 1 << 28
# The library allocates all places between the first and the last cell, and copies a text that
# several cells share into each of them.
MOST_PLACES, _MOST_TEXT = 1 << 24, 1 << 28
_SHEET_ROWS = 1 << 14
_CHUNK = 1 << 20
# Cells with a content, whose elements do not end at once, and the numbers of shared texts.
_CELL = re.compile(rb'<(?:\w+:)?c\s[^>]*?\br="([A-Z]{1,3})(\d{1,7})"[^>/]*>')
_SHARED = re.compile(rb'\bt="s"[^>]*>\s*<(?:\w+:)?v>(\d{1,9})<')
_TEXT_END = re.compile(rb"</(?:\w+:)?si>")


class Workbook:
    """Sheet of a workbook.

    n_empty_rows: Skipped rows without any cell, between the header and the last row.
    """

    def __init__(self, file: TableFile, keys: Sequence[str]) -> None:
        self.file, self.keys = file, list(keys)
        self.n_empty_rows = 0
        with _report_damage():
            self._book = _open_workbook(file)
            names = list(self._book.sheet_names)
            if file.sheet is not None and file.sheet not in names:
                raise ParameterError("sheet", "one of the workbook's", file.sheet)
            chosen = names if file.sheet is None else [file.sheet]
            _check_sheets(file, chosen)
            headers = {name: list(self._first_rows(name)) for name in chosen}
        self.header = self._choose_header({name: rows for name, rows in headers.items() if rows})

    def batches(self) -> Iterator[Block]:
        """Yield columns of some rows, of the type `MIXED`."""
        sheet = self._book.get_sheet_by_name(self.header.sheet)
        places = [self.header.names.index(key) for key in self.keys]
        rows = islice(sheet.iter_rows(), self.header.line, None)
        pending: list[list[Any]] = []
        n_read = self.n_empty_rows = 0
        while True:
            with _report_damage():
                next_rows = list(islice(rows, _SHEET_ROWS))
            if not next_rows:
                break
            with_cell = [row for row in next_rows if any(map(_is_cell, row))]
            self.n_empty_rows += len(next_rows) - len(with_cell)
            pending += with_cell
            ready = pending[: max(0, len(pending) - self.file.footer_lines)]
            pending = pending[len(ready) :]
            if ready:
                n_read += len(ready)
                yield self._block(ready, places)
        if not n_read:
            below = f"none below the header in row {self.header.line}"
            raise ParameterError("data", "a table with rows", below)

    def _block(self, rows: list[list[Any]], places: list[int]) -> Block:
        columns: dict[str, Cells] = {}
        for key, place in zip(self.keys, places, strict=True):
            cells = (None if row[place] == "" else row[place] for row in rows)
            columns[key] = mixed_cells(np.fromiter(cells, dtype=object, count=len(rows)))
        block = Block(columns)
        block.decimal, block.thousands = self.file.decimal, self.file.thousands
        return block

    def _first_rows(self, sheet: str) -> Iterator[Header]:
        first = self.file.header_line or 1
        last = first if self.file.header_line is not None else MOST_PREAMBLE
        rows = islice(self._book.get_sheet_by_name(sheet).iter_rows(), last)
        for line, row in enumerate(rows, 1):
            if line >= first and any(map(_is_cell, row)):
                yield Header(tuple(map(_column_name, row)), line, sheet=sheet)

    def _choose_header(self, headers: Mapping[str, list[Header]]) -> Header:
        """Return the header of the only sheet that has the columns."""
        if not headers:
            raise ParameterError("data", REQUIREMENTS[WORKBOOK], self.file.name)
        if not self.keys:
            if len(headers) > 1:
                constraint = f"given, as there are several: {', '.join(headers)}"
                raise ParameterError("sheet", constraint, "none")
            header = next(iter(headers.values()))[0]
            refuse_numbers(header, self.file)
            return header
        whole = {
            name: header
            for name, rows in headers.items()
            for header in reversed(rows)
            if set(self.keys) <= set(header.names)
        }
        if len(whole) > 1:
            constraint = f"given, as several have these columns: {', '.join(whole)}"
            raise ParameterError("sheet", constraint, "none")
        for header in whole.values():
            require_columns(self.keys, header.names, f" in row {header.line}")
            return header
        every = [header for rows in headers.values() for header in rows]
        likeliest = max(every, key=lambda header: len(set(self.keys) & set(header.names)))
        require_columns(self.keys, likeliest.names, f" in row {likeliest.line}")
        return likeliest


def _is_cell(cell: Any) -> bool:
    return bool(cell.strip()) if isinstance(cell, str) else True


def _column_name(cell: Any) -> str:
    """Return a heading; a spreadsheet stores 2019 as the number 2019.0."""
    if isinstance(cell, float):
        return name_of_text(repr(cell)) or ""
    return normal_form(str(cell).strip())


def _content_of(file: TableFile) -> bytes:
    return Path(file.path).read_bytes() if file.content is None else file.content


def _open_workbook(file: TableFile) -> Any:
    try:
        import python_calamine
    except ModuleNotFoundError as error:
        raise DataUnavailable(
            "a workbook is read with python-calamine, which pip install 'dp-pca-lab[excel]' brings"
        ) from error
    content = _content_of(file)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(member.file_size for member in archive.infolist()) > _LARGEST_WORKBOOK:
            raise ParameterError("data", REQUIREMENTS[WORKBOOK], "more")
    return python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))


def _check_sheets(file: TableFile, sheets: Sequence[str]) -> None:
    """Refuse sheets that would take far more memory than the file's text.

    Raises `ParameterError` if a cell is far from the others, or long texts are in many cells.
    """
    with zipfile.ZipFile(io.BytesIO(_content_of(file))) as archive:
        lengths = _lengths_of_shared_texts(archive)
        n_bytes = 0
        for sheet, member in _members_of(archive, sheets):
            columns, rows = set[int](), set[int]()
            for chunk in _chunks_of(archive, member):
                cells = _CELL.findall(chunk)
                columns.update(map(_column_number, {column for column, _ in cells}))
                numbers = [int(row) for _, row in cells]
                rows.update((min(numbers), max(numbers)) if numbers else ())
                shared = np.array(_SHARED.findall(chunk), dtype=np.int64)
                n_bytes += int(lengths[shared[shared < len(lengths)]].sum())
            if n_bytes > _MOST_TEXT:
                constraint = f"a workbook with at most {_MOST_TEXT >> 20} MB of text in its cells"
                raise ParameterError("data", constraint, f"more in sheet {sheet}")
            if not rows:
                continue
            height, width = max(rows) - min(rows) + 1, max(columns) - min(columns) + 1
            if height * width > MOST_PLACES:
                raise ParameterError(
                    "data",
                    f"a sheet with at most {MOST_PLACES:,} places between its first and last cell "
                    "(delete cells that are far from the table)",
                    f"{height:,} rows and {width:,} columns in sheet {sheet}",
                )


def _members_of(archive: zipfile.ZipFile, sheets: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the sheets with their files in the archive; all sheets if the files are not found."""
    try:
        with archive.open("xl/workbook.xml") as file:
            identifiers = {
                sheet.get("name"): identifier
                for sheet in ElementTree.parse(file).iterfind(".//{*}sheet")  # noqa: S314
                for name, identifier in sheet.items()
                if name.endswith("}id")
            }
        with archive.open("xl/_rels/workbook.xml.rels") as file:
            targets = {
                link.get("Id"): link.get("Target", "")
                for link in ElementTree.parse(file).iterfind(".//{*}Relationship")  # noqa: S314
            }
        members = {sheet: targets[identifiers[sheet]] for sheet in sheets}
    except KeyError:  # Few programs use other names of files.
        yield from ((name, name) for name in archive.namelist() if "/worksheets/" in name)
        return
    for sheet, target in members.items():
        yield sheet, target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _lengths_of_shared_texts(archive: zipfile.ZipFile) -> Any:
    """Return an upper bound of each shared text's number of bytes."""
    lengths: list[int] = []
    for member in archive.namelist():
        if member.lower().endswith("sharedstrings.xml"):
            content = archive.read(member)
            ends = np.array([match.end() for match in _TEXT_END.finditer(content)], dtype=np.int64)
            lengths += np.diff(ends, prepend=0).tolist()
    return np.array(lengths, dtype=np.int64)


def _chunks_of(archive: zipfile.ZipFile, member: str) -> Iterator[bytes]:
    """Yield the text of a file in the archive, cut before cells."""
    rest = b""
    with archive.open(member) as sheet:
        while more := sheet.read(_CHUNK):
            text = rest + more
            cut = max(text.rfind(b"<c "), text.rfind(b":c "))
            cut = text.rfind(b"<", 0, cut + 1) if cut > 0 else len(text)
            # Only a damaged file has an element this long.
            cut = cut if len(text) - cut < _CHUNK else len(text)
            rest = text[cut:]
            yield text[:cut]
    yield rest


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


@contextmanager
def _report_damage() -> Iterator[None]:
    """Turn exceptions of the Rust library into the ValueError of a damaged file."""
    try:
        yield
    except BaseException as error:
        of = type(error)
        # Unexpected errors in Rust are panics, which derive from BaseException.
        if "python_calamine" in of.__module__ or of.__name__ == "PanicException":
            raise ValueError("a damaged workbook") from error
        raise
