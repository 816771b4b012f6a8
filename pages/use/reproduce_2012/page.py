"""The 2012 paper's figures and table, run live."""

from __future__ import annotations

import streamlit as st

from dpcore.data import dataset_status
from dpcore.experiments.papers.nips2012_figures import CITATION, FIGURES_2012
from pages.parameters.table import ask
from pages.server import visitors_jobs
from pages.sidebar.controls import current
from pages.use.reproduce.panel_run import open_with_figure
from pages.use.reproduce_2012 import panels
from pages.widgets import session_ledger
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.messages import dataset_ready, errors_shown, not_private
from pages.widgets.sweep_panel import watch
from pages.widgets.watched_job import of_sweeps, start_button

PAGE = "reproduce_2012"

with errors_shown():
    answer = st.container()
    with st.container(border=True):
        name = ask("reproduce_2012_figure")
        quick = ask("reproduce_2012_draws") == "quick"
        figure = FIGURES_2012[name].varied(repetitions=panels.QUICK[name] if quick else None)
        sweeps = (figure.sweep,)
        ready = all([dataset_ready(dataset_status(dataset)) for dataset in figure.datasets])
        if ready:
            open_with_figure(PAGE, sweeps)
        start_button(of_sweeps(PAGE, sweeps), disabled=not ready)
    with answer:
        job = visitors_jobs.find_sweeps(sweeps, PAGE)
        if job is None:
            then = "Press Run to check it." if ready else "It takes data that are not here."
            panels.claimed(figure, then)
        else:
            session_ledger.follow((PAGE, sweeps), job.view.rows_so_far)
            watch(PAGE, job, lambda progress: panels.draw(figure, progress), noun="run")
    dataset = dataset_status(figure.base.dataset)
    promised_cards(
        figure.base,
        dataset,
        ("ppca", "modsulq"),
        "At the figure's base setting. MOD-SuLQ's bound grows with the dimension, so that what "
        "holds is much stronger than what was asked.",
    )
    session_ledger.so_far(dataset.name, dataset.title, current().spec.delta)
    not_private("Exact PCA and every share", "are measured on the rows, without any noise.")
    st.caption(f"{figure.note} Source: {CITATION}")
    st.code(
        f"python -m dpcore reproduce {name} --json > {name}.json", language="bash", wrap_lines=True
    )
