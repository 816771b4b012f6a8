"""Figures of private statistics: errors, histograms, bounds and the rows needed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import AnyArray, FloatArray
from dpcore.figures.style import (
    GREY,
    Table,
    add_line,
    add_named_level,
    base_figure,
    ink,
    legend_above,
    log_axis,
    mark_setting,
    plain_text,
    with_opacity,
)

PRIVATE_COLOUR = "#D55E00"
NOISE_COLOUR = "#0072B2"
BIAS_COLOUR = "#E69F00"


def error_law_figure(
    errors: FloatArray,
    density: FloatArray,
    unit: str,
    *,
    marker: float | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw the errors of many draws as a histogram, with the theoretical density.

    errors: shape (n,)
    density: shape (points, 2). Error and density. The first and last error are the ends of the
        axis.
    unit: Unit of the error.
    marker: Error of the displayed release.
    """
    low, high = density[0, 0], density[-1, 0]
    counts, edges = np.histogram(errors, bins=48, range=(low, high))
    heights = counts / (len(errors) * np.diff(edges))
    figure = base_figure(340)
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=heights,
        width=np.diff(edges),
        marker={"color": with_opacity(PRIVATE_COLOUR, 0.45), "line": {"width": 0}},
        name=f"{len(errors):,} simulated errors",
        hovertemplate="error %{x:.3g}<extra></extra>",
    )
    add_line(figure, density[:, 0], density[:, 1], "theory", colour=ink(dark), width=2.5)
    if marker is not None:
        # The label is on the side away from the peak at 0.
        figure.add_vline(
            x=marker,
            line={"color": PRIVATE_COLOUR, "width": 2, "dash": "dash"},
            annotation={"text": "this run", "font": {"color": ink(dark)}},
            annotation_position="top left" if marker < 0 else "top right",
        )
    figure.update_xaxes(range=[low, high], title=f"error ({plain_text(unit)})", zeroline=False)
    figure.update_yaxes(
        range=[0, 1.25 * float(density[:, 1].max())],
        title="share of runs per unit",
        showticklabels=False,
    )
    return legend_above(figure).update_layout(bargap=0)


def histogram_bars(
    edges: AnyArray, exact: AnyArray, private: AnyArray, *, dark: bool = False
) -> go.Figure:
    """Draw true and private counts over the same edges.

    edges: shape (n_bins + 1,)
    exact, private: shape (n_bins,)
    """
    figure = base_figure(380)
    centres, widths = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
    labels = [f"{a:.4g} to {b:.4g}" for a, b in pairwise(edges)]
    figure.add_bar(
        x=centres,
        y=private,
        width=0.92 * widths,
        name="private",
        marker={"color": with_opacity(PRIVATE_COLOUR, 0.75), "line": {"width": 0}},
        customdata=labels,
        hovertemplate="%{customdata}: %{y:.1f} rows<extra>private</extra>",
    )
    corners = np.repeat(edges, 2)[1:-1], np.repeat(exact, 2)
    add_line(figure, *corners, "true, not private", colour=ink(dark), dash="dash")
    figure.update_xaxes(title="value", zeroline=False)
    figure.update_yaxes(title="rows")
    return legend_above(figure).update_layout(bargap=0)


def bounds_figure(rows: Table, unit: str, *, marker: float, dark: bool = False) -> go.Figure:
    """Draw bias, noise and total error against the upper bound.

    rows: Rows with high, bias, noise and error.
    marker: Current upper bound.
    """
    figure = base_figure(340)
    x = [row["high"] for row in rows]
    for field, name, colour, dash in (
        ("bias", "bias of clipping", BIAS_COLOUR, "dash"),
        ("noise", "noise", NOISE_COLOUR, "dot"),
        ("error", "expected error", ink(dark), "solid"),
    ):
        figure.add_scatter(
            x=x,
            y=[row[field] for row in rows],
            name=name,
            mode="lines",
            line={"color": colour, "dash": dash, "width": 3 if field == "error" else 2},
            hovertemplate=f"{name} %{{y:.3g}} at an upper bound of %{{x:.4g}}<extra></extra>",
        )
    best = min(rows, key=lambda row: row["error"])
    figure.add_scatter(
        x=[best["high"]],
        y=[best["error"]],
        mode="markers",
        marker={"symbol": "star", "size": 15, "color": ink(dark)},
        name="minimum",
        hovertemplate="minimum at %{x:.4g}<extra></extra>",
    )
    mark_setting(figure, marker, dark=dark)
    figure.update_xaxes(title="upper bound", range=[min(x), max(x)])
    # The bias falls to 0, which a logarithmic axis cannot show. The axis cuts it off.
    low, high = (
        edge(row["error"] for row in rows) * factor for edge, factor in ((min, 0.2), (max, 2.0))
    )
    figure.update_yaxes(
        title=plain_text(unit), range=np.log10([low, high]), **log_axis([low, high])
    )
    return legend_above(figure)


def people_figure(
    rows: Table,
    unit: str,
    *,
    selected: tuple[float, int],
    present: int,
    many: str = "people",
) -> go.Figure:
    """Draw the number of rows needed against the acceptable error.

    rows: Rows with error and people.
    selected: (float, int). Selected error and the number of rows that it needs.
    present: Number of rows of the data set.
    many: Plural noun for rows, for example "people".
    """
    figure = base_figure(340)
    errors, people = [row["error"] for row in rows], [row["people"] for row in rows]
    figure.add_scatter(
        x=errors,
        y=people,
        mode="lines",
        line={"color": NOISE_COLOUR, "width": 3},
        hovertemplate="%{y:,} for an error of %{x:.3g}<extra></extra>",
    )
    figure.add_scatter(
        x=[selected[0]],
        y=[selected[1]],
        mode="markers+text",
        marker={"size": 13, "color": PRIVATE_COLOUR},
        text=[f"{selected[1]:,}"],
        textposition="top right",
        hoverinfo="skip",
    )
    line = {"color": GREY, "dash": "dot", "width": 2}
    add_named_level(figure, present, f"{present:,} available", line=line, at=np.log10(present))
    for axis, values, title in (
        (figure.update_xaxes, errors, f"acceptable error ({plain_text(unit)})"),
        (figure.update_yaxes, people, f"{many} needed"),
    ):
        axis(title=title, **log_axis(values))
    return figure
