"""Figures of private CCA: correlations by pair, curves of the total, weights by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray, largest_entries
from dpcore.figures.style import (
    GREY,
    PERCENT_RANGE,
    Table,
    add_band,
    add_exact_and_floor,
    add_line,
    base_figure,
    ink,
    legend_above,
    log_axis,
    log_axis_at,
    look_of,
    mark_setting,
    plain_text,
    values_by,
    with_opacity,
)

_CURVE_HEIGHT = 330
# Dashes of the curves of one protocol, one per number of people, the largest first.
_PEOPLE_DASHES = ("solid", "dash", "dot")
_MOST_COLUMNS = 12
_LONGEST_NAME = 24


def correlation_dots(
    exact: FloatArray,
    measured: FloatArray,
    claimed: FloatArray,
    random: FloatArray,
    *,
    protocol: str,
    title: str,
    dark: bool = False,
) -> go.Figure:
    """Draw canonical correlations by pair: every draw, their mean, the exact values and the floor.

    exact, random: shape (n_components,). Exact correlations and those of random directions.
    measured: shape (n_draws, n_components). Correlations of the private directions on the true
        data.
    claimed: shape (n_components,). Private estimates of the correlations, mean over the draws.
    protocol, title: Key of the look, and name in the legend.
    """
    look = look_of(protocol, dark=dark)
    pairs = np.arange(1, len(exact) + 1)
    figure = base_figure(460)
    figure.add_bar(
        x=pairs,
        y=measured.mean(axis=0),
        width=0.5,
        name=f"{title}, on the true data",
        marker={
            "color": with_opacity(look.colour, 0.35),
            "line": {"color": look.colour, "width": 1.5},
        },
        hovertemplate=f"%{{y:.2f}}, mean of {len(measured)} runs<extra>pair %{{x}}</extra>",
    )
    figure.add_scatter(
        x=np.tile(pairs, len(measured)),
        y=measured.ravel(),
        mode="markers",
        marker={"color": look.colour, "size": 5},
        hovertemplate="%{y:.2f} in one run<extra>pair %{x}</extra>",
        showlegend=False,
    )
    level = {"symbol": "line-ew", "size": 46}
    diamond = {"symbol": "diamond-open", "size": 11, "color": ink(dark)}
    for values, name, mark in (
        (exact, "exact", level | {"line": {"color": ink(dark), "width": 3}}),
        (random, "floor", level | {"line": {"color": GREY, "width": 2}}),
        (claimed, "private estimate", diamond),
    ):
        figure.add_scatter(
            x=pairs,
            y=values,
            mode="markers",
            name=name,
            marker=mark,
            hovertemplate="%{y:.2f}<extra>" + name + ", pair %{x}</extra>",
        )
    figure.update_xaxes(title="canonical pair", tickvals=pairs, range=[0.4, len(exact) + 0.6])
    figure.update_yaxes(title="canonical correlation", range=PERCENT_RANGE)
    return legend_above(figure)


def correlation_curves(
    rows: Table,
    field: str,
    *,
    titles: Mapping[str, str],
    axis_title: str,
    axis_range: tuple[float, float],
    floor: float,
    marker: float | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw the mean share of the total correlation along one field, with a band over the draws.

    Draws one line per protocol and, unless `field` is "samples", number of people.

    rows: Rows with protocol, samples, correlation_share and `field`; may be incomplete during a
        run.
    field: {"epsilon", "samples", "delta"}
    titles: Names of the protocols.
    axis_range: (float, float). Smallest and largest value of the finished figure.
    floor: Share captured by random directions.
    marker: Current setting, drawn as a vertical line.
    """
    figure = base_figure(_CURVE_HEIGHT)
    people = sorted({row["samples"] for row in rows}, reverse=True)
    names_people = field != "samples" and len(people) > 1
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        for number, samples in enumerate(people if names_people else [None]):
            rows_of_curve = [
                row
                for row in rows
                if row["protocol"] == protocol and samples in (None, row["samples"])
            ]
            name = titles[protocol] + (f", {samples:,} people" if names_people else "")
            if rows_of_curve:
                _add_curve(figure, rows_of_curve, field, protocol, name, number, dark)
    add_exact_and_floor(figure, floor, dark=dark, exact="exact", xshift=-8)
    mark_setting(figure, marker, dark=dark)
    figure.update_xaxes(title=axis_title, **_axis_along(axis_range))
    figure.update_yaxes(
        range=PERCENT_RANGE, tickformat=".0%", title="total correlation, share of exact"
    )
    # A legend below the plot extends the figure and keeps the height of the plot.
    lines = sum(trace.mode == "lines+markers" for trace in figure.data)
    figure.update_layout(
        height=_CURVE_HEIGHT + 20 * lines,
        showlegend=True,
        legend={"orientation": "v", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0},
        margin={"b": 64 + 20 * lines},
    )
    return figure


def _axis_along(ends: tuple[float, float]) -> dict[str, object]:
    """Return an axis with plain labels, or powers of ten if plain labels have too many zeros."""
    if ends[0] > 1e-4:
        return log_axis(ends, ends=ends, margin=0.03)
    exponents = range(round(np.log10(ends[1])), round(np.log10(ends[0])) - 1, -2)
    return log_axis_at([10.0**k for k in exponents], _power_of_ten, ends=ends, margin=0.03)


def _power_of_ten(value: float) -> str:
    return f"10<sup>{round(np.log10(value))}</sup>".replace("-", "−")


def _add_curve(
    figure: go.Figure,
    rows: Table,
    field: str,
    protocol: str,
    name: str,
    number: int,
    dark: bool,
) -> None:
    look = look_of(protocol, dark=dark)
    shares = values_by(rows, field, "correlation_share")
    values = list(shares)
    draws = max(len(values) for values in shares.values())
    if draws > 1 and number == 0:
        add_band(figure, shares, with_opacity(look.colour, 0.15))
    add_line(
        figure,
        values,
        list(map(fmean, shares.values())),
        name,
        f"%{{y:.0%}} at %{{x}}, mean of {draws} runs",
        colour=look.colour,
        dash=_PEOPLE_DASHES[number % len(_PEOPLE_DASHES)],
        width=2.5 if number == 0 else 1.5,
        mode="lines+markers",
        marker={"symbol": look.symbol, "size": 8 if number == 0 else 5},
        customdata=[[v] for v in values],
    )


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def direction_bars(
    exact: FloatArray,
    private: FloatArray,
    names: Sequence[str],
    *,
    protocol: str,
    titles: tuple[str, str],
    dark: bool = False,
) -> go.Figure:
    """Draw an exact and a private direction by column, each scaled to length 1.

    exact, private: shape (n_features,)
    names: Names of the columns. The twelve with the largest exact weights are drawn.
    titles: (str, str). Names of the two in the legend.
    """
    strongest = largest_entries(exact, _MOST_COLUMNS)[::-1]
    figure = base_figure(110 + 26 * len(strongest))
    # Positions, because shortened names may be equal.
    places = list(range(len(strongest)))
    for values, title, colour in (
        (private, titles[1], look_of(protocol, dark=dark).colour),
        (exact, titles[0], ink(dark)),
    ):
        length = np.sqrt((values**2).sum()) or 1.0
        figure.add_bar(
            x=values[strongest] / length,
            y=places,
            orientation="h",
            name=title,
            marker={"color": colour},
            customdata=[plain_text(names[index]) for index in strongest],
            hovertemplate="%{customdata}: %{x:.2f}<extra>" + title + "</extra>",
        )
    figure.update_yaxes(
        tickvals=places, ticktext=[plain_text(_shorten(names[index])) for index in strongest]
    )
    figure.update_xaxes(range=[-1, 1], title="weight, at length 1")
    figure.update_layout(barmode="group")
    return legend_above(figure, traceorder="reversed")
