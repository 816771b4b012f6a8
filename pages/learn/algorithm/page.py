"""How it works: Algorithm 1, step by step, on real data."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.pca.public_knowledge import NO_KNOWLEDGE
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.teaching.algorithm1_steps import AT_AGGREGATOR, AT_SITE
from pages.learn.algorithm import step_pieces
from pages.parameters.learn import STEP_TITLES
from pages.parameters.table import ask
from pages.server import family_cache, result_cache
from pages.sidebar.controls import current
from pages.widgets import component_images, session_ledger
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private

PLACES = {AT_SITE: "at the site", AT_AGGREGATOR: "at the aggregator"}

selection = current()
dataset = selection.dataset
# Every site is walked through, in all dimensions.
spec = replace(
    selection.spec, protocols=("dpdis",), repetitions=1, dropped_sites=0, knowledge=NO_KNOWLEDGE
)
for note in selection.notes:
    st.warning(note)
if not dataset_ready(dataset):
    st.stop()

with errors_shown():
    session_ledger.pay_run(spec, what=("messages", "components"))
    steps, answer = st.container(), st.container()
    # Beside the figure that they change.
    buttons = st.container(horizontal=True, vertical_alignment="bottom")
    with steps:
        here = step_pieces.position(buttons)
    site = 0
    if spec.sites > 1:
        site = ask("step_site", buttons, max_value=spec.sites, width=160) - 1
    found = family_cache.steps(spec, site)
    step = found.steps[here]
    words = step_pieces.WORDS[step.key]

    answer.markdown(
        f"## {here + 1} of {len(found.steps)}: {STEP_TITLES[step.key]}, "
        f"{PLACES.get(step.where, 'on its way to the aggregator')}\n\n**{words.plainly}**"
    )
    told, measured = answer.columns([4, 1], vertical_alignment="center")
    told.markdown(step_pieces.words_of(step.facts, step.key))
    told.latex(words.formula)
    measured.metric(
        "If we stopped here",
        percent(step.energy_ratio),
        help="Energy that the top K directions of this matrix capture, as a share of exact PCA's.",
    )

    beside = step_pieces.matrices(
        step.panels, lambda number: family_cache.picture(spec, site, here, number)
    )
    if step.key in ("decomposition", "truncation"):
        step_pieces.spectrum_shown(found, found.n_kept if step.key == "truncation" else None)
    if step.key == "message":
        step_pieces.first_numbers(found)
    if step.key == "components":
        component_images.component_rows(
            {"Exact PCA": found.exact_components, "DPdisPCA": found.components},
            found.exact_components,
            dataset,
            result_cache.feature_names(spec),
        )

    step_pieces.who_knows(words, beside)
    if found.has_mean:
        st.caption(
            "Before the first step each site has sent a noisy mean of its rows, and the average "
            "came back: rows are taken around it. The aggregator knows these means at every step, "
            "and the ε below has paid for them."
        )
    not_private("Matrices before the noise, exact lines and energies", "read the rows themselves.")
    released = result_cache.subspaces(spec)
    guarantee_card(released["dpdis"].guarantee, preparation=spec.preparation)
    session_ledger.so_far(dataset.name, dataset.title, spec.delta)
how_computed("algorithm", "pca")
