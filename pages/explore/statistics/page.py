"""Statistics: one private number about a column, and the law of its error."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.learning import statistic_runs
from dpcore.experiments.learning.statistic_spec import HISTOGRAM
from dpcore.experiments.ledger.family_charges import TYPED_NUMBERS
from pages.explore.statistics import panels
from pages.sidebar.controls import current, redraw_noise
from pages.widgets import session_ledger
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.messages import dataset_ready, errors_shown, how_computed, not_private

selection = current()
answer = st.container()
controls = st.container(border=True)
with controls:
    source = panels.choose_source()
if source == panels.COLUMN and not dataset_ready(selection.dataset):
    st.stop()
data = spec = None
with errors_shown(), controls:
    data = panels.choose_values(source, selection.dataset)
    spec = panels.choose_spec(selection.spec, data) if data is not None else None
if data is None or spec is None:
    st.stop()

with errors_shown():
    release = statistic_runs.release(data.values, spec)
    panels.pay(data, spec, release)
    with answer:
        panels.answer(data, spec, release)
        st.button("Redraw noise", on_click=redraw_noise, help="New noise, same settings.")
    if spec.kind == HISTOGRAM:
        panels.histogram(data, spec, release)
    left, right = st.columns(2, gap="large")
    with left:
        if session_ledger.curves(data.dataset or TYPED_NUMBERS):
            panels.law(data, spec, release)
    with right:
        rows = panels.trade_off(data, spec)
    panels.people(data, spec)
    st.markdown("## What it promises")
    guarantee_card(release.guarantee)
    panels.enter(data, spec, selection)
    st.caption(
        "This is for one release. Mean, variance and histogram of the same people are three, and "
        "their ε add up."
    )
    not_private(
        "True values, errors, bias and how many values were moved to a bound",
        "read the values without any noise.",
    )
    panels.carry_off(data, spec, rows)
    how_computed("statistics")
