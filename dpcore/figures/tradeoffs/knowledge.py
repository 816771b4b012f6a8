"""What a public subspace leaves of the energy."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from dpcore.figures.plot_parts import ENERGY_TITLE, PERCENT_RANGE, Table, legend_above
from dpcore.figures.style import base_figure, ink

_LOOKS = (
    ("#0072B2", "circle", "solid"),
    ("#D55E00", "square", "dash"),
    ("#009E73", "diamond", "dot"),
    ("#CC79A7", "triangle-up", "dashdot"),
)


def knowledge_cost_curves(
    rows: Table, titles: Mapping[str, str], *, dark: bool = False
) -> go.Figure:
    """Energy of the exact optimum within a public subspace against its share of the directions.

    rows: With source, percent, energy_ratio.
    titles: mapping of source to the name of its line
    """
    figure = base_figure(320)
    for source, (colour, symbol, dash) in zip(titles, _LOOKS, strict=False):
        own = [row for row in rows if row["source"] == source]
        figure.add_scatter(
            x=[row["percent"] / 100 for row in own],
            y=[row["energy_ratio"] for row in own],
            mode="lines+markers",
            name=titles[source],
            line={"color": colour, "dash": dash, "width": 2},
            marker={"symbol": symbol, "size": 9},
            hovertemplate=f"%{{y:.1%}} within %{{x:.0%}}<extra>{titles[source]}</extra>",
        )
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", title="share of the directions kept")
    figure.update_yaxes(range=PERCENT_RANGE, tickformat=".0%", title=ENERGY_TITLE)
    figure.update_layout(font={"color": ink(dark)}, showlegend=True)
    return legend_above(figure)
