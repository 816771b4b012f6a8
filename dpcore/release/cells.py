"""Convert the cells of a column to numbers, and to names of levels or people.

Each cell is read by its own value. Programs that read a table give each column one type, and one
cell can change the type of all others: a blank turns integers into floats, a word turns numbers
into texts. If a cell's meaning depended on that type, one person's cell would move every row, and
no sensitivity would hold. Therefore 1, 1.0, True, "1", " 01 " and "true" all have the number 1 and
the name "1".

Notations that differ from this (a decimal comma, a unit, dates, codes for missing cells) are
declared by the dictionary or by the data holder (`Marks`) and are never inferred from cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

Cells: TypeAlias = "np.ndarray[Any, Any] | pa.Array"


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
