"""What a visitor is told of the folder of finished rows."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.engine.result_store import Store
from pages.widgets.plain_text import said


def say_trouble() -> None:
    """One sentence if finished rows cannot be kept; the page computes them all the same."""
    # There in every run, so that nothing below it changes its place.
    with st.container():
        if trouble := Store().trouble:
            st.info(said(trouble), icon="💾")
