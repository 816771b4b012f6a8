"""How many people a private first component needs: theorems and measurements."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.central.people_needed import ComplexitySpec
from pages.explore.sample_complexity import people_needed
from pages.parameters.table import ask
from pages.sidebar.controls import current
from pages.widgets.downloads import take_away
from pages.widgets.messages import errors_shown, how_computed

shared = current().spec
answer = st.container()
left, right = st.columns(2)
correlation = ask("complexity_correlation", left)
gap = ask("complexity_gap", right)
with errors_shown():
    spec = ComplexitySpec(
        epsilon=shared.epsilon, delta=shared.delta, gap=gap, correlation=correlation
    )
    people_needed.headline(spec, answer)
    people_needed.curves(spec)
    people_needed.what_is_silent(spec)
    take_away("complexity", people_needed.rows_there(spec))
how_computed("sample_complexity")
