"""The energy of each component as a release estimates it, beside the truth."""

from __future__ import annotations

import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.plot_parts import legend_above, named_level
from dpcore.figures.style import GREY, base_figure, faded, look_of


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
    figure = base_figure(300)
    exact, look = look_of("exact", dark=dark), look_of(protocol, dark=dark)
    ranks = list(range(1, len(true) + 1))
    figure.add_scatter(
        x=ranks,
        y=estimated,
        error_y={
            "type": "data",
            "symmetric": False,
            # An interval ends at 0, below which no energy is; an estimate may lie there.
            "array": (intervals[1] - estimated).clip(0),
            "arrayminus": (estimated - intervals[0]).clip(0),
            "color": look.colour,
        },
        name="the release's own estimate, 90 % interval",
        mode="markers",
        marker={"color": look.colour, "symbol": look.symbol, "size": 8},
        hovertemplate="component %{x}: %{y:.3g}<extra>own estimate</extra>",
    )
    figure.add_scatter(
        x=ranks,
        y=true,
        name="true, which only a laboratory knows",
        mode="markers",
        marker={"color": exact.colour, "symbol": "line-ew-open", "size": 14, "line": {"width": 3}},
        hovertemplate="component %{x}: %{y:.3g}<extra>true</extra>",
    )
    figure.update_xaxes(title="component")
    figure.update_yaxes(title="energy (units of the second moment)")
    return legend_above(figure)


def released_variances(shares: FloatArray, edge: float, *, dark: bool = False) -> go.Figure:
    """What each released component explains, above what noise alone would reach.

    Parameters
    ----------
    shares : ndarray of shape (n_components,)
        Of the noisy variation.
    edge : float
        The largest share that noise alone has.
    """
    figure = base_figure(300)
    look = look_of("ag", dark=dark)
    ranks = list(range(1, len(shares) + 1))
    figure.add_bar(
        x=ranks,
        y=shares,
        marker={"color": [look.colour if share > edge else faded(GREY, 0.6) for share in shares]},
        hovertemplate="component %{x}: %{y:.1%}<extra></extra>",
        showlegend=False,
    )
    figure.add_hrect(y0=0, y1=edge, fillcolor=faded(GREY, 0.18), line={"width": 0})
    named_level(figure, edge, "noise alone", line={"width": 1, "dash": "dot"})
    figure.update_xaxes(title="component", dtick=1)
    figure.update_yaxes(title="share of the variation", tickformat=".0%", rangemode="tozero")
    return figure
