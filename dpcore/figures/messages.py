"""Captured energy of the average of the first 1, 2, … messages of a class."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dpcore.figures.style import FLOOR_NAME, assemble_figure, horizontal_line, look_of


def messages_curve(
    energies: Sequence[float], floor: float, n_sites: int, *, dark: bool = False
) -> go.Figure:
    """Draw captured energy over the number of messages, on axes that do not change.

    energies: Captured energy after each message, relative to exact PCA.
    floor: Floor of the captured energy.
    n_sites: Number of sites that may send.
    """
    exact, random, look = (look_of(key, dark=dark) for key in ("exact", "random", "dpdis"))
    levels = ((1.0, exact, "exact PCA"), (floor, random, FLOOR_NAME))
    notes = [
        {
            "x": 1,
            "xref": "paper",
            "xanchor": "right",
            "y": level,
            "yanchor": "bottom",
            "text": text,
            "showarrow": False,
        }
        for level, _, text in levels
    ]
    line = {
        "type": "scatter",
        "x": list(range(1, len(energies) + 1)),
        "y": [round(energy, 4) for energy in energies],
        "mode": "lines+markers",
        "line": {"color": look.colour, "width": 4},
        "marker": {"size": 10, "color": look.colour},
        "hovertemplate": "%{y:.0%} after %{x} messages<extra></extra>",
    }
    figure = assemble_figure(
        [line],
        height=320,
        axis_width=96,
        dark=dark,
        xaxis={"title": "messages received", "range": [0.5, n_sites + 0.5], "zeroline": False},
        yaxis={"title": "captured energy", "range": [0, 1.12], "tickformat": ".0%", "dtick": 0.5},
        shapes=[
            horizontal_line(level, colour=style.colour, dash=style.dash, width=2)
            for level, style, _ in levels
        ],
        annotations=notes,
        showlegend=False,
    )
    return figure.update_layout(margin={"t": 4, "b": 80})
