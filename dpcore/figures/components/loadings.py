"""One component as bars: how much each feature weighs in it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.plot_parts import legend_above
from dpcore.figures.style import PROTOCOLS, base_figure, faded, look_of

_MOST_FEATURES = 15


def loading_bars(
    loadings: Mapping[str, FloatArray],
    feature_names: tuple[str, ...],
    *,
    protocol: str = "exact",
    dark: bool = False,
) -> go.Figure:
    """Loadings of one component, one group of bars a feature.

    Parameters
    ----------
    loadings : mapping of str to ndarray of shape (n_features,)
        By title, the exact component first, with signs aligned. The title of a protocol
        takes its colour; others, as the same protocol at several ε, share that of `protocol`.
    feature_names : tuple of str
    protocol : str
        Whose colour those others take, palest first.
    dark : bool

    Returns
    -------
    Figure
        The fifteen features that weigh most in the first component given.
    """
    leading = next(iter(loadings.values()))
    strongest = np.argsort(-np.abs(leading), kind="stable")[:_MOST_FEATURES][::-1]
    names = [feature_names[index] for index in strongest]
    colours = _colours(tuple(loadings), protocol, dark)
    figure = base_figure(120 + 26 * len(strongest))
    for title, values in reversed(list(loadings.items())):
        figure.add_bar(
            x=values[strongest],
            y=names,
            orientation="h",
            name=title,
            marker={"color": colours[title]},
            hovertemplate="%{y}: %{x:.2f}<extra>" + title + "</extra>",
        )
    figure.update_xaxes(range=[-1, 1], title="loading (each component has length 1)")
    figure.update_layout(barmode="group")
    return legend_above(figure, traceorder="reversed")


def _colours(titles: tuple[str, ...], protocol: str, dark: bool) -> dict[str, str]:
    keys = {entry.title: key for key, entry in PROTOCOLS.items()}
    others = [title for title in titles if title not in keys]
    shared = look_of(protocol, dark=dark).colour
    return {
        title: look_of(keys[title], dark=dark).colour
        if title in keys
        else faded(shared, 0.35 + 0.65 * (others.index(title) + 1) / len(others))
        for title in titles
    }
