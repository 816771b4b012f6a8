"""What many charts have in common: tidy rows, a legend above, named levels, the spread of draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dpcore.arrays import AnyArray
from dpcore.figures.style import GREY, ink

# Shares of an exact result, with room for the markers of those that reach it.
PERCENT_RANGE = (0.0, 1.06)
ENERGY_TITLE = "captured energy, share of exact PCA"

Row = Mapping[str, Any]
"""One row: the name of each column, and its value."""
Table = Sequence[Row]
"""Rows of one kind."""


LEGEND_ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


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
