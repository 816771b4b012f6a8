"""Energy per byte: what a site's message keeps for what it weighs."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.explore.bytes import frontier_panels
from pages.parameters.table import ask
from pages.server import visitors_jobs
from pages.sidebar.controls import current
from pages.widgets import session_ledger
from pages.widgets.downloads import take_away
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private
from pages.widgets.watched_job import watch

PAGE = "bytes"

selection = current()
# R and the protocols are what varies here.
spec = replace(selection.spec, protocols=("dpdis",), intermediate_dim=None)
if not dataset_ready(selection.dataset):
    st.stop()
with errors_shown():
    answer = st.container()
    precisions = ask("bytes_precisions")
    with answer:
        watch(
            frontier_panels.request_of(PAGE, spec),
            selection.dataset,
            lambda progress: frontier_panels.frontier(
                progress, spec, selection.dataset, precisions
            ),
            frontier_panels.count_of,
        )
    work = visitors_jobs.find(PAGE, spec)
    rows = [] if work is None else frontier_panels.rows_of(work.progress())
    frontier_panels.best_for_their_bytes(rows)
    promised_cards(
        spec,
        selection.dataset,
        ("dpdis", "full"),
        "Cutting, rounding and coding come after the noise: every message promises the same.",
    )
    session_ledger.so_far(selection.dataset.name, selection.dataset.title, selection.spec.delta)
    take_away(PAGE, rows)
not_private("The 100 % line and every share", "are measured on the rows, without any noise.")
how_computed("bytes")
