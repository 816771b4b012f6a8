"""Classification: private components, a classifier on them, and one budget for both."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.learning import PIPELINES, PRIVATE
from pages.shared import classification, runs_learning, spent, splitting
from pages.shared.cards import dataset_ready, errors_shown, how_computed
from pages.shared.classification_controls import choose_spec, redraw_button
from pages.shared.controls import current
from pages.shared.formulas_learning import CLASSIFICATION
from pages.shared.parameters.classification import ERROR_VIEW, SPLIT_VIEW
from pages.shared.parameters.table import ask

choice = current()
st.title("Classification")
if not dataset_ready(choice.dataset):
    st.stop()
with errors_shown():
    halves = runs_learning.halves(choice.spec.dataset)
    view = ask("class_view", "View", label_visibility="collapsed")
    spec = choose_spec(choice, halves)
    if view == ERROR_VIEW:
        classification.pay(replace(spec, pipeline=pipeline) for pipeline in PIPELINES)
        classification.answer(spec)
        redraw_button()
        st.markdown("##### Test error at every ε")
        if spent.curves(spec.dataset):
            classification.curves(spec)
        st.markdown("##### What it promises")
        classification.promises(spec)
        classification.enter(choice)
        st.markdown("##### Take it away")
        classification.take_away(spec)
    elif view == SPLIT_VIEW:
        classification.pay([replace(spec, pipeline=PRIVATE)])
        if spent.curves(spec.dataset):
            splitting.two_parts(spec)
            splitting.how_it_moves(spec)
            splitting.three_parts(spec)
        st.markdown("##### What it promises")
        classification.promises(spec)
        classification.enter(choice)
    else:
        shown = classification.inside(spec, halves)
        redraw_button()
        st.markdown("##### What it promises")
        classification.cards(shown)
        classification.enter(choice)
    st.caption(halves.statement)
    how_computed("classification", CLASSIFICATION)
