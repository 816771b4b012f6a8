"""Energy over two parameters: a heat map with a line where a target is reached."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.style import base_figure

# Dark at little energy, bright at much, and readable without colour vision.
_SCALE = "Cividis"


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

    Parameters
    ----------
    xs, ys : sequences of positive numbers, ascending
    energies : ndarray of shape (len(ys), len(xs))
        NaN where nothing is known (yet).
    target : float
        Its contour is drawn.
    x_title, y_title : str
    here : (x, y), optional
        The present setting, marked with a cross.
    """
    # On linear axes of logarithms, contours are interpolated as people read the grid.
    across, up = [math.log10(x) for x in xs], [math.log10(y) for y in ys]
    values = [[None if math.isnan(v) else float(v) for v in line] for line in energies]
    shown = [["" if v is None else f"{100 * v:.0f}" for v in line] for line in values]
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
        text=shown,
        texttemplate="%{text}",
        textfont={"size": 11},
        customdata=[[[x, y] for x in xs] for y in ys],
        hoverongaps=False,
        hovertemplate=f"%{{z:.1%}}<br>{x_title}: %{{customdata[0]:.3g}}"
        f"<br>{y_title}: %{{customdata[1]:.3g}}<extra></extra>",
        showscale=False,  # the cells say their percent
    )
    if np.isfinite(energies).sum() > 3:
        for colour, width in (("#1a1a1a", 6), ("#ffffff", 3)):
            figure.add_contour(
                x=across,
                y=up,
                z=values,
                contours={"start": target, "end": target, "size": 1, "coloring": "none"},
                line={"color": colour, "width": width},
                showscale=False,
                hoverinfo="skip",
            )
    if here is not None and xs[0] <= here[0] <= xs[-1] and ys[0] <= here[1] <= ys[-1]:
        figure.add_scatter(
            x=[math.log10(here[0])],
            y=[math.log10(here[1])],
            mode="markers",
            marker={
                "symbol": "x",
                "size": 13,
                "color": "#D55E00",
                "line": {"color": "#ffffff", "width": 2},
            },
            hovertemplate="the present setting<extra></extra>",
        )
    figure.update_xaxes(
        title=x_title, tickvals=across, ticktext=[_plain(x) for x in xs], showgrid=False
    )
    figure.update_yaxes(
        title=y_title, tickvals=up, ticktext=[_plain(y) for y in ys], showgrid=False
    )
    return figure


def _plain(number: float) -> str:
    """A tick: no exponent where a person would write none."""
    return f"{number:,.10g}" if number >= 1e-4 else f"10<sup>{round(math.log10(number))}</sup>"
