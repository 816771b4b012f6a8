"""Explore: captured energy and private components while ε is dragged."""

from __future__ import annotations

import streamlit as st

from pages import cached, controls
from pages.components import ledger, notices
from pages.controls import Selection

CONTROLS = (*controls.MAIN, *controls.ADVANCED)


def show(selection: Selection) -> None:
    """Draw the start page."""
    notices.show_notes(selection.notes)
    notices.require_dataset(selection.dataset)
    ledger.charge_run(selection.spec)
    rows = cached.rows(selection.spec)
    lead = [row["energy_ratio"] for row in rows if row["protocol"] == selection.spec.protocols[0]]
    st.title(f"{100 * sum(lead) / len(lead):.0f} % captured energy")
    st.write(selection.spec)
    st.button("New noise", on_click=controls.new_noise)
