"""What a promise is about: one person who moves, in the plane, and how releases add up."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.style import (
    GREY,
    Table,
    add_line,
    base_figure,
    faded,
    ink,
    legend_above,
    look_of,
    small_legend_above,
)

_HEIGHT = 380
_MOVED = "#D55E00"


def plane(
    people: FloatArray,
    before: FloatArray,
    after: FloatArray,
    exact_before: float,
    exact_after: float,
    *,
    dark: bool = False,
) -> go.Figure:
    """Everybody in the unit disc, the one who moves, and the exact first direction.

    people: shape (n, 2). Those who stay.
    before, after: shape (2,)
    exact_before, exact_after: Directions in degrees.
    """
    figure = base_figure(_HEIGHT)
    exact = look_of("exact", dark=dark)
    for degrees, name, dash, colour in (
        (exact_before, "first direction before", "dot", GREY),
        (exact_after, "now", "solid", exact.colour),
    ):
        x, y = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        ends, said = ([-x, x], [-y, y]), f"{degrees:.0f}°"
        add_line(figure, *ends, name, said, colour=colour, dash=dash, width=3)
    figure.add_scatter(
        x=people[:, 0],
        y=people[:, 1],
        name="the others",
        mode="markers",
        marker={"color": GREY, "size": 8},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[before[0], after[0]],
        y=[before[1], after[1]],
        name="the one who moves",
        mode="markers",
        marker={
            "color": ["rgba(0,0,0,0)", _MOVED],
            "size": 14,
            "line": {"color": _MOVED, "width": 2},
        },
        hoverinfo="skip",
    )
    figure.add_shape(
        type="circle", x0=-1, y0=-1, x1=1, y1=1, line={"color": faded(GREY, 0.6), "width": 1}
    )
    figure.update_xaxes(range=[-1.12, 1.12], visible=False)
    figure.update_yaxes(range=[-1.12, 1.12], visible=False, scaleanchor="x")
    return small_legend_above(figure)


def direction_laws(
    angles: FloatArray,
    law_before: FloatArray,
    law_after: FloatArray,
    exact_before: float,
    exact_after: float,
    *,
    dark: bool = False,
) -> go.Figure:
    """Density of the private direction before and after, with the exact ones as lines.

    angles, law_before, law_after: shape (n_angles,). Degrees, and densities per degree.
    """
    figure = base_figure(_HEIGHT)
    colour = look_of("dpdis").colour
    said = "%{x:.0f}°: %{y:.3f} per degree"
    add_line(
        figure, angles, law_before, "private, before", said, colour=GREY, dash="dot", width=2.5
    )
    add_line(figure, angles, law_after, "private, now", said, colour=colour, width=2.5)
    figure.add_vline(x=exact_before, line={"color": GREY, "dash": "dot", "width": 3})
    figure.add_vline(x=exact_after, line={"color": ink(dark), "width": 3})
    highest = max(law_before.max(), law_after.max())
    figure.update_xaxes(
        title="first direction, degrees", range=[-90, 90], tickvals=[-90, -45, 0, 45, 90]
    )
    figure.update_yaxes(
        title="density per degree", range=[0, max(0.02, 1.15 * highest)], zeroline=False
    )
    return small_legend_above(figure)


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
