"""Limits of the process that reads a file, and the facts that it reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from dpcore.errors import ParameterError
from dpcore.release.table_file import Block, Header, TableFile

_MB = 10**6


@dataclass(frozen=True)
class ReadingLimits:
    """Limits of the process that reads a file.

    unpacked: Bytes of the columns.
    memory: Bytes that the process may take while it reads; systems other than Linux do not limit
        them.
    seconds: Processor time, and half of the time on the clock.
    """

    unpacked: int
    memory: int
    seconds: int


UPLOADED = ReadingLimits(unpacked=250 * _MB, memory=600 * _MB, seconds=30)
OF_THE_HOLDER = ReadingLimits(unpacked=2000 * _MB, memory=4000 * _MB, seconds=600)


@dataclass
class FileFacts:
    """Facts about a file that was read: its header, and how its cells are written.

    left_out: Columns that were not read, with the reason.
    Other attributes as in `Block`.
    """

    header: Header | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    are_texts: bool = False
    is_decimal_open: bool = False
    decimal: str | None = None
    thousands: str | None = None
    n_joined_lines: int = 0
    n_empty_rows: int = 0

    def block(self, columns: Mapping[str, pa.Array]) -> Block:
        """Return the columns with these facts."""
        block = Block(columns)
        for name in ("are_texts", "is_decimal_open", "decimal", "thousands", "n_joined_lines",
                     "n_empty_rows"):  # fmt: skip
            setattr(block, name, getattr(self, name))
        return block


def check_size(n_bytes: int, limits: ReadingLimits) -> None:
    """Refuse columns of more bytes than the limit."""
    if n_bytes > limits.unpacked:
        most = f"at most {limits.unpacked // _MB} MB unpacked"
        raise ParameterError("data", most, f"{n_bytes / _MB:,.0f} MB or more")


def out_of_memory(file: TableFile, limits: ReadingLimits) -> ParameterError:
    """Return the error of a file whose reading needs more memory than the limit."""
    constraint = f"a table that is read within {limits.memory // _MB} MB of memory"
    return ParameterError("data", constraint, file.name)
