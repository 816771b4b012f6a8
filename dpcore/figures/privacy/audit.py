"""An attack as pictures: the bound on epsilon as trials come in, and the scores it judges by."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.plot_parts import named_level, small_legend_above
from dpcore.figures.privacy.adversary_test import WITH_YOU, WITHOUT_YOU
from dpcore.figures.style import base_figure, faded, ink
from dpcore.figures.table import Table

_ATTACK = "#D55E00"


def bound_growth(rows: Table, claim: float, n_trials: int, *, dark: bool = False) -> go.Figure:
    """Lower bounds on epsilon against the number of trials, and the line of the claim.

    Parameters
    ----------
    rows : sequence of dict
        With "trials", "epsilon_exact" and "epsilon", in order; the latter is drawn where it is
        another, nominal bound somewhere.
    claim : float
        The promised epsilon.
    n_trials : int
        Where the axis ends, so that the figure stands still while it fills in.
    """
    figure = base_figure(360)
    highest = max([claim, *(max(row["epsilon"], row["epsilon_exact"]) for row in rows)])
    figure.add_hrect(y0=claim, y1=1.25 * highest, fillcolor=faded(_ATTACK, 0.10), line={"width": 0})
    line = {"color": ink(dark), "dash": "dash", "width": 2}
    named_level(figure, claim, f"promised: ε = {claim:.3g}", line=line)
    bounds: list[tuple[str, str, dict[str, object]]] = [
        ("epsilon_exact", "exact limit", {"width": 3})
    ]
    if any(row["epsilon"] != row["epsilon_exact"] for row in rows):
        bounds.append(("epsilon", "nominal (jackknife)", {"width": 2, "dash": "dot"}))
    for column, name, line in bounds:
        figure.add_scatter(
            x=[row["trials"] for row in rows],
            y=[row[column] for row in rows],
            name=name,
            mode="lines+markers",
            line={"color": _ATTACK, **line},
            marker={"size": 7 if column == "epsilon_exact" else 4},
            hovertemplate="ε ≥ %{y:.3g} after %{x:,} trials<extra>" + name + "</extra>",
        )
    small_legend_above(figure).update_layout(showlegend=len(bounds) > 1)
    figure.update_xaxes(title="trials under D and under D′", range=[0, 1.02 * n_trials])
    figure.update_yaxes(title="ε is at least", range=[0, 1.25 * highest])
    return figure


def score_histogram(
    columns: Mapping[str, FloatArray], threshold: float, *, dark: bool = False
) -> go.Figure:
    """Scores under both data sets, with the threshold that separates them best.

    Parameters
    ----------
    columns : mapping
        "centre", "width", "with_you" and "without_you", arrays of shape (n_bars,).
    threshold : float
    """
    figure = base_figure(340)
    for name, column, colour in (
        ("without you (D′)", "without_you", WITHOUT_YOU),
        ("with you (D)", "with_you", WITH_YOU),
    ):
        figure.add_bar(
            x=columns["centre"],
            y=columns[column],
            width=columns["width"],
            name=name,
            marker={"color": faded(colour, 0.55), "line": {"width": 0}},
            hovertemplate="%{y:.1%} of releases near %{x:.3g}<extra>" + name + "</extra>",
        )
    figure.add_vline(x=threshold, line={"color": ink(dark), "width": 2})
    figure.update_xaxes(title="score of a release (larger: rather with you)", zeroline=False)
    figure.update_yaxes(title="share of releases", tickformat=".0%", rangemode="tozero")
    figure.update_layout(barmode="overlay", bargap=0)
    return small_legend_above(figure)
