"""A data dictionary: what is public about a table, written down without looking at its rows.

Limits, levels and how many rows a person may have decide the sensitivity; they are the holder's to
know from the domain (units, a scale's ends, a questionnaire), and are never suggested from values.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

from dpcore.errors import ParameterError
from dpcore.releases.cells import name_of_text

# Integer rows of more features would leave the range in which their lengths are exact.
MOST_FEATURES = 10_000
MOST_ROWS_PER_PERSON = 1_000_000
# So that no difference or quotient of limits overflows.
_FARTHEST, _NEAREST = 1e150, 1e-150
_LARGEST_FILE = 1 << 24
_TOP, _ROWS, _COLUMN = (
    {"title", "rows", "columns"},
    {"person", "at_most", "site", "label", "norm_bound"},
    {"lower", "upper", "middle", "levels"},
)


@dataclass(frozen=True)
class Column:
    """A column of numbers between public limits, or of public levels.

    Parameters
    ----------
    name : str
        As in the table's header.
    lower, upper : float
        Public limits of a column of numbers: values beyond are clipped to them.
    middle : float, optional
        What counts as zero, and stands for what is missing; halfway between the limits.
    levels : tuple of str
        In place of limits: a feature for each, one where the row has that level. A row with none
        of them has zeros.

    Raises
    ------
    ParameterError
        If there are neither limits nor levels, or both, or they make no sense.
    """

    name: str
    lower: float = math.nan
    upper: float = math.nan
    middle: float = math.nan
    levels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key in ("lower", "upper", "middle"):
            limit = getattr(self, key)
            if not isinstance(limit, Real) or isinstance(limit, bool):
                raise ParameterError(f"{key} of column {self.name!r}", "a number", limit)
            try:
                object.__setattr__(self, key, float(limit))
            except OverflowError as error:
                raise ParameterError(
                    f"{key} of column {self.name!r}", "a number that a double can hold", limit
                ) from error
        check = self._check_levels if self.levels else self._check_limits
        check()

    def _check_levels(self) -> None:
        if not all(map(math.isnan, (self.lower, self.upper, self.middle))):
            raise ParameterError(f"column {self.name!r}", "given limits or levels", "both")
        names = [name_of_text(level) for level in self.levels]
        if len(set(names)) < len(names):
            raise ParameterError(
                f"levels of {self.name!r}", "all different as cells (1, 1.0 and True are one)",
                self.levels,
            )  # fmt: skip

    def _check_limits(self) -> None:
        for key in ("lower", "upper"):
            if not abs(getattr(self, key)) <= _FARTHEST:
                raise ParameterError(
                    f"column {self.name!r}", f"given a finite public limit {key!r}", "none"
                )
        if not self.upper - self.lower >= _NEAREST:
            raise ParameterError(
                f"limits of {self.name!r}", "a lower below an upper", [self.lower, self.upper]
            )
        if math.isnan(self.middle):
            object.__setattr__(self, "middle", self.lower / 2 + self.upper / 2)
        if not self.lower <= self.middle <= self.upper:
            raise ParameterError(f"middle of {self.name!r}", "between the limits", self.middle)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of what it becomes."""
        return tuple(f"{self.name}={level}" for level in self.levels) or (self.name,)

    @property
    def reach(self) -> float:
        """Distance from the middle to the farther limit, which becomes the length 1."""
        return max(self.upper - self.middle, self.middle - self.lower)

    def as_dict(self) -> dict[str, Any]:
        """As in a file."""
        if self.levels:
            return {"levels": list(self.levels)}
        return {"lower": self.lower, "upper": self.upper, "middle": self.middle}


@dataclass(frozen=True)
class Dictionary:
    """What is public about a table.

    Parameters
    ----------
    columns : tuple of Column
        Those that are read; all others of the table are left out.
    title : str
    person : str or None
        Column that names the person; None where every row is another person.
    at_most : int
        Rows kept of one person, the first of them; rows without a person are left out.
    site, label : str or None
        Columns for the laboratory; a release does not read them.
    norm_bound : float or None
        Public bound on a row's length, where each column reaches to 1 around its middle; longer
        rows are shortened. The root of the number of columns if not given, which none exceeds.

    Raises
    ------
    ParameterError
        If there are no columns, or too many, or two of one name, or a value is out of range.
    """

    columns: tuple[Column, ...]
    title: str = ""
    person: str | None = None
    at_most: int = 1
    site: str | None = None
    label: str | None = None
    norm_bound: float | None = None

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if not names:
            raise ParameterError("columns", "one or more columns with limits or levels", names)
        self._check_names(names)
        self._check_rows()

    def _check_names(self, names: list[str]) -> None:
        if len(self.features) > MOST_FEATURES:
            raise ParameterError("columns", f"at most {MOST_FEATURES} features", len(self.features))
        for text in ("title", "person", "site", "label"):
            if not isinstance(getattr(self, text), str | None):
                raise ParameterError(text, "a text", getattr(self, text))
        others = [name for name in (self.person, self.site, self.label) if name is not None]
        for name in {*names, *others}:
            if names.count(name) + others.count(name) > 1:
                raise ParameterError("column", "named once in a dictionary", name)
        if len(set(self.features)) < len(self.features):
            raise ParameterError("columns", "such that no two features have one name", names)

    def _check_rows(self) -> None:
        if type(self.at_most) is not int or not 1 <= self.at_most <= MOST_ROWS_PER_PERSON:
            raise ParameterError("at_most", f"from 1 to {MOST_ROWS_PER_PERSON}", self.at_most)
        if self.at_most > 1 and self.person is None:
            raise ParameterError("at_most", "1 without a person column", self.at_most)
        bound = self.norm_bound
        if bound is not None and not (
            isinstance(bound, Real) and 1e-3 <= bound <= math.sqrt(MOST_FEATURES)
        ):
            raise ParameterError("norm_bound", "from 0.001 to 100", bound)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in the order of the columns."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of the table that a release reads."""
        names = tuple(column.name for column in self.columns)
        return names if self.person is None else (*names, self.person)

    def as_dict(self) -> dict[str, Any]:
        """As in a file, with all that was left to default."""
        rows = {"person": self.person, "at_most": self.at_most, "site": self.site,
                "label": self.label, "norm_bound": self.norm_bound}  # fmt: skip
        return {
            "title": self.title,
            "rows": {key: value for key, value in rows.items() if value is not None},
            "columns": {column.name: column.as_dict() for column in self.columns},
        }

    def toml(self) -> str:
        """The text of a file that `read_dictionary` reads as this dictionary."""
        content = self.as_dict()
        lines = [f"title = {_quoted(self.title)}", "", "[rows]", *_pairs(content["rows"])]
        for name, column in content["columns"].items():
            lines += ["", f"[columns.{_quoted(name)}]", *_pairs(column)]
        return "\n".join(lines) + "\n"


def dictionary_from(content: Mapping[str, Any]) -> Dictionary:
    """A dictionary from what a TOML or JSON file holds.

    Parameters
    ----------
    content : mapping
        With `columns`, a table for each, and perhaps `title` and `rows`.

    Raises
    ------
    ParameterError
        If something is missing, unknown or out of range.
    """
    rows, columns = content.get("rows", {}), content.get("columns", {})
    _refuse_unknown("dictionary", content, _TOP)
    _refuse_unknown("rows", rows, _ROWS)
    if not isinstance(columns, Mapping):
        raise ParameterError("columns", "a table for each column", columns)
    return Dictionary(
        tuple(_column(name, values) for name, values in columns.items()),
        title=content.get("title", ""),
        **rows,
    )


def read_dictionary(path: Path | str) -> Dictionary:
    """The dictionary in a TOML file.

    Parameters
    ----------
    path : path

    Raises
    ------
    ParameterError
        If it is no TOML, or as in `dictionary_from`.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") as file:
        text = file.read(_LARGEST_FILE + 1)
    return parsed_dictionary(text, str(path))


def parsed_dictionary(text: bytes, where: str) -> Dictionary:
    """The dictionary in the text of a TOML file, and where it comes from, for the sentence.

    Raises `ParameterError` if it is no TOML or too long, or as in `dictionary_from`.
    """
    if len(text) > _LARGEST_FILE:
        raise ParameterError("dictionary", f"at most {_LARGEST_FILE:,} bytes", where)
    try:
        content = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:  # Python reads no 5,000 digits
        raise ParameterError("dictionary", f"a TOML file ({error})", where) from error
    return dictionary_from(content)


def _column(name: str, values: Any) -> Column:
    _refuse_unknown(f"column {name!r}", values, _COLUMN)
    levels = values.get("levels", [])
    if not isinstance(levels, list) or not all(isinstance(each, str | int) for each in levels):
        raise ParameterError(f"levels of {name!r}", "a list of texts", levels)
    numbers = {key: value for key, value in values.items() if key != "levels"}
    return Column(name, levels=tuple(str(each) for each in levels), **numbers)


def _refuse_unknown(parameter: str, given: Any, known: set[str]) -> None:
    if not isinstance(given, Mapping):
        raise ParameterError(parameter, f"a table with {', '.join(sorted(known))}", given)
    if unknown := sorted(set(given) - known):
        raise ParameterError(parameter, f"made of {', '.join(sorted(known))}", unknown[0])


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_written(value)}" for key, value in values.items()]


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    # A JSON string is a TOML string, save for this one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
