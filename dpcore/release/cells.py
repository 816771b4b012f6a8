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
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import ParameterError

Cells: TypeAlias = "np.ndarray[Any, Any] | pa.Array"
# Other texts in a column of numbers are missing. Each digit matches in one way only, because a
# pattern such as \d+\.?\d* takes quadratic time for a long cell.
_NUMBER = r"^[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|(?i:inf(inity)?))$"
_IS_NUMBER = re.compile(_NUMBER, re.ASCII)
# Notations of flags that common programs write and read.
_FLAGS = {"True": 1.0, "true": 1.0, "TRUE": 1.0, "False": 0.0, "false": 0.0, "FALSE": 0.0}
# NumPy writes missing cells as nan if it converts a column to texts.
_MISSING = {"", "nan"}
# Above this, several integers share one double.
_LARGEST_WHOLE = 1 << 53
# A plain space, and the no-break spaces that are written between digits.
_SPACES = " \u00a0\u2009\u202f"
_SECONDS_A_DAY, _EPOCH = 86_400, date(1970, 1, 1)


@dataclass(frozen=True)
class Marks:
    """Notation of the cells of a column.

    decimal: Decimal mark.
    thousands: Mark between groups of three digits, or empty.
    unit: Text before or after the number, or empty.
    missing: Codes of missing cells, as they are written.
    days_since: First day, if cells are dates; their numbers are the days since then.
    date_order: {"ymd", "dmy", "mdy"}. Order in dates that are not ISO dates.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    missing: tuple[str, ...] = ()
    days_since: date | None = None
    date_order: str = "ymd"

    @cached_property
    def missing_names(self) -> frozenset[str]:
        """Return the names of the codes of missing cells; -999, -999.0 and "-999" have one name."""
        return frozenset(filter(None, map(name_of_text, self.missing)))

    @cached_property
    def missing_numbers(self) -> AnyArray:
        """Return the codes of missing cells that are numbers."""
        codes = pa.array(self.missing, pa.string())
        found = np.concatenate(
            [_parse_numbers(codes), _parse_numbers(codes, replace(self, missing=()))]
        )
        numbers: AnyArray = np.unique(found[np.isfinite(found)])
        return numbers


PLAIN = Marks()


def numbers_of(cells: Cells, name: str, marks: Marks = PLAIN) -> AnyArray:
    """Return the cells as numbers, NaN if there is none.

    name: Name of the column.
    marks: Notation of its texts.
    Returns: ndarray of numbers or flags, shape (n_rows,)
    Raises `ParameterError` if the column's type is neither number nor text.
    """
    found = _numbers_of(cells, name, marks)
    if not marks.missing or not marks.missing_numbers.size:
        return found
    # A code is missing in columns of any numeric type.
    return np.where(np.isin(found, marks.missing_numbers), np.nan, found)


def _numbers_of(cells: Cells, name: str, marks: Marks) -> AnyArray:
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "fiub":
            return cells
        if cells.dtype.kind == "U" and (array := _to_arrow_texts(cells)) is not None:
            return _parse_numbers(array, marks)
        found, texts = _split_numbers(cells)
        is_text = np.array([text is not None for text in texts], dtype=bool)
        if is_text.any():
            found[is_text] = _parse_numbers(pa.array(texts[is_text], pa.string()), marks)
        return found
    if marks.days_since is not None and is_date(cells.type):
        return _days_of_dates(cells, marks.days_since)
    array = _decode(cells, name)
    if pa.types.is_string(array.type):
        return _parse_numbers(array, marks)
    if array.null_count == 0:
        plain: AnyArray = array.to_numpy(zero_copy_only=False)
        return plain
    floats = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan)
    filled: FloatArray = floats.to_numpy(zero_copy_only=False)
    return filled


def names_of(cells: Cells, name: str, marks: Marks = PLAIN) -> pa.Array:
    """Return the cells as names of levels or people, null if there is none.

    Some integers of 16 digits and more share one name, since they share one double.

    name: Name of the column.
    marks: Codes of missing cells.
    Raises `ParameterError` as in `numbers_of`.
    """
    return without_missing(_names_of(cells, name), marks)


def without_missing(names: pa.Array, marks: Marks) -> pa.Array:
    """Return the names, null for codes of missing cells."""
    if not marks.missing:
        return names
    codes = pa.array(sorted({*marks.missing_names, *map(str.strip, marks.missing)}), pa.string())
    is_missing = pc.is_in(names, value_set=codes, skip_nulls=True)
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), names)


def _names_of(cells: Cells, name: str) -> pa.Array:
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "fiub":
            return _names_of_numbers(cells)
        if cells.dtype.kind == "U" and (array := _to_arrow_texts(cells)) is not None:
            return _names_of(array, name)
        of_numbers, texts = _split_numbers(cells)
        return pa.array(
            [
                _name_of_number(number) if text is None else name_of_text(text)
                for number, text in zip(of_numbers.tolist(), texts, strict=True)
            ],
            pa.string(),
        )
    array = _decode(cells, name)
    if not pa.types.is_string(array.type):
        return _names_of_numbers(numbers_of(array, name))
    different = array.dictionary_encode()
    named = [
        None if text is None else name_of_text(text) for text in different.dictionary.to_pylist()
    ]
    return pa.array(named, pa.string()).take(different.indices)


def names_as_written(cells: pa.Array) -> pa.Array:
    """Return the trimmed texts as names; texts of equal numbers stay different names."""
    trimmed = pc.utf8_trim_whitespace(cells)
    is_missing = pc.is_in(trimmed, value_set=pa.array(sorted(_MISSING)))
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), trimmed)


def name_of_text(text: str) -> str | None:
    """Return the name of a cell with this text, None if it is missing."""
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
    # Programs differ in the last digit when they read decimals.
    return f"{number:.15g}"


def _names_of_numbers(cells: AnyArray) -> pa.Array:
    if cells.dtype.kind in "iub":
        farthest = max(-int(cells.min(initial=0)), int(cells.max(initial=0)))
        if farthest < _LARGEST_WHOLE:
            return pa.array(cells.astype(np.int64)).cast(pa.string())
    different, place = np.unique(cells.astype(np.float64), return_inverse=True)
    named = [_name_of_number(number) for number in different.tolist()]
    return pa.array(named, pa.string()).take(pa.array(place))


def _parse_numbers(texts: pa.Array, marks: Marks = PLAIN) -> FloatArray:
    if marks.days_since is not None:
        return _convert_distinct(texts, partial(days_of_text, marks=marks))
    trimmed = pc.utf8_trim_whitespace(texts)
    if marks.decimal != "." or marks.thousands or marks.unit:
        trimmed = _normalise_numbers(trimmed, marks)
    is_number = pc.match_substring_regex(trimmed, _NUMBER)
    digits = pc.if_else(is_number, trimmed, pa.scalar(None, pa.string()))
    values = pc.fill_null(pc.cast(digits, pa.float64()), np.nan)
    found: FloatArray = values.to_numpy(zero_copy_only=False)
    if digits.null_count > texts.null_count:
        flag = pc.index_in(trimmed, value_set=pa.array(list(_FLAGS)))
        of_flag = pa.array(list(_FLAGS.values())).take(flag)
        found = np.where(np.isnan(found), of_flag.to_numpy(zero_copy_only=False), found)
    return found


def _normalise_numbers(texts: pa.Array, marks: Marks) -> pa.Array:
    """Return numbers without unit and thousands mark, with a decimal point; null if unreadable."""
    decimal, thousands = re.escape(marks.decimal), re.escape(marks.thousands)
    whole = r"\d+"
    if thousands:
        # Programs write different spaces between digits.
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


# Positions of year, month and day. ISO dates are read whatever the order.
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
    """Return the days from `marks.days_since` to the date in a text, NaN if there is none."""
    text = text.strip()
    if found := _ISO.fullmatch(text):
        year, month, day, hour, minute, second = found.groups()
        part = (int(hour or 0) * 60 + int(minute or 0)) * 60 + float(second or 0)
    elif found := _ORDERS[marks.date_order].fullmatch(text):
        (year, month, day), part = found.group("y", "m", "d"), 0.0
    elif _IS_NUMBER.match(text):
        # Numbers are days already, as in a column of numbers.
        return float(text)
    else:
        return math.nan
    try:
        days = (date(int(year), int(month), int(day)) - (marks.days_since or date.min)).days
    except ValueError:  # for example the 31st of April
        return math.nan
    return days + part / _SECONDS_A_DAY


def is_date(kind: pa.DataType) -> bool:
    """Return whether a column of this type has dates or timestamps."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _days_of_dates(cells: pa.Array, since: date) -> FloatArray:
    # Timestamps with a time zone are stored in UTC.
    moments = pc.cast(pc.cast(cells, pa.timestamp("us"), safe=False), pa.int64())
    microseconds = pc.fill_null(pc.cast(moments, pa.float64(), safe=False), np.nan)
    found: FloatArray = microseconds.to_numpy(zero_copy_only=False)
    return found / (1e6 * _SECONDS_A_DAY) - (since - _EPOCH).days


def _convert_distinct(texts: pa.Array, number: Callable[[str], float]) -> FloatArray:
    """Return the number of each text; equal texts are converted once."""
    different = texts.dictionary_encode()
    read = [math.nan if text is None else number(text) for text in different.dictionary.to_pylist()]
    values = pa.array(read, pa.float64()).take(different.indices).fill_null(math.nan)
    found: FloatArray = values.to_numpy(zero_copy_only=False)
    return found


def _to_arrow_texts(cells: AnyArray) -> pa.Array | None:
    """Return an Arrow array of the texts, None if one of them is not valid in UTF-8."""
    try:
        return pa.array(cells.astype(cells.dtype.newbyteorder("=")), pa.string())
    except UnicodeError:
        return None


def _decode(array: pa.Array, name: str) -> pa.Array:
    """Return numbers unchanged, texts as plain strings, a column of nulls as missing texts."""
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
        # A cast to float64 rounds twice, in a way that depends on the column's scale, and another
        # person's cell can change that scale.
        return array.cast(pa.string()).cast(pa.float64())
    dates = ", or given days_since in the dictionary" if is_date(kind) else ""
    raise ParameterError(f"column {name!r}", f"of numbers or texts{dates}", str(kind))


def _split_numbers(cells: AnyArray) -> tuple[FloatArray, AnyArray]:
    """Return the number and the text of each cell: NaN and None if it has neither."""
    if cells.dtype.kind in "mM":
        # NumPy converts nanoseconds to integers, microseconds to datetime objects.
        cells = cells.astype(f"{cells.dtype.kind}8[us]")
    found = np.full(len(cells), np.nan)
    texts = np.full(len(cells), None, dtype=object)
    for row, cell in enumerate(cells.astype(object)):
        value = _read_cell(cell)
        if isinstance(value, str):
            texts[row] = value
        else:
            found[row] = value
    return found, texts


def _read_cell(cell: Any) -> float | str:
    """Return the number or the text of a cell, according to the type of this cell."""
    if isinstance(cell, str):
        return _valid_text(cell)
    if isinstance(cell, Number | np.bool_):
        return _real_number(cell)
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace")
    if isinstance(cell, np.datetime64 | np.timedelta64):
        cell = cell.astype(f"{cell.dtype.kind}8[us]").item()
    if cell is None or _is_missing_value(cell):
        return np.nan
    if isinstance(cell, datetime):
        # To the microsecond, as in an array of dates.
        return datetime.isoformat(cell, " ")
    if isinstance(cell, timedelta):
        return str(timedelta(cell.days, cell.seconds, cell.microseconds))
    return _valid_text(str(cell))


def _valid_text(text: str) -> str:
    # Half of a surrogate pair is not valid in UTF-8; its escape keeps different texts different.
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _real_number(cell: Any) -> float:
    try:
        number = complex(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf
    except (TypeError, ValueError):
        return np.nan
    return number.real if number.imag == 0 else np.nan


def _is_missing_value(cell: Any) -> bool:
    """Return whether a cell is a missing value such as NaN, NaT or NA."""
    try:
        return not bool(cell == cell)
    except (TypeError, ValueError):
        return True
