"""Figures of classification: test error along a parameter and confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.style import (
    GREY,
    Look,
    Table,
    add_band,
    add_named_level,
    base_figure,
    error_range,
    ink,
    legend_above,
    log_axis,
    look_of,
    mark_setting,
    values_by,
    with_opacity,
)

# The colour shows the kind of subspace, the dash whether the classifier is private too.
_PIPELINES = {
    "exact": "nothing private",
    "random": "random subspace, training not private",
    "subspace": "private subspace, training not private",
    "random-private": "random subspace, all of ε for training",
    "private": "everything private",
}


def _line_of(pipeline: str, protocol: str, dark: bool) -> Look:
    label = _PIPELINES[pipeline]
    if pipeline == "exact":
        return Look(ink(dark), "line-ew-open", "dash", label)
    if pipeline == "random":
        return Look(GREY, "x-thin-open", "dot", label)
    if pipeline == "random-private":
        return Look(GREY, "x", "dashdot", label)
    colour = look_of(protocol, dark=dark).colour
    if pipeline == "subspace":
        return Look(colour, "circle-open", "dot", label)
    return Look(colour, "circle", "solid", label)


def error_curves(
    rows: Table,
    *,
    protocol: str,
    chance: float,
    axis_range: tuple[float, float],
    marker: float | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw test error against the requested epsilon.

    Each pipeline has one line, with a band over the draws.

    Pipelines that do not depend on epsilon are horizontal lines.

    rows: Rows with pipeline, epsilon (infinite for horizontal lines) and test_error.
    protocol: Protocol whose colour the private subspace has.
    chance: Error of always predicting the most frequent class.
    axis_range: (float, float)
    marker: Current epsilon.
    """
    figure = base_figure(430)
    low, high = axis_range
    for pipeline in _PIPELINES:
        rows_of_pipeline = [row for row in rows if row["pipeline"] == pipeline]
        if not rows_of_pipeline:
            continue
        line = _line_of(pipeline, protocol, dark)
        level = pipeline in ("exact", "random")
        errors = values_by(rows_of_pipeline, "epsilon", "test_error")
        if level:
            errors = dict.fromkeys((low, high), next(iter(errors.values())))
        with_spread = pipeline in ("subspace", "private")
        _add_line(figure, errors, line, with_spread=with_spread, markers=not level)
    mark_setting(figure, marker, dark=dark)
    # Plotly does not always make room for both lines of the legend when it resizes a figure.
    figure.update_layout(margin={"t": 64})
    figure.update_xaxes(
        **log_axis([low, high]),
        range=[np.log10(low) - 0.05, np.log10(high) + 0.05],
        title="← more private     requested ε     less private →",
    )
    _error_axis(figure, chance, rows)
    return figure


def share_curve(
    rows: Table,
    *,
    protocol: str,
    chance: float,
    best: float | None = None,
    marker: float | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw test error against the share of epsilon spent on PCA.

    rows: Rows with pca_share and test_error; may be incomplete.
    best, marker: Best share, drawn as a star; current share, drawn as a vertical line.
    """
    figure = base_figure(400)
    errors = values_by(rows, "pca_share", "test_error")
    line = _line_of("private", protocol, dark)
    _add_line(figure, errors, line, with_spread=True, markers=True)
    if best is not None:
        figure.add_scatter(
            x=[best],
            y=[fmean(errors[best])],
            mode="markers+text",
            marker={"symbol": "star", "size": 18, "color": ink(dark)},
            text=[f"best: {100 * best:.0f} % for PCA"],
            # The line of the current share crosses a centred text.
            textposition="bottom right" if best < 0.7 else "bottom left",
            hovertemplate="%{y:.1%} at %{x:.0%}<extra>best</extra>",
            name="best",
            showlegend=False,
        )
    mark_setting(figure, marker, dark=dark)
    figure.update_xaxes(
        range=[-0.03, 1.0],
        tickformat=".0%",
        title="share of ε for PCA (0 %: random subspace)",
    )
    _error_axis(figure, chance, rows)
    figure.update_layout(showlegend=False)
    return figure


def confusion_chart(matrix: FloatArray, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Draw a confusion matrix with the shares of each class in percent.

    matrix: ndarray of int of shape (n_classes, n_classes). Rows are true classes, columns predicted
        ones.
    """
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    size = len(names)
    figure = base_figure(min(520, 150 + 42 * size))
    ground = "#1b2129" if dark else "#ffffff"
    figure.add_heatmap(
        z=shares,
        x=list(names),
        y=list(names),
        colorscale=[[0, ground], [1, "#0072B2"]],
        zmin=0,
        zmax=1,
        showscale=False,
        xgap=2,
        ygap=2,
        text=[
            [
                f"{100 * share:.0f}\u00a0%" if count else ""
                for share, count in zip(*pair, strict=True)
            ]
            for pair in zip(shares, matrix, strict=True)
        ],
        texttemplate="%{text}",
        customdata=matrix,
        hovertemplate="%{customdata} of true class %{y}, predicted %{x}<extra></extra>",
    )
    figure.update_xaxes(title="predicted class", type="category", side="bottom")
    figure.update_yaxes(title="true class", type="category", autorange="reversed")
    return figure


def _add_line(
    figure: go.Figure,
    errors: dict[float, list[float]],
    line: Look,
    *,
    with_spread: bool,
    markers: bool,
) -> None:
    draws = max(map(len, errors.values()), default=0)
    if with_spread and draws > 1:
        add_band(figure, errors, with_opacity(line.colour, 0.12))
    figure.add_scatter(
        x=list(errors),
        y=[fmean(rates) for rates in errors.values()],
        name=line.label,
        mode="lines+markers" if markers else "lines",
        line={"color": line.colour, "dash": line.dash, "width": 2.5},
        marker={"symbol": line.symbol, "size": 9},
        hovertemplate=f"%{{y:.1%}} at %{{x}}, mean of {draws} runs<extra>{line.label}</extra>",
    )


def _error_axis(figure: go.Figure, chance: float, rows: Table) -> None:
    line = {"color": GREY, "width": 1}
    add_named_level(figure, chance, "most frequent class", line=line)
    figure.update_yaxes(
        range=error_range(chance, rows),
        tickformat=".0%",
        title="test error",
        zeroline=False,
    )
    legend_above(figure)
