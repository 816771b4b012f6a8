"""What ε promises: a game against the bound, one person dragged, a hundred attackers, the card."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.teaching.adversary_test import promise
from dpcore.privacy import ASSUMED, STATED, PrivacyBudget
from pages.learn.promise import adversary
from pages.parameters.table import ask
from pages.sidebar.controls import current
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.messages import errors_shown, formulas

PARTS = ("The two errors", "What one would believe", "The whole promise")
spec = current().spec
figures = st.container()
calibration = ask("promise_calibration")
with errors_shown():
    asked = PrivacyBudget(spec.epsilon, spec.delta)
    guarantee = promise(asked, calibration)
    with figures:
        adversary.game(guarantee, asked)
        st.markdown("## Drag one person")
        adversary.one_person(guarantee)
        adversary.with_her_and_without(guarantee, asked)
    test, beliefs, whole = st.tabs(PARTS)
    with test:
        adversary.test(guarantee, asked)
    with beliefs:
        adversary.beliefs_shown(guarantee, asked)
    with whole:
        guarantee_card(guarantee)
adversary.explanations("How to read the card", STATED.values())
adversary.explanations("What has to be true", ASSUMED.values())
with st.expander("How the test is computed"):
    st.markdown(formulas("promise_test"))
with st.expander("How the direction is computed"):
    st.markdown(formulas("promise_direction"))
