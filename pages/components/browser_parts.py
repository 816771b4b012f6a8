"""Parts of pages that the browser draws: game, circle, drawing, SVG; and a watch on the theme."""

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
_svg = st.components.v2.component(
    "svg",
    html="<div></div>",
    css="svg { display: block; width: 100%; font-family: var(--st-font); }",
    js="""export default ({ parentElement, data }) => {
        parentElement.querySelector("div").innerHTML = data.svg;
    }""",
)


def draw_svg(svg: str, *, key: str) -> None:
    """Draw an SVG as a part of the page. Text in an SVG image cannot use the page's typeface.

    svg: Written by `dpcore.figures`; the browser does not check it.
    """
    _svg(key=key, data={"svg": svg})


# Every colour change of the element is a transition, and only a change of the theme changes it.
_theme_watch = st.components.v2.component(
    "theme_watch",
    html="<i></i>",
    css="i { color: light-dark(#000, #fff); transition: color 1ms; }",
    js="""export default ({ parentElement, setTriggerValue }) => {
        parentElement.querySelector("i").ontransitionend = () => setTriggerValue("switched", true);
    }""",
)


def redraw_on_theme_switch() -> None:
    """Run the page again when its theme is switched, because figures have the theme's colours."""
    _theme_watch(key="theme_watch", on_switched_change=lambda: None)
