"""How many people a private first component needs: theorems and measurements."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.complexity import ComplexitySpec
from pages.shared import complexity
from pages.shared.cards import errors_shown, how_computed
from pages.shared.controls import current
from pages.shared.downloads import downloads
from pages.shared.formulas_central import COMPLEXITY
from pages.shared.parameters.table import ask

shared = current().spec
st.title("How many people?")
answer = st.container()
left, right = st.columns(2)
correlation = ask("complexity_correlation", "Wanted correlation ρ with the exact component", left)
gap = ask("complexity_gap", "Gap between the two largest eigenvalues", right)
with errors_shown():
    spec = ComplexitySpec(
        epsilon=shared.epsilon, delta=shared.delta, gap=gap, correlation=correlation
    )
    complexity.headline(spec, answer)
    complexity.curves(spec)
    complexity.what_is_silent(spec)
    downloads("complexity", complexity.rows_there(spec))
how_computed("sample_complexity", COMPLEXITY)
