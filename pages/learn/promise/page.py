"""What ε promises: the adversary's test, its errors, the odds, and one person who moves."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.teaching.adversary_test import promise
from dpcore.figures.privacy.adversary_test import icon_array_svg
from dpcore.privacy import ASSUMED, STATED, PrivacyBudget, icon_counts
from pages.formulas.privacy import HOW_THE_DIRECTION_TURNS, HOW_THE_TEST_WORKS
from pages.learn.promise import panels
from pages.parameters.table import ask
from pages.parameters.words import plain
from pages.sidebar.controls import current
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.messages import errors_shown

spec = current().spec
calibration = ask("promise_calibration")
with errors_shown():
    asked = PrivacyBudget(spec.epsilon, spec.delta)
    guarantee = promise(asked, calibration)
    right, blind = icon_counts(guarantee)
    number, words = st.columns([1, 2], gap="large", vertical_alignment="center")
    number.html(
        '<div style="font-size:clamp(3rem,7vw,6.5rem);font-weight:700;line-height:1;'
        f'white-space:nowrap">{right}<span style="font-size:.35em"> of 100</span></div>'
    )
    words.markdown(
        f"## guesses about you can be right at ε\u00a0=\u00a0{plain(spec.epsilon)}, "
        f"δ\u00a0=\u00a0{plain(spec.delta)}; a coin is right {blind} times."
    )
    words.markdown(
        "Somebody who knows every other row, and that yours is one of two, sees the private "
        "result and guesses which. No strategy does better."
    )
    words.image(
        icon_array_svg(right, blind),
        width="stretch",
        alt=f"{right} of 100 guesses right with the release, {blind} by luck.",
    )
    words.caption("Grey: right by luck alone. Orange: right because of the release. Hollow: wrong.")

    st.markdown("## The adversary's test")
    panels.test(guarantee, asked)
    st.markdown("## From a belief before to a belief after")
    panels.beliefs_shown(guarantee, asked)
    st.markdown("## Changing one person turns the component; the private one shrugs")
    panels.one_person(guarantee)
    st.markdown("## The whole promise")
    guarantee_card(guarantee)
panels.explanations("How to read the card", STATED.values())
panels.explanations("What has to be true", ASSUMED.values())
with st.expander("How the test is computed"):
    st.markdown(HOW_THE_TEST_WORKS)
with st.expander("How the direction is computed"):
    st.markdown(HOW_THE_DIRECTION_TURNS)
