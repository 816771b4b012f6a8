"""Eigen-images: the components from no noise down to strict privacy."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.engine.control_ranges import EPSILONS
from pages.explore.eigen_images import panels, spectrum_panels
from pages.parameters.table import ask
from pages.parameters.words import or_infinity as say
from pages.server import result_cache
from pages.sidebar.controls import current
from pages.sidebar.selection import n_components_of
from pages.widgets import component_images, session_ledger
from pages.widgets.component_images import MOST_SHOWN
from pages.widgets.guarantee_card import guarantee_tabs
from pages.widgets.messages import dataset_ready, errors_shown, not_private

selection = current()
dataset = selection.dataset
answer = st.container()
# The controls follow the answer; with pills, what has no room in a line begins another.
controls = st.container(border=True, key="asked_of_eigen")
method = ask("method", controls)
epsilons = ask("epsilons", controls)
for note in selection.notes:
    st.warning(note)
if not dataset_ready(dataset):
    st.stop()

with errors_shown():
    specs = {
        epsilon: replace(selection.spec, protocols=(method,), epsilon=epsilon)
        for epsilon in sorted(epsilons, reverse=True)
    }
    problem = result_cache.problem(selection.spec.problem_key())
    for epsilon, spec in specs.items():
        # On top is the mean of all draws at the strictest.
        draws = spec.repetitions if epsilon == min(specs) else 1
        session_ledger.pay_run(spec, draws, what=("components", "eigenvalues"))
    found = {epsilon: result_cache.subspaces(spec)[method] for epsilon, spec in specs.items()}
    session_ledger.so_far(dataset.name, dataset.title, selection.spec.delta)
    if specs:
        strictest = min(specs)
        with answer:
            panels.headline(specs[strictest], method, found, problem.exact_components)
    rows = {f"ε = {say(epsilon)}": subspace.components for epsilon, subspace in found.items()}
    n_components = n_components_of(selection.spec.components, dataset)
    component_images.component_rows(
        {"Exact PCA": problem.exact_components[:n_components]} | rows,
        problem.exact_components,
        dataset,
        result_cache.feature_names(selection.spec),
        protocol=method,
    )
    of_all = f"The first {MOST_SHOWN} of {n_components} components. " * (n_components > MOST_SHOWN)
    st.caption(
        f"{of_all}Under each picture, its |cosine| to the exact one. One draw of the noise; the "
        "number on top is the mean of all."
    )

    # Play starts where most is to be seen.
    most = max((epsilon for epsilon in specs if epsilon in EPSILONS), default=EPSILONS[-1])
    panels.watch_it_fall(
        replace(selection.spec, protocols=(method,), epsilon=most, repetitions=1), dataset
    )

    st.markdown("## Rebuild somebody from the first k components")
    spectrum_panels.rebuilt_rows(selection.spec, found, problem, dataset, say)
    not_private("The person shown and the exact rows", "are the data themselves.")
    if dataset.name == "digits":
        panels.drawn(selection.spec, rows, problem.exact_components)

    if dataset.image_shape is not None:
        st.markdown("## What public knowledge would keep")
        spectrum_panels.knowledge_of(selection.spec, problem, dataset)
        not_private("These curves", "are measured on the data themselves.")

    if found:
        st.markdown("## Eigenvalues against the edge of pure noise")
        spectrum_panels.scree_of(specs, method, problem, say)
        st.markdown("## What it promises")
        guarantee_tabs(
            {f"ε = {say(epsilon)}": subspace.guarantee for epsilon, subspace in found.items()},
            preparation=selection.spec.preparation,
            key="eigen_promises",
        )
        panels.carry_off(specs[strictest], found, problem.exact_components)
