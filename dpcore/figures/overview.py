"""Small panels of captured energy side by side: an overview of all published figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpcore.figures.style import ink, look_of

Point = tuple[str, float, float]

# Three columns of the smallest titles fit a phone.
_COLUMNS = 3


@dataclass(frozen=True)
class SmallPanel:
    """One panel of an overview.

    title: Name of the panel and its data set, in up to two lines.
    means: Tuples of protocol, value on the axis and mean captured energy.
    published: Published points in the same form.
    logarithmic: Whether the axis is logarithmic.
    """

    title: str
    means: Sequence[Point]
    published: Sequence[Point]
    logarithmic: bool


def panel_overview(panels: Sequence[SmallPanel], *, dark: bool = False) -> go.Figure:
    """Draw captured energy of many panels: own runs as lines, published ones as hollow markers."""
    n_rows = -(-len(panels) // _COLUMNS)
    figure = make_subplots(
        n_rows,
        _COLUMNS,
        subplot_titles=[panel.title for panel in panels],
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=0.09,
    )
    named: set[str] = set()
    for number, panel in enumerate(panels):
        row, column = divmod(number, _COLUMNS)
        for points, is_own in ((panel.published, False), (panel.means, True)):
            for key in dict.fromkeys(point[0] for point in points):
                line = sorted((value, mean) for protocol, value, mean in points if protocol == key)
                look = look_of(key, dark=dark)
                figure.add_scatter(
                    x=[value for value, _ in line],
                    y=[mean for _, mean in line],
                    mode="lines" if is_own else "markers",
                    name=look.label,
                    legendgroup=key,
                    showlegend=key not in named,
                    line={"color": look.colour, "dash": look.dash, "width": 2},
                    marker={"color": look.colour, "symbol": f"{look.symbol}-open", "size": 5},
                    hovertemplate="%{y:.0%} at %{x}<extra>" + look.label + "</extra>",
                    row=row + 1,
                    col=column + 1,
                )
                named.add(key)
        kind = "log" if panel.logarithmic else "linear"
        values = [value for _, value, _ in (*panel.published, *panel.means)]
        ends = sorted({min(values), max(values)}) if values else []
        texts = [_short_number(end) for end in ends]
        figure.update_xaxes(type=kind, tickvals=ends, ticktext=texts, row=row + 1, col=column + 1)
    figure.update_xaxes(showgrid=False, ticks="", tickfont={"size": 10, "color": ink(dark)})
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%", dtick=0.5, tickfont={"color": ink(dark)})
    figure.update_annotations(font={"size": 12, "color": ink(dark)})
    figure.update_layout(
        height=122 * n_rows + 80,
        margin={"l": 45, "r": 10, "t": 34, "b": 60},
        legend={"orientation": "h", "y": -0.05, "yanchor": "top", "x": 0},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    return figure


def _short_number(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"
