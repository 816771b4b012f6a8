"""Trade-offs: one parameter varies, and what is kept is drawn while it is computed."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpcore.experiments.engine.sweep import Sweep
from pages.explore.tradeoffs.panels import draw_panels, figures_of, nothing_yet
from pages.explore.tradeoffs.sweep_controls import choose_sweeps, commands_of, rows_by_dataset
from pages.sidebar.controls import current
from pages.widgets import live_figure, session_ledger
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private
from pages.widgets.sweep_panel import started_job, take_away_sweep, watch

PAGE = "tradeoffs"


def choose() -> tuple[Sweep, ...]:
    """The sweeps the controls ask for, once all their data are there."""
    chosen, datasets = choose_sweeps(selection)
    if not all([dataset_ready(dataset) for dataset in datasets]):
        st.stop()
    return chosen


selection = current()
answer = st.container()
sweeps: tuple[Sweep, ...] = ()
job = None
for note in selection.notes:
    st.warning(note)
with errors_shown():
    with st.container(border=True):
        sweeps = choose()
        job = started_job(PAGE, sweeps, by_itself=True)
    if job is not None and not (ended := job.progress()).goes_on and ended.rows[0]:
        figures = figures_of(sweeps, rows_by_dataset(ended))
        take_away_sweep(PAGE, sweeps, ended, figures, commands_of(sweeps))
with answer:
    if job is not None:
        watch(PAGE, job, partial(draw_panels, sweeps))
    elif not live_figure.stands(PAGE) and sweeps:
        st.markdown("Press Run; everything but what varies is held as the sidebar says.")
        nothing_yet(sweeps)
with errors_shown():
    promised_cards(
        selection.spec,
        selection.dataset,
        selection.spec.protocols,
        "At the sidebar's settings. What holds at any other point is `exact_epsilon` in the rows.",
    )
    session_ledger.so_far(selection.dataset.name, selection.dataset.title, selection.spec.delta)
    not_private("Exact PCA, the 100 % line", "reads the rows without any noise.")
    how_computed("tradeoffs", "pca")
