"""Figures of costs: captured energy against bytes sent, and rows per site against epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
import plotly.graph_objects as go

from dpcore.figures.style import (
    ENERGY_AXIS,
    Table,
    add_line,
    base_figure,
    exact_and_random,
    faded,
    ink,
    legend_above,
    log_axis,
    look_of,
)

_PRECISIONS = {
    "float64": ("square", "dot"),
    "float32": ("circle", "solid"),
    "float16": ("triangle-up", "dash"),
    "int8": ("x", "dashdot"),
}
# Steps with a label; more would lie over each other on a telephone.
_LABELS = {"rounded:4": "4σ", "rounded:2": "2σ", "rounded:1": "1σ", "native": "as it is"}
_UNITS = ("B", "kB", "MB", "GB")


def energy_frontier(
    points: Table,
    *,
    byte_range: tuple[float, float],
    floor: float,
    height: int = 460,
    dark: bool = False,
) -> go.Figure:
    """Energy of every way to send against its bytes, and the frontier of the best.

    points: With family, encoding, label, bytes_per_site, energy, least, greatest, is_best.
    byte_range: (float, float). Ends of the axis, fixed so that it stands still while points arrive.
    floor: Energy of a random subspace.
    """
    figure = base_figure(height)
    best = [point for point in points if point["is_best"]]
    figure.add_scatter(
        x=[point["bytes_per_site"] for point in best],
        y=[point["energy"] for point in best],
        mode="lines",
        line={"color": faded(ink(dark), 0.3), "width": 9, "shape": "hv"},
        name="the best for its bytes",
        hoverinfo="skip",
    )
    for encoding, (symbol, dash) in _PRECISIONS.items():
        own = [p for p in points if p["family"] == "proxy" and p["encoding"] == encoding]
        name = "8 bits" if encoding == "int8" else encoding
        _add_line(figure, own, f"DPdisPCA, {name}", look_of("dpdis").colour, symbol, dash)
    whole = [point for point in points if point["family"] == "whole matrix"]
    look = look_of("full")
    _add_line(figure, whole, "whole matrix, rounded", look.colour, look.symbol, "solid", named=True)
    low, high = (math.log10(end) for end in byte_range)
    ticks = [10.0**power for power in range(math.floor(low), math.ceil(high) + 1)]
    figure.update_xaxes(
        type="log",
        range=[low, high],
        tickvals=ticks,
        ticktext=[_bytes(tick) for tick in ticks],
        title="← cheaper     bytes a site sends     dearer →",
    )
    exact_and_random(figure, floor, dark=dark)
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
    named: bool = False,
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
            "color": faded(colour, 0.35),
            "thickness": 1,
            "width": 0,
        },
        mode="lines+markers+text" if named else "lines+markers",
        text=[_LABELS.get(point["encoding"], "") for point in points] if named else None,
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
    """The fewest rows of a site from which on the mean of the runs reaches a target, by epsilon.

    rows: With epsilon, people_per_site, energy_ratio; an epsilon of which runs are missing is left
        out.
    target: Share of the optimum.
    sizes: Rows of a site that were asked for.
    draws: Runs of each of them.
    Returns None at an epsilon at which the largest size stays below the target.
    """
    energies: dict[float, dict[int, list[float]]] = {}
    for row in rows:
        of_epsilon = energies.setdefault(row["epsilon"], {})
        of_epsilon.setdefault(row["people_per_site"], []).append(row["energy_ratio"])
    found: dict[float, int | None] = {}
    for epsilon, at in sorted(energies.items()):
        if any(len(at.get(size, ())) < draws for size in sizes):
            continue
        below = [size for size in sizes if fmean(at[size]) < target]
        found[epsilon] = min((n for n in sizes if n > max(below, default=0)), default=None)
    return found


def rows_needed_figure(
    needed: Mapping[float, Mapping[float, int | None]],
    epsilons: Sequence[float],
    sizes: Sequence[int],
    *,
    key: str,
    many: str,
    dark: bool = False,
) -> go.Figure:
    """Rows of a site that a share of the optimum needs, against epsilon: a line a share.

    needed: By share, what `rows_needed` found.
    epsilons, sizes: That the axes span.
    key: The protocol.
    many: What rows are called.
    """
    figure, look = base_figure(380), look_of(key, dark=dark)
    for (target, found), dash in zip(needed.items(), ("solid", "dash", "dot"), strict=False):
        reached = [(epsilon, size) for epsilon, size in found.items() if size is not None]
        add_line(
            figure,
            [epsilon for epsilon, _ in reached],
            [size for _, size in reached],
            f"{100 * target:.0f} % survives",
            f"%{{y:,}} {many} per site for {100 * target:.0f} % at ε = %{{x:g}}",
            colour=look.colour,
            dash=dash,
            width=3,
            mode="lines+markers",
        )
    for update, values, title in (
        (figure.update_xaxes, epsilons, "← more private     asked ε     less private →"),
        (figure.update_yaxes, sizes, f"{many} needed per site"),
    ):
        ends = np.log10([0.8 * min(values), 1.25 * max(values)])
        update(title=title, range=ends, **log_axis(list(values)))
    return legend_above(figure)
