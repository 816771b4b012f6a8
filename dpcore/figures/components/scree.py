"""Eigenvalues, exact and private, against the edge of what noise alone would give."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.plot_parts import legend_above, named_level
from dpcore.figures.style import GREY, base_figure, faded, look_of


def scree(
    exact: FloatArray,
    private: Mapping[str, FloatArray],
    edge: float,
    *,
    protocol: str,
    dark: bool = False,
) -> go.Figure:
    """Scree plot: eigenvalue by rank.

    Parameters
    ----------
    exact : ndarray of shape (n,)
        Leading exact eigenvalues, descending.
    private : mapping of str to ndarray of shape (up to n,)
        Private eigenvalues by label, strongest promise last.
    edge : float
        Edge of the spectrum of pure noise for the last of them.
    protocol : str
        Whose colour the private ones take.
    """
    figure = base_figure(380)
    exact_look, look = look_of("exact", dark=dark), look_of(protocol, dark=dark)
    ranks = np.arange(1, len(exact) + 1)
    figure.add_scatter(
        x=ranks,
        y=exact,
        name=exact_look.label,
        mode="lines",
        line={"color": exact_look.colour, "dash": exact_look.dash, "width": 2},
        hovertemplate="eigenvalue %{x}: %{y:.3g}<extra>exact</extra>",
    )
    for number, (label, eigenvalues) in enumerate(private.items(), start=1):
        figure.add_scatter(
            x=ranks[: len(eigenvalues)],
            y=eigenvalues,
            name=label,
            mode="lines+markers",
            line={"color": faded(look.colour, 0.35 + 0.65 * number / len(private))},
            marker={"size": 6, "symbol": look.symbol},
            hovertemplate="eigenvalue %{x}: %{y:.3g}<extra>" + label + "</extra>",
        )
    if edge > 0:
        figure.add_hrect(y0=-edge, y1=edge, fillcolor=faded(GREY, 0.18), line={"width": 0})
        named_level(figure, edge, "edge of pure noise", line={"width": 0})
    figure.update_xaxes(title="rank")
    figure.update_yaxes(title="eigenvalue (units of the second moment)", rangemode="tozero")
    return legend_above(figure)
