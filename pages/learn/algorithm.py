"""How it works: Algorithm 1, step by step, on real data."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.findings import percent
from dpcore.experiments.stepping import AT_AGGREGATOR, AT_SITE
from pages.shared import pictures, runs, runs_steps, spent, stepping
from pages.shared.cards import (
    dataset_ready,
    errors_shown,
    guarantee_card,
    how_computed,
    not_private,
)
from pages.shared.controls import current
from pages.shared.formulas import HOW_IT_IS_COMPUTED
from pages.shared.parameters.table import ask

PLACES = {AT_SITE: "at the site", AT_AGGREGATOR: "at the aggregator"}

choice = current()
dataset = choice.dataset
spec = replace(choice.spec, protocols=("dpdis",), repetitions=1)
st.title("How it works")
for note in choice.notes:
    st.warning(note)
if not dataset_ready(dataset):
    st.stop()

with errors_shown():
    spent.pay_run(spec, what=("messages", "components"))
    here = stepping.position()
    site = 0
    if spec.sites > 1:
        site = ask("step_site", "Site in view", max_value=spec.sites, width=160) - 1
    found = runs_steps.steps(spec, site)
    step = found.steps[here]
    words = stepping.WORDS[step.key]

    st.markdown(
        f"#### {here + 1} of {len(found.steps)}: {words.title}, "
        f"{PLACES.get(step.where, 'on its way to the aggregator')}"
    )
    told, measured = st.columns([4, 1], vertical_alignment="center")
    told.markdown(stepping.words_of(step.facts, step.key))
    told.latex(words.formula)
    measured.metric(
        "If we stopped here",
        percent(step.energy_ratio),
        help="Energy that the top K directions of this matrix capture, as a share of exact PCA's.",
    )

    beside = stepping.matrices(
        step.panels, lambda number: runs_steps.picture(spec, site, here, number)
    )
    if step.key in ("decomposition", "truncation"):
        stepping.spectrum_shown(found, found.n_kept if step.key == "truncation" else None)
    if step.key == "message":
        stepping.first_numbers(found)
    if step.key == "components":
        pictures.component_rows(
            {"Exact PCA": found.exact_components, "DPdisPCA": found.components},
            found.exact_components,
            dataset,
            runs.feature_names(spec),
        )

    stepping.who_knows(words, beside)
    not_private("Matrices before the noise, exact lines and energies", "read the rows themselves.")
    released = runs.subspaces(spec)
    guarantee_card(released["dpdis"].guarantee, preparation=spec.preparation)
    spent.so_far(dataset.name, dataset.title, spec.delta)
how_computed("algorithm", HOW_IT_IS_COMPUTED)
