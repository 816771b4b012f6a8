"""A story for a board, ready to go: from a question to a recommendation in six views."""

from __future__ import annotations

import streamlit as st

from dpcore.releases.examples import example
from dpcore.releases.laboratory import Upload
from pages.presenting.pins import Pin, Written, set_deck
from pages.sidebar import own_table
from pages.use.own_data import limits

_EXAMPLE = "breast-cancer"
_HOSPITALS: Written = {"dataset": [own_table.YOURS], "sites": ["12"]}
_K: Written = {"components": ["3"], "intermediate": ["6"]}
_SHOWN: Written = {"protocols": ["DPdisPCA", "Full matrices", "One site alone", "Pooled, trusted"]}


def _board() -> list[Pin]:
    """Views and questions; what they find is run where they are shown."""
    run = _HOSPITALS | _K | _SHOWN
    return [
        Pin("playground", run | {"epsilon": ["50"]},
            "Twelve hospitals want 90 % of the pattern that all their patients share"),
        Pin("playground", run, "What is left of it at ε = 1, where nobody has to be trusted?"),
        Pin("promise", {}, "What ε = 1 means for one patient"),
        Pin("tradeoffs", _HOSPITALS | _K, "Which ε reaches 90 %, and for whom?"),
        Pin("playground", run | {"protocols": ["Secure sum", "DPdisPCA", "Pooled, trusted"]},
            "Would sums under masks get there sooner?"),
        Pin("plan", _HOSPITALS | _K | {"plan_target": ["90"]},
            "The recommendation: the smallest ε that keeps 90 %"),
    ]  # fmt: skip


def offer() -> None:
    """A button that lays it out, with the visitor's own table if there is one."""
    mine = own_table.names()
    data = "your own table" if mine else "569 tumours, 30 measures with names"
    st.button(
        "A story for a board: twelve hospitals want 90 % of the pattern",
        help=f"Six views from the question to a recommendation, on {data}, in place of this deck.",
        key="board",
        on_click=_lay_out,
    )


def _lay_out() -> None:
    if not own_table.names():
        columns, dictionary = example(_EXAMPLE)
        own = own_table.put(Upload(f"{_EXAMPLE}.csv", dict(columns)))
        limits.begin(own, dictionary)
        own_table.use(own, dictionary)
    set_deck(_board())
