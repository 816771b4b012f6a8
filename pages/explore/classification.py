"""Classification: private components, a classifier on them, and one budget for both."""

from __future__ import annotations

import streamlit as st

from pages.shared import classification, runs_learning, splitting
from pages.shared.cards import dataset_ready, errors_shown, explained
from pages.shared.classification_controls import choose_spec, redraw_button
from pages.shared.controls import current
from pages.shared.formulas_learning import CLASSIFICATION

ERROR, SPLIT, INSIDE = "error", "split", "inside"
VIEWS = {ERROR: "Error against ε", SPLIT: "Split the budget", INSIDE: "Look inside"}

choice = current()
st.title("Classification")
if not dataset_ready(choice.dataset):
    st.stop()
with errors_shown():
    halves = runs_learning.halves(choice.spec.dataset)
    view = st.segmented_control(
        "View",
        tuple(VIEWS),
        default=ERROR,
        required=True,
        format_func=VIEWS.get,
        key="class_view",
        bind="query-params",
        label_visibility="collapsed",
    )
    spec = choose_spec(choice, halves)
    if view == ERROR:
        classification.answer(spec)
        redraw_button()
        st.markdown("##### Test error at every ε")
        classification.curves(spec)
        st.markdown("##### What it promises")
        classification.promises(spec)
        st.markdown("##### Take it away")
        classification.take_away(spec)
    elif view == SPLIT:
        splitting.two_parts(spec)
        splitting.how_it_moves(spec)
        splitting.three_parts(spec)
        st.markdown("##### What it promises")
        classification.promises(spec)
    else:
        classification.inside(spec, halves)
        redraw_button()
    st.caption(halves.statement)
    explained("classification", CLASSIFICATION)
