"""Audit: attack a mechanism, and see whether it keeps its promise."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.audit.attack import basis_of, claim_of
from pages.learn.audit import panels
from pages.parameters.learn import key_of
from pages.parameters.table import ask
from pages.widgets.messages import errors_shown, how_computed

answer = st.container()
family = ask("audit_family")
left, right = st.columns(2, vertical_alignment="bottom")
# Keys of the family's own, so that each remembers what was looked at.
mechanism = ask(f"audit_{key_of(family)}", left)
with right:
    case = panels.attacker(mechanism)
with st.expander("Trials, confidence and seed"):
    trials, confidence, seed = st.columns(3)
    n_trials = ask(f"audit_trials_{key_of(family)}", trials, value=case.n_trials)
    level = ask("audit_confidence", confidence)
    root = ask("audit_seed", seed)
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
how_computed("audit")
