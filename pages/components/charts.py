"""Plotly figures on pages: readable in both themes, with an alternative text and PNG/SVG export."""

from __future__ import annotations

import re
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dpcore.figures.style import ink

# Locale of Plotly that writes shares as the pages do, with a no-break space: 38 %. Its formats have
# a fixed percent sign, but a locale chooses the sign of a currency.
_SPACED: dict[str, Any] = {
    "locale": "spaced",
    "locales": {"spaced": {"format": {"currency": ["", "\u00a0%"]}}},
}
_SHARE_FORMAT = re.compile(r"(?<=:)(?=\.\d%})")


def is_dark() -> bool:
    """Return whether the visitor's theme is dark."""
    return st.context.theme.type == "dark"


def show_figure(figure: go.Figure, *, key: str, alt: str, **options: Any) -> None:
    """Draw a figure whose modebar saves it as SVG.

    key: Key of the element; also the name of the saved file.
    alt: Finding of the figure in one sentence, for screen readers.
    """
    if figure.layout.xaxis.tickfont.color is None:
        # Streamlit's chart theme draws axis labels in a grey with less than AA contrast.
        colour = ink(is_dark())
        figure.update_layout(font={"color": colour}, legend={"font": {"color": colour}})
        for update in (figure.update_xaxes, figure.update_yaxes):
            update(tickfont={"color": colour}, title={"font": {"color": colour}})
    _space_percent_signs(figure)
    config = _SPACED | {
        "displaylogo": False,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
        "toImageButtonOptions": {"format": "svg", "filename": f"dp-pca-lab-{key}"},
    }
    st.plotly_chart(figure, key=key, alt=alt, config=config, **options)


def _space_percent_signs(figure: go.Figure) -> None:
    """Replace the formats of shares by those of the locale's currency."""

    def on_axis(axis: Any) -> None:
        if (axis.tickformat or "").startswith(".") and axis.tickformat.endswith("%"):
            axis.tickformat = f"${axis.tickformat}"

    def on_trace(trace: Any) -> None:
        if isinstance(getattr(trace, "hovertemplate", None), str):
            trace.hovertemplate = _SHARE_FORMAT.sub("$", trace.hovertemplate)

    figure.for_each_xaxis(on_axis)
    figure.for_each_yaxis(on_axis)
    figure.for_each_trace(on_trace)
