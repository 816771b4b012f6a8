"""Algorithms that hold all rows, side by side: energies of one setting, accuracies of a task."""

from __future__ import annotations

from statistics import fmean

import plotly.graph_objects as go

from dpcore.figures.plot_parts import ENERGY_TITLE, PERCENT_RANGE
from dpcore.figures.style import GREY, Look, base_figure, faded, ink, look_of
from dpcore.figures.table import Table


def variant_dots(rows: Table, *, dark: bool = False) -> go.Figure:
    """Every draw as a dot, one line a variant of an algorithm, with the mean marked.

    Parameters
    ----------
    rows : sequence of dict
        With label, protocol, energy_ratio, random_ratio; all of one setting.
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
    figure.update_xaxes(range=PERCENT_RANGE, tickformat=".0%", title=ENERGY_TITLE)
    figure.update_layout(margin={"t": 26})
    return figure


def accuracy_dots(rows: Table, published: Table = (), *, dark: bool = False) -> go.Figure:
    """Accuracies of every round, one line a task and algorithm, with the published ones.

    Parameters
    ----------
    rows : sequence of dict
        With task, protocol, accuracy (a share).
    published : sequence of dict
        With task, protocol, mean and std in percent.
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
        tickformat=".0%", title=f"accuracy of a linear SVM on the people tested<br>{tasks}"
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
        _add_line(figure, place, name, own, value, look_of(own[0]["protocol"], dark=dark), digits)
    figure.update_yaxes(
        tickvals=list(range(len(order))),
        # Two lines, so that a long name leaves room for the dots on a phone.
        ticktext=[name.replace(", ", ",<br>", 1) for name in order],
        range=[-0.6, len(order) - 0.3],
        zeroline=False,
        automargin=True,
    )
    return figure


def _add_line(
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
        hovertemplate=f"%{{x:.{digits + 1}%}} in one draw<extra>{name}</extra>",
    )
    figure.add_scatter(
        x=[mean],
        y=[place],
        mode="markers",
        marker={"color": look.colour, "size": 14, "symbol": look.symbol},
        cliponaxis=False,
        hovertemplate=f"%{{x:.{digits + 1}%}}, mean of {len(shares)} draws<extra>{name}</extra>",
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
