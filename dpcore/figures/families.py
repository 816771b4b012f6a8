"""Figures of CCA, central algorithms and classification.

Algorithms that hold all rows: energies of one setting, accuracies of a task, people needed, and
what Markov chains captured from sweep to sweep and their diagnostics say.

People needed stand against the dimension on logarithmic axes, where a power is a straight line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import AnyArray, FloatArray
from dpcore.figures.style import (
    ENERGY_AXIS,
    GREY,
    PERCENT_RANGE,
    Look,
    Table,
    add_line,
    base_figure,
    error_range,
    exact_and_random,
    faded,
    ink,
    legend_above,
    log_axis,
    log_ticks,
    look_of,
    named_level,
    present_setting,
    spread,
    values_by,
)

# Private CCA as pictures: correlations pair by pair, the poster's curves, weights of columns.

_CURVE_HEIGHT = 330
# Several numbers of people in one colour: the largest is drawn as the protocol is.
_PEOPLE_DASHES = ("solid", "dash", "dot")
_MOST_COLUMNS = 12
_LONGEST_NAME = 24


def correlation_dots(
    exact: FloatArray,
    measured: FloatArray,
    claimed: FloatArray,
    random: FloatArray,
    *,
    protocol: str,
    title: str,
    dark: bool = False,
) -> go.Figure:
    """Canonical correlations pair by pair: every draw, their mean, the exact ones, the floor.

    exact, random: shape (n_components,)
    measured: shape (n_draws, n_components). What the private directions are worth on the true data.
    claimed: shape (n_components,). What the private release says they are worth, mean over the
        draws.
    protocol, title: Key of the look, and the name in the legend.
    """
    look = look_of(protocol, dark=dark)
    pairs = np.arange(1, len(exact) + 1)
    figure = base_figure(460)
    figure.add_bar(
        x=pairs,
        y=measured.mean(axis=0),
        width=0.5,
        name=f"{title}, on the true data",
        marker={"color": faded(look.colour, 0.35), "line": {"color": look.colour, "width": 1.5}},
        hovertemplate=f"%{{y:.2f}}, mean of {len(measured)} runs<extra>pair %{{x}}</extra>",
    )
    figure.add_scatter(
        x=np.tile(pairs, len(measured)),
        y=measured.ravel(),
        mode="markers",
        marker={"color": look.colour, "size": 5},
        hovertemplate="%{y:.2f} in one run<extra>pair %{x}</extra>",
        showlegend=False,
    )
    level = {"symbol": "line-ew", "size": 46}
    diamond = {"symbol": "diamond-open", "size": 11, "color": ink(dark)}
    for values, name, mark in (
        (exact, "exact", level | {"line": {"color": ink(dark), "width": 3}}),
        (random, "random directions", level | {"line": {"color": GREY, "width": 2}}),
        (claimed, "what the release itself says", diamond),
    ):
        figure.add_scatter(
            x=pairs,
            y=values,
            mode="markers",
            name=name,
            marker=mark,
            hovertemplate="%{y:.2f}<extra>" + name + ", pair %{x}</extra>",
        )
    figure.update_xaxes(title="canonical pair", tickvals=pairs, range=[0.4, len(exact) + 0.6])
    figure.update_yaxes(title="canonical correlation", range=PERCENT_RANGE)
    return legend_above(figure)


def correlation_curves(
    rows: Table,
    field: str,
    *,
    titles: Mapping[str, str],
    axis_title: str,
    axis_range: tuple[float, float],
    floor: float,
    marker: float | None = None,
    dark: bool = False,
) -> go.Figure:
    """Mean share of the total correlation along one field, with the spread of the draws.

    rows: With protocol, samples, correlation_share and `field`; may be incomplete while a run goes
        on. A line a protocol and, where `field` is not "samples", a number of people.
    field: {"epsilon", "samples", "delta"}
    titles: Names of the protocols.
    axis_range: (float, float). Smallest and largest value of the finished figure.
    floor: Share that random directions capture.
    marker: The present setting, drawn as a vertical line.
    """
    figure = base_figure(_CURVE_HEIGHT)
    people = sorted({row["samples"] for row in rows}, reverse=True)
    tell_people = field != "samples" and len(people) > 1
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        for number, samples in enumerate(people if tell_people else [None]):
            mine = [
                row
                for row in rows
                if row["protocol"] == protocol and samples in (None, row["samples"])
            ]
            name = titles[protocol] + (f", {samples:,} people" if tell_people else "")
            if mine:
                _add_curve(figure, mine, field, protocol, name, number, dark)
    exact_and_random(figure, floor, dark=dark, exact="exact", random="random directions", xshift=-8)
    present_setting(figure, marker, dark=dark)
    ticks, labels = _ticks(axis_range)
    low, high = np.log10(axis_range)
    margin = 0.03 * (high - low)
    figure.update_xaxes(
        type="log",
        tickvals=ticks,
        ticktext=labels,
        title=axis_title,
        range=[low - margin, high + margin],
    )
    figure.update_yaxes(
        range=PERCENT_RANGE, tickformat=".0%", title="total correlation, share of exact"
    )
    # Below, where a longer legend makes the figure longer and the plot no smaller.
    lines = sum(trace.mode == "lines+markers" for trace in figure.data)
    figure.update_layout(
        height=_CURVE_HEIGHT + 20 * lines,
        showlegend=True,
        legend={"orientation": "v", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0},
        margin={"b": 64 + 20 * lines},
    )
    return figure


def _ticks(axis_range: tuple[float, float]) -> tuple[list[float], list[str]]:
    """Plain labels, or every other power of ten where these would have too many zeros."""
    if axis_range[0] > 1e-4:
        return log_ticks(list(axis_range))
    exponents = range(round(np.log10(axis_range[1])), round(np.log10(axis_range[0])) - 1, -2)
    return [10.0**k for k in exponents], [f"10<sup>{k}</sup>".replace("-", "−") for k in exponents]


def _add_curve(
    figure: go.Figure,
    rows: Table,
    field: str,
    protocol: str,
    name: str,
    number: int,
    dark: bool,
) -> None:
    look = look_of(protocol, dark=dark)
    shares = values_by(rows, field, "correlation_share")
    values = list(shares)
    draws = max(len(found) for found in shares.values())
    if draws > 1 and number == 0:
        spread(figure, shares, faded(look.colour, 0.15))
    add_line(
        figure,
        values,
        list(map(fmean, shares.values())),
        name,
        f"%{{y:.0%}} at %{{x}}, mean of {draws} runs",
        colour=look.colour,
        dash=_PEOPLE_DASHES[number % len(_PEOPLE_DASHES)],
        width=2.5 if number == 0 else 1.5,
        mode="lines+markers",
        marker={"symbol": look.symbol, "size": 8 if number == 0 else 5},
        customdata=[[v] for v in values],
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def direction_bars(
    exact: FloatArray,
    private: FloatArray,
    names: Sequence[str],
    *,
    protocol: str,
    titles: tuple[str, str],
    dark: bool = False,
) -> go.Figure:
    """One direction by column, exact beside private, each scaled to length 1.

    exact, private: shape (n_features,)
    names: Columns; the twelve that weigh most in the exact direction are shown.
    titles: (str, str). Names of the two in the legend.
    """
    strongest = np.argsort(-np.abs(exact), kind="stable")[:_MOST_COLUMNS][::-1]
    figure = base_figure(110 + 26 * len(strongest))
    # Positions, because shortened names may be alike.
    places = list(range(len(strongest)))
    for values, title, colour in (
        (private, titles[1], look_of(protocol, dark=dark).colour),
        (exact, titles[0], ink(dark)),
    ):
        length = np.sqrt((values**2).sum()) or 1.0
        figure.add_bar(
            x=values[strongest] / length,
            y=places,
            orientation="h",
            name=title,
            marker={"color": colour},
            customdata=[names[index] for index in strongest],
            hovertemplate="%{customdata}: %{x:.2f}<extra>" + title + "</extra>",
        )
    figure.update_yaxes(tickvals=places, ticktext=[_short(names[index]) for index in strongest])
    figure.update_xaxes(range=[-1, 1], title="weight, at length 1")
    figure.update_layout(barmode="group")
    return legend_above(figure, traceorder="reversed")


# Algorithms that hold all rows: energies of one setting, accuracies of a task, people needed, and
# what Markov chains captured from sweep to sweep and their diagnostics say.

_BOUNDS = {
    "theorem 3": ("PPCA: enough (theorem 3)", "ppca", "dash"),
    "theorem 4": ("any algorithm, pure ε: needed (theorem 4)", None, "longdashdot"),
    "theorem 5": ("MOD-SuLQ: growth (theorem 5)", "modsulq", "dot"),
}
_PEOPLE = [step * 10**power for power in range(1, 10) for step in (1, 3)]
# Okabe-Ito; no algorithm is drawn in these beside them.
_STARTS = {
    "random": ("#0072B2", "solid", "started at random"),
    "mode": ("#D55E00", "dash", "started at exact PCA"),
}


def variant_dots(rows: Table, *, dark: bool = False) -> go.Figure:
    """Every draw as a dot, one line a variant of an algorithm, with the mean marked.

    rows: With label, protocol, energy_ratio, random_ratio; all of one setting.
    """
    figure = _lines_of_dots(rows, "label", "energy_ratio", dark=dark)
    floor = rows[0]["random_ratio"]
    for level, name, line in (
        (1.0, "exact", {"color": ink(dark), "dash": "dash", "width": 1.5}),
        (floor, "random", {"color": GREY, "dash": "dot", "width": 2}),
    ):
        figure.add_vline(x=level, line=line)
        figure.add_annotation(
            x=level, y=1, yref="paper", text=name, showarrow=False, yshift=12, font={"size": 12}
        )
    figure.update_xaxes(**ENERGY_AXIS)
    figure.update_layout(margin={"t": 26})
    return figure


def accuracy_dots(rows: Table, published: Table = (), *, dark: bool = False) -> go.Figure:
    """Accuracies of every round, one line a task and algorithm, with the published ones.

    rows: With task, protocol, accuracy (a share).
    published: With task, protocol, mean and std in percent.
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
        own = [row for row in rows if row[group] == name]
        _add_requirement(
            figure, place, name, own, value, look_of(own[0]["protocol"], dark=dark), digits
        )
    figure.update_yaxes(
        tickvals=list(range(len(order))),
        # Two lines, so that a long name leaves room for the dots on a phone.
        ticktext=[name.replace(", ", ",<br>", 1) for name in order],
        range=[-0.6, len(order) - 0.3],
        zeroline=False,
        automargin=True,
    )
    return figure


def _add_requirement(
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
        marker={"color": faded(look.colour, 0.35), "size": 9, "symbol": "circle"},
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
    # Beside the dots, not on them.
    is_left = mean > 0.5
    figure.add_scatter(
        x=[min(shares) if is_left else max(shares)],
        y=[place],
        mode="text",
        text=[f"  {mean:.{digits}%}  "],
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
    """Measured points, and the theorems as lines.

    measured: With protocol, features, samples, mean_correlation; may be incomplete.
    bounds: With bound, features, samples.
    slopes: Exponent of the dimension by protocol, where there are points enough.
    dimensions: (float, float). Smallest and largest of the finished figure.
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
            hovertemplate="%{y:,} people at d = %{x}, mean correlation %{customdata:.3f}"
            f"<extra>{look.label}</extra>",
        )
    low, high = dimensions
    ticks = [low * 2**step for step in range(20) if low * 2**step <= high]
    figure.update_xaxes(
        type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks], title="dimension d"
    )
    figure.update_yaxes(
        type="log", tickvals=_PEOPLE, tickformat=",", title="people needed, n", automargin=True
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
    """Captured energy of every chain against sweeps, from its start on.

    shares: shape (n_chains, n_sweeps + 1)
    starts: sequence of {"random", "mode"}
    stopped: The sweep at which the diagnostics first passed.
    """
    figure = base_figure(380)
    # The start is drawn as 1, which a logarithmic axis has room for.
    sweeps = np.arange(1, shares.shape[1] + 1)
    for chain, start in enumerate(starts):
        colour, dash, name = _STARTS[start]
        add_line(
            figure, sweeps, shares[chain], name, "%{y:.1%}", colour=faded(colour, 0.8), dash=dash,
            width=1.6, legendgroup=start, showlegend=start not in starts[:chain],
        )  # fmt: skip
    exact_and_random(figure, random_share, dark=dark)
    present_setting(figure, None if stopped is None else stopped + 1, dark=dark)
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
    """One diagnostic as it would have read after fewer sweeps, with what passes.

    rows: With sweeps and `field`.
    passes: What is said at the threshold.
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
    figure.update_yaxes(
        type="log", title=title, tickvals=ticks, ticktext=[f"{tick:,g}" for tick in ticks]
    )
    return figure


def _log_axis(last: int) -> dict[str, object]:
    end = np.log10(max(last, 10))
    ticks = [10**power for power in range(6) if 10**power <= last]
    return {
        "type": "log",
        "range": [-0.03 * end, 1.03 * end],
        "tickvals": ticks,
        "ticktext": [f"{tick:,}" for tick in ticks],
    }


# Test error along a parameter, who is taken for whom, and the plane a classifier cuts.

# Colour says how the subspace was found, the line whether the classifier is private too.
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
    """Test error against the asked epsilon, one line a pipeline, with the spread of the draws.

    Pipelines that do not depend on epsilon are level lines.

    rows: With pipeline, epsilon (infinite for the level ones), test_error.
    protocol: Whose colour the private subspace takes.
    chance: Error of always saying the commonest class.
    axis_range: (float, float)
    marker: The present epsilon.
    """
    figure = base_figure(430)
    low, high = axis_range
    for pipeline in _PIPELINES:
        own = [row for row in rows if row["pipeline"] == pipeline]
        if not own:
            continue
        line = _line_of(pipeline, protocol, dark)
        level = pipeline in ("exact", "random")
        errors = values_by(own, "epsilon", "test_error")
        if level:
            errors = dict.fromkeys((low, high), next(iter(errors.values())))
        with_spread = pipeline in ("subspace", "private")
        _add_line(figure, errors, line, with_spread=with_spread, markers=not level)
    present_setting(figure, marker, dark=dark)
    figure.update_xaxes(
        **log_axis([low, high]),
        range=[np.log10(low) - 0.05, np.log10(high) + 0.05],
        title="← more private     asked ε     less private →",
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
    """Test error against the share of epsilon that PCA gets.

    rows: With pca_share, test_error; may be incomplete.
    best, marker: The best share, marked; the chosen one, a vertical line.
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
            text=[f"best: {best:.0%} for PCA"],
            textposition="bottom right" if best < 0.3 else "bottom center",
            hovertemplate="%{y:.1%} at %{x:.0%}<extra>best</extra>",
            name="best",
            showlegend=False,
        )
    present_setting(figure, marker, dark=dark)
    figure.update_xaxes(
        range=[-0.03, 1.0],
        tickformat=".0%",
        title="share of ε for PCA; 0 % is a random subspace",
    )
    _error_axis(figure, chance, rows)
    figure.update_layout(showlegend=False)
    return figure


def confusion(matrix: FloatArray, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Shares of each class that were taken for each class, in percent.

    matrix: ndarray of int of shape (n_classes, n_classes). Rows are what people are, columns what
        was predicted.
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
            [f"{share:.0%}" if count else "" for share, count in zip(*pair, strict=True)]
            for pair in zip(shares, matrix, strict=True)
        ],
        texttemplate="%{text}",
        customdata=matrix,
        hovertemplate="%{customdata} that are %{y} were taken for %{x}<extra></extra>",
    )
    figure.update_xaxes(title="taken for", type="category", side="bottom")
    figure.update_yaxes(title="is", type="category", autorange="reversed")
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
        spread(figure, errors, faded(line.colour, 0.12))
    figure.add_scatter(
        x=list(errors),
        y=[fmean(found) for found in errors.values()],
        name=line.label,
        mode="lines+markers" if markers else "lines",
        line={"color": line.colour, "dash": line.dash, "width": 2.5},
        marker={"symbol": line.symbol, "size": 9},
        hovertemplate=f"%{{y:.1%}} at %{{x}}, mean of {draws} runs<extra>{line.label}</extra>",
    )


def _error_axis(figure: go.Figure, chance: float, rows: Table) -> None:
    line = {"color": GREY, "width": 1}
    named_level(figure, chance, "always the commonest class", line=line)
    figure.update_yaxes(
        range=error_range(chance, rows),
        tickformat=".0%",
        title="test error",
        zeroline=False,
    )
    legend_above(figure)


# Where the best split of a budget lies, and how it moves.


# Laws of errors, histograms true and private, what bounds cost, how many people it takes.

PRIVATE_COLOUR = "#D55E00"
NOISE_COLOUR = "#0072B2"
BIAS_COLOUR = "#E69F00"


def error_law_figure(
    errors: FloatArray,
    density: FloatArray,
    unit: str,
    *,
    marker: float | None = None,
    dark: bool = False,
) -> go.Figure:
    """Errors of many draws as a histogram, the theoretical density over it.

    errors: shape (n,)
    density: shape (points, 2). Error and density; its ends fix the horizontal axis.
    unit: What the error is measured in.
    marker: The error of the release that is shown.
    """
    low, high = density[0, 0], density[-1, 0]
    counts, edges = np.histogram(errors, bins=48, range=(low, high))
    heights = counts / (len(errors) * np.diff(edges))
    figure = base_figure(340)
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=heights,
        width=np.diff(edges),
        marker={"color": faded(PRIVATE_COLOUR, 0.45), "line": {"width": 0}},
        name=f"{len(errors):,} live errors",
        hovertemplate="error %{x:.3g}<extra></extra>",
    )
    add_line(figure, density[:, 0], density[:, 1], "theory", colour=ink(dark), width=2.5)
    if marker is not None:
        figure.add_vline(x=marker, line={"color": PRIVATE_COLOUR, "width": 2, "dash": "dash"})
    figure.update_xaxes(range=[low, high], title=f"error ({unit})", zeroline=False)
    figure.update_yaxes(
        range=[0, 1.25 * float(density[:, 1].max())],
        title="share of runs per unit",
        showticklabels=False,
    )
    return legend_above(figure).update_layout(bargap=0)


def histogram_bars(
    edges: AnyArray, exact: AnyArray, private: AnyArray, *, dark: bool = False
) -> go.Figure:
    """True and private counts over the same edges.

    edges: shape (n_bins + 1,)
    exact, private: shape (n_bins,)
    """
    figure = base_figure(380)
    centres, widths = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
    labels = [f"{a:.4g} to {b:.4g}" for a, b in pairwise(edges)]
    figure.add_bar(
        x=centres,
        y=private,
        width=0.92 * widths,
        name="private",
        marker={"color": faded(PRIVATE_COLOUR, 0.75), "line": {"width": 0}},
        customdata=labels,
        hovertemplate="%{customdata}: %{y:.1f} rows<extra>private</extra>",
    )
    corners = np.repeat(edges, 2)[1:-1], np.repeat(exact, 2)
    add_line(figure, *corners, "true, not private", colour=ink(dark), dash="dash")
    figure.update_xaxes(title="value", zeroline=False)
    figure.update_yaxes(title="rows")
    return legend_above(figure).update_layout(bargap=0)


def bounds_figure(rows: Table, unit: str, *, marker: float, dark: bool = False) -> go.Figure:
    """Bias, noise and both against the upper bound.

    rows: With high, bias, noise, error.
    marker: The chosen upper bound.
    """
    figure = base_figure(340)
    x = [row["high"] for row in rows]
    for field, name, colour, dash in (
        ("bias", "bias of moving values", BIAS_COLOUR, "dash"),
        ("noise", "noise", NOISE_COLOUR, "dot"),
        ("error", "error to expect", ink(dark), "solid"),
    ):
        figure.add_scatter(
            x=x,
            y=[row[field] for row in rows],
            name=name,
            mode="lines",
            line={"color": colour, "dash": dash, "width": 3 if field == "error" else 2},
            hovertemplate=f"{name} %{{y:.3g}} at an upper bound of %{{x:.4g}}<extra></extra>",
        )
    best = min(rows, key=lambda row: row["error"])
    figure.add_scatter(
        x=[best["high"]],
        y=[best["error"]],
        mode="markers",
        marker={"symbol": "star", "size": 15, "color": ink(dark)},
        name="least",
        hovertemplate="least at %{x:.4g}<extra></extra>",
    )
    present_setting(figure, marker, dark=dark)
    figure.update_xaxes(title="upper bound", range=[min(x), max(x)])
    # Bias falls to nothing, which a logarithmic axis cannot show: it leaves the figure below.
    low, high = (
        edge(row["error"] for row in rows) * factor for edge, factor in ((min, 0.2), (max, 2.0))
    )
    figure.update_yaxes(title=unit, range=np.log10([low, high]), **log_axis([low, high]))
    return legend_above(figure)


def people_figure(
    rows: Table,
    unit: str,
    *,
    wanted: tuple[float, int],
    present: int,
    many: str = "people",
) -> go.Figure:
    """People needed against the error one can live with.

    rows: With error, people.
    wanted: (float, int). The error asked about and the people it takes.
    present: People there are.
    many: What they are called.
    """
    figure = base_figure(340)
    errors, people = [row["error"] for row in rows], [row["people"] for row in rows]
    figure.add_scatter(
        x=errors,
        y=people,
        mode="lines",
        line={"color": NOISE_COLOUR, "width": 3},
        hovertemplate="%{y:,} for an error of %{x:.3g}<extra></extra>",
    )
    figure.add_scatter(
        x=[wanted[0]],
        y=[wanted[1]],
        mode="markers+text",
        marker={"size": 13, "color": PRIVATE_COLOUR},
        text=[f"{wanted[1]:,}"],
        textposition="top right",
        hoverinfo="skip",
    )
    line = {"color": GREY, "dash": "dot", "width": 2}
    named_level(figure, present, f"the {present:,} here", line=line, at=np.log10(present))
    for axis, values, title in (
        (figure.update_xaxes, errors, f"acceptable error ({unit})"),
        (figure.update_yaxes, people, f"{many} needed"),
    ):
        axis(title=title, **log_axis(values))
    return figure
