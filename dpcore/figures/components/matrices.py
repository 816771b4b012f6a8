"""A matrix as a picture: one pixel an entry, magnified, blue below zero and red above."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.components.images import diverging, tile_strip
from dpcore.figures.plot_parts import small_legend_above
from dpcore.figures.style import GREY, base_figure, ink, look_of

_WIDEST = 1200


def matrix_png(matrix: FloatArray, limit: float, *, pixels: int = 420) -> bytes:
    """PNG of a matrix, entries of size `limit` and above in the strongest colours.

    Parameters
    ----------
    matrix : ndarray of shape (rows, columns)
    limit : float
        Positive.
    pixels : int
        Width, about: entries are magnified by a whole number, and never blurred.
    """
    rows, columns = matrix.shape
    if max(rows, columns) > _WIDEST:
        step = -(-max(rows, columns) // _WIDEST)
        matrix = matrix[::step, ::step]
    return tile_strip(diverging(matrix, limit)[None], tile_pixels=pixels)


def colour_scale_png(width: int = 240, height: int = 10) -> bytes:
    """PNG of the colours from minus `limit` to plus `limit`."""
    ramp = np.tile(np.linspace(-1, 1, width), (height, 1))
    return tile_strip(diverging(ramp, 1.0)[None], tile_pixels=width)


def spectrum(
    eigenvalues: FloatArray,
    exact: FloatArray,
    n_kept: int | None,
    *,
    dark: bool = False,
) -> go.Figure:
    """Eigenvalues of a noisy matrix as bars, in the order they are ranked, those kept in colour.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n,)
    exact : ndarray of shape (n,)
        Without the noise, descending.
    n_kept : int or None
        How many of the first are kept; None colours all.
    """
    figure = base_figure(320)
    ranks = np.arange(1, len(eigenvalues) + 1)
    kept = ranks <= (len(ranks) if n_kept is None else n_kept)
    colour = look_of("dpdis").colour
    for name, chosen, shade in (
        ("kept" if n_kept is not None else "noisy", kept, colour),
        ("cut away", ~kept, GREY),
    ):
        if chosen.any():
            figure.add_bar(
                x=ranks[chosen],
                y=eigenvalues[chosen],
                name=name,
                marker={"color": shade, "line": {"width": 0}},
                hovertemplate="eigenvalue %{x}: %{y:.3g}<extra>" + name + "</extra>",
            )
    figure.add_scatter(
        x=ranks,
        y=exact,
        name="before the noise",
        mode="lines",
        line={"color": ink(dark), "dash": "dash", "width": 2},
        hovertemplate="eigenvalue %{x}: %{y:.3g}<extra>before the noise</extra>",
    )
    figure.update_xaxes(title="rank", zeroline=False)
    figure.update_yaxes(title="eigenvalue")
    figure.update_layout(bargap=0.1)
    return small_legend_above(figure)
