"""What a target takes: protocols ranked, a row each with a dot for every way to run it; and energy
over two parameters, a heat map with a line where the target is reached."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale, unlabel_rgb

from dpcore.arrays import BoolArray, FloatArray
from dpcore.figures.style import (
    ENERGY_AXIS,
    GREY,
    assembled,
    base_figure,
    faded,
    ink,
    look_of,
    vertical,
)

# Dark at little energy, bright at much, and readable without colour vision.
_SCALE = "Cividis"
_ROW, _FRAME = 34, 96


class Dot(Protocol):
    """A way to run a protocol, as in `dpcore.experiments.analysis.ranking.Ranked`."""

    @property
    def protocol(self) -> str: ...
    @property
    def prepared(self) -> str: ...
    @property
    def mean(self) -> float: ...
    @property
    def energies(self) -> Sequence[float]: ...


def dots_by_protocol(ways: Sequence[Dot], floor: float, *, dark: bool = False) -> go.Figure:
    """Captured energy of every way, one row a protocol, the best protocol on top.

    ways: Best first; a point's custom data is its position here.
    floor: Energy of a random subspace.
    """
    protocols = list(dict.fromkeys(way.protocol for way in ways))
    height = _FRAME + _ROW * len(protocols)
    rows = {key: len(protocols) - 1 - number for number, key in enumerate(protocols)}
    lines = (1.0, ink(dark), "dash", "exact PCA"), (floor, GREY, "dot", "random")
    return assembled(
        [_row(key, list(enumerate(ways)), rows[key], dark) for key in protocols],
        height=height,
        left=146,
        dark=dark,
        xaxis=ENERGY_AXIS,
        yaxis={
            "range": [-0.6, len(protocols) - 0.4],
            "tickvals": list(rows.values()),
            "ticktext": [look_of(key).label for key in protocols],
            "showgrid": False,
            "zeroline": False,
        },
        shapes=[vertical(x, colour=colour, dash=dash) for x, colour, dash, _ in lines],
        annotations=[_named(x, name, dark) for x, _, _, name in lines],
    )


def _row(key: str, ways: list[tuple[int, Dot]], y: int, dark: bool) -> dict[str, object]:
    own = [(number, way) for number, way in ways if way.protocol == key]
    look = look_of(key, dark=dark)
    best = own[0][1]
    size = len(own)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": look.label,
        "x": [way.mean for _, way in own],
        "y": [y] * size,
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [max(best.energies) - best.mean] + [0] * (size - 1),
            "arrayminus": [best.mean - min(best.energies)] + [0] * (size - 1),
            "color": look.colour,
            "thickness": 2,
            "width": 0,
        },
        "marker": {
            "symbol": look.symbol,
            "color": [look.colour] + [faded(look.colour, 0.45)] * (size - 1),
            "size": [14] + [8] * (size - 1),
        },
        "customdata": [
            [number, way.prepared, min(way.energies), max(way.energies), len(way.energies)]
            for number, way in own
        ],
        "hovertemplate": "%{customdata[1]}: %{x:.1%} on average<br>%{customdata[2]:.1%} to "
        "%{customdata[3]:.1%} over %{customdata[4]} draws<extra>" + look.label + "</extra>",
    }


def _named(x: float, name: str, dark: bool) -> dict[str, object]:
    return {
        "x": x,
        "y": 1,
        "yref": "paper",
        "xanchor": "right" if x == 1 else "center",  # whole on a telephone too
        "yanchor": "bottom",
        "text": name,
        "showarrow": False,
        "font": {"size": 12, "color": ink(dark)},
    }


def energy_map(
    xs: Sequence[float],
    ys: Sequence[float],
    energies: FloatArray,
    target: float,
    *,
    x_title: str,
    y_title: str,
    here: tuple[float, float] | None = None,
    height: int = 400,
) -> go.Figure:
    """Mean energy over a grid of two log axes, in percent in every cell.

    What marks the target and the present setting runs between the cells: their numbers decide.

    xs, ys: sequences of positive numbers, ascending
    energies: shape (len(ys), len(xs)). NaN where nothing is known (yet).
    target: A line parts the cells that reach it from the others.
    here: (x, y). The setting whose cell, or the nearest to it, has a frame.
    """
    # On linear axes of logarithms, contours are interpolated as people read the grid.
    across, up = [math.log10(x) for x in xs], [math.log10(y) for y in ys]
    values = [[None if math.isnan(v) else float(v) for v in line] for line in energies]
    figure = base_figure(height)
    figure.add_heatmap(
        x=across,
        y=up,
        z=values,
        zmin=0,
        zmax=1,
        colorscale=_SCALE,
        xgap=1,
        ygap=1,
        customdata=[[[x, y] for x in xs] for y in ys],
        hoverongaps=False,
        hovertemplate=f"%{{z:.1%}}<br>{x_title}: %{{customdata[0]:.3g}}"
        f"<br>{y_title}: %{{customdata[1]:.3g}}<extra></extra>",
        showscale=False,  # the cells say their percent
    )
    figure.layout.annotations = [
        {"x": x, "y": y, "text": f"{100 * value:.0f}", "showarrow": False,
         "font": {"size": 11, "color": _readable(value)}}
        for y, line in zip(up, values, strict=True)
        for x, value in zip(across, line, strict=True)
        if value is not None
    ]  # fmt: skip
    edges = _edges(across), _edges(up)
    border = _border(np.nan_to_num(energies) >= target, *edges)
    for colour, width in (("#1a1a1a", 6), ("#ffffff", 3)):
        figure.add_scatter(
            x=border[0], y=border[1], mode="lines", line={"color": colour, "width": width},
            hoverinfo="skip", name=f"reaches {target:.0%}",
        )  # fmt: skip
    if here is not None and xs[0] <= here[0] <= xs[-1] and ys[0] <= here[1] <= ys[-1]:
        figure.add_shape(
            type="rect",
            line={"color": "#D55E00", "width": 3},
            **_cell(edges[0], across, math.log10(here[0]), "x"),
            **_cell(edges[1], up, math.log10(here[1]), "y"),
        )
    span = {"x": [edges[0][0], edges[0][-1]], "y": [edges[1][0], edges[1][-1]]}
    figure.update_xaxes(
        title=x_title, tickvals=across, ticktext=[_plain(x) for x in xs], showgrid=False,
        range=span["x"],
    )  # fmt: skip
    figure.update_yaxes(
        title=y_title, tickvals=up, ticktext=[_plain(y) for y in ys], showgrid=False,
        range=span["y"],
    )  # fmt: skip
    return figure


def _readable(value: float) -> str:
    """Black or white, whichever stands out more from a cell; Plotly's own dark grey is too pale."""
    (cell,) = sample_colorscale(_SCALE, [min(max(value, 0.0), 1.0)])
    parts = [part / 255 for part in unlabel_rgb(cell)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#ffffff"


def _edges(centres: list[float]) -> list[float]:
    """Where cells around these places meet, as a heat map draws them."""
    if len(centres) == 1:
        return [centres[0] - 0.5, centres[0] + 0.5]
    inner = [(a + b) / 2 for a, b in itertools.pairwise(centres)]
    return [2 * centres[0] - inner[0], *inner, 2 * centres[-1] - inner[-1]]


def _border(
    reached: BoolArray, xs: list[float], ys: list[float]
) -> tuple[list[float | None], list[float | None]]:
    """The sides between cells that reach a target and cells that do not, as pieces of a line."""
    across: list[float | None] = []
    up: list[float | None] = []
    for row, column in np.argwhere(reached[:, 1:] != reached[:, :-1]):
        across += [xs[column + 1], xs[column + 1], None]
        up += [ys[row], ys[row + 1], None]
    for row, column in np.argwhere(reached[1:] != reached[:-1]):
        across += [xs[column], xs[column + 1], None]
        up += [ys[row + 1], ys[row + 1], None]
    return across, up


def _cell(edges: list[float], centres: list[float], place: float, axis: str) -> dict[str, float]:
    nearest = min(range(len(centres)), key=lambda i: abs(centres[i] - place))
    return {f"{axis}0": edges[nearest], f"{axis}1": edges[nearest + 1]}


def _plain(number: float) -> str:
    """A tick: no exponent where a person would write none."""
    return f"{number:,.10g}" if number >= 1e-4 else f"10<sup>{round(math.log10(number))}</sup>"
