"""Pinned views in the browser: the explorer's own parts, for a page and for a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from pages.presenting.views import View
from pages.widgets.energy_explorer.frames import control

_HERE = Path(__file__).parent
_WIDGETS = _HERE.parent / "widgets"
_EXPLORER = _WIDGETS / "energy_explorer"
SCRIPTS = (
    _WIDGETS / "figure_tools" / "picture.js", _EXPLORER / "control.js", _EXPLORER / "explorer.js",
    _HERE / "player.js",
)  # fmt: skip
LOOKS = (_EXPLORER / "control.css", _EXPLORER / "explorer.css", _HERE / "player.css")


@cache
def read(*files: Path) -> str:
    """Files of the program, one after the other."""
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def markup(n_views: int, name: str = "epsilon") -> str:
    """A slider and the places of so many views; `name` tells sliders of one document apart."""
    slider = read(_EXPLORER / "control.html").replace('"epsilon"', f'"{name}"')
    place = f'<div class="view"><h2></h2>{read(_EXPLORER / "explorer.html")}</div>'
    return f'{slider}<div class="views">{place * n_views}</div>'


def played(views: Sequence[View]) -> dict[str, Any]:
    """What the browser is handed."""
    return {
        "control": control(views[0].spec),
        "views": [view.data() for view in views],
        "captions": [view.caption for view in views] if len(views) > 1 else [""],
    }


_pair = st.components.v2.component(
    "two_views",
    html=markup(2),
    css=read(*LOOKS),
    js=read(*SCRIPTS, _HERE / "streamlit_player.js"),
)


def side_by_side(views: Sequence[View]) -> None:
    """Two views at one scale, under one slider."""
    _pair(key="two_views", data=played(views))
