"""Audit: attack a mechanism, and see whether it keeps its promise."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.attack import (
    CONFIDENCE,
    basis_of,
    cases_by_family,
    claim_of,
    slug_of,
)
from pages.shared import auditing
from pages.shared.cards import errors_shown, how_computed
from pages.shared.formulas_privacy import HOW_THE_ATTACK_WORKS

FIRST_SHOWN = "second-moment-analytic-isometric"

st.title("Audit")
families = cases_by_family()
family = st.pills(
    "Family",
    list(families),
    default=next(iter(families)),
    required=True,
    key="audit_family",
    bind="query-params",
    help="Sound mechanisms claim what they hold, and are attacked as they are released. Flawed "
    "ones were published or shipped, and are kept for teaching: nothing else in the lab can use "
    "them.",
)
cases = families[family]
# Keys of the family's own, so that each remembers what was looked at.
group = slug_of(family).replace("-", "_")
name = st.selectbox(
    "Mechanism",
    list(cases),
    index=list(cases).index(FIRST_SHOWN) if FIRST_SHOWN in cases else 0,
    format_func=lambda key: cases[key].name,
    key=f"audit_{group}",
    bind="query-params",
)
case = cases[name]
trials, confidence, seed = st.columns(3)
n_trials = trials.select_slider(
    "Trials",
    (1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
    value=case.n_trials,
    format_func=lambda n: f"{n:,}",
    key=f"audit_trials_{group}",
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

with errors_shown():
    auditing.live(case, n_trials, level, root)
with st.container(border=True):
    tone = ":green-badge[sound]" if case.is_sound else ":red-badge[flawed, kept for teaching]"
    st.markdown(f"{tone} **{case.name}**")
    st.markdown(f"**The two data sets.** {case.neighbours}")
    if case.flaw:
        st.markdown(f"**The flaw.** {case.flaw}")
    st.markdown(f"**The claim.** {claim_of(case)}, {basis_of(case)}.")
    st.code(
        f"python -m dpcore audit --mechanism {name} --trials {n_trials} "
        f"--confidence {level:g} --seed {root}",
        language="bash",
        wrap_lines=True,
    )
how_computed("audit", HOW_THE_ATTACK_WORKS)
