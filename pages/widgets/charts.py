"""Figures on a page: readable in both themes; `figure_tools` adds their tables and pictures."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.figures.style import ink

# The table and the pictures below a chart are ours, so that they have settings and a promise.
_CONFIG = {"displayModeBar": False}


def is_dark() -> bool:
    """Whether the page is dark, for lines that have to stand out from it."""
    return st.context.theme.type == "dark"


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
    draw = (st if place is None else place).plotly_chart
    draw(figure, key=key, alt=alt, config=_CONFIG, **options)
