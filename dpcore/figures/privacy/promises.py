"""How releases add up."""

from __future__ import annotations

import plotly.graph_objects as go

from dpcore.figures.style import GREY, Table, base_figure, legend_above, look_of


def running_total(rows: Table, *, dark: bool = False) -> go.Figure:
    """Epsilon after each entry of a ledger.

    rows: With draws, total_epsilon, sum_of_epsilons and released, in order.
    """
    figure = base_figure(320)
    releases, count = [0], 0
    for row in rows:
        count += row["draws"]
        releases.append(count)
    names = ["nothing yet", *(row["released"] for row in rows)]
    for name, field, colour, dash in (
        ("plain sum", "sum_of_epsilons", GREY, "dot"),
        ("as a plan", "total_epsilon", look_of("pooled", dark=dark).colour, "solid"),
    ):
        figure.add_scatter(
            x=releases,
            y=[0.0, *(row[field] for row in rows)],
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2.5, "shape": "hv"},
            customdata=names,
            hovertemplate="ε = %{y:.3g} after %{x} releases<br>%{customdata}<extra></extra>",
        )
    figure.update_xaxes(title="releases so far", rangemode="tozero")
    figure.update_yaxes(title="ε of one person", rangemode="tozero")
    return legend_above(figure)
