"""What is public about a table, typed by its holder or read from a file, never from the rows."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.releases.dictionary import (
    MOST_ROWS_PER_PERSON,
    Dictionary,
    dictionary_from,
    parsed_dictionary,
)
from pages.sidebar.own_table import OwnTable
from pages.sidebar.parts import in_browser
from pages.widgets.plain_text import said

_NUMBERS = {"lower": "lowest value", "upper": "highest value", "middle": "middle"}
_LEVELS = "levels"
_FIELDS = (*_NUMBERS, _LEVELS)
_LONGEST = 10_000  # characters of a cell, of which levels are the longest
_NOBODY = "no column"
_ONE, _SEVERAL = "one row a person", "several rows a person"
_versions = count(1)
_grid = in_browser("limits_grid", *Path(__file__).parent.glob("limits_grid.*"))


def begin(own: OwnTable, dictionary: Dictionary | None) -> None:
    """Start from a dictionary, or from nothing."""
    content = {} if dictionary is None else dictionary.as_dict()
    said_of: Mapping[str, Any] = content.get("columns", {})
    own.asked = {"title": content.get("title", "")} | content.get("rows", {})
    own.limits = {name: _written(said_of.get(name, {})) for name in own.upload.columns}
    own.version = next(_versions)


def limits_editor(own: OwnTable) -> None:
    """The table of limits, kept as it is typed.

    Inputs of the browser's own: a run of the page, which every entry causes, redraws the cells of
    Streamlit's editor, and what is typed meanwhile is lost.
    """
    rows = [
        [name, "numbers" if own.upload.is_numeric(name) else "texts", texts]
        for name, texts in own.limits.items()
    ]
    _grid(
        key=_key(own),
        data={"version": own.version, "rows": rows},
        default={"typed": {}},
        on_typed_change=lambda: None,
    )
    take_typed(own)


def take_typed(own: OwnTable) -> None:
    """What has been typed so far, of the columns and fields that there are."""
    typed = getattr(st.session_state.get(_key(own)), "typed", None)
    for name, texts in typed.items() if isinstance(typed, Mapping) else ():
        if name in own.limits and isinstance(texts, Mapping):
            known = {key: texts[key] for key in _FIELDS if isinstance(texts.get(key), str)}
            own.limits[name] |= {key: text[:_LONGEST] for key, text in known.items()}


def _key(own: OwnTable) -> str:
    return f"own_limits_{own.version}"


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
        name: said_of
        for name, texts in own.limits.items()
        if name not in taken and (said_of := _said_of(name, texts))
    }
    if not columns:
        raise ParameterError("limits", "given for one column at least", "none yet")
    rows = {key: value for key, value in own.asked.items() if key != "title" and value is not None}
    return dictionary_from({"title": own.asked["title"], "rows": rows, "columns": columns})


def _said_of(name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """What a row of the table says, as a dictionary's file has it."""
    found: dict[str, Any] = {}
    for key, title in _NUMBERS.items():
        if text := texts.get(key, "").strip():
            try:
                found[key] = float(text.replace("\N{MINUS SIGN}", "-"))
            except ValueError:
                rule = "a number such as -12.5"
                raise ParameterError(f"{title} of {name!r}", rule, text) from None
    levels = next(csv.reader([texts.get(_LEVELS, "")], delimiter=";", skipinitialspace=True), [])
    if kept := [level.strip() for level in levels if level.strip()]:
        found["levels"] = kept
    return found


def _written(values: Mapping[str, Any]) -> dict[str, str]:
    """A row of the table: numbers as one types them, levels with semicolons between them."""
    numbers = {key: repr(values[key]).removesuffix(".0") for key in _NUMBERS if key in values}
    levels = "; ".join(map(_quoted, values.get(_LEVELS, ())))
    return dict.fromkeys(_FIELDS, "") | numbers | {_LEVELS: levels}


def _quoted(level: str) -> str:
    quotes = level.replace('"', '""')
    return f'"{quotes}"' if quotes != level or ";" in level else level


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
