"""Trade-offs: one parameter varies, and what is kept is drawn while it is computed."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from dpcore.experiments.methods import METHODS
from dpcore.experiments.sweep import Sweep, dataset_status
from dpcore.figures.panels import energy_panel
from pages.shared.cards import big_number, chart, dataset_ready, errors_shown, is_dark, not_private
from pages.shared.controls import current
from pages.shared.formulas import HOW_IT_IS_COMPUTED
from pages.shared.jobs import (
    keep_controls,
    point_clicked,
    restore_controls,
    started_job,
    take_away_sweep,
    watch,
)
from pages.shared.runs_sweeps import Progress
from pages.shared.sweeping import (
    AXES,
    PUBLISHED,
    choose_sweeps,
    command_of,
    difference,
    field_of,
    finding,
    open_row,
    rows_by_dataset,
)

PAGE = "tradeoffs"


def draw(progress: Progress) -> None:
    """The finding, and under it one panel a data set, side by side, on one scale."""
    sides = rows_by_dataset(progress)
    if not sides:
        return
    field = field_of(sweeps[0])
    ours, theirs = next(iter(sides.values()))
    more = difference(ours, theirs, field) if theirs else ""
    big_number(*finding(ours, field, METHODS[ours[0]["protocol"]].title), more)
    figures = figures_of(sides)
    for column, (name, (ours, theirs)) in zip(st.columns(len(sides)), sides.items(), strict=True):
        key = f"{PAGE}_do_panel_{name}"
        with column:
            st.markdown(f"**{dataset_status(name).title}**")
            chart(
                figures[name],
                key=key,
                alt=" ".join(finding(ours, field, METHODS[ours[0]["protocol"]].title)),
                on_select=lambda key=key, both=(ours, theirs): go_to_point(key, field, both),
                selection_mode="points",
            )
    st.caption(
        "Bands are the spread of the draws. Click a point to open it in the Playground, at the "
        "nearest settings its controls have."
    )


def figures_of(sides: dict[str, tuple[list, list]]) -> dict[str, go.Figure]:
    """One panel a data set, whose axes stand still while it fills in."""
    field, values = sweeps[0].vary[-1]
    return {
        name: energy_panel(
            ours,
            field,
            other_rows=theirs,
            other_name=PUBLISHED,
            axis_title=AXES[field].axis,
            logarithmic=AXES[field].logarithmic,
            axis_range=(values[0], values[-1]),
            dark=is_dark(),
        )
        for name, (ours, theirs) in sides.items()
    }


def go_to_point(key: str, field: str, sides: tuple) -> None:
    """Callback of a click: the row under the point becomes the controls' settings."""
    for point in st.session_state[key].selection.points:
        value, protocol, *other = point["customdata"]
        for row in sides[len(other)]:
            if row[field] == value and row["protocol"] == protocol:
                open_row(row)
                point_clicked()
                return


def choose() -> tuple[Sweep, ...]:
    """The sweeps the controls ask for, once all their data are there."""
    restore_controls(PAGE)
    chosen, datasets = choose_sweeps(choice)
    keep_controls(PAGE)
    if not all([dataset_ready(dataset) for dataset in datasets]):
        st.stop()
    return chosen


choice = current()
answer = st.container()
for note in choice.notes:
    st.warning(note)
with errors_shown():
    with st.container(border=True):
        sweeps = choose()
        job = started_job(PAGE, sweeps)
    if job is not None and not (ended := job.progress()).goes_on and ended.rows[0]:
        commands = [command_of(sweep, number) for number, sweep in enumerate(sweeps, start=1)]
        rows = [row for side in ended.rows for row in side]
        take_away_sweep(PAGE, rows, figures_of(rows_by_dataset(ended)), commands)
    with answer:
        if job is None:
            st.markdown(
                "#### What does privacy cost as one thing changes?\n"
                "Choose what varies and press Run; everything else is held as the sidebar says."
            )
            # The empty axes say what will be drawn, and have the chart library loaded by then.
            chart(
                figures_of({choice.dataset.name: ([], [])})[choice.dataset.name],
                key=f"{PAGE}_do_empty",
                alt="Nothing has been run yet: the axes of the curves to come.",
            )
        else:
            watch(PAGE, job, draw)
    not_private("Exact PCA, the 100 % line", "reads the rows without any noise.")
    with st.expander("How this is computed"):
        st.markdown(HOW_IT_IS_COMPUTED)
