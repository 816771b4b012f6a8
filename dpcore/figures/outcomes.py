"""Bar chart of the outcomes of a story: captured energy or ε of a few settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import plotly.graph_objects as go

from dpcore.figures.style import GREY, PERCENT_RANGE, base_figure, ink, look_of, with_opacity

_BAR_HEIGHT, _AXIS_HEIGHT = 56, 60
_COST = "#D55E00"


@dataclass(frozen=True)
class Bar:
    """One bar of the chart.

    label: Name of the setting.
    values: Number of each run; empty while it is unknown.
    text: The mean as text; empty while it is unknown.
    protocol: Key of the protocol that gives the colour; "" for others.
    is_reference: Draw the bar in grey.
    """

    label: str
    values: tuple[float, ...]
    text: str = ""
    protocol: str = ""
    is_reference: bool = False


def outcome_bars(outcomes: Sequence[Bar], axis: str, *, dark: bool = False) -> go.Figure:
    """Return a chart of one bar per outcome, with a dot per run and "?" for unknown values.

    axis: Title of the axis: "captured energy" or "ε".
    """
    is_share = axis != "ε"
    figure = base_figure(_AXIS_HEIGHT + _BAR_HEIGHT * len(outcomes))
    labels = [outcome.label for outcome in outcomes]
    for outcome in outcomes:
        if not outcome.values:
            figure.add_annotation(
                x=0, y=outcome.label, text="<b>?</b>", showarrow=False, xanchor="left", xshift=8,
                font={"size": 26},
            )  # fmt: skip
            continue
        mean = fmean(outcome.values)
        colour = look_of(outcome.protocol, dark=dark).colour if outcome.protocol else _COST
        colour = GREY if outcome.is_reference else colour
        figure.add_bar(
            x=[mean], y=[outcome.label], orientation="h", width=0.6,
            marker={"color": with_opacity(colour, 0.35), "line": {"color": colour, "width": 2}},
            hoverinfo="skip",
        )  # fmt: skip
        figure.add_annotation(
            x=max(outcome.values), y=outcome.label, text=f"<b>{outcome.text}</b>", showarrow=False,
            xanchor="left", xshift=10, font={"size": 16},
        )  # fmt: skip
        if len(outcome.values) > 1:
            figure.add_scatter(
                x=outcome.values, y=[outcome.label] * len(outcome.values), mode="markers",
                marker={"color": colour, "size": 7, "line": {"color": ink(dark), "width": 0.5}},
                hovertemplate="one run: %{x:.1%}<extra></extra>",
            )  # fmt: skip
    span = (
        [0, 1.12 * PERCENT_RANGE[1]]
        if is_share
        else [0, 1.25 * max(max(outcome.values, default=0) for outcome in outcomes)]
    )
    figure.update_xaxes(title=axis, range=span, zeroline=False)
    if is_share:
        figure.update_xaxes(tickformat=".0%", tickvals=[0, 0.25, 0.5, 0.75, 1])
        figure.add_vline(x=1, line={"color": ink(dark), "dash": "dash", "width": 1.5})
    figure.update_yaxes(
        categoryorder="array", categoryarray=labels[::-1], range=[-0.5, len(labels) - 0.5],
        automargin=True, ticksuffix=" ",
    )  # fmt: skip
    return figure
