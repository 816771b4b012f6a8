"""What is public about a table, typed by its holder or read from a file, never from the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.releases.dictionary import (
    MOST_ROWS_PER_PERSON,
    Dictionary,
    dictionary_from,
    parsed_dictionary,
)
from pages.sidebar.own_table import OwnTable
from pages.widgets.plain_text import said

_TALLEST, _ROW = 320, 35
_NUMBERS = ("lower", "upper", "middle")
_NOBODY = "no column"
_ONE, _SEVERAL = "one row a person", "several rows a person"
_EDITOR: dict[str, Any] = {
    "column": st.column_config.TextColumn("Column", disabled=True, pinned=True),
    "read_as": st.column_config.TextColumn("Reads as", disabled=True, width=80),
    "lower": st.column_config.NumberColumn("Lowest", help="No value is below; one that is counts "
                                           "as this."),
    "upper": st.column_config.NumberColumn("Highest"),
    "middle": st.column_config.NumberColumn("Middle", help="What counts as zero and stands for "
                                            "what is missing; halfway if it is left out."),
    "levels": st.column_config.ListColumn("Or levels", help="The answers there are. Each becomes "
                                          "a feature."),
}  # fmt: skip


def begin(own: OwnTable, dictionary: Dictionary | None) -> None:
    """Start from a dictionary, or from nothing."""
    content = {} if dictionary is None else dictionary.as_dict()
    said_of: Mapping[str, Any] = content.get("columns", {})
    own.asked = {"title": content.get("title", "")} | content.get("rows", {})
    own.cells = dict(content.get("cells", {}))
    own.marks = {
        name: {key: value for key, value in column.items() if key not in (*_NUMBERS, "levels")}
        for name, column in said_of.items()
    }
    own.limits = pd.DataFrame(
        {
            "column": name,
            "read_as": own.upload.kind_of(name),
            **{key: said_of.get(name, {}).get(key) for key in _NUMBERS},
            "levels": said_of.get(name, {}).get("levels"),
        }
        for name in own.upload.columns
    ).astype(dict.fromkeys(_NUMBERS, float))
    own.version += 1


def limits_editor(own: OwnTable) -> None:
    """The table of limits, kept as it is typed."""
    key = f"own_limits_{own.version}"
    if key not in st.session_state or own.mounted is None:
        own.mounted = own.limits
    own.limits = st.data_editor(
        own.mounted,
        key=key,
        hide_index=True,
        column_config=_EDITOR,
        height=min(_TALLEST, _ROW * (len(own.limits) + 1) + 3),
    )


def dictionary_files(own: OwnTable, dictionary: Dictionary | None) -> None:
    """Take a dictionary from a file, or away as one."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.popover("Fill in from a dictionary (TOML)"):
            key = f"own_dictionary_{own.version}"
            st.file_uploader("A data dictionary", "toml", key=key, on_change=_fill, args=(own, key))
        if dictionary is not None:
            st.download_button(
                "Save as a dictionary (TOML)", dictionary.toml(), "dictionary.toml",
                "application/toml", on_click="ignore",
            )  # fmt: skip
    if trouble := st.session_state.pop("_dictionary_trouble", None):
        st.error(said(trouble), icon="⚠️")


def what_a_row_is(own: OwnTable) -> None:
    """One row a person or several, and the columns that are no features."""
    names, asked = list(own.upload.columns), own.asked
    choices = [_ONE, _SEVERAL]
    several = st.radio(
        "In this table there is",
        choices,
        index=choices.index(_SEVERAL if asked.get("person") else _ONE),
        key=f"own_several_{own.version}",
        horizontal=True,
    )
    if several == _SEVERAL:
        left, right = st.columns([2, 1])
        with left:
            person = _column("Column that names the person", "person", names, own)
        asked["at_most"] = right.number_input(
            "Rows kept of one person, at most", 1, MOST_ROWS_PER_PERSON, asked.get("at_most", 1),
            key=f"own_at_most_{own.version}",
            help="The first ones in the table. It is in the sensitivity: twice as many rows a "
            "person need twice the noise.",
        )  # fmt: skip
        if person is None:
            raise ParameterError("person", "a column that names each row's person", "none")
    else:
        asked["person"], asked["at_most"] = None, 1
    left, right = st.columns(2)
    with left:
        _column("Labels, for the laboratory alone", "label", names, own)
    with right:
        _column("Sites that hold the rows, for the laboratory alone", "site", names, own)


def dictionary_of(own: OwnTable) -> Dictionary:
    """What the controls say, as a dictionary.

    Raises `ParameterError` if something is missing or out of range.
    """
    taken = {own.asked.get(key) for key in ("person", "label", "site")} - {None}
    columns = {
        row["column"]: said_of | own.marks.get(row["column"], {})
        for row in own.limits.to_dict("records")
        if (said_of := _said_of(row)) and row["column"] not in taken
    }
    if not columns:
        raise ParameterError("limits", "given for one column at least", "none yet")
    rows = {key: value for key, value in own.asked.items() if key != "title" and value is not None}
    if own.upload.columns.is_decimal_open and not own.cells.get("decimal"):
        raise ParameterError("decimal", "a point or a comma, as this file has it", "no answer")
    said = {"title": own.asked["title"], "rows": rows, "cells": own.cells, "columns": columns}
    return dictionary_from(said)


def _said_of(row: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {key: float(row[key]) for key in _NUMBERS if pd.notna(row[key])}
    levels = row["levels"]
    if isinstance(levels, list) and levels:
        return numbers | {"levels": [str(level) for level in levels]}
    return numbers


def _column(title: str, key: str, names: list[str], own: OwnTable) -> str | None:
    options = [_NOBODY, *names]
    current = own.asked.get(key)
    position = options.index(current) if current in names else 0
    chosen = st.selectbox(title, options, index=position, key=f"own_{key}_{own.version}")
    found = own.asked[key] = None if chosen == _NOBODY else str(chosen)
    return found


def _fill(own: OwnTable, key: str) -> None:
    uploaded = st.session_state.get(key)
    if uploaded is None:
        return
    try:
        dictionary = parsed_dictionary(uploaded.getvalue(), uploaded.name)
        names = [*dictionary.keys, dictionary.label, dictionary.site]
        absent = [name for name in names if name is not None and name not in own.upload.columns]
        if absent:
            raise ParameterError("dictionary", "of columns that the table has", absent[0])
    except ParameterError as error:
        st.session_state["_dictionary_trouble"] = str(error)
    else:
        begin(own, dictionary)
