"""Playground: move ε and see what survives."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.pca.export import notebook_of, script_of
from dpcore.experiments.pca.runs import reference_bytes
from dpcore.figures.tradeoffs.energy import protocol_dots
from dpcore.pca.protocols.register import PROTOCOLS
from pages.explore.playground import energy_charts, presets
from pages.explore.playground.message_sizes import travelled
from pages.formulas.pca import HOW_IT_IS_COMPUTED
from pages.server import page_lock, result_cache
from pages.sidebar.controls import current
from pages.widgets import component_images, session_ledger
from pages.widgets.downloads import take_away
from pages.widgets.draws_to_come import make_the_rest
from pages.widgets.guarantee_card import guarantee_tabs
from pages.widgets.messages import (
    dataset_ready,
    errors_shown,
    how_computed,
    not_private,
)

selection = current()
spec, dataset = selection.spec, selection.dataset
titles = {key: PROTOCOLS[key].title for key in spec.protocols}

for note in selection.notes:
    st.warning(note)
story = presets.told()
if story is not None and not presets.predicted(story):
    st.stop()
if not dataset_ready(dataset):
    st.stop()

# What moves with ε is one screen; the style sheet places its parts, wide and narrow.
with st.container(key="first_screen"):
    answer, curve, pictures = (st.container() for _ in range(3))
with errors_shown():
    session_ledger.pay_run(spec, spec.repetitions)
    rows, to_come = result_cache.first_rows(spec)
    with answer:
        energy_charts.answer(spec, rows, titles, compare=selection.compare)
        make_the_rest(spec, to_come)
    page_lock.breath()
    with pictures:
        problem = result_cache.problem(spec.problem_key())
        everything = result_cache.subspaces(spec)
        # What one site has alone is the other end of the scale, for whoever chose to see it.
        shown = {key: everything[key] for key in (spec.protocols[0], "local") if key in everything}
        component_images.component_rows(
            {"Exact PCA": problem.exact_components[: problem.default_components]}
            | {PROTOCOLS[key].title: subspace.components for key, subspace in shown.items()},
            problem.exact_components,
            dataset,
            result_cache.feature_names(spec),
        )
    with curve:
        if session_ledger.curves(dataset.name):
            energy_charts.epsilon_curve(spec)

    presets.picker()
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("## Every draw of the noise")
        energy_charts.dots(spec, rows)
    with right:
        st.markdown("## What travelled")
        one_draw = replace(spec, repetitions=1)
        travelled(result_cache.rows(one_draw), *reference_bytes(spec, problem))

    st.markdown("## What it promises")
    session_ledger.so_far(dataset.name, dataset.title, spec.delta)
    guarantee_tabs(
        {titles[key]: subspace.guarantee for key, subspace in everything.items()},
        preparation=spec.preparation,
        key="playground_promises",
    )
    not_private("Exact PCA, the 100 % line and the cosines", "read the rows without any noise.")
    if spec.preparation == "published":
        not_private("Published preparation", result_cache.statement(spec))

    take_away(
        "playground",
        rows,
        figures={"": lambda: protocol_dots(rows)},
        script=lambda: script_of(spec),
        notebook=lambda: notebook_of(spec),
    )
    how_computed("playground", HOW_IT_IS_COMPUTED)
