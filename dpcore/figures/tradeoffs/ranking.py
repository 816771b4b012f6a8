"""Protocols ranked: a row each, a dot for every way to run it, the best with its spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import plotly.graph_objects as go

from dpcore.figures.style import ENERGY_AXIS, GREY, assembled, faded, ink, look_of, vertical

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
