"""What charts have in common: one meaning a colour (Okabe-Ito first, two of Tol's where those run
out), tidy rows, axes, a legend above, named levels, the spread of draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import plotly.graph_objects as go
import plotly.io

from dpcore.arrays import AnyArray

# The register is a table too: of protocols, with how each is drawn.
from dpcore.pca.protocols.protocol import Look
from dpcore.pca.protocols.register import PROTOCOLS

# Handed on; all else is of this file.
__all__ = ["PROTOCOLS", "Look"]

INK_LIGHT, INK_DARK = "#1a1a1a", "#f2f2f2"
GREY = "#8a8a8a"
_KINDS = ("scatter", "bar")
_NOT_DRAWN = ("geo", "mapbox", "polar", "ternary", "scene", "coloraxis", "colorscale")
# Pixels under a plot for tick labels and a title.
_AXIS_ROOM = 56
# The least between two labels, as a part of their axis.
_BETWEEN_LABELS = 0.12
# For protocols that bring no look of their own, in the order in which they are registered: the
# colours that are left of Tol's muted ones, under markers that nobody else has.
FREE_LOOKS = tuple(
    Look(colour, symbol)
    for symbol in ("hexagram", "star-square", "hexagon2")
    for colour in ("#332288", "#117733")
)
# Shares of an exact result, with room for the markers of those that reach it.
PERCENT_RANGE = (0.0, 1.06)
ENERGY_AXIS: dict[str, Any] = {
    "range": list(PERCENT_RANGE),
    "tickformat": ".0%",
    "title": "survives, share of exact PCA",
}

Row = Mapping[str, Any]
"""One row: the name of each column, and its value."""
Table = Sequence[Row]
"""Rows of one kind."""
LEGEND_ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


def ink(dark: bool) -> str:
    """Colour of lines that have to stand out from the page: exact results, markers."""
    return INK_DARK if dark else INK_LIGHT


def look_of(key: str, *, dark: bool = False) -> Look:
    """The look of an algorithm, in ink for the one that is drawn in it."""
    entry = PROTOCOLS[key]
    without = [other.key for other in PROTOCOLS.values() if other.look is None]
    look = entry.look or FREE_LOOKS[without.index(key) % len(FREE_LOOKS)]
    is_ink = look.colour == INK_LIGHT and dark
    return replace(look, label=entry.title, colour=INK_DARK if is_ink else look.colour)


def faded(colour: str, opacity: float) -> str:
    """A hex colour as rgba with this opacity."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def base_figure(height: int) -> go.Figure:
    """An empty figure with the margins, fonts and hover every chart shares."""
    return _checked_later({"layout": _base_layout(height)})


def assembled(
    traces: list[dict[str, Any]],
    *,
    height: int,
    left: int,
    dark: bool,
    xaxis: dict[str, Any],
    yaxis: dict[str, Any],
    **layout: Any,
) -> go.Figure:
    """A figure from finished parts, with labels readable on its page.

    Plotly checks every property as it is set, which takes ten times as long as all the rest of a
    small chart; these are taken as they are, and the tests have Plotly check them instead.
    `left` is the room for the vertical axis in pixels.
    """
    font = {"color": ink(dark)}
    base = _base_layout(height)
    axes = {
        name: axis
        | {"tickfont": font, "title": {"text": axis.get("title", ""), "font": font}}
        # Finding out by itself how much room labels need makes Plotly draw everything twice.
        | {"automargin": False}
        for name, axis in (("xaxis", xaxis), ("yaxis", yaxis))
    }
    legend = {"font": font} | layout.pop("legend", {})
    margin = {"l": left, "r": 8, "t": 26, "b": _AXIS_ROOM}
    shared = {"font": base["font"] | font, "legend": legend, "margin": margin}
    return _checked_later({"data": traces, "layout": base | shared | axes | layout})


def _checked_later(parts: dict[str, Any]) -> go.Figure:
    """A figure that is taken as it is; whatever is changed afterwards is checked again."""
    figure = go.Figure(parts, _validate=False)
    for part in (figure, figure.layout, *figure.data):
        part._validate = True
    return figure


@cache
def _template() -> dict[str, Any]:
    """Plotly's own look, of the kinds of traces and plots that are drawn here.

    Maps bring their colours. The whole of it is nine tenths of a small chart, which every figure
    copies and every page sends.
    """
    whole = plotly.io.templates["plotly"].to_plotly_json()
    data = {kind: whole["data"][kind] for kind in _KINDS}
    layout = {key: part for key, part in whole["layout"].items() if key not in _NOT_DRAWN}
    return {"data": data, "layout": layout}


def _base_layout(height: int) -> dict[str, Any]:
    return {
        "template": _template(),
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "font": {"size": 14},
        "hovermode": "closest",
        "showlegend": False,
        "dragmode": False,
    }


def vertical(x: float, *, colour: str, dash: str = "solid", width: float = 1.5) -> dict[str, Any]:
    """A line across the plot at x, as a layout shape.

    Set together with the rest of the layout: Plotly's `add_vline` goes through every axis of the
    figure each time, which costs more than all traces of a small chart.
    """
    line = {"color": colour, "dash": dash, "width": width}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain", "line": line}


def horizontal(y: float, *, colour: str, dash: str = "solid", width: float = 1.5) -> dict[str, Any]:
    """A line across the plot at y, as a layout shape; see `vertical`."""
    line = {"color": colour, "dash": dash, "width": width}
    return {"type": "line", "y0": y, "y1": y, "x0": 0, "x1": 1, "xref": "x domain", "line": line}


def log_ticks(values: list[float]) -> tuple[list[float], list[str]]:
    """Tick positions at the powers of ten in reach and at the ends, with plain labels.

    An end whose label would touch that of a power of ten has none.
    """
    powers = [10.0**exponent for exponent in range(-6, 10)]
    low, high = min(values), max(values)
    inside = [power for power in powers if low / 1.01 <= power <= high * 1.01]
    apart = (high / low) ** _BETWEEN_LABELS
    ends = {end for end in (low, high) if all(not 1 / apart <= end / p <= apart for p in inside)}
    ticks = sorted({*inside, *ends})
    return ticks, [_plainly(tick) for tick in ticks]


def log_axis(values: list[float]) -> dict[str, Any]:
    """A logarithmic axis with those ticks."""
    ticks, labels = log_ticks(values)
    return {"type": "log", "tickvals": ticks, "ticktext": labels}


def _plainly(tick: float) -> str:
    """Counts whole, smaller numbers in three digits; no exponent."""
    return f"{float(f'{tick:.3g}'):.10g}" if tick < 1000 else f"{tick:,.0f}"


def legend_above(figure: go.Figure, **legend: object) -> go.Figure:
    """The figure with its legend in a row above the plot; `legend` says what is special in it."""
    return figure.update_layout(showlegend=True, legend=LEGEND_ABOVE | legend)


def small_legend_above(figure: go.Figure) -> go.Figure:
    """The same for many names, or long ones."""
    return legend_above(figure, font={"size": 12})


def add_line(
    figure: go.Figure,
    x: Sequence[float] | AnyArray,
    y: Sequence[float] | AnyArray,
    name: str,
    hover: str = "",
    *,
    colour: str,
    dash: str | None = None,
    width: float = 2,
    mode: str = "lines",
    **more: Any,
) -> None:
    """A line with its name in the legend and under the pointer.

    hover: What else is said under the pointer; nothing is where it is empty.
    dash: None leaves it solid.
    """
    line = {"color": colour, "width": width} | ({} if dash is None else {"dash": dash})
    said = {"hovertemplate": f"{hover}<extra>{name}</extra>"} if hover else {"hoverinfo": "skip"}
    figure.add_scatter(x=x, y=y, name=name, mode=mode, line=line, **said, **more)


def named_level(
    figure: go.Figure,
    y: float,
    name: str,
    *,
    line: Mapping[str, object],
    at: float | None = None,
    xshift: int = 0,
) -> None:
    """A line across the plot with its name at the right end.

    On a logarithmic axis the name stands `at` the exponent.
    """
    figure.add_hline(y=y, line=line)
    figure.add_annotation(
        x=1,
        xref="paper",
        xanchor="right",
        xshift=xshift,
        y=y if at is None else at,
        yanchor="bottom",
        text=name,
        showarrow=False,
        font={"size": 12},
    )


def exact_and_random(
    figure: go.Figure,
    floor: float,
    *,
    dark: bool,
    exact: str = "exact PCA",
    random: str = "random subspace",
    xshift: int = 0,
) -> None:
    """What everything is between: the exact result at 1, and what a random one captures."""
    for y, name, colour, dash in ((1.0, exact, ink(dark), "dash"), (floor, random, GREY, "dot")):
        line = {"color": colour, "dash": dash, "width": 1.5}
        named_level(figure, y, name, line=line, xshift=xshift)


def present_setting(figure: go.Figure, x: float | None, *, dark: bool) -> None:
    """A thin line at the present setting, where there is one."""
    if x is not None:
        figure.add_vline(x=x, line={"color": ink(dark), "width": 1})


def spread(figure: go.Figure, draws: Mapping[float, Sequence[float]], colour: str) -> None:
    """The band between the least and the greatest of the draws at every value."""
    x, least, greatest = list(draws), list(map(min, draws.values())), list(map(max, draws.values()))
    figure.add_scatter(
        x=x + x[::-1],
        y=greatest + least[::-1],
        fill="toself",
        fillcolor=colour,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
    )


def values_by(rows: Table, field: str, value: str) -> dict[float, list[float]]:
    """The draws of `value` at each of `field`, ascending."""
    found: dict[float, list[float]] = {}
    for row in sorted(rows, key=lambda row: row[field]):
        found.setdefault(float(row[field]), []).append(row[value])
    return found


def error_range(chance: float, rows: Table) -> tuple[float, float]:
    """Ends of an axis of test errors, with room above that of always saying the same.

    Only draws that do worse than that by far move the upper end.
    """
    worst = max(row["test_error"] for row in rows)
    return -0.02, min(1.02, max(1.2 * chance, chance + 0.15, worst + 0.02))
