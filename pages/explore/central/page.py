"""Central algorithms: SuLQ, MOD-SuLQ, Analyze Gauss, PPCA, Wishart difference side by side."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.central.runs import VARIANTS, central_spec
from dpcore.pca.protocols.register import PROTOCOLS
from pages.explore.central import panels
from pages.server import family_cache
from pages.sidebar.controls import current, redraw_noise
from pages.sidebar.navigation import page_path
from pages.widgets import session_ledger
from pages.widgets.downloads import take_away
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private

selection = current()
dataset = selection.dataset
if not dataset_ready(dataset):
    st.stop()

with errors_shown():
    spec = replace(central_spec(selection.spec), samples=None)
    specs = panels.feasible(spec, dataset, tuple(VARIANTS))
    # In a place of its own: what stands below stays, greyed, until its successor is there.
    with st.container():
        rows = family_cache.central_rows(tuple(specs.values()))
    session_ledger.pay_rows(rows)
    panels.answer(rows, spec)
    st.button("Redraw noise", on_click=redraw_noise, help="New noise, same settings.")

    st.markdown("## Every draw")
    panels.dots(rows)
    if spec.epsilon > 1:
        st.caption("Classic calibration is proven up to ε = 1 alone, and is left out above.")
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("## The same at every ε")
        if session_ledger.curves(dataset.name):
            panels.epsilon_curve(spec, dataset)
    with right:
        st.markdown("## The same with fewer people")
        if session_ledger.curves(dataset.name):
            panels.people_curve(spec, dataset)
    not_private("These curves and exact PCA", "are measured on the data themselves.")

    shown = ("ppca", "wishart", panels.chosen_variant(spec), "modsulq", "sulq")
    found = {key: family_cache.batch(each).subspaces[0] for key, each in specs.items()}
    st.markdown("## What the components look like")
    panels.components(spec, dataset, {key: found[key] for key in shown[:4] if key in found})
    st.caption(
        "PPCA's are turned within their span to the exact ones: only the span is drawn. How good "
        f"it is PPCA cannot tell: {PROTOCOLS['ppca'].silent_because}."
    )

    st.markdown("## What each promises")
    panels.chain_state(found["ppca"])
    panels.promises({key: found[key] for key in shown if key in found}, spec)
    session_ledger.enter(
        selection, "How PPCA's chains went", "R-hat and sample sizes are functions of the rows"
    )
    if spec.preparation == "published":
        not_private(
            "Published preparation",
            family_cache.central_problem(spec.problem_key()).about.statement,
        )
    else:
        st.caption("Nothing is centred here: directions and energy are about zero, not the mean.")
    st.page_link(page_path("sampler"), label="Watch PPCA's chains")

    take_away("central", rows)
how_computed("central")
