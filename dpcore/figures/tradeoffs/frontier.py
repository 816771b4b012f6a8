"""Captured energy against the bytes it costs, and within a public subspace."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from dpcore.figures.style import (
    ENERGY_AXIS,
    Table,
    add_line,
    base_figure,
    exact_and_random,
    faded,
    ink,
    legend_above,
    look_of,
)

_PRECISIONS = {
    "float64": ("square", "dot"),
    "float32": ("circle", "solid"),
    "float16": ("triangle-up", "dash"),
    "int8": ("x", "dashdot"),
}
# Steps with a label; more would lie over each other on a telephone.
_LABELS = {"rounded:4": "4σ", "rounded:2": "2σ", "rounded:1": "1σ", "native": "as it is"}
_KNOWLEDGE_LOOKS = (
    ("#0072B2", "circle", "solid"),
    ("#D55E00", "square", "dash"),
    ("#009E73", "diamond", "dot"),
    ("#CC79A7", "triangle-up", "dashdot"),
)
_UNITS = ("B", "kB", "MB", "GB")


def energy_frontier(
    points: Table,
    *,
    byte_range: tuple[float, float],
    floor: float,
    height: int = 460,
    dark: bool = False,
) -> go.Figure:
    """Energy of every way to send against its bytes, and the frontier of the best.

    points: With family, encoding, label, bytes_per_site, energy, least, greatest, is_best.
    byte_range: (float, float). Ends of the axis, fixed so that it stands still while points arrive.
    floor: Energy of a random subspace.
    """
    figure = base_figure(height)
    best = [point for point in points if point["is_best"]]
    figure.add_scatter(
        x=[point["bytes_per_site"] for point in best],
        y=[point["energy"] for point in best],
        mode="lines",
        line={"color": faded(ink(dark), 0.3), "width": 9, "shape": "hv"},
        name="the best for its bytes",
        hoverinfo="skip",
    )
    for encoding, (symbol, dash) in _PRECISIONS.items():
        own = [p for p in points if p["family"] == "proxy" and p["encoding"] == encoding]
        name = "8 bits" if encoding == "int8" else encoding
        _add_line(figure, own, f"DPdisPCA, {name}", look_of("dpdis").colour, symbol, dash)
    whole = [point for point in points if point["family"] == "whole matrix"]
    look = look_of("full")
    _add_line(figure, whole, "whole matrix, rounded", look.colour, look.symbol, "solid", named=True)
    low, high = (math.log10(end) for end in byte_range)
    ticks = [10.0**power for power in range(math.floor(low), math.ceil(high) + 1)]
    figure.update_xaxes(
        type="log",
        range=[low, high],
        tickvals=ticks,
        ticktext=[_bytes(tick) for tick in ticks],
        title="← cheaper     bytes a site sends     dearer →",
    )
    exact_and_random(figure, floor, dark=dark)
    figure.update_yaxes(**ENERGY_AXIS)
    return legend_above(figure)


def _add_line(
    figure: go.Figure,
    points: Table,
    name: str,
    colour: str,
    symbol: str,
    dash: str,
    *,
    named: bool = False,
) -> None:
    if not points:
        return
    figure.add_scatter(
        x=[point["bytes_per_site"] for point in points],
        y=[point["energy"] for point in points],
        error_y={
            "type": "data",
            "array": [point["greatest"] - point["energy"] for point in points],
            "arrayminus": [point["energy"] - point["least"] for point in points],
            "color": faded(colour, 0.35),
            "thickness": 1,
            "width": 0,
        },
        mode="lines+markers+text" if named else "lines+markers",
        text=[_LABELS.get(point["encoding"], "") for point in points] if named else None,
        textposition="top center",
        textfont={"size": 12},
        name=name,
        line={"color": colour, "dash": dash, "width": 1.5},
        marker={"symbol": symbol, "size": 10, "color": colour},
        customdata=[[point["label"], _bytes(point["bytes_per_site"])] for point in points],
        hovertemplate="%{customdata[0]}: %{y:.1%} with %{customdata[1]}<extra>" + name + "</extra>",
    )


def _bytes(count: float) -> str:
    power = min(int(math.log10(max(count, 1)) / 3), len(_UNITS) - 1)
    return f"{count / 1000**power:,.3g} {_UNITS[power]}"


def knowledge_cost_curves(
    rows: Table, titles: Mapping[str, str], *, dark: bool = False
) -> go.Figure:
    """Energy of the exact optimum within a public subspace against its share of the directions.

    rows: With source, percent, energy_ratio.
    titles: mapping of source to the name of its line
    """
    figure = base_figure(320)
    for source, (colour, symbol, dash) in zip(titles, _KNOWLEDGE_LOOKS, strict=False):
        own = [row for row in rows if row["source"] == source]
        shares = [row["percent"] / 100 for row in own], [row["energy_ratio"] for row in own]
        name, said = titles[source], "%{y:.1%} within %{x:.0%}"
        look: dict[str, Any] = {"mode": "lines+markers", "marker": {"symbol": symbol, "size": 9}}
        add_line(figure, *shares, name, said, colour=colour, dash=dash, **look)
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", title="share of the directions kept")
    figure.update_yaxes(**ENERGY_AXIS)
    figure.update_layout(font={"color": ink(dark)}, showlegend=True)
    return legend_above(figure)
