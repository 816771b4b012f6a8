"""Figures on a page: readable in both themes, with a camera that saves them."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.figures.style import ink

# The camera in a chart's corner saves it as a vector image, in the browser.
_CONFIG = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg", "filename": "dp-pca-lab"},
}


def is_dark() -> bool:
    """Whether the page is dark, for lines that have to stand out from it."""
    return st.context.theme.type == "dark"


def chart(
    figure: go.Figure, *, key: str, alt: str, place: DeltaGenerator | None = None, **options: Any
) -> None:
    """A figure with readable labels, and a camera that saves it.

    Streamlit's own chart theme draws axis labels in a grey of less than AA contrast.
    """
    if figure.layout.font.color is None:
        colour = ink(is_dark())
        figure.update_layout(font={"color": colour}, legend={"font": {"color": colour}})
        for axes in (figure.update_xaxes, figure.update_yaxes):
            axes(tickfont={"color": colour}, title={"font": {"color": colour}})
    draw = (st if place is None else place).plotly_chart
    draw(figure, key=key, alt=alt, config=_CONFIG, **options)
