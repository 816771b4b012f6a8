"""How many people a private first component needs: theorems and measurements."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.complexity import ComplexitySpec
from pages.shared import complexity
from pages.shared.cards import errors_shown, how_computed
from pages.shared.controls import current
from pages.shared.downloads import downloads
from pages.shared.formulas_central import COMPLEXITY

shared = current().spec
st.title("How many people?")
answer = st.container()
left, right = st.columns(2)
correlation = left.select_slider(
    "Wanted correlation ρ with the exact component",
    (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998),
    value=0.9,
    key="complexity_correlation",
    bind="query-params",
)
gap = right.select_slider(
    "Gap between the two largest eigenvalues",
    (0.05, 0.1, 0.2, 0.3, 0.5),
    value=0.3,
    key="complexity_gap",
    bind="query-params",
)
with errors_shown():
    spec = ComplexitySpec(
        epsilon=shared.epsilon, delta=shared.delta, gap=gap, correlation=correlation
    )
    complexity.headline(spec, answer)
    complexity.curves(spec)
    complexity.what_is_silent(spec)
    downloads("complexity", complexity.rows_there(spec))
how_computed("sample_complexity", COMPLEXITY)
