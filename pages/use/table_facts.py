"""Public facts of a table: how cells are written, limits, levels, rows of a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.engine.summaries import counted
from dpcore.release.common_limits import find_common_limits
from dpcore.release.dictionary import MOST_ROWS_PER_PERSON
from dpcore.release.dictionary_file import (
    LARGEST_UPLOADED_DICTIONARY,
    dictionary_from,
    parse_dictionary,
)
from dpcore.release.table_file import SEPARATORS
from pages.components import notices
from pages.components.notices import escape_markdown
from pages.use.session_table import TROUBLE, OwnTable, apply_dictionary
from pages.use.table_sources import draw_layout_form

_MOST_LEFT_OUT = 6
_MOST_COLUMNS = 30
_NONE = "–"
_DECIMALS = {"point": ".", "comma": ","}
_DATE_ORDERS = {
    "year-month-day": "ymd",
    "day-month-year": "dmy",
    "month-day-year": "mdy",
}
_EARLIEST, _LATEST = date(1850, 1, 1), date(2150, 12, 31)


def draw_facts(table: OwnTable) -> None:
    """Draw the form of the public facts."""
    st.markdown(
        "Take limits from the question, the unit or the device, never from the values. "
        "Known names, such as “age”, come with an offer."
    )
    if table.dictionary is not None:
        _draw_counts(table)
    _draw_layout(table)
    numbers, levels, dates = _draw_cells(table)
    with st.form(table.key("facts"), border=True):
        chosen = [*numbers, *levels, *dates]
        for name in chosen:
            _draw_column(table, name, is_levels=name in levels, is_date=name in dates)
        if not chosen:
            st.caption("No column is selected.")
        _draw_rows(table)
        st.form_submit_button(
            "Use these facts",
            type="primary",
            on_click=_submit,
            args=(table, numbers, levels, dates),
        )


def _draw_layout(table: OwnTable) -> None:
    header = table.upload.header
    if header is not None:
        st.caption(
            f"Names of columns in line {header.line}, a "
            f"{SEPARATORS.get(header.separator, header.separator or 'cell')} between cells, "
            f"{header.encoding.removesuffix('-sig')}."
        )
    if table.upload.left_out:
        reasons = list(table.upload.left_out.items())[:_MOST_LEFT_OUT]
        texts = (f"“{escape_markdown(name)}”: {escape_markdown(why)}" for name, why in reasons)
        st.caption(f"Columns that are not used: {'; '.join(texts)}.")
    content = table.upload.file.content
    if content is not None and header is not None:
        with st.popover("Change the layout"):
            draw_layout_form(table, table.upload.name, content, place="table")


def _draw_cells(table: OwnTable) -> tuple[list[str], list[str], list[str]]:
    """Draw the choices of how cells are written; return columns of numbers, levels and dates."""
    cells, columns = table.content.get("cells", {}), table.content.get("columns", {})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        decimal = st.segmented_control(
            "Decimal mark",
            list(_DECIMALS),
            key=table.key("decimal"),
            default=_name_of(_DECIMALS, cells.get("decimal") or table.upload.columns.decimal)
            or (None if table.upload.columns.is_decimal_open else "point"),
        )
        st.text_input(
            "Codes for missing values",
            ", ".join(cells.get("missing") or ()),
            key=table.key("missing"),
            placeholder="-999, NA",
        )
        st.selectbox(
            "Dates are written",
            list(_DATE_ORDERS),
            index=list(_DATE_ORDERS.values()).index(cells.get("date_order") or "ymd"),
            key=table.key("date_order"),
        )
    if decimal is not None:
        # Whether a column holds numbers depends on the mark.
        table.upload.columns.decimal = _DECIMALS[decimal]
    return _draw_kinds(table, columns, decimal or "")


def _draw_kinds(
    table: OwnTable, columns: Mapping[str, Any], decimal: str
) -> tuple[list[str], list[str], list[str]]:
    names = list(table.upload.columns)
    rows = table.content.get("rows", {})
    special = {rows.get(kind) for kind in ("person", "label", "site")}
    if columns:
        usual_dates = [name for name in columns if "days_since" in columns[name]]
        usual_levels = [name for name in columns if "levels" in columns[name]]
        usual_numbers = [name for name in columns if "lower" in columns[name]]
    else:
        kinds = {name: table.upload.kind_of(name) for name in names if name not in special}
        usual_dates = [name for name, kind in kinds.items() if kind == "dates"]
        usual_levels = []
        usual_numbers = [name for name, kind in kinds.items() if kind == "numbers"][:_MOST_COLUMNS]
    # Another decimal mark turns texts into numbers, so the choices start again with it.
    with st.container(key=table.key("kinds")):
        numbers = st.multiselect(
            "Columns of numbers", names, usual_numbers, key=table.key("numbers", decimal)
        )
        levels = st.multiselect(
            "Columns of levels, such as yes and no",
            [name for name in names if name not in numbers],
            [name for name in usual_levels if name not in numbers],
            key=table.key("levels", decimal),
        )
        dates = st.multiselect(
            "Columns of dates",
            [name for name in names if name not in (*numbers, *levels)],
            [name for name in usual_dates if name not in (*numbers, *levels)],
            key=table.key("dates", decimal),
        )
    return numbers, levels, dates


def _draw_column(table: OwnTable, name: str, *, is_levels: bool, is_date: bool) -> None:
    """Draw the fields of one column."""
    facts: Mapping[str, Any] = table.content.get("columns", {}).get(name, {})
    title, first, second = st.columns([2, 1, 1], vertical_alignment="bottom")
    offered = None
    if not facts and not is_levels and not is_date:
        offered = find_common_limits(name)
    note = "  \n:small[limits offered from the name]" if offered else ""
    title.markdown(f"{escape_markdown(name)}{note}")
    if is_levels:
        # A text area keeps levels that contain a comma apart.
        first.text_area(
            "Levels, one per line",
            "\n".join(facts.get("levels", ())),
            key=table.key("levels of", name),
        )
        return
    if is_date:
        earliest, latest = _dates_of(facts)
        limits: dict[str, Any] = {"min_value": _EARLIEST, "max_value": _LATEST}
        first.date_input("Earliest", earliest, key=table.key("lower", name), **limits)
        second.date_input("Latest", latest, key=table.key("upper", name), **limits)
        return
    lower, upper = offered or (facts.get("lower"), facts.get("upper"))
    for place, label, key, value in (
        (first, "Lowest", "lower", lower),
        (second, "Highest", "upper", upper),
    ):
        place.number_input(
            label,
            value=None if value is None else float(value),
            format="%.12g",
            step=None,
            key=table.key(key, name),
        )


def _dates_of(facts: Mapping[str, Any]) -> tuple[date | None, date | None]:
    if "days_since" not in facts:
        return None, None
    start = date.fromisoformat(facts["days_since"]).toordinal()
    lower, upper = (date.fromordinal(start + int(facts[key])) for key in ("lower", "upper"))
    return lower, upper


def _draw_rows(table: OwnTable) -> None:
    """Draw the fields that say which rows belong to one person."""
    rows, names = table.content.get("rows", {}), [_NONE, *table.upload.columns]

    def column(place: Any, label: str, key: str, explanation: str) -> None:
        index = names.index(rows[key]) if rows.get(key) in names else 0
        place.selectbox(label, names, index=index, key=table.key(key), help=explanation)

    person, at_most, label, site = st.columns(4, vertical_alignment="bottom")
    column(person, "Person", "person", "Column that names the person of each row.")
    at_most.number_input(
        "Rows per person, at most",
        1,
        MOST_ROWS_PER_PERSON,
        rows.get("at_most", 1),
        key=table.key("at_most"),
        help="The first rows of each person are used. Twice as many rows need twice the noise.",
    )
    column(label, "Label", "label", "Column of classes, for simulations only.")
    column(site, "Site", "site", "Column that names the site of each row, for simulations only.")


def _submit(table: OwnTable, numbers: list[str], levels: list[str], dates: list[str]) -> None:
    """Form callback: build a dictionary from the fields and read the table."""
    try:
        dictionary = dictionary_from(_facts(table, numbers, levels, dates))
        apply_dictionary(table, dictionary)
    except (ParameterError, _Incomplete) as error:
        st.session_state[TROUBLE] = str(error)


class _Incomplete(ValueError):
    """A public fact that the visitor has not given yet."""


def _facts(
    table: OwnTable, numbers: Sequence[str], levels: Sequence[str], dates: Sequence[str]
) -> dict[str, Any]:
    """Return the content of the fields in the form of a dictionary file.

    Raises `_Incomplete` if a field is empty.
    """

    def value(*key: str) -> Any:
        return st.session_state.get(table.key(*key))

    rows: dict[str, Any] = {
        key: value(key) for key in ("person", "label", "site") if value(key) not in (None, _NONE)
    }
    special = set(rows.values())
    if "person" in rows:
        rows["at_most"] = value("at_most")
    used = [name for name in (*numbers, *levels, *dates) if name not in special]
    if not used:
        raise _Incomplete("Select at least one column.")
    decimal = value("decimal")
    if numbers and decimal is None:
        raise _Incomplete("Choose the decimal mark of this file: point or comma.")
    codes = [code.strip() for code in (value("missing") or "").split(",") if code.strip()]
    cells = {
        **({} if decimal is None else {"decimal": _DECIMALS[decimal]}),
        **({"missing": codes} if codes else {}),
        **({"date_order": _DATE_ORDERS[value("date_order")]} if dates else {}),
    }
    columns = {
        name: _marks_without_field(table, name)
        | (
            _levels_typed(table, name)
            if name in levels
            else _limits_typed(table, name, name in dates)
        )
        for name in used
    }
    # The page has no field for the shape of pictures; a file's shape holds for these columns only.
    image = table.content.get("image")
    is_same = list(columns) == list(table.content.get("columns", {}))
    pictures = {"image": image} if image and is_same else {}
    return {"title": table.title, **pictures, "rows": rows, "cells": cells, "columns": columns}


def _marks_without_field(table: OwnTable, name: str) -> dict[str, Any]:
    """Return the entries of a dictionary file about a column for which the page has no field."""
    fields = ("lower", "upper", "middle", "levels", "days_since")
    former = table.content.get("columns", {}).get(name, {})
    return {key: mark for key, mark in former.items() if key not in fields}


def _levels_typed(table: OwnTable, name: str) -> dict[str, Any]:
    lines = st.session_state.get(table.key("levels of", name), "").splitlines()
    levels = [line.strip() for line in lines if line.strip()]
    if not levels:
        raise _Incomplete(f"Give the levels of “{name}”, one per line.")
    return {"levels": levels}


def _limits_typed(table: OwnTable, name: str, is_date: bool) -> dict[str, Any]:
    lower, upper = (st.session_state.get(table.key(key, name)) for key in ("lower", "upper"))
    if lower is None or upper is None:
        raise _Incomplete(f"Give both limits of “{name}”, or do not select it.")
    if is_date:
        return {"days_since": lower.isoformat(), "lower": 0, "upper": (upper - lower).days}
    middle = table.content.get("columns", {}).get(name, {}).get("middle")
    if middle is not None and lower <= middle <= upper:
        return {"lower": lower, "upper": upper, "middle": middle}
    return {"lower": lower, "upper": upper}


def draw_dictionary_file(table: OwnTable) -> None:
    """Draw the fields that load and save the facts as a dictionary file."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = table.key("dictionary")
        if not notices.is_public_demo():
            st.file_uploader(
                "Or a dictionary file (TOML)", "toml", key=key, on_change=_fill, args=(table, key)
            )
        if table.dictionary is not None:
            st.download_button(
                "Save as a dictionary file",
                table.dictionary.toml(),
                "dictionary.toml",
                "application/toml",
                on_click="ignore",
            )


def _fill(table: OwnTable, key: str) -> None:
    file = st.session_state.get(key)
    if file is None:
        return
    try:
        content = file.getvalue()
        dictionary = parse_dictionary(content, file.name, LARGEST_UPLOADED_DICTIONARY)
        named = [*dictionary.keys, dictionary.label, dictionary.site]
        absent = [name for name in named if name is not None and name not in table.upload.columns]
        if absent:
            raise ParameterError("dictionary", "of columns that the table has", absent[0])
        apply_dictionary(table, dictionary)
    except ParameterError as error:
        st.session_state[TROUBLE] = str(error)


def _name_of(options: Mapping[str, str], value: str | None) -> str | None:
    return next((name for name, option in options.items() if option == value), None)


def _draw_counts(table: OwnTable) -> None:
    reading = table.reading
    clipped, missing = sum(reading.clipped.values()), sum(reading.missing.values())
    st.caption(
        f"For you only: {counted(reading.n_rows, 'row')} read, {counted(clipped, 'cell')} moved to "
        f"a limit, {counted(missing, 'cell')} missing and set to the middle, "
        f"{counted(reading.n_empty_rows, 'row')} without any cell skipped, "
        f"{counted(reading.n_left_out, 'row')} not used, because each person has one row here."
    )
