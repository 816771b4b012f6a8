"""Inside the sampler: PPCA's Markov chains, and what their burn-in means for the promise."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.central.runs import central_spec
from pages.learn.sampler import chain_panels
from pages.parameters.table import ask
from pages.sidebar.controls import current, redraw_noise
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private

selection = current()
if not dataset_ready(selection.dataset):
    st.stop()
if selection.spec.components == selection.dataset.n_features:
    st.info("With K at the number of features the subspace is the whole space: nothing is drawn.")
    st.stop()
st.caption(
    "For experts: PPCA's private directions come out of a random walk, and its promise holds once "
    "the walk has forgotten where it began. Here one sees when that is."
)
answer = st.container()
left, right = st.columns([3, 1], gap="large")
n_sweeps = ask("sampler_sweeps", left)
n_chains = ask("sampler_chains", right)
with errors_shown():
    spec = replace(central_spec(selection.spec), samples=None)
    chains, enough = chain_panels.watched(spec, n_chains, n_sweeps)
    with answer:
        chain_panels.headline(chains, enough, spec)
        st.button("Redraw the chains", on_click=redraw_noise, help="New chains, same settings.")
    not_private(
        "Traces, R-hat, effective sample sizes, the number of sweeps and the verdict",
        "are functions of the data and are not released: the last state of one chain is.",
    )
    chain_panels.traces(chains, enough)
    chain_panels.diagnostics(chains)
    chain_panels.what_it_means(chains, enough, spec)
    chain_panels.promise(chains, spec, selection.dataset)
how_computed("sampler")
