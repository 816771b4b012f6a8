"""Playground: move ε, see what survives."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.findings import bytes_in_words, headline, spread_of
from dpcore.experiments.methods import METHODS
from dpcore.figures.network import network_svg
from pages.shared import energy, pictures, runs
from pages.shared.cards import dataset_ready, errors_shown, is_dark
from pages.shared.controls import current

choice = current()
spec, dataset = choice.spec, choice.dataset
titles = {key: METHODS[key].title for key in spec.protocols}

st.title("Playground")
for note in choice.notes:
    st.warning(note)
if not dataset_ready(dataset):
    st.stop()
with errors_shown():
    rows = runs.rows(spec)
    st.markdown(f"### {headline(rows, titles)}")
    for column, key in zip(st.columns(len(titles)), titles, strict=True):
        spread = spread_of(rows, key)
        column.metric(titles[key], f"{spread.mean:.1%}")
    left, right = st.columns(2)
    with left:
        energy.dots(rows)
    with right:
        energy.epsilon_curve(spec)
    exact = runs.problem(spec.problem_key()).exact_components
    shown = runs.subspaces(spec)
    pictures.component_row("Exact", exact[:10], exact, dataset)
    for key in titles:
        pictures.component_row(titles[key], shown[key].components[:10], exact, dataset)
    sent = int(shown[spec.protocols[0]].bytes_sent.max())
    st.html(network_svg(spec.sites, bytes_in_words(sent), dark=is_dark()))
