"""Reproduce the paper: every published panel, run live, beside the published points."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from dpcore.data import dataset_status
from dpcore.experiments.papers.published_points import published_citation, published_points_of
from dpcore.figures.tradeoffs.panels import energy_panel
from pages.explore.tradeoffs.sweep_controls import command_of
from pages.formulas.pca import HOW_IT_IS_COMPUTED
from pages.parameters.use import REPAIRED
from pages.server.visitors_jobs import SweepProgress
from pages.sidebar.controls import current
from pages.use.reproduce.overview import overview_shown
from pages.use.reproduce.panel_run import (
    ENOUGH_DRAWS,
    LINEAR,
    as_published_rows,
    choose_figure,
    comparison,
    say,
    say_across_panels,
    sweeps_of,
    verdicts,
)
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.messages import big_number, dataset_ready, errors_shown, how_computed
from pages.widgets.sweep_panel import (
    keep_controls,
    restore_controls,
    started_job,
    take_away_sweep,
    watch,
)

PAGE = "reproduce"


def draw(progress: SweepProgress) -> None:
    """The live curves over the published points, and what becomes of the paper's claims."""
    rows = as_published_rows(progress.rows[0])
    if not rows:
        return
    number, sentence, caveat = comparison(figure, rows)
    big_number(number, sentence, caveat)
    chart(panel_of(progress), key=f"{PAGE}_do_panel", alt=f"{figure.title}: {number} {sentence}")
    points = "Hollow markers with bars: the authors' ten runs." if published else ""
    st.caption(f"Lines and bands: this run, mean and spread of its draws. {points}")
    st.markdown("##### What the paper claims")
    if progress.state != "finished":
        st.caption(f"*{figure.claim}* Whether it holds is said once every draw is there.")
        return
    if figure.base.repetitions < ENOUGH_DRAWS:
        st.caption(
            f"{figure.base.repetitions} draws tell only large differences from luck; run it as "
            "published to know."
        )
    for under, verdict in verdicts(figure, progress.rows):
        say(under, verdict)
    say_across_panels(figure)


def panel_of(progress: SweepProgress) -> go.Figure:
    return energy_panel(
        as_published_rows(progress.rows[0]),
        figure.field,
        others=dict(zip((REPAIRED,), progress.rows[1:], strict=False)),
        published=[(p.protocol, p.value, p.mean, p.std) for p in published],
        axis_title=figure.axis,
        logarithmic=figure.field not in LINEAR,
        axis_range=(figure.values[0], figure.values[-1]),
        height=460,
        dark=is_dark(),
    )


def take_away(progress: SweepProgress) -> None:
    """The rows, the panel and the commands, and whose numbers ours are put beside."""
    commands = [
        f"python -m dpcore reproduce {figure.name} --repetitions {figure.base.repetitions} "
        f"--out {figure.name}"
    ]
    if repaired:
        commands += [command_of(sweep, n) for n, sweep in enumerate(sweeps, start=1)]
    rows = [row for side in progress.rows for row in side]
    take_away_sweep(PAGE, sweeps, rows, {figure.name: panel_of(progress)}, commands)
    if published:
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
        published = published_points_of(figure.name)
        sweeps = sweeps_of(figure, repaired)
        job = started_job(PAGE, sweeps)
    if job is not None and not (ended := job.progress()).goes_on and ended.rows[0]:
        take_away(ended)
    with answer:
        if job is None:
            st.markdown(f"#### {figure.claim}\nThat is the paper's claim. Press Run to check it.")
        else:
            watch(PAGE, job, draw)
    dataset = dataset_status(figure.base.dataset)
    promised_cards(
        figure.base,
        dataset,
        figure.base.protocols,
        "As published, at the figure's base setting; `exact_epsilon` in the rows says what holds "
        "at each point.",
    )
    session_ledger.so_far(dataset.name, dataset.title, current().spec.delta)
    overview_shown()
    how_computed("reproduce", HOW_IT_IS_COMPUTED)
