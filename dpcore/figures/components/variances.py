"""The energy of each component as a release estimates it, beside the truth."""

from __future__ import annotations

import math
from html import escape

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.style import base_figure, ink, look_of

# Pixels: the room around the plot, its height with that room, and half of a mark.
_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT, _HALF = 72, 24, 58, 60, 316, 7
_MOST_TICKS = 10


def variances_svg(
    estimated: FloatArray, intervals: FloatArray, true: FloatArray, *, colour: str, alt: str
) -> str:
    """Estimated and true energy by component as SVG text, as wide as its place on the page.

    It hangs on a slider. Plotly takes as long for it as everything else that follows one.

    estimated, true: shape (n_components,). In units of the second moment.
    intervals: shape (2, n_components). Ends of the stated intervals. None is below 0, where no
        energy is; an estimate may lie there. An upper one may be infinite.
    colour: Of the estimates; all else has the colour of the page's letters.
    alt: What it shows, for whoever does not see it.
    """
    told = np.concatenate([estimated, intervals[1], true])
    low, high = min(0.0, estimated.min()), max(told[np.isfinite(told)].max(), np.finfo(float).tiny)
    step = _round_step((high - low) / 5)

    def y(energy: float) -> float:
        share: float = (min(energy, high) - low) / (high - low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def at(part: float, drawn: str) -> str:
        """What is drawn around a part of the width, which the browser knows."""
        shift = _LEFT * (1 - part) - _RIGHT * part
        return (
            f'<g transform="translate({shift:.1f})"><svg x="{100 * part:.2f}%" overflow="visible">'
            f"{drawn}</svg></g>"
        )

    opening = (
        f'<svg width="100%" height="{_HEIGHT}" role="img" aria-label="{escape(alt)}" '
        'fill="currentColor" font-size="14">'
    )
    middle = f"translate(16 {(_TOP + _HEIGHT - _BOTTOM) / 2:.0f}) rotate(-90)"
    parts = [
        opening,
        _key(18, _estimate(colour, 0, 0, 0), "the release's own estimate, 90 % interval"),
        _key(38, _truth(0), "true, which only a laboratory knows"),
        f'<text transform="{middle}" text-anchor="middle">energy (second moment)</text>',
        at(0.5, f'<text y="{_HEIGHT - 16}" text-anchor="middle">component</text>'),
    ]
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        line = f'y1="{y(number * step):.1f}" y2="{y(number * step):.1f}" stroke="currentColor"'
        parts.append(
            f'<line x1="{_LEFT - 8}" x2="100%" {line} stroke-opacity="{0.12 if number else 0.6}"/>'
            f'<text x="{_LEFT - 14}" y="{y(number * step) + 5:.1f}" text-anchor="end">'
            f"{number * step:.3g}</text>"
        )
    every = math.ceil(len(true) / _MOST_TICKS)
    for rank, (value, ends, truth) in enumerate(zip(estimated, intervals.T, true, strict=True)):
        said = f"component {rank + 1}: {value:.3g} by its own estimate, {truth:.3g} true"
        drawn = (
            f"<title>{said}</title>{_estimate(colour, y(value), *map(y, ends))}{_truth(y(truth))}"
        )
        if (rank + 1) % every == 0:
            drawn += f'<text y="{_HEIGHT - 38}" text-anchor="middle">{rank + 1}</text>'
        parts.append(at((rank + 0.5) / len(true), drawn))
    return "".join([*parts, "</svg>"])


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten."""
    power: float = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least)


def _estimate(colour: str, y: float, low: float, high: float) -> str:
    """A dot, and its interval with an end at each side."""
    interval = f"M-4,{low:.1f}h8M-4,{high:.1f}h8M0,{low:.1f}V{high:.1f}"
    return (
        f'<path d="{interval}" stroke="{colour}" stroke-width="2"/>'
        f'<circle cy="{y:.1f}" r="4" fill="{colour}"/>'
    )


def _truth(y: float) -> str:
    return f'<path d="M-{_HALF},{y:.1f}h{2 * _HALF}" stroke="currentColor" stroke-width="3"/>'


def _key(y: float, mark: str, name: str) -> str:
    return (
        f'<g transform="translate({_LEFT} {y - 5})">{mark}</g>'
        f'<text x="{_LEFT + 16}" y="{y}">{name}</text>'
    )


def released_variances(
    shares: FloatArray, intervals: FloatArray, *, dark: bool = False
) -> go.Figure:
    """What each released component explains, with its interval; nothing where noise hides it.

    shares: shape (n_components,). Of all variation; NaN where it cannot be told from noise.
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
    figure.update_yaxes(title="share of the variation", tickformat=".0%", rangemode="tozero")
    return figure
