"""Tables in uploaded files, held in memory.

Nothing is written to disk, and errors repeat nothing of a file's content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from threading import Lock
from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.errors import ParameterError
from dpcore.release.cells import Marks, is_date, names_of, numbers_of, text_lengths
from dpcore.release.reading_process import read_in_process
from dpcore.release.table_file import TEXT_ENDINGS, WORKBOOK, Block, Header, TableFile

LARGEST_UPLOAD = 50_000_000
# Bytes of the tables that all visitors of a server hold.
LARGEST_HELD = 500_000_000
_FIRST_ROWS, _LONGEST_NUMBER = 1_000, 1_000
_ANY_DATES = Marks(days_since=date(1970, 1, 1))
UPLOADS = (
    *TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS), WORKBOOK, ".parquet", ".npz"
)  # fmt: skip


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
    def n_bytes(self) -> int:
        """Bytes of the columns and of the file in memory."""
        columns = sum(int(cells.nbytes) for cells in self.columns.values())
        return columns + len(self.file.content or b"")

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def kind_of(self, column: str) -> str:
        """Return the kind of the first thousand cells: numbers, dates or texts. Not private."""
        first = self.columns[column][:_FIRST_ROWS]
        if isinstance(first, pa.Array) and is_date(first.type):
            return "dates"
        lengths = text_lengths(first)
        if lengths is not None and lengths.max(initial=0) > _LONGEST_NUMBER:
            return "texts"
        marks = Marks(decimal=self.columns.decimal or ".", thousands=self.columns.thousands or "")
        has_name = pc.is_valid(names_of(first, column)).to_numpy(zero_copy_only=False)
        if np.isfinite(numbers_of(first, column, marks))[has_name].all():
            return "numbers"
        days = numbers_of(first, column, _ANY_DATES)
        return "dates" if np.isfinite(days)[has_name].all() else "texts"


_uploads: WeakSet[Upload] = WeakSet()
_lock = Lock()


def make_upload(name: str, columns: Mapping[str, Any]) -> Upload:
    """Return a table that is in memory already, under the name of a file."""
    return Upload(TableFile(name), Block(columns))


def read_upload(name: str, content: bytes, **layout: Any) -> Upload:
    """Read the columns of a file whose content is in memory, in a process with limits.

    name: Name of a text, workbook, .parquet or .npz file.
    layout: Other arguments of `TableFile`.
    Raises `ParameterError` if the file has another type, is larger than 50 MB, needs more memory or
        time than `UPLOADED` allows, or has an ambiguous layout.
    """
    if not name.lower().endswith(UPLOADS):
        raise ParameterError("file", f"named {', '.join(UPLOADS)}", name)
    file = TableFile(name, content, **layout)
    if len(content) > LARGEST_UPLOAD:
        raise ParameterError(
            "file", f"at most {LARGEST_UPLOAD // 10**6} MB (the command line takes larger ones)",
            f"{len(content) / 1e6:.0f} MB",
        )  # fmt: skip
    columns, facts = read_in_process(file)
    upload = Upload(file, columns, facts.left_out, facts.header)
    with _lock:
        if sum(other.n_bytes for other in _uploads) + upload.n_bytes > LARGEST_HELD:
            most = LARGEST_HELD // 10**6
            constraint = f"sent later: the tables of all visitors take up to {most} MB"
            raise ParameterError("file", constraint, f"{upload.n_bytes / 1e6:.0f} MB more")
        _uploads.add(upload)
    return upload
