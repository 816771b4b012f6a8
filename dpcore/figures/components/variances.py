"""The energy of each component as a release estimates it, beside the truth."""

from __future__ import annotations

import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.plot_parts import LEGEND_ABOVE
from dpcore.figures.style import assembled, base_figure, ink, look_of


def variances(
    estimated: FloatArray,
    intervals: FloatArray,
    true: FloatArray,
    *,
    protocol: str,
    dark: bool = False,
) -> go.Figure:
    """Estimated and true energy by component.

    estimated, true: shape (n_components,). In units of the second moment.
    intervals: shape (2, n_components). Ends of the stated intervals.
    protocol: Whose colour the estimates take.
    """
    exact, look = look_of("exact", dark=dark), look_of(protocol, dark=dark)
    ranks = list(range(1, len(true) + 1))
    estimates = {
        "type": "scatter",
        "x": ranks,
        "y": estimated.tolist(),
        "error_y": {
            "type": "data",
            "symmetric": False,
            # An interval ends at 0, below which no energy is; an estimate may lie there.
            "array": (intervals[1] - estimated).clip(0).tolist(),
            "arrayminus": (estimated - intervals[0]).clip(0).tolist(),
            "color": look.colour,
        },
        "name": "the release's own estimate, 90 % interval",
        "mode": "markers",
        "marker": {"color": look.colour, "symbol": look.symbol, "size": 8},
        "hovertemplate": "component %{x}: %{y:.3g}<extra>own estimate</extra>",
    }
    line = {"color": exact.colour, "symbol": "line-ew-open", "size": 14, "line": {"width": 3}}
    truth = {
        "type": "scatter",
        "x": ranks,
        "y": true.tolist(),
        "name": "true, which only a laboratory knows",
        "mode": "markers",
        "marker": line,
        "hovertemplate": "component %{x}: %{y:.3g}<extra>true</extra>",
    }
    return assembled(
        [estimates, truth],
        height=300,
        left=72,
        dark=dark,
        xaxis={"title": "component"},
        yaxis={"title": "energy (units of the second moment)"},
        showlegend=True,
        legend=LEGEND_ABOVE,
    )


def released_variances(
    shares: FloatArray, intervals: FloatArray, *, dark: bool = False
) -> go.Figure:
    """What each released component explains, with its interval; nothing where noise hides it.

    shares: shape (n_components,). Of all variation; NaN where it cannot be told from noise.
    intervals: shape (2, n_components)
    """
    figure = base_figure(300)
    figure.add_bar(
        x=list(range(1, len(shares) + 1)),
        y=shares,
        marker={"color": look_of("ag", dark=dark).colour},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": (intervals[1] - shares).clip(0),
            "arrayminus": (shares - intervals[0]).clip(0),
            "color": ink(dark),
        },
        hovertemplate="component %{x}: %{y:.1%}<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(title="component", dtick=1, range=[0.4, len(shares) + 0.6])
    figure.update_yaxes(title="share of the variation", tickformat=".0%", rangemode="tozero")
    return figure
