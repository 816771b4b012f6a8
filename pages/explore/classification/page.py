"""Classification: private components, a classifier on them, and one budget for both."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.learning.classification_spec import PIPELINES, PRIVATE
from pages.explore.classification import budget_split, one_pipeline, panels
from pages.explore.classification.controls import choose_spec, redraw_button
from pages.parameters.learning import ERROR_VIEW, SPLIT_VIEW
from pages.parameters.table import ask
from pages.server import learning_cache
from pages.sidebar.controls import current
from pages.widgets import session_ledger
from pages.widgets.messages import dataset_ready, errors_shown, how_computed

selection = current()
if not dataset_ready(selection.dataset):
    st.stop()
with errors_shown():
    halves = learning_cache.halves(selection.spec.dataset)
    view = ask("class_view", label_visibility="collapsed")
    # In places of their own: the answer first, and what stood stays while it is worked out.
    answer, controls = st.container(), st.container(border=True)
    with controls:
        spec = choose_spec(selection, halves)
    if view == ERROR_VIEW:
        panels.pay(replace(spec, pipeline=pipeline) for pipeline in PIPELINES)
        with answer:
            panels.answer(spec)
            redraw_button()
        st.markdown("## Test error at every ε")
        if session_ledger.curves(spec.dataset):
            panels.curves(spec)
        st.markdown("## What it promises")
        panels.promises(spec)
        panels.carry_off(spec)
    elif view == SPLIT_VIEW:
        panels.pay([replace(spec, pipeline=PRIVATE)])
        if session_ledger.curves(spec.dataset):
            with answer:
                budget_split.two_parts(spec)
            budget_split.how_it_moves(spec)
            budget_split.three_parts(spec)
        st.markdown("## What it promises")
        panels.promises(spec)
    else:
        shown = one_pipeline.inside(spec, halves, answer)
        redraw_button()
        st.markdown("## What it promises")
        panels.cards(shown)
    session_ledger.enter(
        selection, "Test errors, test people and their pictures", "they are shown as they are"
    )
    st.caption(learning_cache.halves(spec.dataset, spec.key().preparation).statement)
    how_computed("classification")
