"""Figures of algorithms that hold all rows: energies, accuracies, rows needed, Markov chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.style import (
    ENERGY_AXIS,
    FLOOR_NAME,
    GREY,
    Look,
    Table,
    add_exact_and_floor,
    add_line,
    base_figure,
    ink,
    legend_above,
    log_axis_at,
    look_of,
    mark_setting,
    with_opacity,
)

_BOUNDS = {
    "theorem 3": ("PPCA: sufficient (theorem 3)", "ppca", "dash"),
    "theorem 4": ("any algorithm, pure ε: necessary (theorem 4)", None, "longdashdot"),
    "theorem 5": ("MOD-SuLQ: growth (theorem 5)", "modsulq", "dot"),
}
_PEOPLE = [step * 10**power for power in range(1, 10) for step in (1, 3)]
# Okabe and Ito's colours; no other algorithm of these figures has them.
_STARTS = {
    "random": ("#0072B2", "solid", "started at random"),
    "mode": ("#D55E00", "dash", "started at exact PCA"),
}


def variant_dots(rows: Table, *, dark: bool = False) -> go.Figure:
    """Draw every repetition as a dot and the mean as a marker, one line per variant.

    rows: Rows of one setting, with label, protocol, energy_ratio and floor.
    """
    figure = _lines_of_dots(rows, "label", "energy_ratio", dark=dark)
    for level, name, line in (
        (1.0, "exact", {"color": ink(dark), "dash": "dash", "width": 1.5}),
        (rows[0]["floor"], FLOOR_NAME, {"color": GREY, "dash": "dot", "width": 2}),
    ):
        figure.add_vline(x=level, line=line)
        figure.add_annotation(
            x=level,
            y=1,
            yref="paper",
            yanchor="bottom",
            yshift=2,
            text=name,
            showarrow=False,
            font={"size": 12},
        )
    figure.update_xaxes(**ENERGY_AXIS)
    figure.update_layout(margin={"t": 26})
    return figure


def accuracy_dots(rows: Table, published: Table = (), *, dark: bool = False) -> go.Figure:
    """Draw the accuracies of every round with the published ones, one line per task and algorithm.

    rows: Rows with task, protocol and accuracy (a share).
    published: Rows with task, protocol, and mean and std in percent.
    """
    titles = {task: str(number) for number, task in enumerate(_in_order(rows, "task"), start=1)}
    labelled = [
        {**row, "label": f"{titles[row['task']]}  {look_of(row['protocol']).label}"} for row in rows
    ]
    figure = _lines_of_dots(labelled, "label", "accuracy", dark=dark, digits=2)
    places = {label: place for place, label in enumerate(_in_order(labelled, "label")[::-1])}
    printed = [row for row in published if row["task"] in titles]
    figure.add_scatter(
        x=[row["mean"] / 100 for row in printed],
        y=[
            places[f"{titles[row['task']]}  {look_of(row['protocol']).label}"] + 0.28
            for row in printed
        ],
        error_x={"array": [row["std"] / 100 for row in printed], "color": ink(dark)},
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 14, "color": ink(dark), "line": {"width": 3}},
        name="published",
        hovertemplate="%{x:.2%} published<extra></extra>",
    )
    tasks = "<br>".join(f"{number}: {task}" for task, number in titles.items())
    figure.update_xaxes(
        tickformat=".0%", title=f"accuracy of a linear SVM on the rows tested<br>{tasks}"
    )
    figure.update_layout(height=figure.layout.height + 22 * len(titles))
    return figure


def _in_order(rows: Table, field: str) -> list[str]:
    return list(dict.fromkeys(row[field] for row in rows))


def _lines_of_dots(
    rows: Table, group: str, value: str, *, dark: bool, digits: int = 0
) -> go.Figure:
    order = _in_order(rows, group)[::-1]
    figure = base_figure(90 + 44 * len(order))
    for place, name in enumerate(order):
        rows_of_group = [row for row in rows if row[group] == name]
        _add_dots(
            figure,
            place,
            name,
            rows_of_group,
            value,
            look_of(rows_of_group[0]["protocol"], dark=dark),
            digits,
        )
    figure.update_yaxes(
        tickvals=list(range(len(order))),
        # Two lines, because long names leave no space for the dots on a phone.
        ticktext=[name.replace(", ", ",<br>", 1) for name in order],
        range=[-0.6, len(order) - 0.3],
        zeroline=False,
        automargin=True,
    )
    return figure


def _add_dots(
    figure: go.Figure,
    place: int,
    name: str,
    rows: Table,
    value: str,
    look: Look,
    digits: int,
) -> None:
    shares = [row[value] for row in rows]
    mean = fmean(shares)
    figure.add_scatter(
        x=shares,
        y=[place] * len(shares),
        mode="markers",
        marker={"color": with_opacity(look.colour, 0.35), "size": 9, "symbol": "circle"},
        hovertemplate=f"%{{x:.{digits + 1}%}} in one run<extra>{name}</extra>",
    )
    figure.add_scatter(
        x=[mean],
        y=[place],
        mode="markers",
        marker={"color": look.colour, "size": 14, "symbol": look.symbol},
        cliponaxis=False,
        hovertemplate=f"%{{x:.{digits + 1}%}}, mean of {len(shares)} runs<extra>{name}</extra>",
    )
    # The text is outside the range of the dots.
    is_left = mean > 0.5
    figure.add_scatter(
        x=[min(shares) if is_left else max(shares)],
        y=[place],
        mode="text",
        # Plotly collapses usual spaces, which would leave the text on the marker.
        text=[f"\u00a0\u00a0\u00a0{100 * mean:.{digits}f}\u00a0%\u00a0\u00a0\u00a0"],
        textposition="middle left" if is_left else "middle right",
        cliponaxis=False,
        hoverinfo="skip",
    )


def people_needed(
    measured: Table,
    bounds: Table,
    slopes: Mapping[str, float],
    *,
    dimensions: tuple[float, float],
    dark: bool = False,
) -> go.Figure:
    """Draw the measured numbers of rows against the dimension, and the theorems as lines.

    Both axes are logarithmic, so that a power of the dimension is a straight line.

    measured: Rows with protocol, features, samples and mean_correlation; may be incomplete.
    bounds: Rows with bound, features and samples.
    slopes: Exponent of the dimension by protocol, if there are enough points.
    dimensions: (float, float). Smallest and largest dimension of the finished figure.
    """
    figure = base_figure(460)
    for name, (label, protocol, dash) in _BOUNDS.items():
        points = [row for row in bounds if row["bound"] == name]
        if points:
            colour = GREY if protocol is None else look_of(protocol, dark=dark).colour
            figure.add_scatter(
                x=[row["features"] for row in points],
                y=[row["samples"] for row in points],
                mode="lines",
                name=label,
                line={"color": colour, "dash": dash, "width": 2},
                hovertemplate=f"{label}: %{{y:,.0f}} at d = %{{x}}<extra></extra>",
            )
    for protocol in dict.fromkeys(row["protocol"] for row in measured):
        points = [row for row in measured if row["protocol"] == protocol]
        look = look_of(protocol, dark=dark)
        slope = f", grows as d<sup>{slopes[protocol]:.2f}</sup>" if protocol in slopes else ""
        figure.add_scatter(
            x=[row["features"] for row in points],
            y=[row["samples"] for row in points],
            mode="lines+markers",
            name=f"{look.label}, measured{slope}",
            line={"color": look.colour, "width": 3},
            marker={"symbol": look.symbol, "size": 12},
            customdata=[row["mean_correlation"] for row in points],
            hovertemplate="%{y:,} rows at d = %{x}, mean correlation %{customdata:.3f}"
            f"<extra>{look.label}</extra>",
        )
    low, high = dimensions
    ticks = [low * 2**step for step in range(20) if low * 2**step <= high]
    figure.update_xaxes(title="dimension d", **log_axis_at(ticks, "{:g}".format))
    figure.update_yaxes(
        type="log", tickvals=_PEOPLE, tickformat=",", title="rows needed, n", automargin=True
    )
    figure.update_layout(font={"color": ink(dark)})
    return legend_above(figure)


def energy_traces(
    shares: FloatArray,
    starts: Sequence[str],
    random_share: float,
    *,
    stopped: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw the captured energy of every Markov chain against sweeps, from its start.

    shares: shape (n_chains, n_sweeps + 1)
    starts: sequence of {"random", "mode"}
    stopped: First sweep at which the diagnostics passed.
    """
    figure = base_figure(380)
    # A logarithmic axis has no 0, so the start is drawn at 1.
    sweeps = np.arange(1, shares.shape[1] + 1)
    for chain, start in enumerate(starts):
        colour, dash, name = _STARTS[start]
        add_line(
            figure, sweeps, shares[chain], name, "%{y:.1%}", colour=with_opacity(colour, 0.8),
            dash=dash, width=1.6, legendgroup=start, showlegend=start not in starts[:chain],
        )  # fmt: skip
    add_exact_and_floor(figure, random_share, dark=dark)
    mark_setting(figure, None if stopped is None else stopped + 1, dark=dark)
    figure.update_xaxes(title="sweeps, the start counted as 1", **_log_axis(len(sweeps)))
    figure.update_yaxes(**ENERGY_AXIS)
    return legend_above(figure)


def running_diagnostic(
    rows: Table,
    field: str,
    *,
    title: str,
    threshold: float,
    passes: str,
    ticks: Sequence[float],
    dark: bool = False,
) -> go.Figure:
    """Draw one diagnostic as a function of the number of sweeps, with its threshold.

    rows: Rows with sweeps and `field`.
    passes: Text at the threshold.
    ticks: Labelled values of the logarithmic axis.
    """
    figure = base_figure(250)
    figure.add_scatter(
        x=[row["sweeps"] + 1 for row in rows],
        y=[row[field] for row in rows],
        mode="lines+markers",
        line={"color": ink(dark), "width": 2},
        marker={"size": 6},
        hovertemplate="%{y:.3g}<extra></extra>",
    )
    figure.add_hline(y=threshold, line={"color": "#009E73", "dash": "dash", "width": 2})
    figure.add_annotation(
        x=0, xref="paper", xanchor="left", y=np.log10(threshold), yanchor="bottom", text=passes,
        showarrow=False, font={"size": 12},
    )  # fmt: skip
    figure.update_xaxes(title="sweeps", **_log_axis(rows[-1]["sweeps"] + 1))
    figure.update_yaxes(title=title, **log_axis_at(ticks, "{:,g}".format))
    return figure


def _log_axis(last: int) -> dict[str, object]:
    ticks = [10**power for power in range(6) if 10**power <= last]
    return log_axis_at(ticks, "{:,}".format, ends=(1, max(last, 10)), margin=0.03)
