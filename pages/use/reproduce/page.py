"""Reproduce the paper: every published panel, run live, beside the published points."""

from __future__ import annotations

import streamlit as st

from dpcore.data import dataset_status
from pages.server.visitors_jobs import SWEEPS
from pages.sidebar.controls import current
from pages.use.reproduce import panel_run
from pages.use.reproduce.overview import overview_shown
from pages.widgets import session_ledger
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.messages import dataset_ready, dataset_table, errors_shown, how_computed
from pages.widgets.sweep_panel import started_job, watch

PAGE = "reproduce"


answer = st.container()
with errors_shown():
    with st.container(border=True):
        figure, repaired = panel_run.choose_figure()
        if not dataset_ready(dataset_status(figure.base.dataset)):
            with answer:
                panel_run.published_shown(figure, "Without its data nothing can be run here.")
            st.stop()
        sweeps = panel_run.sweeps_of(figure, repaired)
        panel_run.open_with_figure(SWEEPS, sweeps)
        job = started_job(PAGE, sweeps)
    if job is not None and not (ended := job.progress()).goes_on and ended.rows[0]:
        panel_run.take_away(figure, sweeps, ended)
    with answer:
        if job is None:
            panel_run.published_shown(figure, "Press Run for this lab's own curves.")
        else:
            watch(PAGE, job, lambda progress: panel_run.draw(figure, progress))
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
    with st.expander("Data sets on this machine"):
        dataset_table()
    how_computed("reproduce", "pca")
