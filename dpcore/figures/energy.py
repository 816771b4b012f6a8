"""Captured energy as pictures: a dot plot of protocols, and curves along one parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import plotly.graph_objects as go

from dpcore.figures.style import GREY, base_figure, faded, ink, log_ticks, look_of

Row = dict[str, object]
PERCENT_RANGE = (0.0, 1.06)


def protocol_dots(rows: Sequence[Row], *, dark: bool = False) -> go.Figure:
    """Every repetition as a dot, one line a protocol, with the mean marked.

    Parameters
    ----------
    rows : sequence of dict
        With protocol, energy_ratio, random_ratio; all of one setting.
    """
    order = list(dict.fromkeys(row["protocol"] for row in rows))[::-1]
    figure = base_figure(90 + 46 * len(order))
    for position, key in enumerate(order):
        look = look_of(key, dark=dark)
        ratios = [row["energy_ratio"] for row in rows if row["protocol"] == key]
        mean = fmean(ratios)
        figure.add_scatter(
            x=ratios,
            y=[position] * len(ratios),
            mode="markers",
            marker={"color": faded(look.colour, 0.35), "size": 9, "symbol": "circle"},
            hovertemplate="%{x:.1%} in one draw<extra>" + look.label + "</extra>",
        )
        figure.add_scatter(
            x=[mean],
            y=[position],
            mode="markers+text",
            marker={"color": look.colour, "size": 15, "symbol": look.symbol},
            text=[f"  {mean:.0%}  "],
            textposition="middle left" if mean > 0.5 else "middle right",
            textfont={"size": 14},
            cliponaxis=False,
            hovertemplate=f"%{{x:.1%}} on average over {len(ratios)} draws"
            f"<extra>{look.label}</extra>",
        )
    floor = rows[0]["random_ratio"]
    figure.add_vline(x=1, line={"color": ink(dark), "dash": "dash", "width": 1.5})
    figure.add_vline(x=floor, line={"color": GREY, "dash": "dot", "width": 2})
    figure.add_annotation(
        x=floor, y=1, yref="paper", text="random", showarrow=False, yshift=12, font={"size": 12}
    )
    figure.add_annotation(
        x=1, y=1, yref="paper", text="exact", showarrow=False, yshift=12, font={"size": 12}
    )
    figure.update_xaxes(
        range=PERCENT_RANGE, tickformat=".0%", title="captured energy, share of exact PCA"
    )
    figure.update_yaxes(
        tickvals=list(range(len(order))),
        ticktext=[look_of(key).label for key in order],
        range=[-0.6, len(order) - 0.3],
        zeroline=False,
    )
    figure.update_layout(margin={"t": 26})
    return figure


def energy_curves(
    rows: Sequence[Row],
    field: str,
    *,
    axis_title: str,
    logarithmic: bool = True,
    axis_range: tuple[float, float] | None = None,
    marker: float | None = None,
    height: int = 380,
    dark: bool = False,
) -> go.Figure:
    """Mean captured energy along one field, one line a protocol, with the spread of the draws.

    Parameters
    ----------
    rows : sequence of dict
        With protocol, energy_ratio, random_ratio and `field`; may be incomplete while a run
        goes on.
    field : str
        Column on the horizontal axis.
    axis_title : str
    logarithmic : bool
    axis_range : (float, float), optional
        Smallest and largest value of the finished figure, so that it stands still while it
        fills in.
    marker : float, optional
        The present setting, drawn as a vertical line.
    """
    figure = base_figure(height)
    values = sorted({float(row[field]) for row in rows})
    low, high = axis_range or (values[0], values[-1])
    for key in dict.fromkeys(row["protocol"] for row in rows):
        _add_curve(figure, [row for row in rows if row["protocol"] == key], field, key, dark)
    floor = fmean(row["random_ratio"] for row in rows)
    # Each label stands at the end of its line that curves keep away from.
    for level, name, colour, dash, end in (
        (1.0, "exact PCA", ink(dark), "dash", "left"),
        (floor, "random subspace", GREY, "dot", "right"),
    ):
        figure.add_hline(y=level, line={"color": colour, "dash": dash, "width": 1.5})
        figure.add_annotation(
            x=0 if end == "left" else 1,
            xref="paper",
            xanchor=end,
            y=level,
            yanchor="bottom",
            text=name,
            showarrow=False,
            font={"size": 12},
        )
    if marker is not None:
        figure.add_vline(x=marker, line={"color": ink(dark), "width": 1})
    if logarithmic:
        ticks, labels = log_ticks([low, high])
        figure.update_xaxes(type="log", tickvals=ticks, ticktext=labels)
    figure.update_xaxes(title=axis_title, range=_with_margin(low, high, logarithmic))
    figure.update_yaxes(
        range=PERCENT_RANGE, tickformat=".0%", title="captured energy, share of exact PCA"
    )
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    )
    return figure


def _with_margin(low: float, high: float, logarithmic: bool) -> list[float]:
    """Ends of an axis from low to high, in the units Plotly wants: exponents on a log axis."""
    if logarithmic:
        low, high = math.log10(low), math.log10(high)
    margin = 0.03 * (high - low) if high > low else 0.5
    return [low - margin, high + margin]


def _add_curve(figure: go.Figure, rows: list[Row], field: str, key: str, dark: bool) -> None:
    look = look_of(key, dark=dark)
    values = sorted({float(row[field]) for row in rows})
    ratios = {
        value: [row["energy_ratio"] for row in rows if row[field] == value] for value in values
    }
    draws = max(len(r) for r in ratios.values())
    if draws > 1:
        figure.add_scatter(
            x=values + values[::-1],
            y=[max(ratios[v]) for v in values] + [min(ratios[v]) for v in values[::-1]],
            fill="toself",
            fillcolor=faded(look.colour, 0.15),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
        )
    figure.add_scatter(
        x=values,
        y=[fmean(ratios[value]) for value in values],
        mode="lines+markers",
        name=look.label,
        line={"color": look.colour, "dash": look.dash, "width": 2.5},
        marker={"symbol": look.symbol, "size": 9},
        customdata=[[value, key] for value in values],
        hovertemplate=f"%{{y:.1%}} at %{{x}}, mean of {draws} draws<extra>{look.label}</extra>",
    )
