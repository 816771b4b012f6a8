"""A table is read by its own session only, and its secret name stays on the server."""

from __future__ import annotations

from dataclasses import replace

import pytest
import streamlit as st

from dpcore.data import load_dataset
from dpcore.data.dataset import PREFIX, HeldTable
from tests.pages.opening import texts, visit
from tests.pages.use.test_own_table import brought, state_of

BOXES = {
    "": "dataset",
    "decide": "decide_data",
    "statistics": "stat_source",
    "cca": "cca_data",
}


@pytest.fixture
def foreign() -> HeldTable:
    """Return the table of another session."""
    data = load_dataset("breast-cancer")
    return HeldTable(replace(data, feature_names=tuple(f"secret {k}" for k in range(30))))


@pytest.mark.parametrize("address", BOXES)
def test_a_browser_cannot_name_the_table_of_another_session(open_page, foreign, address):
    """All tables have one label, and a select box accepted any value of that label."""
    key = BOXES[address]
    at = brought(open_page)
    at.session_state[key] = foreign.name
    visit(at, address)
    assert not at.exception, [exception.value for exception in at.exception]
    options = [option for box in at.selectbox for option in box.options]
    assert not [option for option in options if "secret" in option]
    assert at.session_state["_selection"].spec.dataset != foreign.name
    accountants = at.session_state["_accountants"] if "_accountants" in at.session_state else {}
    assert foreign.name not in accountants


@pytest.mark.parametrize("address", ["", "compare", "statistics", "cca"])
def test_files_do_not_contain_the_secret_name(open_page, monkeypatch, address):
    """The name was in the column dataset of results, and in scripts."""
    files = {}
    draw = st.download_button

    def keep(label, data, *others, **named):
        files[label] = data
        return draw(label, data, *others, **named)

    monkeypatch.setattr(st, "download_button", keep)
    at = brought(open_page)
    name = state_of(at).rows.name
    at.session_state["dataset"] = at.session_state["stat_source"] = name
    at.session_state["cca_data"], at.session_state["repetitions"] = name, 1
    files.clear()
    visit(at, address)
    assert not at.exception and files, [error.value for error in at.error]
    made = {label: data() for label, data in files.items() if callable(data)}
    assert PREFIX not in "\n".join(map(str, made.values()))
    assert "your-table" in "\n".join(map(str, made.values()))
    assert PREFIX not in texts(at)
