"""Cells of a column, each read by itself: as a number, and as the name of a level or a person.

A program that reads a table gives a column one type, and one cell can change that of all others:
a blank turns whole numbers into floating-point ones and flags into objects, a word turns numbers
into texts. If the type decided how the others are read, one person's cell would move everybody's
row, and no sensitivity would hold. So a cell's number and its name depend on its value alone,
however it is stored: 1, 1.0, True, "1", " 01 " and "true" have the number 1 and the name "1".
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.releases.tables import Cells

if TYPE_CHECKING:
    import pyarrow as pa

# What is read as a number; anything else in such a column is missing.
_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf(inity)?))$"
_IS_NUMBER = re.compile(_NUMBER, re.ASCII)
# As programs write flags, and read them back from text.
_FLAGS = {"True": 1.0, "true": 1.0, "TRUE": 1.0, "False": 0.0, "false": 0.0, "FALSE": 0.0}
# As NumPy writes what is missing, where a text makes texts of all cells.
_MISSING = {"", "nan"}
# Beyond, a double does not say which whole number it was.
_LARGEST_WHOLE = 1 << 53


def numbers_of(cells: Cells, name: str) -> AnyArray:
    """Cells as numbers, not a number where there is none.

    name: Of the column.
    Returns: ndarray of numbers or flags, shape (n_rows,)
    Raises `ParameterError` if the column is of a type that is neither number nor text.
    """
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "fiub":
            return cells
        if cells.dtype.kind == "U" and (array := _utf8(cells)) is not None:
            return _parsed(array)
        found, texts = _split(cells)
        is_text = np.array([text is not None for text in texts], dtype=bool)
        if is_text.any():
            import pyarrow as pa

            found[is_text] = _parsed(pa.array(texts[is_text], pa.string()))
        return found
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _decoded(cells, name)
    if pa.types.is_string(array.type):
        return _parsed(array)
    if array.null_count == 0:
        plain: AnyArray = array.to_numpy(zero_copy_only=False)
        return plain
    floats = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan)
    filled: FloatArray = floats.to_numpy(zero_copy_only=False)
    return filled


def names_of(cells: Cells, name: str) -> pa.Array:
    """Cells as names of levels or people, null where there is none.

    Of whole numbers of 16 digits and more some have one name, as they have one double.

    name: Of the column.
    Raises `ParameterError` as in `numbers_of`.
    """
    import pyarrow as pa

    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "fiub":
            return _names_of_numbers(cells)
        if cells.dtype.kind == "U" and (array := _utf8(cells)) is not None:
            return names_of(array, name)
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


def _parsed(texts: pa.Array) -> FloatArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(texts)
    is_number = pc.match_substring_regex(trimmed, _NUMBER)
    digits = pc.if_else(is_number, trimmed, pa.scalar(None, pa.string()))
    values = pc.fill_null(pc.cast(digits, pa.float64()), np.nan)
    found: FloatArray = values.to_numpy(zero_copy_only=False)
    if digits.null_count > texts.null_count:
        flag = pc.index_in(trimmed, value_set=pa.array(list(_FLAGS)))
        of_flag = pa.array(list(_FLAGS.values())).take(flag)
        found = np.where(np.isnan(found), of_flag.to_numpy(zero_copy_only=False), found)
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
    raise ParameterError(f"column {name!r}", "of numbers or texts", str(kind))


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
