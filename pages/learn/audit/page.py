"""Audit: attack a mechanism, and see whether it keeps its promise."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.audit.attack import CONFIDENCE, basis_of, cases_by_family, claim_of, slug_of
from pages.formulas.privacy import HOW_THE_ATTACK_WORKS
from pages.learn.audit import panels
from pages.widgets.cards import errors_shown, how_computed

st.title("Audit")
families = cases_by_family()
family = st.pills(
    "Family",
    list(families),
    default=next(iter(families)),
    required=True,
    key="audit_family",
    bind="query-params",
    help="Flawed mechanisms were published or shipped, and are kept for teaching: nothing else in "
    "the lab can use them. Sound ones claim what they hold, and are attacked as they are released.",
)
cases = families[family]
# Keys of the family's own, so that each remembers what was looked at.
group = slug_of(family).replace("-", "_")
left, right = st.columns(2, vertical_alignment="bottom")
mechanism = left.selectbox(
    "Mechanism",
    list(cases),
    format_func=lambda key: cases[key].name,
    key=f"audit_{group}",
    bind="query-params",
)
with right:
    case = panels.attacker(mechanism)
answer = st.container()
with st.expander("Trials, confidence and seed"):
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
    st.code(
        f"python -m dpcore audit --mechanism {mechanism} --adversary {case.adversary} "
        f"--trials {n_trials} --confidence {level:g} --seed {root}",
        language="bash",
        wrap_lines=True,
    )
with answer, errors_shown():
    panels.live(case, n_trials, level, root)
with answer, st.container(border=True):
    tone = ":green-badge[sound]" if case.is_sound else ":red-badge[flawed, kept for teaching]"
    st.markdown(f"{tone} **{case.name}**")
    st.markdown(f"**The two data sets.** {case.neighbours}")
    if case.flaw:
        st.markdown(f"**The flaw.** {case.flaw}")
    st.markdown(f"**The claim.** {claim_of(case)}, {basis_of(case)}.")
how_computed("audit", HOW_THE_ATTACK_WORKS)
