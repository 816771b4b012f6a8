"""Table of a session: its file, its public facts, and its rows by these facts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus, dataset_status
from dpcore.data.dataset import HeldTable
from dpcore.release.dictionary import Dictionary
from dpcore.release.encoding import Reading
from dpcore.release.examples import EXAMPLES, example
from dpcore.release.inspection import inspect_table
from dpcore.release.simulation import simulation_data
from dpcore.release.uploads import Upload, make_upload
from pages.components import ledger

# Folder whose tables every visitor may open, and where releases are kept; set by the owner of a
# server that one person runs for themselves.
FOLDER_VARIABLE = "DPCORE_OWN_DATA"
EXAMPLE_TITLES = {"breast-cancer": "Breast cancer", "class-survey": "Class survey"}
# Key of the sentence that the next run shows.
TROUBLE = "_own_trouble"
_OWN, _NAMES = "_own_table", "_own_names"


@dataclass(eq=False)
class OwnTable:
    """The table of a session and the public facts about it.

    title: Title of the table for the holder.
    content: Public facts so far, in the form of a dictionary file.
    is_example: Whether the table is one of the examples.
    version: Number in the keys of the widgets; new content gives new widgets.
    dictionary: Dictionary that the table is read by; None until it is complete.
    rows: Rows for simulations, by that dictionary.
    reading: Counts of missing and clipped cells, for the holder only.
    unreadable: Examples of cells that could not be read, by column, for the holder only.
    """

    upload: Upload
    title: str
    content: dict[str, Any] = field(default_factory=dict)
    is_example: bool = False
    version: int = 0
    dictionary: Dictionary | None = None
    rows: HeldTable | None = None
    reading: Reading = field(default_factory=Reading)
    unreadable: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def status(self) -> DatasetStatus | None:
        """Status of the rows as a data set, or None until they are read."""
        return None if self.rows is None else dataset_status(self.rows.name)

    def key(self, *parts: object) -> str:
        """Return the key of a widget."""
        return "_".join(map(str, ("own", self.version, *parts)))


def current() -> OwnTable:
    """Return the table of this session; the first example if the visitor has brought none."""
    table: OwnTable | None = st.session_state.get(_OWN)
    if table is None:
        table = take_example(EXAMPLES[0])
    st.session_state["_own_status"] = table.status
    return table


def take_example(name: str) -> OwnTable:
    """Use an example, with the dictionary that comes with it, as the table of this session."""
    columns, dictionary = example(name)
    table = OwnTable(make_upload(f"{name}.csv", columns), EXAMPLE_TITLES[name], is_example=True)
    replace_table(table)
    apply_dictionary(table, dictionary)
    return table


def apply_dictionary(table: OwnTable, dictionary: Dictionary) -> None:
    """Read the table by a dictionary.

    Raises `ParameterError` if the table does not fit; the former reading stays then.
    """
    reading = Reading()
    data = simulation_data(table.upload.columns, dictionary, reading)
    if table.is_example:
        data = replace(data, title=table.title)
    inspection = inspect_table(table.upload.columns, dictionary)
    former = table.rows
    table.dictionary, table.rows = dictionary, HeldTable(data)
    table.reading = reading
    table.unreadable = {
        name: tuple(counts.examples)
        for name, counts in inspection.columns.items()
        if counts.examples
    }
    table.content, table.version = dictionary.as_dict(), table.version + 1
    # The digest names the file; the charges of its people stay when it is read in another way.
    names: dict[str, str] = st.session_state.setdefault(_NAMES, {})
    before = names.get(table.upload.digest)
    names[table.upload.digest] = table.rows.name
    if before is not None:
        ledger.rename(before, table.rows.name)
    if former is not None and st.session_state.get("dataset") == former.name:
        st.session_state["dataset"] = table.rows.name
    st.session_state["_own_status"] = table.status


def folder() -> Path | None:
    """Return the folder that the owner of the server opened to visitors, if there is one."""
    path = os.environ.get(FOLDER_VARIABLE)
    return Path(path) if path else None


def replace_table(table: OwnTable) -> None:
    """Make this the table of the session."""
    former: OwnTable | None = st.session_state.get(_OWN)
    if former is not None:
        table.version = former.version + 1
    st.session_state[_OWN] = table
    st.session_state["_own_status"] = table.status
