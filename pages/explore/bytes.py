"""Energy per byte: what a site's message keeps for what it weighs."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.shared import rates, runs_jobs, spent
from pages.shared.cards import dataset_ready, errors_shown, how_computed, not_private
from pages.shared.controls import current
from pages.shared.downloads import downloads
from pages.shared.formulas_plans import HOW_BYTES_ARE_COUNTED
from pages.shared.planning import watch
from pages.shared.promised import promised_cards

PAGE = "bytes"

choice = current()
# R and the protocols are what varies here.
spec = replace(choice.spec, protocols=("dpdis",), intermediate_dim=None)
st.title("Energy per byte")
if not dataset_ready(choice.dataset):
    st.stop()
with errors_shown():
    watch(
        PAGE,
        spec,
        lambda: rates.parts_of(spec),
        rates.cost_of(spec),
        choice.dataset,
        lambda progress: rates.frontier(progress, spec, choice.dataset),
        rates.count_of,
        lambda: rates.charge_of(spec),
    )
    promised_cards(
        spec,
        choice.dataset,
        ("dpdis", "full"),
        "Cutting, rounding and coding come after the noise: every message promises the same.",
    )
    spent.so_far(choice.dataset.name, choice.dataset.title, choice.spec.delta)
    work = runs_jobs.find(PAGE, spec)
    st.markdown("##### Take it away")
    downloads(PAGE, [] if work is None else rates.rows_of(work.progress()))
not_private("The 100 % line and every share", "are measured on the rows, without any noise.")
how_computed("bytes", HOW_BYTES_ARE_COUNTED)
