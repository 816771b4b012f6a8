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
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray
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
_UNITS_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# Column whose cells are numbers or texts: the text of a number is null. Spreadsheets have such
# columns, and NumPy and pandas store them as objects.
MIXED = pa.struct([("number", pa.float64()), ("text", pa.string())])


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
        codes_read = np.concatenate(
            [_parse_numbers(codes), _parse_numbers(codes, replace(self, missing=()))]
        )
        numbers: AnyArray = np.unique(codes_read[np.isfinite(codes_read)])
        return numbers

    @cached_property
    def missing_days(self) -> AnyArray:
        """Return the codes of missing cells that are written as dates, as days."""
        codes = [code for code in self.missing if not _IS_NUMBER.match(code.strip())]
        days = np.array([days_of_text(code, self) for code in codes])
        finite: AnyArray = days[np.isfinite(days)]
        return finite


PLAIN = Marks()


def numbers_of(cells: Cells, name: str, marks: Marks = PLAIN) -> AnyArray:
    """Return the cells as numbers, NaN if there is none.

    name: Name of the column.
    marks: Notation of its texts.
    Returns: ndarray of numbers or flags, shape (n_rows,)
    Raises `ParameterError` if the column's type is neither number nor text.
    """
    numbers = _numbers_of(cells, name, marks)
    if not marks.missing:
        return numbers
    if marks.days_since is not None:
        return np.where(_are_codes_of_dates(numbers, cells, name, marks), np.nan, numbers)
    # A code is missing in columns of any numeric type.
    codes = marks.missing_numbers
    return np.where(np.isin(numbers, codes), np.nan, numbers) if codes.size else numbers


def are_missing(cells: Cells, name: str, marks: Marks = PLAIN) -> BoolArray:
    """Return whether each cell is empty or has a code of missing cells."""
    if marks.days_since is None:
        return _are_null(names_of(cells, name, marks))
    is_empty = _are_null(cells if _has_dates(cells) else names_of(cells, name))
    days = _numbers_of(cells, name, marks)
    return is_empty | _are_codes_of_dates(days, cells, name, marks)


def _are_codes_of_dates(days: AnyArray, cells: Cells, name: str, marks: Marks) -> BoolArray:
    """Return whether each cell of a column of dates has a code; no date has the code -999."""
    are_codes: BoolArray = np.isin(days, marks.missing_days)
    if _has_dates(cells):
        return are_codes
    return are_codes | _are_null(names_of(cells, name, marks))


def _are_null(cells: pa.Array) -> BoolArray:
    are_null: BoolArray = cells.is_null().to_numpy(zero_copy_only=False)
    return are_null


def _numbers_of(cells: Cells, name: str, marks: Marks) -> AnyArray:
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "fiub":
            return cells
        if cells.dtype.kind == "U" and (array := _to_arrow_texts(cells)) is not None:
            return _parse_numbers(array, marks)
        return _numbers_of(mixed_cells(cells), name, marks)
    if cells.type.equals(MIXED):
        numbers, texts = cells.flatten()
        is_text = texts.is_valid()
        values: FloatArray = numbers.to_numpy(zero_copy_only=False)
        if texts.null_count < len(texts):
            values = values.copy()
            values[is_text.to_numpy(zero_copy_only=False)] = _parse_numbers(
                texts.filter(is_text), marks
            )
        return values
    if marks.days_since is not None and is_date(cells.type):
        return _days_of_dates(cells, marks.days_since)
    if pa.types.is_dictionary(cells.type) and is_text(cells.type.value_type):
        # Repeated texts are stored once and parsed once.
        of_texts = pa.array(_numbers_of(cells.dictionary, name, marks))
        of_rows: FloatArray = (
            of_texts.take(cells.indices).fill_null(np.nan).to_numpy(zero_copy_only=False)
        )
        return of_rows
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
        return _names_of(mixed_cells(cells), name)
    if cells.type.equals(MIXED):
        numbers, texts = cells.flatten()
        of_numbers = _names_of_numbers(numbers.to_numpy(zero_copy_only=False))
        return pc.if_else(texts.is_valid(), _names_of(texts, name), of_numbers)
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
    trimmed = pc.utf8_normalize(pc.utf8_trim_whitespace(cells), form="NFC")
    is_missing = pc.is_in(trimmed, value_set=pa.array(sorted(_MISSING)))
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), trimmed)


def normal_form(text: str) -> str:
    """Return the text in Unicode's form NFC, in which names are compared: é has two codes."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def name_of_text(text: str) -> str | None:
    """Return the name of a cell with this text, None if it is missing."""
    text = normal_form(text.strip())
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
    numbers: FloatArray = values.to_numpy(zero_copy_only=False)
    if digits.null_count > texts.null_count:
        flag = pc.index_in(trimmed, value_set=pa.array(list(_FLAGS)))
        of_flag = pa.array(list(_FLAGS.values())).take(flag)
        numbers = np.where(np.isnan(numbers), of_flag.to_numpy(zero_copy_only=False), numbers)
    return numbers


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
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?:Z|([+-])(\d{2}):?(\d{2})?)?)?",
    re.ASCII,
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
    if match := _ISO.fullmatch(text):
        year, month, day, hour, minute, second, sign, *offset = match.groups()
        part = (int(hour or 0) * 60 + int(minute or 0)) * 60 + float(second or 0)
        if sign:
            # To UTC, in which timestamps with a time zone are stored.
            seconds = (int(offset[0]) * 60 + int(offset[1] or 0)) * 60
            part -= seconds if sign == "+" else -seconds
    elif match := _ORDERS[marks.date_order].fullmatch(text):
        (year, month, day), part = match.group("y", "m", "d"), 0.0
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


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of this type has texts."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def text_lengths(cells: Cells) -> IntArray | None:
    """Return the number of bytes of each cell's text; None for other arrays than texts of Arrow."""
    if isinstance(cells, np.ndarray):
        return None
    if cells.type.equals(MIXED):
        return text_lengths(cells.flatten()[1])
    if pa.types.is_dictionary(cells.type):
        of_texts = text_lengths(cells.dictionary)
        return None if of_texts is None else np.append(of_texts, 0)[cells.indices.fill_null(-1)]
    if not is_text(cells.type):
        return None
    texts = cells.cast(pa.large_string())
    lengths: IntArray = pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths


def _has_dates(cells: Cells) -> bool:
    return isinstance(cells, pa.Array) and is_date(cells.type)


def _days_of_dates(cells: pa.Array, since: date) -> FloatArray:
    """Return the days to each date; timestamps with a time zone are stored in UTC."""
    # A cast between units of time would wrap around in distant years.
    counts = pc.cast(cells, pa.int32() if pa.types.is_date32(cells.type) else pa.int64())
    floats = pc.fill_null(pc.cast(counts, pa.float64(), safe=False), np.nan)
    days: FloatArray = floats.to_numpy(zero_copy_only=False)
    if not pa.types.is_date32(cells.type):
        unit = getattr(cells.type, "unit", "ms")
        days = days / (_UNITS_A_SECOND[unit] * _SECONDS_A_DAY)
    return days - (since - _EPOCH).days


def _convert_distinct(texts: pa.Array, number: Callable[[str], float]) -> FloatArray:
    """Return the number of each text; equal texts are converted once."""
    different = texts.dictionary_encode()
    read = [math.nan if text is None else number(text) for text in different.dictionary.to_pylist()]
    values = pa.array(read, pa.float64()).take(different.indices).fill_null(math.nan)
    numbers: FloatArray = values.to_numpy(zero_copy_only=False)
    return numbers


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
    if is_text(kind) or pa.types.is_null(kind):
        return array.cast(pa.string())
    if pa.types.is_decimal(kind):
        # A cast to float64 rounds twice, in a way that depends on the column's scale, and another
        # person's cell can change that scale.
        return array.cast(pa.string()).cast(pa.float64())
    dates = ", or given days_since in the dictionary" if is_date(kind) else ""
    raise ParameterError(f"column {name!r}", f"of numbers or texts{dates}", str(kind))


def mixed_cells(cells: AnyArray) -> pa.StructArray:
    """Return cells of any types as an array of the type `MIXED`."""
    numbers, texts = _split_numbers(cells)
    columns = [pa.array(numbers), pa.array(texts, pa.string())]
    return pa.StructArray.from_arrays(columns, fields=list(MIXED))


def _split_numbers(cells: AnyArray) -> tuple[FloatArray, AnyArray]:
    """Return the number and the text of each cell: NaN and None if it has neither."""
    if cells.dtype.kind in "mM":
        # NumPy converts nanoseconds to integers, microseconds to datetime objects.
        cells = cells.astype(f"{cells.dtype.kind}8[us]")
    numbers = np.full(len(cells), np.nan)
    texts = np.full(len(cells), None, dtype=object)
    for row, cell in enumerate(cells.astype(object)):
        value = _read_cell(cell)
        if isinstance(value, str):
            texts[row] = value
        else:
            numbers[row] = value
    return numbers, texts


def _read_cell(cell: Any) -> float | str:
    """Return the number or the text of a cell, according to the type of this cell."""
    if type(cell) is float:
        return cell
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
