"""One panel of a map of trade-offs: live curves, the same under other choices, published points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import fmean
from typing import Any

import plotly.graph_objects as go

from dpcore.figures.style import Table, ink, look_of, values_by
from dpcore.figures.tradeoffs.energy import energy_curves

_DASHES = ("dot", "dash", "dashdot", "longdash", "longdashdot")
_STROKES = ("━━━", "· · ·", "━ ━", "━ ·", "━━ ━━", "━━ ·")
_GLYPHS = {"circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲", "pentagon": "⬟"}


def energy_panel(
    rows: Table,
    field: str,
    *,
    others: Mapping[str, Table] | None = None,
    published: Sequence[tuple[str, float, float, float]] = (),
    dark: bool = False,
    **options: Any,
) -> go.Figure:
    """Live curves with what they are compared with, on the scale that all panels share.

    rows: As for `dpcore.figures.tradeoffs.energy.energy_curves`.
    others: mapping of name to sequence of dict. The same under other choices, drawn thin in the
        same colours, each with a dash.
    published: sequence of (protocol, value, mean, standard deviation). Drawn as hollow markers with
        bars.
    **options: As for `energy_curves`.
    Points carry [value, protocol] as customdata, and those of other choices the number of
        these choices, from 1.
    """
    figure = energy_curves(rows, field, dark=dark, **options)
    others = others or {}
    for rank, (name, other_rows) in enumerate(others.items(), start=1):
        for key in dict.fromkeys(row["protocol"] for row in other_rows):
            own = [row for row in other_rows if row["protocol"] == key]
            _add_other(figure, own, field, key, name, rank)
    for key in dict.fromkeys(point[0] for point in published):
        points = [point for point in published if point[0] == key]
        _add_published(figure, points, key, is_named=not rows)
    # One entry each: the colours are told by the live curves already, where there are any.
    for rank, name in enumerate(others, start=1):
        _add_entry(figure, name, "lines", {"line": {"dash": _dash(rank), "color": ink(dark)}})
    if published:
        marker = {"symbol": "circle-open", "size": 11, "color": ink(dark)}
        _add_entry(figure, "published (± 1 sd)", "markers", {"marker": marker})
    return figure


def legend_html(protocols: Sequence[str], others: Sequence[str], *, dark: bool = False) -> str:
    """One legend for panels side by side, which wraps with the page: markers, then dashes."""
    looks = [look_of(key, dark=dark) for key in protocols]
    entries = [(_GLYPHS.get(look.symbol, "●"), look.colour, look.label) for look in looks]
    if others:
        strokes = zip(_STROKES, ("as chosen", *others), strict=False)
        entries += [(stroke, ink(dark), name) for stroke, name in strokes]
    spans = "".join(
        '<span style="white-space:nowrap;margin-right:1.4em"><span aria-hidden="true" '
        f'style="color:{colour};font-weight:700">{glyph}</span> {escape(label)}</span> '
        for glyph, colour, label in entries
    )
    return f'<div style="line-height:1.9">{spans}</div>'


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
