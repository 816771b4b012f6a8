"""Score plot: density of people on two private components, next to their exact scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray, IntArray
from dpcore.figures.style import base_figure, ink, look_of, with_opacity

# Okabe and Ito's colours, then those of Tol's bright palette, one per group.
GROUP_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
    "#56B4E9", "#66CCEE", "#AA3377", "#228833", "#8a8a8a",
)  # fmt: skip
# Largest number of groups that a figure can show.
MOST_GROUPS = len(GROUP_COLOURS)
# Share of a group's people within its outer and its inner line.
_OUTER, _INNER = 0.8, 0.5
# Groups with both lines; of more groups only the inner line is drawn.
_FEW_GROUPS = 4
_MOST_POINTS = 1500
_HEIGHT = 400


def density_figure(
    density: FloatArray, edges: FloatArray, names: Sequence[str], *, dark: bool = False
) -> go.Figure:
    """Draw the released density, as a map of all people or as lines around each group.

    density: shape (n_groups, n_bins, n_bins)
    edges: shape (2, n_bins + 1)
    names: Names of the groups; a single name draws the map.
    """
    figure = base_figure(_HEIGHT)
    x, y = (edges[:, 1:] + edges[:, :-1]) / 2
    if len(names) == 1:
        colour = look_of("dpdis", dark=dark).colour
        figure.add_contour(
            x=x,
            y=y,
            z=density[0].T,
            colorscale=[(0, with_opacity(colour, 0.0)), (1, with_opacity(colour, 1.0))],
            contours={"coloring": "heatmap"},
            line={"width": 0.5, "smoothing": 1.0},
            showscale=False,
            hovertemplate="about %{z:.0f} people<extra></extra>",
        )
        return _with_axes(figure, edges)
    for number, name in enumerate(names):
        counts = density[number]
        outer, inner = (_level_of_share(counts, share) for share in (_OUTER, _INNER))
        if not 0 < outer < counts.max():
            continue
        lines = ((outer, 1.5), (inner, 3.0)) if len(names) <= _FEW_GROUPS else ((inner, 3.0),)
        colour = GROUP_COLOURS[number % MOST_GROUPS]
        for level, width in lines:
            figure.add_contour(
                x=x,
                y=y,
                z=counts.T,
                contours={"start": level, "end": level, "size": 1.0, "coloring": "lines"},
                colorscale=[(0, colour), (1, colour)],
                line={"width": width, "smoothing": 1.2},
                showscale=False,
                hoverinfo="skip",
            )
        row, column = np.unravel_index(np.argmax(counts), counts.shape)
        figure.add_annotation(
            x=x[row],
            y=y[column],
            text=f"<b>{name}</b>",
            showarrow=False,
            font={"color": colour, "size": 18},
        )
    return _with_axes(figure, edges)


def scatter_figure(
    points: FloatArray,
    groups: IntArray | None,
    edges: FloatArray,
    names: Sequence[str],
    *,
    dark: bool = False,
) -> go.Figure:
    """Draw exact scores as dots. Not private.

    points: shape (n_samples, 2). At most 1,500 are drawn, evenly over the rows.
    groups: Number of each person's group, or None.
    edges, names: See `density_figure`.
    """
    figure = base_figure(_HEIGHT)
    step = max(1, -(-len(points) // _MOST_POINTS))
    within = np.clip(points[::step], edges[:, 0], edges[:, -1])
    group_of = np.zeros(len(within), dtype=int) if groups is None else groups[::step]
    for number, name in enumerate(names):
        of_group = within[group_of == number]
        colour = ink(dark) if len(names) == 1 else GROUP_COLOURS[number % MOST_GROUPS]
        figure.add_scatter(
            x=of_group[:, 0],
            y=of_group[:, 1],
            mode="markers",
            marker={"size": 4, "color": colour, "opacity": 0.6},
            name=name,
            hoverinfo="skip",
        )
        if name and len(of_group):
            x, y = np.median(of_group, axis=0)
            text = f"<b>{name}</b>"
            figure.add_annotation(
                x=x, y=y, text=text, showarrow=False, font={"color": ink(dark), "size": 18}
            )
    return _with_axes(figure, edges)


def _level_of_share(counts: FloatArray, share: float) -> float:
    """Return the count above which the densest cells hold this share of the people."""
    descending = np.sort(counts, axis=None)[::-1]
    total = descending.sum()
    if total <= 0:
        return 0.0
    position = int(np.searchsorted(np.cumsum(descending), share * total))
    return float(descending[min(position, len(descending) - 1)])


def _with_axes(figure: go.Figure, edges: FloatArray) -> go.Figure:
    for number, update in enumerate((figure.update_xaxes, figure.update_yaxes)):
        update(
            range=[edges[number, 0], edges[number, -1]],
            title=f"component {number + 1}",
            zeroline=False,
        )
    return figure
