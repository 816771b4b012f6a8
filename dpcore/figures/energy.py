"""Figures of captured energy: dots per protocol, curves along a parameter, comparison panels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import plotly.graph_objects as go

from dpcore.figures.style import (
    ENERGY_AXIS,
    FLOOR_NAME,
    GREY,
    LEGEND_ABOVE,
    Table,
    assemble_figure,
    horizontal_line,
    ink,
    log_axis,
    look_of,
    sparse_ticks,
    values_by,
    vertical_line,
    with_opacity,
)

_ROOM_BELOW = 0.12
_SAME_FLOOR = 0.005
# Upper estimate of the width of a letter.
_LABEL_PIXELS = 6
_DASHES = ("dot", "dash", "dashdot", "longdash", "longdashdot")


def protocol_dots(rows: Table, *, dark: bool = False) -> go.Figure:
    """Draw each repetition as a dot and the mean as a marker, one line per protocol.

    rows: Rows of one setting, with protocol, energy_ratio and floor.
    """
    order = list(dict.fromkeys(row["protocol"] for row in rows))[::-1]
    floor = rows[0]["floor"]
    draws = [(row["energy_ratio"], order.index(row["protocol"])) for row in rows]
    looks = [look_of(key, dark=dark) for key in order]
    means = [fmean(x for x, where in draws if where == place) for place in range(len(order))]
    # Two traces for all protocols, because each trace costs the browser milliseconds.
    all_draws = {
        "type": "scatter",
        "x": [x for x, _ in draws],
        "y": [place for _, place in draws],
        "customdata": [looks[place].label for _, place in draws],
        "mode": "markers",
        "marker": {
            "color": [with_opacity(looks[place].colour, 0.35) for _, place in draws],
            "size": 9,
        },
        "hovertemplate": "%{x:.1%} in one run<extra>%{customdata}</extra>",
    }
    middle = {
        "type": "scatter",
        "x": means,
        "y": list(range(len(order))),
        "customdata": [look.label for look in looks],
        "mode": "markers+text",
        "marker": {
            "color": [look.colour for look in looks],
            "symbol": [look.symbol for look in looks],
            "size": 15,
        },
        "text": [f"\u00a0\u00a0\u00a0{100 * mean:.0f}\u00a0%\u00a0\u00a0\u00a0" for mean in means],
        "textposition": ["middle left" if mean > 0.5 else "middle right" for mean in means],
        "textfont": {"size": 14},
        "cliponaxis": False,
        "hovertemplate": f"%{{x:.1%}} on average over {len(rows) // len(order)} runs"
        "<extra>%{customdata}</extra>",
    }
    return assemble_figure(
        [all_draws, middle],
        height=90 + 46 * len(order),
        axis_width=24 + _LABEL_PIXELS * max(len(look.label) for look in looks),
        dark=dark,
        shapes=[
            vertical_line(1, colour=ink(dark), dash="dash"),
            vertical_line(floor, colour=GREY, dash="dot", width=2),
        ],
        annotations=[_level_name(floor, FLOOR_NAME), _level_name(1, "exact")],
        xaxis=ENERGY_AXIS,
        yaxis={
            "tickvals": list(range(len(order))),
            "ticktext": [look.label for look in looks],
            "range": [-0.6, len(order) - 0.3],
            "zeroline": False,
        },
    )


def _level_name(x: float, text: str) -> dict[str, Any]:
    where = {"x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 2}
    return where | {"text": text, "showarrow": False, "font": {"size": 12}}


def energy_curves(
    rows: Table,
    field: str,
    *,
    axis_title: str,
    logarithmic: bool = True,
    axis_range: Sequence[float] = (),
    marker: float | None = None,
    height: int = 380,
    dark: bool = False,
) -> go.Figure:
    """Draw mean captured energy along one field, one line per protocol, with a band over the draws.

    rows: Rows with protocol, energy_ratio, floor and `field`. May be incomplete during a run, and
        empty if `axis_range` is given. The floor is the same for all protocols.
    field: Column on the horizontal axis.
    axis_range: Smallest and largest value of the finished figure, or all its values, which then
        get the ticks. They keep the axis fixed while rows arrive.
    marker: Current setting, drawn as a vertical line.
    """
    values = axis_range or sorted({float(row[field]) for row in rows})
    low, high = values[0], values[-1]
    traces = []
    for key in dict.fromkeys(row["protocol"] for row in rows):
        traces += _curve([row for row in rows if row["protocol"] == key], field, key, dark)
    shapes = [horizontal_line(1.0, colour=ink(dark), dash="dash")]
    # Curves rise from the floor to the exact level, so these ends of the lines are free.
    annotations = [_line_name(1.0, "exact PCA", 0)]
    floors = {v: fmean(values) for v, values in values_by(rows, field, "floor").items()}
    if floors and max(floors.values()) - min(floors.values()) < _SAME_FLOOR:
        level = fmean(floors.values())
        shapes.append(horizontal_line(level, colour=GREY, dash="dot"))
        # Curves are at or above the floor, so its name goes below if there is space.
        below = {"yanchor": "top", "yshift": -6} if level > _ROOM_BELOW else {}
        annotations.append(_line_name(level, FLOOR_NAME, 1) | below)
    elif floors:
        # Along K, for example, every value has its own floor.
        traces.append(_floor_curve(floors, dark))
    if marker is not None:
        shapes.append(vertical_line(marker, colour=ink(dark), width=1))
    ticks: dict[str, Any] = {}
    if logarithmic:
        ticks = sparse_ticks(axis_range) if len(axis_range) > 2 else log_axis([low, high])
    return assemble_figure(
        traces,
        height=height,
        axis_width=72,
        dark=dark,
        shapes=shapes,
        annotations=annotations,
        xaxis={"title": axis_title, "range": _with_margin(low, high, logarithmic)} | ticks,
        yaxis=ENERGY_AXIS,
        showlegend=True,
        legend=LEGEND_ABOVE,
    )


def _floor_curve(floors: dict[float, float], dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": list(floors),
        "y": list(floors.values()),
        "mode": "lines+text",
        "name": "Floor",
        "text": [""] * (len(floors) - 1) + [FLOOR_NAME],
        "textposition": "top left",
        "textfont": {"size": 12, "color": ink(dark)},
        "line": {"color": GREY, "dash": "dot", "width": 2},
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _line_name(y: float, text: str, end: int) -> dict[str, Any]:
    where = {"x": end, "xref": "paper", "xanchor": ("left", "right")[end], "y": y}
    return where | {"yanchor": "bottom", "text": text, "showarrow": False, "font": {"size": 12}}


def _with_margin(low: float, high: float, logarithmic: bool) -> list[float]:
    """Return the ends of an axis with a margin, as exponents on a logarithmic axis."""
    if logarithmic:
        low, high = math.log10(low), math.log10(high)
    margin = 0.03 * (high - low) if high > low else 0.5
    return [low - margin, high + margin]


def _curve(rows: Table, field: str, key: str, dark: bool) -> list[dict[str, Any]]:
    """Return the line of means and, with several draws, the band around it."""
    look = look_of(key, dark=dark)
    ratios = values_by(rows, field, "energy_ratio")
    values = list(ratios)
    draws = max(map(len, ratios.values()))
    spread = {
        "type": "scatter",
        "x": values + values[::-1],
        "y": [max(ratios[v]) for v in values] + [min(ratios[v]) for v in values[::-1]],
        "fill": "toself",
        "fillcolor": with_opacity(look.colour, 0.15),
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
    }
    line = {
        "type": "scatter",
        "x": values,
        "y": [fmean(ratios[value]) for value in values],
        "mode": "lines+markers",
        "name": look.label,
        "line": {"color": look.colour, "dash": look.dash, "width": 2.5},
        "marker": {"symbol": look.symbol, "size": 9},
        "customdata": [[value, key] for value in values],
        "hovertemplate": f"%{{y:.1%}} at %{{x}}, mean of {draws} runs<extra>{look.label}</extra>",
    }
    return [spread, line] if draws > 1 else [line]


def energy_panel(
    rows: Table,
    field: str,
    *,
    others: Mapping[str, Table] | None = None,
    published: Sequence[tuple[str, float, float, float]] = (),
    dark: bool = False,
    **options: Any,
) -> go.Figure:
    """Draw live curves with comparison curves and published points, on the scale of all panels.

    Points carry [value, protocol] as customdata. Points of other choices also carry the number of
    the choice, from 1.

    rows: Rows for `energy_curves`.
    others: mapping of name to sequence of dict. Rows under other choices, drawn as thin dashed
        lines in the same colours.
    published: sequence of (protocol, value, mean, standard deviation). Drawn as hollow markers with
        error bars.
    **options: Options of `energy_curves`.
    """
    figure = energy_curves(rows, field, dark=dark, **options)
    others = others or {}
    for rank, (name, other_rows) in enumerate(others.items(), start=1):
        for key in dict.fromkeys(row["protocol"] for row in other_rows):
            rows_of_protocol = [row for row in other_rows if row["protocol"] == key]
            _add_other(figure, rows_of_protocol, field, key, name, rank)
    for key in dict.fromkeys(point[0] for point in published):
        points = [point for point in published if point[0] == key]
        _add_published(figure, points, key, is_named=not rows)
    # One legend entry per choice: the live curves already explain the colours.
    for rank, name in enumerate(others, start=1):
        _add_entry(figure, name, "lines", {"line": {"dash": _dash(rank), "color": ink(dark)}})
    if published:
        marker = {"symbol": "circle-open", "size": 11, "color": ink(dark)}
        _add_entry(figure, "published (± 1 sd)", "markers", {"marker": marker})
    return figure


def _dash(rank: int) -> str:
    return _DASHES[(rank - 1) % len(_DASHES)]


def _add_other(figure: go.Figure, rows: Table, field: str, key: str, name: str, rank: int) -> None:
    look = look_of(key)
    ratios = values_by(rows, field, "energy_ratio")
    values = list(ratios)
    figure.add_scatter(
        x=values,
        y=list(map(fmean, ratios.values())),
        mode="lines+markers",
        line={"color": look.colour, "dash": _dash(rank), "width": 1.5},
        marker={"symbol": look.symbol, "size": 6},
        customdata=[[value, key, rank] for value in values],
        hovertemplate=f"%{{y:.1%}} at %{{x}}<extra>{look.label}, {name}</extra>",
        showlegend=False,
    )


def _add_published(
    figure: go.Figure,
    points: Sequence[tuple[str, float, float, float]],
    key: str,
    *,
    is_named: bool,
) -> None:
    look = look_of(key)
    figure.add_scatter(
        x=[value for _, value, _, _ in points],
        y=[mean for _, _, mean, _ in points],
        error_y={
            "type": "data",
            "array": [std for _, _, _, std in points],
            "thickness": 1.5,
            "width": 5,
            "color": look.colour,
        },
        mode="markers",
        marker={
            "symbol": f"{look.symbol.removesuffix('-open')}-open",
            "size": 14,
            "color": look.colour,
            "line": {"width": 2},
        },
        hovertemplate=f"%{{y:.1%}} at %{{x}}<extra>{look.label}, published</extra>",
        name=look.label,
        showlegend=is_named,
    )


def _add_entry(figure: go.Figure, name: str, mode: str, style: dict[str, Any]) -> None:
    figure.add_scatter(x=[None], y=[None], mode=mode, name=name, hoverinfo="skip", **style)
