"""Every chart's table and pictures, made in the browser from what it was drawn from."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.sidebar.navigation import Place
from pages.sidebar.parts import part
from pages.widgets.figure_tools.small_type import promises, settings

_HERE = Path(__file__).parent


def _written(*names: str) -> str:
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in names)


_tools = st.components.v2.component(
    "figure_tools", js=_written("picture.js", "markup.js", "figures.js")
)


def figure_tools(place: Place) -> None:
    """Put a table and pictures under every chart there is and comes; called once the page ran."""
    part("figure_tools", _tell)(place)


def _tell(place: Place) -> None:
    _tools(key="figure_tools", data=[{"settings": settings(place), "promises": promises()}])
