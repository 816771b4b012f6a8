"""Shared parts of the figures: colours, axes, legends, named levels and bands.

A colour has one meaning on all pages. Colours are Okabe and Ito's, then two of Tol's.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import plotly.graph_objects as go
import plotly.io

from dpcore.arrays import AnyArray

# Titles and looks of the protocols; figures read nothing else from the register.
from dpcore.pca.protocols.protocol import Look
from dpcore.pca.protocols.register import PROTOCOLS

# Re-exported names.
__all__ = ["PROTOCOLS", "Look"]

INK_LIGHT, INK_DARK = "#1a1a1a", "#f2f2f2"
GREY = "#8a8a8a"
_KINDS = ("scatter", "bar")
_NOT_DRAWN = ("geo", "mapbox", "polar", "ternary", "scene", "coloraxis", "colorscale")
# Height in pixels of tick labels and axis title.
_AXIS_ROOM = 56
# Smallest distance of two labels, as a share of the axis.
_BETWEEN_LABELS = 0.12
# Looks of protocols without their own, in the order of registration: the unused colours of
# Tol's muted palette with unused markers.
FREE_LOOKS = tuple(
    Look(colour, symbol)
    for symbol in ("hexagram", "star-square", "hexagon2")
    for colour in ("#332288", "#117733")
)
# Range of shares of an exact result, with space for markers at 1.
PERCENT_RANGE = (0.0, 1.06)
ENERGY_AXIS: dict[str, Any] = {
    "range": list(PERCENT_RANGE),
    "tickformat": ".0%",
    "title": "captured energy",
}

Row = Mapping[str, Any]
"""Row of a table: mapping of column name to value."""
Table = Sequence[Row]
"""Sequence of rows."""
LEGEND_ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


def plain_text(text: str) -> str:
    """Return a text that Plotly draws character by character; it makes links of <a> in others."""
    return html.escape(text, quote=False)


def ink(dark: bool) -> str:
    """Return the colour of prominent lines, such as exact results and markers."""
    return INK_DARK if dark else INK_LIGHT


def look_of(key: str, *, dark: bool = False) -> Look:
    """Return the look of a protocol, with its title and, on dark pages, a light ink."""
    entry = PROTOCOLS[key]
    without = [other.key for other in PROTOCOLS.values() if other.look is None]
    look = entry.look or FREE_LOOKS[without.index(key) % len(FREE_LOOKS)]
    is_ink = look.colour == INK_LIGHT and dark
    return replace(look, label=entry.title, colour=INK_DARK if is_ink else look.colour)


def with_opacity(colour: str, opacity: float) -> str:
    """Return a hex colour as rgba with the given opacity."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def base_figure(height: int) -> go.Figure:
    """Return an empty figure with the margins, fonts and hover that all charts share."""
    return _build_unchecked({"layout": _base_layout(height)})


def assemble_figure(
    traces: list[dict[str, Any]],
    *,
    height: int,
    axis_width: int,
    dark: bool,
    xaxis: dict[str, Any],
    yaxis: dict[str, Any],
    **layout: Any,
) -> go.Figure:
    """Return a figure made of finished parts, with readable labels.

    Plotly's checks of each property take ten times as long as the rest of a small chart. The parts
    are not checked here; the tests check them.

    axis_width: Width in pixels of the space for the vertical axis.
    """
    font = {"color": ink(dark)}
    base = _base_layout(height)
    axes = {
        name: axis
        | {"tickfont": font, "title": {"text": axis.get("title", ""), "font": font}}
        # Plotly draws everything twice to measure the labels if automargin is on.
        | {"automargin": False}
        for name, axis in (("xaxis", xaxis), ("yaxis", yaxis))
    }
    legend = {"font": font} | layout.pop("legend", {})
    margin = {"l": axis_width, "r": 8, "t": 26, "b": _AXIS_ROOM}
    shared = {"font": base["font"] | font, "legend": legend, "margin": margin}
    return _build_unchecked({"data": traces, "layout": base | shared | axes | layout})


def _build_unchecked(parts: dict[str, Any]) -> go.Figure:
    """Return a figure whose initial parts are not checked. Later changes are checked."""
    # Plotly reads pandas from sys.modules, even while another thread is importing it, and fails
    # with a partially initialized module. This import waits for the end of the other.
    with suppress(ImportError):
        import_module("pandas")
    figure = go.Figure(parts, _validate=False)
    for part in (figure, figure.layout, *figure.data):
        part._validate = True
    return figure


@cache
def _template() -> dict[str, Any]:
    """Return Plotly's default template, reduced to the traces and plots that are used here.

    The whole template is nine tenths of a small chart, is copied by every figure and sent by every
    page.
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


def vertical_line(
    x: float, *, colour: str, dash: str = "solid", width: float = 1.5
) -> dict[str, Any]:
    """Return a layout shape: a vertical line across the plot at x.

    Plotly's `add_vline` visits every axis of the figure on each call, which takes longer than all
    traces of a small chart.
    """
    line = {"color": colour, "dash": dash, "width": width}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain", "line": line}


def horizontal_line(
    y: float, *, colour: str, dash: str = "solid", width: float = 1.5
) -> dict[str, Any]:
    """Return a layout shape: a horizontal line across the plot at y."""
    line = {"color": colour, "dash": dash, "width": width}
    return {"type": "line", "y0": y, "y1": y, "x0": 0, "x1": 1, "xref": "x domain", "line": line}


def sparse_ticks(values: Sequence[float]) -> dict[str, Any]:
    """Return the properties of a logarithmic axis with ticks at given values.

    Values whose label would touch the label of a power of ten, of an end or of a smaller value are
    omitted.
    """
    ends = {min(values), max(values)}
    spacing = (max(ends) / min(ends)) ** _BETWEEN_LABELS
    ticks: list[float] = []
    for value in sorted(values, key=lambda tick: (tick not in ends, not _is_power(tick), tick)):
        if all(not 1 / spacing < value / tick < spacing for tick in ticks):
            ticks.append(value)
    return log_axis_at(sorted(ticks))


def _is_power(value: float) -> bool:
    return math.log10(value).is_integer()


def log_axis(values: Sequence[float], **options: Any) -> dict[str, Any]:
    """Return a logarithmic axis with ticks at the powers of ten among the values and at the ends.

    An end is omitted if its label would touch the label of a power of ten.

    **options: Options of `log_axis_at`.
    """
    powers = [10.0**exponent for exponent in range(-6, 10)]
    low, high = min(values), max(values)
    inside = [power for power in powers if low / 1.01 <= power <= high * 1.01]
    spacing = (high / low) ** _BETWEEN_LABELS
    ends = {
        end for end in (low, high) if all(not 1 / spacing <= end / p <= spacing for p in inside)
    }
    return log_axis_at(sorted({*inside, *ends}), **options)


def log_axis_at(
    ticks: Sequence[float],
    label: Callable[[float], str] | None = None,
    ends: tuple[float, float] | None = None,
    margin: float = 0.0,
) -> dict[str, Any]:
    """Return the properties of a logarithmic axis with given ticks.

    label: Function that formats a tick; by default three digits without exponents.
    ends: First and last value of the axis; by default Plotly chooses them.
    margin: Space beyond each end as a share of the axis.
    """
    labels = [(label or _format_tick)(tick) for tick in ticks]
    axis: dict[str, Any] = {"type": "log", "tickvals": list(ticks), "ticktext": labels}
    if ends is not None:
        low, high = map(math.log10, ends)
        space = margin * (high - low)
        axis["range"] = [low - space, high + space]
    return axis


def _format_tick(tick: float) -> str:
    """Format counts as integers and smaller numbers with three digits, without exponents."""
    if tick >= 1000:
        return f"{tick:,.0f}"
    return f"{float(f'{tick:.3g}'):.15f}".rstrip("0").rstrip(".")


def legend_above(figure: go.Figure, **legend: object) -> go.Figure:
    """Put the legend in a row above the plot; `legend` overrides its properties."""
    return figure.update_layout(showlegend=True, legend=LEGEND_ABOVE | legend)


def put_small_legend_above(figure: go.Figure) -> go.Figure:
    """Put a legend with many or long names above the plot, in a smaller font."""
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
    """Add a line with its name in the legend and in the hover text.

    hover: Text shown on hover before the name; "" disables hover.
    dash: Dash of the line; None for a solid line.
    """
    line = {"color": colour, "width": width} | ({} if dash is None else {"dash": dash})
    hover_options = (
        {"hovertemplate": f"{hover}<extra>{name}</extra>"} if hover else {"hoverinfo": "skip"}
    )
    figure.add_scatter(x=x, y=y, name=name, mode=mode, line=line, **hover_options, **more)


def add_named_level(
    figure: go.Figure,
    y: float,
    name: str,
    *,
    line: Mapping[str, object],
    at: float | None = None,
    xshift: int = 0,
) -> None:
    """Add a horizontal line with its name at the right end.

    at: Position of the name, if it differs from y: on a logarithmic axis, the exponent of y.
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


# Name of the floor in figures.
FLOOR_NAME = "without any data"


def add_exact_and_floor(
    figure: go.Figure,
    floor: float,
    *,
    dark: bool,
    exact: str = "exact PCA",
    xshift: int = 0,
) -> None:
    """Add the two reference levels: the exact result at 1 and the floor."""
    for y, name, colour, dash in (
        (1.0, exact, ink(dark), "dash"),
        (floor, FLOOR_NAME, GREY, "dot"),
    ):
        line = {"color": colour, "dash": dash, "width": 1.5}
        add_named_level(figure, y, name, line=line, xshift=xshift)


def mark_setting(figure: go.Figure, x: float | None, *, dark: bool) -> None:
    """Add a thin vertical line at the current setting, if there is one."""
    if x is not None:
        figure.add_vline(x=x, line={"color": ink(dark), "width": 1})


def add_band(figure: go.Figure, draws: Mapping[float, Sequence[float]], colour: str) -> None:
    """Add the band between the smallest and the largest draw at each value."""
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
    """Return the draws of `value` for each value of `field`, ascending."""
    values: dict[float, list[float]] = {}
    for row in sorted(rows, key=lambda row: row[field]):
        values.setdefault(float(row[field]), []).append(row[value])
    return values


def error_range(chance: float, rows: Table) -> tuple[float, float]:
    """Return the ends of an axis of test errors, with space above the error of a constant guess.

    Only draws with an error far above that level move the upper end.
    """
    worst = max(row["test_error"] for row in rows)
    return -0.02, min(1.02, max(1.2 * chance, chance + 0.15, worst + 0.02))
