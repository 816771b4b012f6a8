"""Dictionaries as TOML files: read, check, and a template to fill in."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpcore.errors import ParameterError
from dpcore.picture_kinds import FULL
from dpcore.release.dictionary import NOTATION_OF_CELLS, Column, Dictionary, quote
from dpcore.release.table_file import require_regular_file

_TOP, _ROWS, _COLUMN = (
    {"title", "image", "picture", "rows", "cells", "columns"},
    {"person", "at_most", "site", "label", "norm_bound"},
    {"lower", "upper", "middle", "levels", "missing", "decimal", "thousands", "unit", "days_since",
     "date_order"},
)  # fmt: skip
_LARGEST_FILE = 1 << 24
# Dictionaries from a page. The time to read a dictionary is limited by the number of its keys.
LARGEST_UPLOADED_DICTIONARY = 1 << 18
_MOST_KEY_PARTS = 10
# Strings and comments, in which dots do not separate keys. The pattern takes linear time, also for
# an unclosed quote.
_STRINGS = re.compile(
    r'"""(?:\\.|(?!""")[^\\])*+(?:""")?|' + r"'''(?:(?!''').)*+(?:''')?|"
    r'"(?:\\.|[^"\\\n])*+"?|' + r"'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{_MOST_KEY_PARTS},}}")


def dictionary_from(content: Mapping[str, Any]) -> Dictionary:
    """Return a dictionary from the content of a TOML or JSON file.

    Parameters
    ----------
    content : mapping
        Content with `columns`, a table for each, and optionally `title`, `image`, `rows` and
        `cells`.

    Raises
    ------
    ParameterError
        If an entry is missing, unknown or out of range.
    """
    rows, columns = content.get("rows", {}), content.get("columns", {})
    cells = content.get("cells", {})
    _refuse_unknown("dictionary", content, _TOP)
    _refuse_unknown("rows", rows, _ROWS)
    _refuse_unknown("cells", cells, set(NOTATION_OF_CELLS))
    if not isinstance(columns, Mapping):
        raise ParameterError("columns", "a table for each column", columns)
    return Dictionary(
        tuple(_column(name, values) for name, values in columns.items()),
        title=content.get("title", ""),
        image=content.get("image"),
        picture=content.get("picture", FULL),
        **rows,
        **_codes_as_texts("cells", cells),
    )


def read_dictionary(path: Path | str) -> Dictionary:
    """Read the dictionary in a TOML file.

    Parameters
    ----------
    path : path

    Raises
    ------
    ParameterError
        If the file is not regular or not TOML, or `dictionary_from` refuses it.
    OSError
        If it cannot be read.
    """
    require_regular_file("dictionary", path)
    with open(path, "rb") as file:
        text = file.read(_LARGEST_FILE + 1)
    return parse_dictionary(text, str(path))


def parse_dictionary(text: bytes, where: str, most_bytes: int = _LARGEST_FILE) -> Dictionary:
    """Return the dictionary in the text of a TOML file.

    where: Source of the text, for messages.
    Raises `ParameterError` if it is not TOML, longer than most_bytes or has keys of more than ten
        parts, or `dictionary_from` refuses it.
    """
    if len(text) > most_bytes:
        raise ParameterError("dictionary", f"at most {most_bytes:,} bytes", where)
    try:
        decoded = text.decode("utf-8-sig")
        # tomllib takes quadratic time for a key a.a.a.
        if _LONG_KEY.search(_STRINGS.sub("s", decoded)):
            raise ParameterError("dictionary", f"of keys of at most {_MOST_KEY_PARTS} parts", where)
        content = tomllib.loads(decoded)
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:  # ValueError for very long integers
        raise ParameterError("dictionary", f"a TOML file ({error})", where) from error
    return dictionary_from(content)


def template(names: Sequence[str], title: str = "") -> str:
    """Return the text of a dictionary to fill in, made from column names only.

    names: Names in a table's header. Names that are not unique are skipped.
    """
    counts = Counter(names)
    lines = [
        "# A dictionary to fill in, made from the column names only: no row was read.",
        "# Between which limits is every possible value? Take the limits from the question, the",
        "# unit or the sensor, not from the rows. Delete the columns that are not used.",
        f"title = {quote(title)}",
        "# image = [28, 28]  # height and width, if the columns are the pixels of pictures",
        '# picture = "centred"  # if each picture shows one object in its middle',
        "",
        "[rows]",
        '# person = "..."  # the column that names the person, where one may have several rows',
        "# at_most = 1     # rows used of one person",
        "",
        "[cells]",
        '# missing = ["", "NA", -999]  # codes of missing cells',
        '# decimal = ","',
        '# thousands = "."',
    ]
    for name in names:
        if name and counts[name] == 1:
            lines += [
                "",
                f"[columns.{quote(name)}]",
                "# lower = 0           # public limits,",
                "# upper = 100",
                '# levels = ["a", "b"]  # or the possible answers',
                '# unit = "%"          # text before or after each number',
                "# days_since = 2000-01-01  # of dates, whose limits are days",
            ]
    return "\n".join(lines) + "\n"


def _column(name: str, values: Any) -> Column:
    _refuse_unknown(f"column {name!r}", values, _COLUMN)
    levels = values.get("levels", [])
    if not isinstance(levels, list) or not all(isinstance(level, str | int) for level in levels):
        raise ParameterError(f"levels of {name!r}", "a list of texts", levels)
    others = {key: value for key, value in values.items() if key != "levels"}
    others = _codes_as_texts(f"column {name!r}", others)
    return Column(name, levels=tuple(str(level) for level in levels), **others)


def _codes_as_texts(where: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, with codes of missing cells as texts: files may contain numbers."""
    if "missing" not in values:
        return dict(values)
    codes = values["missing"]
    if not isinstance(codes, list) or not all(
        isinstance(code, str | int | float) and not isinstance(code, bool) for code in codes
    ):
        raise ParameterError(f"missing of {where}", "a list of texts or numbers", codes)
    return {**values, "missing": tuple(str(code) for code in codes)}


def _refuse_unknown(parameter: str, content: Any, known_keys: set[str]) -> None:
    if not isinstance(content, Mapping):
        raise ParameterError(parameter, f"a table with {', '.join(sorted(known_keys))}", content)
    if unknown := sorted(set(content) - known_keys):
        raise ParameterError(parameter, f"made of {', '.join(sorted(known_keys))}", unknown[0])
