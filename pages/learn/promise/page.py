"""What ε promises: the adversary's test, its errors, the odds, and one person who moves."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.teaching.adversary_test import promise
from dpcore.privacy import ASSUMED, STATED, PrivacyBudget
from pages.learn.promise import panels
from pages.parameters.table import ask
from pages.sidebar.controls import current
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.messages import errors_shown, formulas

PARTS = ("Who could tell", "What one would believe", "One person moves", "The whole promise")
spec = current().spec
answer = st.container()
calibration = ask("promise_calibration")
with errors_shown():
    asked = PrivacyBudget(spec.epsilon, spec.delta)
    guarantee = promise(asked, calibration)
    with answer:
        panels.best_guesses(guarantee, asked)
    test, beliefs, person, whole = st.tabs(PARTS)
    with test:
        panels.test(guarantee, asked)
    with beliefs:
        panels.beliefs_shown(guarantee, asked)
    with person:
        panels.one_person(guarantee)
    with whole:
        guarantee_card(guarantee)
panels.explanations("How to read the card", STATED.values())
panels.explanations("What has to be true", ASSUMED.values())
with st.expander("How the test is computed"):
    st.markdown(formulas("promise_test"))
with st.expander("How the direction is computed"):
    st.markdown(formulas("promise_direction"))
