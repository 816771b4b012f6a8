"""The top of every page: its title once, and what is moved beside it, in view while one scrolls."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.sidebar.navigation import Place

_TOP = "_page_top"
_LOOK = (Path(__file__).parent / "shell.css").read_text(encoding="utf-8")


def page_top(place: Place) -> DeltaGenerator:
    """The page's title; the place beside it where epsilon is drawn."""
    st.html(f"<style>{_LOOK}</style>")
    top = st.container(key="page_top", horizontal=True, vertical_alignment="center", gap="large")
    top.title(place.title, anchor=False, width="content")
    st.session_state[_TOP] = top
    return top


def beside_title() -> DeltaGenerator:
    """Where a page draws what is moved, if that is its own."""
    place: DeltaGenerator = st.session_state[_TOP]
    return place
