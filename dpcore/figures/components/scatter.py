"""People as points, coloured by what they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray, IntArray
from dpcore.figures.style import GREY, base_figure

# Tol's muted colours, in the order that keeps neighbours apart; none of them means a protocol.
_ON_LIGHT = (
    "#332288", "#cc6677", "#117733", "#ddaa33", "#4aa3d0",
    "#882255", "#44aa99", "#999933", "#aa4499", "#6b6b6b",
)  # fmt: skip
_ON_DARK = (
    "#9a8cff", "#e88b99", "#4fbf72", "#ddcc77", "#88ccee",
    "#e0659c", "#55c9b6", "#c2c25a", "#d37fc6", "#b5b5b5",
)  # fmt: skip
_SYMBOLS = ("circle", "diamond", "square", "cross", "triangle-up")
_REACH = 3.6


def people_scatter(
    horizontal: FloatArray,
    vertical: FloatArray,
    labels: IntArray | None,
    label_names: Sequence[str] | None,
    *,
    axis_titles: tuple[str, str],
    dark: bool = False,
) -> go.Figure:
    """Standardised scores of people as a square cloud, one colour a group.

    Parameters
    ----------
    horizontal, vertical : ndarray of shape (n_people,)
        Mean 0, standard deviation 1: the axes reach 3.6 deviations and stand still.
    labels : ndarray of int, shape (n_people,), or None
        Positions in `label_names`.
    axis_titles : (str, str)
    """
    colours = _ON_DARK if dark else _ON_LIGHT
    figure = base_figure(420)
    groups = [None] if labels is None else sorted(set(labels.tolist()))
    for number, group in enumerate(groups):
        mine = slice(None) if group is None else labels == group
        name = "people" if group is None else str(label_names[group] if label_names else group)
        figure.add_scatter(
            x=np.round(horizontal[mine], 3),
            y=np.round(vertical[mine], 3),
            mode="markers",
            name=name,
            marker={
                "color": GREY if group is None else colours[number % len(colours)],
                "symbol": _SYMBOLS[number // len(colours) % len(_SYMBOLS)],
                "size": 5,
                "opacity": 0.75,
            },
            hoverinfo="skip" if group is None else "name",
        )
    figure.update_xaxes(title=axis_titles[0], range=[-_REACH, _REACH], zeroline=False)
    figure.update_yaxes(title=axis_titles[1], range=[-_REACH, _REACH], zeroline=False)
    figure.update_layout(
        showlegend=labels is not None,
        legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "itemsizing": "constant"},
    )
    return figure
