"""Statistics: one private number about a column, and the law of its error."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments import statistic_runs
from dpcore.experiments.payments_learning import TYPED_NUMBERS
from pages.shared import spent, statistics
from pages.shared.cards import (
    dataset_ready,
    errors_shown,
    guarantee_card,
    how_computed,
    not_private,
)
from pages.shared.controls import current, redraw_noise
from pages.shared.formulas_learning import STATISTICS

choice = current()
st.title("Statistics")
source = statistics.choose_source()
if source == statistics.COLUMN and not dataset_ready(choice.dataset):
    st.stop()
data = spec = None
with errors_shown():
    data = statistics.choose_values(source, choice.dataset)
    spec = statistics.choose_spec(choice.spec, data) if data is not None else None
if spec is None:
    st.stop()

with errors_shown():
    release = statistic_runs.release(data.values, spec)
    statistics.pay(data, spec, release)
    statistics.answer(data, spec, release)
    st.button("Redraw noise", on_click=redraw_noise, help="New noise, same settings.")
    if spec.kind == statistic_runs.HISTOGRAM:
        statistics.histogram(data, spec, release)
    left, right = st.columns(2, gap="large")
    with left:
        if spent.curves(data.dataset or TYPED_NUMBERS):
            statistics.law(data, spec, release)
    with right:
        rows = statistics.trade_off(data, spec)
    statistics.people(data, spec)
    st.markdown("##### What it promises")
    guarantee_card(release.guarantee)
    statistics.enter(data, spec, choice)
    st.caption(
        "This is for one release. Mean, variance and histogram of the same people are three, and "
        "their ε add up."
    )
    not_private(
        "True values, errors, bias and how many values were moved to a bound",
        "read the values without any noise.",
    )
    st.markdown("##### Take it away")
    statistics.take_away(data, spec, rows)
    how_computed("statistics", STATISTICS)
