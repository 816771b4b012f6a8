"""People needed against the dimension, on logarithmic axes, where a power is a straight line."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from dpcore.figures.plot_parts import legend_above
from dpcore.figures.style import GREY, base_figure, ink, look_of
from dpcore.figures.table import Table

_BOUNDS = {
    "theorem 3": ("PPCA: enough (theorem 3)", "ppca", "dash"),
    "theorem 4": ("anybody, pure ε: needed (theorem 4)", None, "longdashdot"),
    "theorem 5": ("MOD-SuLQ: growth (theorem 5)", "modsulq", "dot"),
}
_PEOPLE = [step * 10**power for power in range(1, 10) for step in (1, 3)]


def people_needed(
    measured: Table,
    bounds: Table,
    slopes: Mapping[str, float],
    *,
    dimensions: tuple[float, float],
    dark: bool = False,
) -> go.Figure:
    """Measured points, and the theorems as lines.

    Parameters
    ----------
    measured : sequence of dict
        With protocol, features, samples, mean_correlation; may be incomplete.
    bounds : sequence of dict
        With bound, features, samples.
    slopes : mapping of str to float
        Exponent of the dimension by protocol, where there are points enough.
    dimensions : (float, float)
        Smallest and largest of the finished figure.
    """
    figure = base_figure(460)
    for name, (label, protocol, dash) in _BOUNDS.items():
        points = [row for row in bounds if row["bound"] == name]
        if points:
            colour = GREY if protocol is None else look_of(protocol, dark=dark).colour
            figure.add_scatter(
                x=[row["features"] for row in points],
                y=[row["samples"] for row in points],
                mode="lines",
                name=label,
                line={"color": colour, "dash": dash, "width": 2},
                hovertemplate=f"{label}: %{{y:,.0f}} at d = %{{x}}<extra></extra>",
            )
    for protocol in dict.fromkeys(row["protocol"] for row in measured):
        points = [row for row in measured if row["protocol"] == protocol]
        look = look_of(protocol, dark=dark)
        slope = f", grows as d<sup>{slopes[protocol]:.2f}</sup>" if protocol in slopes else ""
        figure.add_scatter(
            x=[row["features"] for row in points],
            y=[row["samples"] for row in points],
            mode="lines+markers",
            name=f"{look.label}, measured{slope}",
            line={"color": look.colour, "width": 3},
            marker={"symbol": look.symbol, "size": 12},
            customdata=[row["mean_correlation"] for row in points],
            hovertemplate="%{y:,} people at d = %{x}, mean correlation %{customdata:.3f}"
            f"<extra>{look.label}</extra>",
        )
    low, high = dimensions
    ticks = [low * 2**step for step in range(20) if low * 2**step <= high]
    figure.update_xaxes(
        type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks], title="dimension d"
    )
    figure.update_yaxes(
        type="log", tickvals=_PEOPLE, tickformat=",", title="people needed, n", automargin=True
    )
    figure.update_layout(font={"color": ink(dark)})
    return legend_above(figure)
