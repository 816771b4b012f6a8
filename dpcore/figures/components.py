"""Charts of components: eigenvalues by rank, loadings, scores and shares of the variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray, IntArray, largest_entries
from dpcore.figures.style import (
    GREY,
    PROTOCOLS,
    add_line,
    add_named_level,
    base_figure,
    ink,
    legend_above,
    look_of,
    plain_text,
    put_small_legend_above,
    with_opacity,
)

_MOST_FEATURES = 6
# Tol's muted colours, ordered so that neighbours differ. No protocol has one of them.
_ON_LIGHT = (
    "#332288", "#cc6677", "#117733", "#ddaa33", "#4aa3d0",
    "#882255", "#44aa99", "#999933", "#aa4499", "#6b6b6b",
)  # fmt: skip
_ON_DARK = (
    "#9a8cff", "#e88b99", "#4fbf72", "#ddcc77", "#88ccee",
    "#e0659c", "#55c9b6", "#c2c25a", "#d37fc6", "#b5b5b5",
)  # fmt: skip
_SYMBOLS = ("circle", "diamond", "square", "cross", "triangle-up")
_DASHES = ("solid", "dot", "longdash", "dashdot")
_REACH = 3.6


def scree(
    exact: FloatArray,
    private: Mapping[str, FloatArray],
    edge: float,
    *,
    protocol: str,
    dark: bool = False,
) -> go.Figure:
    """Draw a scree plot: eigenvalue by rank.

    exact: shape (n,). Leading exact eigenvalues, descending.
    private: mapping of str to shape (up to n,). Private eigenvalues by label, the strongest
        guarantee last.
    edge: Edge of the spectrum of pure noise for the last of them.
    protocol: Protocol whose colour the last spectrum has. Other spectra have other colours.
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
    # Shades of one hue are hard to distinguish, so only the strongest guarantee has the
    # protocol's colour.
    shades = (look.colour, *(_ON_DARK if dark else _ON_LIGHT))
    for number, (label, eigenvalues) in enumerate(list(private.items())[::-1]):
        figure.add_scatter(
            x=ranks[: len(eigenvalues)],
            y=eigenvalues,
            name=label,
            mode="lines+markers",
            line={"color": shades[number % len(shades)], "dash": _DASHES[number % len(_DASHES)]},
            marker={"size": 7, "symbol": _SYMBOLS[number % len(_SYMBOLS)], "maxdisplayed": 12},
            hovertemplate="eigenvalue %{x}: %{y:.3g}<extra>" + label + "</extra>",
        )
    if edge > 0:
        figure.add_hrect(y0=-edge, y1=edge, fillcolor=with_opacity(GREY, 0.18), line={"width": 0})
        add_named_level(figure, edge, "edge of pure noise", line={"width": 0})
    figure.update_xaxes(title="rank")
    figure.update_yaxes(title="eigenvalue (units of the second moment)", rangemode="tozero")
    return legend_above(figure)


def loading_bars(
    loadings: Mapping[str, FloatArray],
    feature_names: tuple[str, ...],
    *,
    protocol: str = "exact",
    dark: bool = False,
) -> go.Figure:
    """Draw the loadings of one component, one group of bars per feature.

    Shows the six features with the largest loadings in the first component.

    loadings: mapping of str to shape (n_features,). Loadings by title, the exact component first,
        with aligned signs. A protocol's title has its colour; other titles, such as values of ε,
        share the colour of `protocol`.
    protocol: Protocol whose colour other titles share, palest first.
    """
    leading = next(iter(loadings.values()))
    strongest = largest_entries(leading, _MOST_FEATURES)[::-1]
    names = [plain_text(feature_names[index]) for index in strongest]
    colours = _colours(tuple(loadings), protocol, dark)
    figure = base_figure(450)
    for title, values in reversed(list(loadings.items())):
        figure.add_bar(
            x=values[strongest],
            y=names,
            orientation="h",
            name=title,
            marker={"color": colours[title]},
            hovertemplate="%{y}: %{x:.2f}<extra>" + title + "</extra>",
        )
    figure.update_xaxes(range=[-1, 1], title="loading")
    figure.update_layout(barmode="group")
    return legend_above(figure, traceorder="reversed")


def _colours(titles: tuple[str, ...], protocol: str, dark: bool) -> dict[str, str]:
    keys = {entry.title: key for key, entry in PROTOCOLS.items()}
    others = [title for title in titles if title not in keys]
    shared = look_of(protocol, dark=dark).colour
    return {
        title: look_of(keys[title], dark=dark).colour
        if title in keys
        else with_opacity(shared, 0.35 + 0.65 * (others.index(title) + 1) / len(others))
        for title in titles
    }


def people_scatter(
    horizontal: FloatArray,
    vertical: FloatArray,
    labels: IntArray | None,
    label_names: Sequence[str] | None,
    *,
    axis_titles: tuple[str, str],
    dark: bool = False,
) -> go.Figure:
    """Draw standardised scores of rows as a square cloud, one colour per group.

    horizontal, vertical: shape (n_people,). Scores with mean 0 and standard deviation 1. The axes
        always cover 3.6 deviations.
    labels: ndarray of int, shape (n_people,), or None. Positions in `label_names`.
    axis_titles: (str, str)
    """
    colours = _ON_DARK if dark else _ON_LIGHT
    figure = base_figure(420)
    groups = [None] if labels is None else sorted(set(labels.tolist()))
    for number, group in enumerate(groups):
        members = slice(None) if group is None else labels == group
        name = "people" if group is None else str(label_names[group] if label_names else group)
        name = plain_text(name)
        figure.add_scatter(
            x=np.round(horizontal[members], 3),
            y=np.round(vertical[members], 3),
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


def spectrum(
    eigenvalues: FloatArray,
    exact: FloatArray,
    n_kept: int | None,
    *,
    dark: bool = False,
) -> go.Figure:
    """Draw the eigenvalues of a noisy matrix as bars in ranked order.

    The selected eigenvalues are coloured.

    eigenvalues: shape (n,)
    exact: shape (n,). Eigenvalues without noise, descending.
    n_kept: Number of leading eigenvalues in colour; None for all.
    """
    figure = base_figure(320)
    ranks = np.arange(1, len(eigenvalues) + 1)
    is_selected = ranks <= (len(ranks) if n_kept is None else n_kept)
    colour = look_of("dpdis").colour
    for name, chosen, shade in (
        ("selected" if n_kept is not None else "noisy", is_selected, colour),
        ("discarded", ~is_selected, GREY),
    ):
        if chosen.any():
            figure.add_bar(
                x=ranks[chosen],
                y=eigenvalues[chosen],
                name=name,
                marker={"color": shade, "line": {"width": 0}},
                hovertemplate="eigenvalue %{x}: %{y:.3g}<extra>" + name + "</extra>",
            )
    hover = "eigenvalue %{x}: %{y:.3g}"
    add_line(figure, ranks, exact, "before the noise", hover, colour=ink(dark), dash="dash")
    figure.update_xaxes(title="rank", zeroline=False)
    figure.update_yaxes(title="eigenvalue")
    figure.update_layout(bargap=0.1)
    return put_small_legend_above(figure)


def released_variances(
    shares: FloatArray, intervals: FloatArray, *, dark: bool = False
) -> go.Figure:
    """Draw the share of the variance of each released component, with its interval.

    shares: shape (n_components,). Share of the total variance; NaN if it is indistinguishable from
        noise.
    intervals: shape (2, n_components)
    """
    figure = base_figure(300)
    figure.add_bar(
        x=list(range(1, len(shares) + 1)),
        y=shares,
        marker={"color": look_of("ag", dark=dark).colour},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": (intervals[1] - shares).clip(0),
            "arrayminus": (shares - intervals[0]).clip(0),
            "color": ink(dark),
        },
        hovertemplate="component %{x}: %{y:.1%}<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(title="component", dtick=1, range=[0.4, len(shares) + 0.6])
    figure.update_yaxes(title="share of the variance", tickformat=".0%", rangemode="tozero")
    return figure
