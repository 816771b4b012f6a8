"""Read a sheet of an Excel workbook, which is unpacked as a whole."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.errors import DataUnavailable, ParameterError
from dpcore.release.cells import Cells
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
_SHEET_ROWS = 1 << 14


class Workbook:
    """Sheet of a workbook."""

    def __init__(self, file: TableFile, keys: Sequence[str]) -> None:
        self.file, self.keys = file, list(keys)
        with _report_damage():
            self._book = _open_workbook(file)
            names = list(self._book.sheet_names)
            if file.sheet is not None and file.sheet not in names:
                raise ParameterError("sheet", "one of the workbook's", file.sheet)
            chosen = names if file.sheet is None else [file.sheet]
            found = {name: list(self._first_rows(name)) for name in chosen}
        self.header = self._choose_header({name: rows for name, rows in found.items() if rows})

    def batches(self) -> Iterator[tuple[Block, float]]:
        """Yield columns of some rows, with a type per cell, and the share of the sheet."""
        sheet = self._book.get_sheet_by_name(self.header.sheet)
        places = [self.header.names.index(key) for key in self.keys]
        n_rows = max(1, sheet.total_height)
        rows = (
            (number, row)
            for number, row in enumerate(sheet.iter_rows(), 1)
            if number > self.header.line and any(cell != "" for cell in row)
        )
        pending: list[tuple[int, list[Any]]] = []
        n_read = 0
        while True:
            with _report_damage():
                more = list(islice(rows, _SHEET_ROWS))
            if not more:
                break
            pending += more
            ready = pending[: max(0, len(pending) - self.file.footer_lines)]
            pending = pending[len(ready) :]
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
        last = first if self.file.header_line is not None else MOST_PREAMBLE
        rows = islice(self._book.get_sheet_by_name(sheet).iter_rows(), last)
        for line, row in enumerate(rows, 1):
            if line >= first and any(cell != "" for cell in row):
                yield Header(tuple(str(cell).strip() for cell in row), line, sheet=sheet)

    def _choose_header(self, found: Mapping[str, list[Header]]) -> Header:
        """Return the header of the only sheet that has the columns."""
        if not found:
            raise ParameterError("data", REQUIREMENTS[WORKBOOK], self.file.name)
        if not self.keys:
            if len(found) > 1:
                wish = f"given, as there are several: {', '.join(found)}"
                raise ParameterError("sheet", wish, "none")
            header = next(iter(found.values()))[0]
            refuse_numbers(header, self.file)
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
            require_columns(self.keys, header.names, f" in row {header.line}")
            return header
        every = [each for rows in found.values() for each in rows]
        likeliest = max(every, key=lambda each: len(set(self.keys) & set(each.names)))
        require_columns(self.keys, likeliest.names, f" in row {likeliest.line}")
        return likeliest


def _open_workbook(file: TableFile) -> Any:
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
