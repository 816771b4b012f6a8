"""Audit: attack a mechanism, and see whether it keeps its promise."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.attack import CONFIDENCE, TRIALS, named_cases
from pages.shared import auditing
from pages.shared.cards import errors_shown, how_computed
from pages.shared.formulas_privacy import HOW_THE_ATTACK_WORKS

FIRST_SHOWN = "second-moment-analytic-isometric"

st.title("Audit")
cases = named_cases()
name = st.selectbox(
    "Mechanism",
    list(cases),
    index=list(cases).index(FIRST_SHOWN),
    format_func=lambda key: ("" if cases[key].is_sound else "Flawed: ") + cases[key].name,
    key="audit_mechanism",
    bind="query-params",
    help="Sound mechanisms claim what they hold. Flawed ones were published or shipped, and are "
    "kept for teaching: nothing else in the lab can use them.",
)
trials, confidence, seed = st.columns(3)
n_trials = trials.select_slider(
    "Trials",
    (1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
    value=TRIALS,
    format_func=lambda n: f"{n:,}",
    key="audit_trials",
    bind="query-params",
)
level = confidence.select_slider(
    "Confidence",
    (0.9, 0.95, 0.99, 0.999, 0.9999),
    value=CONFIDENCE,
    format_func=lambda share: f"{100 * share:g} %",
    key="audit_confidence",
    bind="query-params",
)
root = seed.number_input("Seed", 0, 2**31 - 1, 0, key="audit_seed", bind="query-params")

case = cases[name]
with errors_shown():
    auditing.live(case, n_trials, level, root)
with st.container(border=True):
    tone = ":green-badge[sound]" if case.is_sound else ":red-badge[flawed, kept for teaching]"
    st.markdown(f"{tone} **{case.name}**")
    st.markdown(f"**The two data sets.** {case.neighbours}")
    if case.flaw:
        st.markdown(f"**The flaw.** {case.flaw}")
    st.markdown(
        f"**The claim.** ε = {case.epsilon:.3g} at δ = {case.delta:g}"
        + (", from the exact profile of its noise." if case.is_sound else ".")
    )
    st.code(
        f"python -m dpcore audit --mechanism {name} --trials {n_trials} "
        f"--confidence {level:g} --seed {root}",
        language="bash",
        wrap_lines=True,
    )
how_computed("audit", HOW_THE_ATTACK_WORKS)
