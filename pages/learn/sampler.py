"""Inside the sampler: PPCA's Markov chains, and what their burn-in means for the promise."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.central import central_spec
from pages.shared import sampler
from pages.shared.cards import dataset_ready, errors_shown, how_computed, not_private
from pages.shared.controls import current, redraw_noise
from pages.shared.formulas_central import CHAINS
from pages.shared.parameters.table import ask

choice = current()
st.title("Inside the sampler")
if not dataset_ready(choice.dataset):
    st.stop()
if choice.spec.components == choice.dataset.n_features:
    st.info("With K at the number of features the subspace is the whole space: nothing is drawn.")
    st.stop()
answer = st.container()
left, right = st.columns([3, 1], gap="large")
n_sweeps = ask("sampler_sweeps", "Sweeps", left)
n_chains = ask("sampler_chains", "Chains", right)
with errors_shown():
    spec = replace(central_spec(choice.spec), samples=None)
    chains, enough = sampler.watched(spec, n_chains, n_sweeps)
    with answer:
        sampler.headline(chains, enough, spec)
        st.button("Redraw the chains", on_click=redraw_noise, help="New chains, same settings.")
    not_private(
        "Traces, R-hat, effective sample sizes, the number of sweeps and the verdict",
        "are functions of the data and are not released: the last state of one chain is.",
    )
    sampler.traces(chains, enough)
    sampler.diagnostics(chains)
    sampler.what_it_means(chains, enough, spec)
    sampler.promise(chains, spec, choice.dataset)
how_computed("sampler", CHAINS)
