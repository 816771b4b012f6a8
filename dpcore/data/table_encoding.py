"""Encoding of tables of words and numbers as features in [0, 1], by a fixed code book.

A code book names every level of every nominal column and the range of every number. It is written
without the rows, so that the dimension is the same for every part of a file, and replacing a
person changes one encoded row.

The 2012 paper gives the dimensions of its tables (116, 513, 44 and 150) without the encoding. The
modules of the data sets state which choices are guesses.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dpcore.data.dataset import ColumnRange
from dpcore.data.official_files import (
    damaged,
    is_number,
    refuse_rows,
)

BLOCK = 8192
# Longer than any level, so that no truncated word equals a level.
_WORD = "S64"


@dataclass(frozen=True)
class CodedNumber:
    """A numeric column, mapped so that [lowest, highest] becomes [0, 1].

    highest, lowest: Ends of the range.
    logarithmic: Map log(1 + x) instead of x, for counts and amounts over many magnitudes.
    period: Map x modulo this period.
    documented: The source states the range, so [0, 1] are public limits of the feature. Other
        ranges are guesses.
    """

    name: str
    position: int
    highest: float = 1.0
    lowest: float = 0.0
    logarithmic: bool = False
    period: float | None = None
    documented: bool = False

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (self.name,)

    def write(self, values: FloatArray, out: FloatArray) -> None:
        """Encode `values` into `out` of shape (len(values), 1)."""
        x = values.astype(np.float64)
        _refuse(~np.isfinite(x), "is not finite", x)
        if self.period is not None:
            x %= self.period
        if self.logarithmic:
            _refuse(x < 0, "is negative", x)
            encoded = np.log1p(x) / math.log1p(self.highest)
        else:
            encoded = (x - self.lowest) / (self.highest - self.lowest)
        # Ranges are guesses and sensors have errors, but smaller ones than the whole range.
        far = (encoded < -1) | (encoded > 2)
        _refuse(far, f"is far from [{self.lowest:g}, {self.highest:g}]", x)
        out[:, 0] = encoded


@dataclass(frozen=True)
class Nominal:
    """A column of words, one indicator for each level."""

    name: str
    position: int
    levels: tuple[str, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={level}" for level in self.levels)

    @cached_property
    def _codes(self) -> dict[bytes, int]:
        return {level.encode(): code for code, level in enumerate(self.levels)}

    def codes(self, values: AnyArray) -> IntArray:
        """Return the positions in `levels` of the values, stripped of blanks and full stops."""
        code_of = self._codes
        codes = np.fromiter(
            (code_of.get(value.strip(b" ."), -1) for value in values.tolist()),
            dtype=np.intp,
            count=len(values),
        )
        _refuse(codes < 0, "is no level", values)
        return codes

    def write(self, values: AnyArray, out: FloatArray) -> None:
        """Encode `values` into `out` of shape (len(values), len(levels)), which holds zeros."""
        out[np.arange(len(values)), self.codes(values)] = 1.0


Column = CodedNumber | Nominal


def read_code_book(path: Path) -> tuple[Column, ...]:
    """Read the columns of a code book, in the order of the fields.

    path: CSV file with names, the largest value of a number and whether its range is documented
        or logarithmic, or the levels of words. A column with neither is omitted.
    """
    with open(path, newline="", encoding="utf-8") as book:
        return tuple(
            Nominal(line["name"], position, tuple(line["levels"].split("; ")))
            if line["levels"]
            else CodedNumber(
                line["name"],
                position,
                float(line["highest"]),
                logarithmic=line["range"] == "logarithmic",
                documented=line["range"] == "documented",
            )
            for position, line in enumerate(csv.DictReader(book))
            if line["levels"] or line["highest"]
        )


class _Misfit(ValueError):
    """Error: a value that a column cannot have, with its row in the block."""

    def __init__(self, row: int, fault: str):
        self.row = row
        super().__init__(fault)


def _refuse(wrong: BoolArray, fault: str, values: AnyArray) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        value = values[row]
        if isinstance(value, bytes):
            text = repr(value.decode(errors="replace").strip(" ."))
        else:
            text = f"{value:g}"
        raise _Misfit(row, f"{text} {fault}")


def feature_names(columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple(name for column in columns for name in column.feature_names)


def ranges_of(columns: Sequence[Column]) -> tuple[ColumnRange, ...]:
    """Return the columns with the public limits of their features.

    Indicators are 0 or 1, and values modulo a period are in [0, 1). Other numbers need documented
    limits.
    """
    return tuple(
        ColumnRange(column.name, len(column.feature_names), 0.0, 1.0)
        if isinstance(column, Nominal) or column.documented or column.period
        else ColumnRange(column.name)
        for column in columns
    )


def read_table(
    lines: Sequence[bytes],
    columns: Sequence[Column],
    label: Nominal,
    n_fields: int,
    path: Path,
    delimiter: str = ",",
) -> tuple[FloatArray, IntArray]:
    """Encode a table block by block.

    columns: Columns in the order of the features.
    n_fields: Number of fields of every line.
    path: Path for error messages.
    Returns X: ndarray of float32, shape (len(lines), n_features)
    Returns labels: ndarray of int, shape (len(lines),). Positions in `label.levels`.
    Raises `DataUnavailable` if a line has another number of fields, a word is not a level of its
        column, or a number cannot be parsed.
    """
    X = np.zeros((len(lines), len(feature_names(columns))), dtype=np.float32)
    labels = np.empty(len(lines), dtype=np.intp)
    start = 0
    for fields in _parse_blocks(lines, (*columns, label), n_fields, path, delimiter):
        stop = start + len(fields[label.position])
        first = 0
        for column in columns:
            last = first + len(column.feature_names)
            with _locate_errors(column, path, start):
                column.write(fields[column.position], X[start:stop, first:last])
            first = last
        with _locate_errors(label, path, start):
            labels[start:stop] = label.codes(fields[label.position])
        start = stop
    return X, labels


def _parse_blocks(
    lines: Sequence[bytes],
    columns: Sequence[Column],
    n_fields: int,
    path: Path,
    delimiter: str,
) -> Iterator[dict[int, AnyArray]]:
    """Yield blocks of rows as dicts of columns by position: float64 for numbers, else bytes."""
    separator = delimiter.encode()
    for number, line in enumerate(lines, start=1):
        if (n_found := line.count(separator) + 1) != n_fields:
            raise damaged(
                path, f"row {number:,} has {n_found} columns where {n_fields} are expected"
            )
    kinds = ((CodedNumber, np.dtype(np.float64)), (Nominal, np.dtype(_WORD)))
    for start in range(0, len(lines), BLOCK):
        fields: dict[int, AnyArray] = {}
        for kind, dtype in kinds:
            positions = sorted({column.position for column in columns if isinstance(column, kind)})
            try:
                block = np.loadtxt(
                    lines[start : start + BLOCK],
                    dtype=dtype,
                    delimiter=delimiter,
                    usecols=positions,
                    comments=None,
                    ndmin=2,
                )
            except ValueError as error:
                split = [line.split(separator) for line in lines[start : start + BLOCK]]
                wrong = [not all(is_number(row[i]) for i in positions) for row in split]
                rows = start + np.arange(len(split))
                refuse_rows(np.array(wrong), path, "holds text in a numeric column", rows)
                raise damaged(path, f"from row {start + 1:,} on it is no table") from error
            fields.update(zip(positions, block.T, strict=True))
        yield fields


@contextmanager
def _locate_errors(column: Column, path: Path, start: int) -> Iterator[None]:
    try:
        yield
    except _Misfit as misfit:
        row = start + misfit.row + 1
        raise damaged(path, f"row {row:,}, column {column.name!r}: {misfit}") from misfit
