"""Trade-offs: one parameter varies, and what is kept is drawn while it is computed."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.methods import METHODS
from dpcore.experiments.sweep import Sweep
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
)

PAGE = "tradeoffs"


def draw(progress: Progress) -> None:
    """One panel a data set, side by side, on one scale; the finding above them."""
    rows, other_rows = progress.rows[0], (*progress.rows[1:], ())[0]
    if not rows:
        return
    field = field_of(sweeps[0])
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    parts = {
        name: tuple([row for row in side if row["dataset"] == name] for side in (rows, other_rows))
        for name in datasets
    }
    ours, theirs = parts[datasets[0]]
    more = difference(ours, theirs, field) if theirs else ""
    big_number(*finding(ours, field, METHODS[ours[0]["protocol"]].title), more)
    figures = {}
    for column, (name, (ours, theirs)) in zip(st.columns(len(parts)), parts.items(), strict=True):
        axis, values = AXES[field], sweeps[0].vary[-1][1]
        figures[name] = energy_panel(
            ours,
            field,
            other_rows=theirs,
            other_name=PUBLISHED,
            axis_title=axis.axis,
            logarithmic=axis.logarithmic,
            axis_range=(values[0], values[-1]),
            dark=is_dark(),
        )
        with column:
            st.markdown(f"**{name}**")
            key = f"{PAGE}_do_panel_{name}"
            chart(
                figures[name],
                key=key,
                alt=f"On {name}: {' '.join(finding(ours, field, ours[0]['protocol']))}",
                on_select=lambda key=key, sides=(ours, theirs): go_to_point(key, field, sides),
                selection_mode="points",
            )
    st.caption(
        "Bands are the spread of the draws. Click a point to open it in the Playground, at the "
        "nearest settings its controls have."
    )
    if not progress.goes_on:
        take_away_sweep(PAGE, [*rows, *other_rows], figures, [command_of(s) for s in sweeps])


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
    with answer:
        if job is None:
            st.markdown(
                "#### What does privacy cost as one thing changes?\n"
                "Choose what varies and press Run; everything else is held as the sidebar says."
            )
        else:
            watch(PAGE, job, draw)
    not_private("Exact PCA, the 100 % line", "reads the rows without any noise.")
    with st.expander("How this is computed"):
        st.markdown(HOW_IT_IS_COMPUTED)
