"""Figures on a page: readable in both themes; `figure_tools` adds their tables and pictures."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.figures.style import ink

# The table and the pictures below a chart are ours, so that they have settings and a promise.
_CONFIG = {"displayModeBar": False}
# As the page's letters are, by mode.css; and what a screen of 720 lines has room for.
_LARGER, _HIGHEST = 1.6, 320
# Of a name beside its row.
_LINE = 34


def is_dark() -> bool:
    """Whether the page is dark, for lines that have to stand out from it."""
    return st.context.theme.type == "dark"


def is_presented() -> bool:
    """Whether the page is on a projector."""
    return bool(st.session_state.get("present"))


def enlarged(figure: go.Figure) -> go.Figure:
    """A copy with letters as large as the page's are in presenter mode, and room for them."""
    copy = go.Figure(figure)
    layout = copy.layout
    room = {side: _LARGER * (getattr(layout.margin, side) or 0) for side in "lrtb"}
    names = [name.replace("<br>", " ") for name in layout.yaxis.ticktext or ()]
    high = max(min(layout.height or _HIGHEST, _HIGHEST), _LINE * len(names))
    copy.update_layout(font_size=_LARGER * (layout.font.size or 12), margin=room, height=high)
    # The page is black or white there, whatever its theme.
    copy.update_layout(paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)")
    copy.for_each_annotation(lambda note: note.update(font_size=_LARGER * (note.font.size or 12)))
    copy.update_traces(textfont_size=_LARGER * 11, selector={"mode": "text"})
    copy.for_each_xaxis(lambda axis: axis.update(automargin=True))
    copy.for_each_yaxis(lambda axis: axis.update(automargin=True))
    if names:
        copy.update_layout(yaxis_ticktext=names)
    return copy


def chart(
    figure: go.Figure, *, key: str, alt: str, place: DeltaGenerator | None = None, **options: Any
) -> None:
    """A figure with readable labels.

    Streamlit's own chart theme draws axis labels in a grey of less than AA contrast.
    """
    if figure.layout.xaxis.tickfont.color is None:
        colour = ink(is_dark())
        figure.update_layout(font={"color": colour}, legend={"font": {"color": colour}})
        for axes in (figure.update_xaxes, figure.update_yaxes):
            axes(tickfont={"color": colour}, title={"font": {"color": colour}})
    if is_presented():
        figure = enlarged(figure)
    draw = (st if place is None else place).plotly_chart
    draw(figure, key=key, alt=alt, config=_CONFIG, **options)
