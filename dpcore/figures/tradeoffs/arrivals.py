"""Captured energy as messages arrive, for a wall that a whole class looks at."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dpcore.figures.style import assembled, horizontal, look_of

_FEW = 10


def arrivals(
    kept: Sequence[float], chance: float, n_sites: int, *, dark: bool = False
) -> go.Figure:
    """What an average of the first 1, 2, ... messages keeps, on axes that stand still.

    kept: Share of the optimum after each message.
    chance: What a random subspace keeps.
    n_sites: How many may send.
    """
    exact, random, look = (look_of(key, dark=dark) for key in ("exact", "random", "dpdis"))
    line = {
        "type": "scatter",
        "x": list(range(1, len(kept) + 1)),
        "y": [round(share, 4) for share in kept],
        "mode": "lines+markers",
        "line": {"color": look.colour, "width": 4},
        "marker": {"size": 10, "color": look.colour},
        "hovertemplate": "%{y:.0%} after %{x}<extra></extra>",
    }
    levels = ((1.0, exact, "no noise"), (chance, random, "pure chance"))
    notes = [
        {"x": 1, "xref": "paper", "xanchor": "right", "y": level, "yanchor": "bottom",
         "text": said, "showarrow": False, "font": {"size": 12}}
        for level, _, said in levels
    ]  # fmt: skip
    figure = assembled(
        [line],
        height=320,
        left=64,
        dark=dark,
        xaxis={"title": "messages received", "range": [0.5, max(n_sites, _FEW) + 0.5], "tick0": 0,
               "dtick": 5 if n_sites <= 2 * _FEW else 10, "zeroline": False},
        yaxis={"title": "share found", "range": [0, 1.12], "tickformat": ".0%", "dtick": 0.5},
        shapes=[horizontal(level, colour=of.colour, dash=of.dash, width=2)
                for level, of, _ in levels],
        annotations=notes,
        showlegend=False,
    )  # fmt: skip
    return figure.update_layout(margin={"t": 4, "b": 40})
