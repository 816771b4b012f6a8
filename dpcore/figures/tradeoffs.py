"""Figures of costs: captured energy against bytes sent, and rows per site against epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
import plotly.graph_objects as go

from dpcore.figures.style import (
    ENERGY_AXIS,
    GREY,
    Table,
    add_exact_and_floor,
    add_line,
    base_figure,
    ink,
    legend_above,
    log_axis,
    log_axis_at,
    look_of,
    with_opacity,
)

_PRECISIONS = {
    "float64": ("square", "dot"),
    "float32": ("circle", "solid"),
    "float16": ("triangle-up", "dash"),
    "int8": ("x", "dashdot"),
}
# Labelled steps; more labels overlap on a phone.
_LABELS = {"rounded:4": "4σ", "rounded:2": "2σ", "rounded:1": "1σ", "native": "unrounded"}
_UNITS = ("B", "kB", "MB", "GB")


def energy_frontier(
    points: Table,
    *,
    byte_range: tuple[float, float],
    floor: float,
    dark: bool = False,
) -> go.Figure:
    """Draw captured energy of every encoding against its bytes, and the frontier of the best ones.

    points: Rows with family, encoding, label, bytes_per_site, energy, least, greatest and is_best.
    byte_range: (float, float). Fixed ends of the axis, independent of the points that have arrived.
    floor: Floor of the captured energy.
    """
    figure = base_figure(460)
    best = [point for point in points if point["is_best"]]
    figure.add_scatter(
        x=[point["bytes_per_site"] for point in best],
        y=[point["energy"] for point in best],
        mode="lines",
        line={"color": with_opacity(ink(dark), 0.3), "width": 9, "shape": "hv"},
        name="best per size",
        hoverinfo="skip",
    )
    for encoding, (symbol, dash) in _PRECISIONS.items():
        with_encoding = [p for p in points if p["family"] == "proxy" and p["encoding"] == encoding]
        name = "8 bits" if encoding == "int8" else encoding
        _add_line(figure, with_encoding, f"DPdisPCA, {name}", look_of("dpdis").colour, symbol, dash)
    whole = [point for point in points if point["family"] == "whole matrix"]
    look = look_of("full")
    _add_line(
        figure, whole, "whole matrix, rounded", look.colour, look.symbol, "solid", is_labelled=True
    )
    low, high = (math.log10(end) for end in byte_range)
    ticks = [10.0**power for power in range(math.floor(low), math.ceil(high) + 1)]
    figure.update_xaxes(
        **log_axis_at(ticks, _bytes, ends=byte_range),
        title="← cheaper     bytes per site     more expensive →",
    )
    add_exact_and_floor(figure, floor, dark=dark)
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
    is_labelled: bool = False,
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
            "color": with_opacity(colour, 0.35),
            "thickness": 1,
            "width": 0,
        },
        mode="lines+markers+text" if is_labelled else "lines+markers",
        text=[_LABELS.get(point["encoding"], "") for point in points] if is_labelled else None,
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


def rows_needed(
    rows: Table, target: float, sizes: Sequence[int], draws: int
) -> dict[float, int | None]:
    """Return the rows per site needed for a target, by epsilon.

    The number is the smallest size from which on the mean captured energy reaches the target.

    An epsilon without all its runs is omitted. The value is None if the largest size stays below
    the target.

    rows: Rows with epsilon, people_per_site and energy_ratio.
    target: Captured energy.
    sizes: Numbers of rows per site in the runs.
    draws: Number of runs of each size.
    """
    energies: dict[float, dict[int, list[float]]] = {}
    for row in rows:
        of_epsilon = energies.setdefault(row["epsilon"], {})
        of_epsilon.setdefault(row["people_per_site"], []).append(row["energy_ratio"])
    sizes_needed: dict[float, int | None] = {}
    for epsilon, at in sorted(energies.items()):
        if any(len(at.get(size, ())) < draws for size in sizes):
            continue
        below = [size for size in sizes if fmean(at[size]) < target]
        sizes_needed[epsilon] = min((n for n in sizes if n > max(below, default=0)), default=None)
    return sizes_needed


def rows_needed_figure(
    needed: Mapping[float, Mapping[float, int | None]],
    epsilons: Sequence[float],
    sizes: Sequence[int],
    *,
    key: str,
    many: str,
    dark: bool = False,
) -> go.Figure:
    """Draw the rows per site needed for a captured energy against epsilon, one line per target.

    needed: mapping of target to the result of `rows_needed`.
    epsilons, sizes: Values covered by the axes.
    key: Key of the protocol.
    many: Plural noun for rows, for example "people".
    """
    figure, look = base_figure(380), look_of(key, dark=dark)
    for (target, sizes_by_epsilon), dash in zip(
        needed.items(), ("solid", "dash", "dot"), strict=False
    ):
        reached = [
            (epsilon, size) for epsilon, size in sizes_by_epsilon.items() if size is not None
        ]
        add_line(
            figure,
            [epsilon for epsilon, _ in reached],
            [size for _, size in reached],
            f"{100 * target:.0f} % captured energy",
            f"%{{y:,}} {many} per site for {100 * target:.0f} % at ε = %{{x:~g}}",
            colour=look.colour,
            dash=dash,
            width=3,
            mode="lines+markers",
        )
    for update, values, title in (
        (figure.update_xaxes, epsilons, "← more private     requested ε     less private →"),
        (figure.update_yaxes, sizes, f"{many} needed per site"),
    ):
        ends = np.log10([0.8 * min(values), 1.25 * max(values)])
        update(title=title, range=ends, **log_axis(list(values)))
    return legend_above(figure)


def harm_and_use(points: Table, *, most_right: int, target: float, dark: bool = False) -> go.Figure:
    """Draw captured energy against the number of attackers who are right, one point per epsilon.

    points: Rows with epsilon, right and energy.
    most_right: Largest tolerable number of 100 attackers; what exceeds it is shaded.
    target: Requested captured energy.
    """
    figure = base_figure(400)
    colour = look_of("dpdis", dark=dark).colour
    figure.add_vrect(x0=most_right, x1=107, fillcolor=GREY, opacity=0.25, line_width=0)
    figure.add_hline(y=target, line={"color": ink(dark), "dash": "dash", "width": 1.5})
    figure.add_scatter(
        x=[point["right"] for point in points],
        y=[point["energy"] for point in points],
        text=_names_apart(points),
        customdata=[point["epsilon"] for point in points],
        mode="lines+markers+text",
        # The curve rises, so the space above to the left of a point and below to the right is free.
        textposition=["top left" if point["right"] >= 60 else "bottom right" for point in points],
        marker={"size": 9, "color": colour},
        line={"color": colour, "width": 2},
        hovertemplate="ε = %{customdata}: %{x} of 100 right, %{y:.0%} captured<extra></extra>",
    )
    figure.update_xaxes(
        range=[49, 107],
        title="of 100 attackers, right at most (a coin: 50)",
        tickvals=[50, 60, 70, 80, 90, 100],
    )
    figure.update_yaxes(**ENERGY_AXIS)
    return figure.update_layout(showlegend=False)


def _names_apart(points: Table) -> list[str]:
    """Return the epsilon of each point as text, empty where it would overlap the last one."""
    names: list[str] = []
    last: Mapping[str, float] = {"right": 51, "energy": -1.0}
    for point in points:
        # Many small values of epsilon lie at 51 of 100.
        is_apart = point["right"] >= last["right"] + 6 or point["energy"] >= last["energy"] + 0.08
        is_named = point["right"] > 51 and is_apart
        names.append(f"ε {point['epsilon']:g}" if is_named else "")
        last = point if is_named else last
    return names
