"""One panel of a map of trade-offs: live curves, the same under other choices, published points."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import plotly.graph_objects as go

from dpcore.figures.energy import energy_curves
from dpcore.figures.style import ink, look_of

Row = dict[str, object]


def energy_panel(
    rows: Sequence[Row],
    field: str,
    *,
    other_rows: Sequence[Row] = (),
    other_name: str = "",
    published: Sequence[tuple[str, float, float, float]] = (),
    dark: bool = False,
    **options: object,
) -> go.Figure:
    """Live curves with what they are compared with, on the scale that all panels share.

    Parameters
    ----------
    rows : sequence of dict
        As for `dpcore.figures.energy.energy_curves`; at least one.
    field : str
    other_rows : sequence of dict
        The same under other choices, drawn thin and dotted in the same colours.
    other_name : str
        Name of those choices.
    published : sequence of (protocol, value, mean, standard deviation)
        Drawn as hollow markers with bars.
    **options
        As for `energy_curves`.
    """
    figure = energy_curves(rows, field, dark=dark, **options)
    for key in dict.fromkeys(row["protocol"] for row in other_rows):
        _add_other(figure, [row for row in other_rows if row["protocol"] == key], field, key,
                   other_name)  # fmt: skip
    for key in dict.fromkeys(point[0] for point in published):
        _add_published(figure, [point for point in published if point[0] == key], key)
    # One entry each: the colours are told by the live curves already.
    if other_rows:
        _add_entry(figure, other_name, "lines", {"line": {"dash": "dot", "color": ink(dark)}})
    if published:
        marker = {"symbol": "circle-open", "size": 11, "color": ink(dark)}
        _add_entry(figure, "published (± 1 sd)", "markers", {"marker": marker})
    return figure


def _add_other(
    figure: go.Figure, rows: Sequence[Row], field: str, key: str, name: str
) -> None:
    look = look_of(key)
    values = sorted({float(row[field]) for row in rows})
    figure.add_scatter(
        x=values,
        y=[fmean(row["energy_ratio"] for row in rows if row[field] == v) for v in values],
        mode="lines+markers",
        line={"color": look.colour, "dash": "dot", "width": 1.5},
        marker={"symbol": look.symbol, "size": 6},
        customdata=[[value, key, name] for value in values],
        hovertemplate=f"%{{y:.1%}} at %{{x}}<extra>{look.label}, {name}</extra>",
        showlegend=False,
    )


def _add_published(
    figure: go.Figure, points: Sequence[tuple[str, float, float, float]], key: str
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
        showlegend=False,
    )


def _add_entry(figure: go.Figure, name: str, mode: str, style: dict) -> None:
    figure.add_scatter(x=[None], y=[None], mode=mode, name=name, hoverinfo="skip", **style)
