"""Reproduce the paper: every published panel, run live, beside the published points."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.published import published_citation, published_points_of
from dpcore.experiments.sweep import dataset_status
from dpcore.figures.panels import energy_panel
from pages.shared.cards import big_number, chart, dataset_ready, errors_shown, is_dark
from pages.shared.formulas import HOW_IT_IS_COMPUTED
from pages.shared.jobs import (
    keep_controls,
    restore_controls,
    started_job,
    take_away_sweep,
    watch,
)
from pages.shared.reproducing import (
    LINEAR,
    REPAIRED,
    as_published_rows,
    choose_figure,
    comparison,
    say,
    sweeps_of,
    verdicts,
)
from pages.shared.runs_sweeps import Progress

PAGE = "reproduce"


def draw(progress: Progress) -> None:
    """The live curves over the published points, and what becomes of the paper's claims."""
    rows = as_published_rows(progress.rows[0])
    if not rows:
        return
    number, sentence, caveat = comparison(figure, rows)
    big_number(number, sentence, caveat)
    points = published_points_of(figure.name)
    panel = energy_panel(
        rows,
        figure.field,
        other_rows=(*progress.rows[1:], ())[0],
        other_name=REPAIRED,
        published=[(p.protocol, p.value, p.mean, p.std) for p in points],
        axis_title=figure.axis,
        logarithmic=figure.field not in LINEAR,
        axis_range=(figure.values[0], figure.values[-1]),
        height=460,
        dark=is_dark(),
    )
    chart(panel, key=f"{PAGE}_do_panel", alt=f"{figure.title}: {number} {sentence}")
    st.caption(
        "Lines and bands: this run, mean and spread of its draws. "
        + ("Hollow markers with bars: the authors' ten runs." if points else "")
    )
    st.markdown("##### What the paper claims")
    if progress.state != "finished":
        st.caption(f"*{figure.claim}* Whether it holds is said once every draw is there.")
        return
    for under, verdict in verdicts(figure, progress.rows):
        say(under, verdict)
    command = (
        f"python -m dpcore reproduce {figure.name} --repetitions {figure.base.repetitions} "
        f"--out {figure.name}"
    )
    every_row = [row for side in progress.rows for row in side]
    take_away_sweep(PAGE, every_row, {figure.name: panel}, [command])
    if points:
        st.caption(published_citation())


answer = st.container()
with errors_shown():
    with st.container(border=True):
        restore_controls(PAGE)
        figure, repaired = choose_figure()
        keep_controls(PAGE)
        if not dataset_ready(dataset_status(figure.base.dataset)):
            with answer:
                st.markdown(f"#### {figure.claim}")
            st.stop()
        job = started_job(PAGE, sweeps_of(figure, repaired))
    with answer:
        if job is None:
            st.markdown(f"#### {figure.claim}\nThat is the paper's claim. Press Run to check it.")
        else:
            watch(PAGE, job, draw)
    with st.expander("How this is computed"):
        st.markdown(HOW_IT_IS_COMPUTED)
