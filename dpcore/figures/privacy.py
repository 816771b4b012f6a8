"""Figures of privacy: the adversary's test, beliefs, accusations and the total of a ledger."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.style import (
    GREY,
    Table,
    add_line,
    base_figure,
    ink,
    legend_above,
    look_of,
    put_small_legend_above,
    with_opacity,
)
from dpcore.pictograms import dots_svg

WITH_YOU, WITHOUT_YOU = "#0072B2", GREY
MISS, FALSE_ALARM = "#0072B2", "#D55E00"
_DASHES = {"blind": "dot", "pure": "dashdot", "approximate": "dash", "gaussian": "solid"}


def two_densities(
    columns: Mapping[str, FloatArray], threshold: float, *, dark: bool = False
) -> go.Figure:
    """Draw the densities of a release with and without you, with both errors of a threshold shaded.

    columns: "release", "with_you" and "without_you", arrays of shape (n_points,).
    threshold: Threshold in units of the noise.
    """
    figure = base_figure(340)
    release = columns["release"]
    for name, column, area, colour, caption in (
        ("false alarm", "without_you", release >= threshold, FALSE_ALARM, "type I"),
        ("missed", "with_you", release <= threshold, MISS, "type II"),
    ):
        figure.add_scatter(
            x=release[area],
            y=columns[column][area],
            name=f"{caption}: {name}",
            mode="lines",
            line={"width": 0},
            fill="tozeroy",
            fillcolor=with_opacity(colour, 0.35),
            hoverinfo="skip",
        )
    for name, column, colour, dash in (
        ("without you (D′)", "without_you", WITHOUT_YOU, "dash"),
        ("with you (D)", "with_you", WITH_YOU, "solid"),
    ):
        hover = "density %{y:.3f} at %{x:.2f} σ"
        add_line(figure, release, columns[column], name, hover, colour=colour, dash=dash, width=2.5)
    figure.add_vline(x=threshold, line={"color": ink(dark), "width": 2})
    figure.add_annotation(
        x=threshold,
        y=1,
        yref="paper",
        yanchor="top",
        xanchor="left",
        text=" says “you” → ",
        showarrow=False,
        font={"size": 13},
    )
    figure.update_xaxes(
        title="released value, in units of the noise σ",
        range=[release[0], release[-1]],
        zeroline=False,
    )
    figure.update_yaxes(title="density", range=[0, 0.46], tickvals=[0, 0.2, 0.4])
    return put_small_legend_above(figure)


def trade_off_plot(
    rows: Table,
    labels: Mapping[str, str],
    point: tuple[float, float],
    *,
    dark: bool = False,
) -> go.Figure:
    """Draw type II against type I error of every guarantee, and the current test as a point.

    rows: One row per curve, with "curve", "type_one" and "type_two" (arrays).
    labels: mapping of curve to str. Curves without a label are omitted.
    point: (float, float). Errors of the current threshold.
    """
    figure = base_figure(340)
    colours = {"blind": GREY, "pure": ink(dark), "approximate": ink(dark), "gaussian": WITH_YOU}
    for row in rows:
        curve = row["curve"]
        if curve not in labels:
            continue
        errors, hover = (
            (row["type_one"], row["type_two"]),
            "misses %{y:.1%} at %{x:.1%} false alarms",
        )
        dash = _DASHES[curve]
        add_line(figure, *errors, labels[curve], hover, colour=colours[curve], dash=dash)
    figure.add_scatter(
        x=[point[0]],
        y=[point[1]],
        name="this threshold",
        mode="markers",
        marker={"size": 14, "color": FALSE_ALARM, "line": {"color": ink(dark), "width": 2}},
        hovertemplate="misses %{y:.1%} at %{x:.1%} false alarms<extra>this threshold</extra>",
    )
    for axis, title in (
        (figure.update_xaxes, "type I: false alarms"),
        (figure.update_yaxes, "type II: missed"),
    ):
        axis(title=title, range=[-0.02, 1.02], tickformat=".0%", zeroline=False)
    return put_small_legend_above(figure)


def beliefs(
    columns: Mapping[str, FloatArray], prior: float, *, pure_label: str, dark: bool = False
) -> go.Figure:
    """Draw the belief after a release against the belief before it.

    columns: "prior", "least", "greatest", "low", "median" and "high", arrays of shape (n_points,).
    prior: Current prior, drawn as a vertical line.
    pure_label: Name of the band between "least" and "greatest".
    """
    figure = base_figure(340)
    before = columns["prior"]
    for name, low, high, colour in (
        (pure_label, "least", "greatest", with_opacity(GREY, 0.22)),
        ("the noise used: 9 of 10 releases", "low", "high", with_opacity(WITH_YOU, 0.28)),
    ):
        figure.add_scatter(
            x=np.concatenate((before, before[::-1])),
            y=np.concatenate((columns[high], columns[low][::-1])),
            name=name,
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=colour,
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=before,
        y=columns["median"],
        name="median of the noise used",
        mode="lines",
        line={"color": WITH_YOU, "width": 2.5},
        hovertemplate="%{x:.0%} before, %{y:.0%} after<extra>median</extra>",
    )
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        name="no information",
        mode="lines",
        line={"color": GREY, "dash": "dot"},
        hoverinfo="skip",
    )
    figure.add_vline(x=prior, line={"color": ink(dark), "width": 2})
    figure.update_xaxes(
        title="belief that it is you, before", range=[0, 1.03], tickformat=".0%", zeroline=False
    )
    figure.update_yaxes(title="after, if it is", range=[0, 1.01], tickformat=".0%", zeroline=False)
    return put_small_legend_above(figure)


def accused_svg(accusing: int, alt: str, *, is_in: bool) -> str:
    """Return an SVG of 100 attackers as dots; those who say that the person is in are filled.

    accusing: Number of filled dots.
    alt: Alternative text.
    """
    colour = FALSE_ALARM if is_in else MISS
    svg = dots_svg(accusing, alt, colour=colour, outline=GREY)
    # A picture outside an HTML page needs the namespace.
    return svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)


def running_total(rows: Table, *, dark: bool = False) -> go.Figure:
    """Draw epsilon after each entry of a ledger.

    rows: Rows in order, with draws, total_epsilon, sum_of_epsilons and released.
    """
    figure = base_figure(320)
    releases, count = [0], 0
    for row in rows:
        count += row["draws"]
        releases.append(count)
    names = ["nothing yet", *(row["released"] for row in rows)]
    for name, field, colour, dash in (
        ("plain sum", "sum_of_epsilons", GREY, "dot"),
        ("composed", "total_epsilon", look_of("pooled", dark=dark).colour, "solid"),
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
    figure.update_yaxes(title="total ε", rangemode="tozero")
    return legend_above(figure)
