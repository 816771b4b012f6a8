"""Parts of pages that the browser draws and plays without the server: game, circle, drawing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st


def _load(name: str) -> Callable[..., Any]:
    """Register the component whose HTML, CSS and JavaScript are in the folder of that name."""
    folder = Path(__file__).with_name(name)
    texts: dict[str, Any] = {
        kind: (folder / f"{name}.{kind}").read_text(encoding="utf-8")
        for kind in ("html", "css", "js")
    }
    return st.components.v2.component(name, **texts)


draw_game, draw_circle, draw_drawing = map(_load, ("game", "circle", "drawing"))
