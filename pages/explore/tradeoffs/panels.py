"""Panels of the Trade-offs page: one a data set, side by side, on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
import streamlit as st

from dpcore.data import dataset_status
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Sweep
from dpcore.figures.tradeoffs.panels import energy_panel, legend_html
from dpcore.pca.protocols.register import PROTOCOLS
from pages.explore.tradeoffs.axes import AXES
from pages.explore.tradeoffs.sweep_controls import (
    difference,
    field_of,
    finding,
    name_of,
    open_row,
    rows_by_dataset,
)
from pages.server.visitors_jobs import SweepProgress
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number
from pages.widgets.sweep_panel import point_clicked

IN_A_ROW = 3
# Rows of one data set: under the sidebar's settings, then under each of the others.
Sides = tuple[list[Row], ...]


def draw_panels(sweeps: Sequence[Sweep], progress: SweepProgress) -> None:
    """The finding, and under it one panel a data set, side by side, on one scale."""
    sides = rows_by_dataset(progress)
    if not sides:
        nothing_yet(sweeps)
        return
    field, others = field_of(sweeps[0]), names_of_others(sweeps)
    ours, *theirs = next(iter(sides.values()))
    lead = PROTOCOLS[ours[0]["protocol"]].title
    more = difference(ours, dict(zip(others, theirs, strict=True)), field)
    big_number(*finding(ours, field, lead), more)
    several = len(sides) > 1
    figures = figures_of(sweeps, sides, legend=not several)
    if several:
        protocols = list(dict.fromkeys(row["protocol"] for row in ours))
        st.html(legend_html(protocols, others, dark=is_dark()))
    # Panels under each other on a telephone, three in a row elsewhere.
    in_a_row = min(len(sides), IN_A_ROW)
    columns = [column for _ in range(0, len(sides), in_a_row) for column in st.columns(in_a_row)]
    for column, (name, every) in zip(columns, sides.items(), strict=False):
        key = f"tradeoffs_do_panel_{name}"
        with column:
            st.markdown(f"**{dataset_status(name).title}**")
            chart(
                figures[name],
                key=key,
                alt=" ".join(finding(every[0], field, lead)),
                on_select=lambda key=key, every=every: _go_to_point(key, field, every),
                selection_mode="points",
            )
    st.caption(
        "Bands are the spread of the draws. Click a point to open it in the Playground, at the "
        "nearest settings its controls have."
    )


def nothing_yet(sweeps: Sequence[Sweep]) -> None:
    """The question over empty axes, which have the chart library loaded by the first curve."""
    st.markdown("## What does privacy cost as one thing changes?")
    _, names = sweeps[0].vary[0]
    nothing: dict[str, Sides] = {names[0]: ([],) * len(sweeps)}
    empty = figures_of(sweeps, nothing)[names[0]]
    chart(empty, key="tradeoffs_do_empty", alt="The axes of the curves to come.")


def names_of_others(sweeps: Sequence[Sweep]) -> list[str]:
    """Settings compared with the sidebar's."""
    return [name_of(sweep, sweeps[0]) for sweep in sweeps[1:]]


def figures_of(
    sweeps: Sequence[Sweep], sides: Mapping[str, Sides], *, legend: bool = True
) -> dict[str, go.Figure]:
    """One panel a data set, whose axes stand still while it fills in."""
    field, values = sweeps[0].vary[-1]
    others = names_of_others(sweeps)
    return {
        name: energy_panel(
            ours,
            field,
            others=dict(zip(others, theirs, strict=True)),
            axis_title=AXES[field].axis,
            logarithmic=AXES[field].logarithmic,
            axis_range=(values[0], values[-1]),
            dark=is_dark(),
        ).update_layout(showlegend=legend)
        for name, (ours, *theirs) in sides.items()
    }


def _go_to_point(key: str, field: str, sides: Sides) -> None:
    """Callback of a click: the row under the point becomes the controls' settings."""
    for point in st.session_state[key].selection.points:
        value, protocol, *other = point["customdata"]
        for row in sides[other[0] if other else 0]:
            if row[field] == value and row["protocol"] == protocol:
                open_row(row)
                point_clicked()
                return
