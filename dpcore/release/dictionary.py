"""Data dictionary: public facts about a table, written without looking at its rows.

Limits, levels and the number of rows per person determine the sensitivity. The data holder knows
them from the domain (units, the ends of a scale, a questionnaire); they are never derived from
values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from numbers import Real
from typing import Any

from dpcore.errors import ParameterError, require_one_of
from dpcore.picture_kinds import FULL, PICTURE_KINDS
from dpcore.release.cells import DATE_ORDERS, Marks, name_of_text, normal_form

# Norms of integer rows with more features would not be exact in doubles.
MOST_FEATURES = 10_000
MOST_ROWS_PER_PERSON = 1_000_000
# Differences and quotients of limits within this range do not overflow.
_LARGEST_LIMIT, _SMALLEST_WIDTH = 1e150, 1e-150
NOTATION_OF_CELLS = ("missing", "decimal", "thousands", "date_order", "multiline")
DECIMALS, THOUSANDS = (".", ","), (".", ",", " ", "'", "\u2019", "_")
_LONGEST_UNIT = 16


@dataclass(frozen=True)
class Column:
    """Column of numbers between public limits, or of public levels.

    Parameters
    ----------
    name : str
        Name in the table's header.
    lower, upper : float
        Public limits of a column of numbers, to which values are clipped.
    middle : float, optional
        Value that is encoded as zero, also for missing cells. Default: halfway between the limits.
    levels : tuple of str
        Levels instead of limits. Each becomes a feature, 1 in rows with this level and 0 in others.
    missing : tuple of str, optional
        Codes of missing cells, as they are written: -999, NA. Default of this parameter, the next
        two and the last one: the value of the dictionary.
    decimal, thousands : str, optional
        Marks in numbers.
    unit : str
        Text before or after each number: %, $.
    days_since : date, optional
        Public first day. Cells and limits are dates, and become the numbers of days since then.
    date_order : {"ymd", "dmy", "mdy"}, optional
        Order in dates that are not ISO dates.

    Raises
    ------
    ParameterError
        If there are neither limits nor levels, or both, or a value is out of range.
    """

    name: str
    lower: float = math.nan
    upper: float = math.nan
    middle: float = math.nan
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    decimal: str | None = None
    thousands: str | None = None
    unit: str = ""
    days_since: date | None = None
    date_order: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", normal_form(self.name))
        self._check_cells()
        for key in ("lower", "upper", "middle"):
            limit = getattr(self, key)
            if isinstance(limit, date) and self.days_since is not None:
                limit = (date(limit.year, limit.month, limit.day) - self.days_since).days
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

    def _check_cells(self) -> None:
        where = f"column {self.name!r}"
        if isinstance(self.days_since, str):
            try:
                object.__setattr__(self, "days_since", date.fromisoformat(self.days_since))
            except ValueError as error:
                constraint = "a date, as in 2000-01-31"
                raise ParameterError(
                    f"days_since of {where}", constraint, self.days_since
                ) from error
        elif isinstance(self.days_since, datetime):
            object.__setattr__(self, "days_since", self.days_since.date())
        elif self.days_since is not None and not isinstance(self.days_since, date):
            raise ParameterError(f"days_since of {where}", "a date", self.days_since)
        if not isinstance(self.unit, str) or len(self.unit) > _LONGEST_UNIT:
            raise ParameterError(f"unit of {where}", "a short text", self.unit)
        object.__setattr__(self, "unit", self.unit.strip())
        if any(character.isdigit() or character in "+-.," for character in self.unit):
            raise ParameterError(f"unit of {where}", "a text without digits and signs", self.unit)
        _check_marks(self, where)
        of_numbers = {"unit": self.unit, "decimal": self.decimal, "thousands": self.thousands,
                      "days_since": self.days_since, "date_order": self.date_order}  # fmt: skip
        for key, value in of_numbers.items():
            if value and (self.levels or (self.days_since and key in ("unit", "decimal"))):
                of = "levels" if self.levels else "dates"
                raise ParameterError(where, f"without {key}, as a column of {of}", value)

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
            if not abs(getattr(self, key)) <= _LARGEST_LIMIT:
                raise ParameterError(
                    f"column {self.name!r}", f"given a finite public limit {key!r}", "none"
                )
        if not self.upper - self.lower >= _SMALLEST_WIDTH:
            raise ParameterError(
                f"limits of {self.name!r}", "a lower below an upper", [self.lower, self.upper]
            )
        if math.isnan(self.middle):
            object.__setattr__(self, "middle", self.lower / 2 + self.upper / 2)
        if not self.lower <= self.middle <= self.upper:
            raise ParameterError(f"middle of {self.name!r}", "between the limits", self.middle)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that encode the column."""
        return tuple(f"{self.name}={level}" for level in self.levels) or (self.name,)

    @property
    def reach(self) -> float:
        """Distance from the middle to the farther limit, which is encoded as 1."""
        return max(self.upper - self.middle, self.middle - self.lower)

    def as_dict(self) -> dict[str, Any]:
        """Return the entries of a dictionary file."""
        cells = {
            **_marks_of_file(self),
            **({"unit": self.unit} if self.unit else {}),
            **({"days_since": self.days_since.isoformat()} if self.days_since else {}),
        }
        if self.levels:
            return {"levels": list(self.levels), **cells}
        return {"lower": self.lower, "upper": self.upper, "middle": self.middle, **cells}


@dataclass(frozen=True)
class Dictionary:
    """Public facts about a table.

    Parameters
    ----------
    columns : tuple of Column
        Columns to read. Other columns of the table are ignored.
    title : str
    image : (height, width), optional
        Shape of the pictures whose pixels, row by row, are the columns in their order. The noisy
        second moment is then denoised as one of pictures.
    picture : {"full", "centred"}
        Whether pictures fill the frame or show an object in its middle.
    person : str or None
        Column that names the person; None if every row is a different person.
    at_most : int
        Number of rows of one person, the first ones; rows without a person are skipped.
    site, label : str or None
        Columns for simulations; a release does not read them.
    norm_bound : float or None
        Public bound on a row's norm, in units in which each column reaches to 1 around its middle.
        Longer rows are shortened. Default: the root of the number of columns, which is no limit.
    missing, decimal, thousands, date_order
        Defaults for all columns, as in `Column`. Cells that are `missing` name no person either.
    multiline : bool, optional
        Whether quoted cells of a text file may have many line breaks. If not, a file in which
        quotes join more than 10 lines is refused, since an unbalanced quote hides rows.

    Raises
    ------
    ParameterError
        If there are no columns, too many, or two with one name, or a value is out of range.
    """

    columns: tuple[Column, ...]
    title: str = ""
    person: str | None = None
    at_most: int = 1
    site: str | None = None
    label: str | None = None
    norm_bound: float | None = None
    missing: tuple[str, ...] | None = None
    decimal: str | None = None
    thousands: str | None = None
    date_order: str | None = None
    multiline: bool | None = None
    image: tuple[int, int] | None = None
    picture: str = FULL

    def __post_init__(self) -> None:
        _check_marks(self, "cells")
        if self.multiline not in (None, True, False):
            raise ParameterError("multiline of cells", "true or false", self.multiline)
        names = [column.name for column in self.columns]
        if not names:
            raise ParameterError("columns", "one or more columns with limits or levels", names)
        self._check_names(names)
        self._check_image()
        self._check_rows()
        for column in self.columns:
            marks = self.marks_of(column)
            if marks.thousands == marks.decimal and not column.levels:
                raise ParameterError(
                    f"thousands of {column.name!r}", "another mark than decimal", marks.thousands
                )
            levels = frozenset(map(name_of_text, column.levels))
            if both := sorted(filter(None, levels & marks.missing_names)):
                raise ParameterError(f"missing of {column.name!r}", "no level", both[0])

    def _check_names(self, names: list[str]) -> None:
        if len(self.features) > MOST_FEATURES:
            raise ParameterError("columns", f"at most {MOST_FEATURES} features", len(self.features))
        for text in ("title", "person", "site", "label"):
            if not isinstance(value := getattr(self, text), str | None):
                raise ParameterError(text, "a text", value)
            if value is not None and text != "title":
                object.__setattr__(self, text, normal_form(value))
        others = [name for name in (self.person, self.site, self.label) if name is not None]
        for name in {*names, *others}:
            if names.count(name) + others.count(name) > 1:
                raise ParameterError("column", "named once in a dictionary", name)
        if len(set(self.features)) < len(self.features):
            raise ParameterError("columns", "such that no two features have one name", names)

    def _check_image(self) -> None:
        require_one_of("picture", self.picture, PICTURE_KINDS)
        if self.image is None:
            if self.picture != FULL:
                raise ParameterError("picture", "left out without an image", self.picture)
            return
        if not isinstance(self.image, list | tuple) or [*map(type, self.image)] != [int, int]:
            raise ParameterError("image", "[height, width] in pixels", self.image)
        object.__setattr__(self, "image", tuple(self.image))
        if any(column.levels for column in self.columns):
            raise ParameterError("image", "left out if a column has levels", self.image)
        if min(self.image) < 1 or math.prod(self.image) != len(self.columns):
            constraint = (
                f"[height, width] with a product of {len(self.columns)}, one column a pixel"
            )
            raise ParameterError("image", constraint, self.image)

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

    def marks_of(
        self, column: Column | None, decimal: str | None = None, thousands: str | None = None
    ) -> Marks:
        """Return the notation of a column, or of people's names if column is None.

        decimal, thousands: Marks of the file; they replace those of the dictionary's [cells].
        """
        plain = Column("", 0, 1) if column is None else column
        return Marks(
            decimal=plain.decimal or decimal or self.decimal or ".",
            thousands=_first_given(plain.thousands, thousands, self.thousands, ""),
            unit=plain.unit,
            missing=_first_given(plain.missing, self.missing, ()),
            days_since=plain.days_since,
            date_order=plain.date_order or self.date_order or "ymd",
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns that a release reads."""
        names = tuple(column.name for column in self.columns)
        return names if self.person is None else (*names, self.person)

    def as_dict(self) -> dict[str, Any]:
        """Return the content of a dictionary file, with all defaults."""
        rows = {"person": self.person, "at_most": self.at_most, "site": self.site,
                "label": self.label, "norm_bound": self.norm_bound}  # fmt: skip
        return {
            "title": self.title,
            **({} if self.image is None else {"image": list(self.image)}),
            **({} if self.picture == FULL else {"picture": self.picture}),
            "rows": {key: value for key, value in rows.items() if value is not None},
            **({"cells": cells} if (cells := _marks_of_file(self)) else {}),
            "columns": {column.name: column.as_dict() for column in self.columns},
        }

    def toml(self) -> str:
        """Return the text of a file that `read_dictionary` reads as this dictionary."""
        content = self.as_dict()
        top = {key: value for key, value in content.items() if key in ("title", "image", "picture")}
        lines = [*_format_pairs(top), "", "[rows]", *_format_pairs(content["rows"])]
        if cells := content.get("cells"):
            lines += ["", "[cells]", *_format_pairs(cells)]
        for name, column in content["columns"].items():
            lines += ["", f"[columns.{quote(name)}]", *_format_pairs(column)]
        return "\n".join(lines) + "\n"


def _check_marks(settings: Column | Dictionary, where: str) -> None:
    """Check the notation of cells in a column or a dictionary."""
    choices = {
        "decimal": DECIMALS, "thousands": ("", *THOUSANDS), "date_order": DATE_ORDERS,
    }  # fmt: skip
    for key, allowed in choices.items():
        value = getattr(settings, key)
        if value is not None and value not in allowed:
            choices_text = ", ".join(map(repr, filter(None, allowed)))
            raise ParameterError(f"{key} of {where}", f"one of {choices_text}", value)
    if settings.missing is not None and not all(isinstance(text, str) for text in settings.missing):
        raise ParameterError(f"missing of {where}", "texts", settings.missing)


def _marks_of_file(settings: Column | Dictionary) -> dict[str, Any]:
    """Return the notation of cells as in a file."""
    values = {key: getattr(settings, key, None) for key in NOTATION_OF_CELLS}
    marks = {key: value for key, value in values.items() if value is not None}
    return marks | ({"missing": list(marks["missing"])} if "missing" in marks else {})


def _first_given(*values: Any) -> Any:
    """Return the first value that is not None."""
    return next(value for value in values if value is not None)


def _format_pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_format(value)}" for key, value in values.items()]


def _format(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_format, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote(value) if isinstance(value, str) else repr(value)


def quote(text: str) -> str:
    """Return a text as a TOML string."""
    # A JSON string is a valid TOML string except for this character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
