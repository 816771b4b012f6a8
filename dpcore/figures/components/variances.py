"""The energy of each component as a release estimates it, beside the truth."""

from __future__ import annotations

import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.plot_parts import LEGEND_ABOVE
from dpcore.figures.style import assembled, look_of


def variances(
    estimated: FloatArray,
    intervals: FloatArray,
    true: FloatArray,
    *,
    protocol: str,
    dark: bool = False,
) -> go.Figure:
    """Estimated and true energy by component.

    Parameters
    ----------
    estimated, true : ndarray of shape (n_components,)
        In units of the second moment.
    intervals : ndarray of shape (2, n_components)
        Ends of the stated intervals.
    protocol : str
        Whose colour the estimates take.
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
