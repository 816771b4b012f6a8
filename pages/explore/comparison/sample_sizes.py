"""Samples that PPCA and MOD-SuLQ need, by dimension, next to the theorems of the 2012 paper."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from dpcore.experiments.central.sample_sizes import (
    DIMENSIONS,
    MECHANISMS,
    ComplexitySpec,
    bounds,
    growth,
)
from dpcore.figures.central import people_needed
from dpcore.params import params
from pages import sweeps
from pages.components import charts
from pages.sidebar import Selection
from pages.sweeps import RowsOfSweeps


def draw_samples_needed(selection: Selection) -> None:
    """Draw the samples that the first component needs, by dimension."""
    correlations, gaps = st.columns(2)
    correlation = _complexity_control(correlations, "correlation")
    gap = _complexity_control(gaps, "gap")
    shared = selection.spec
    spec = ComplexitySpec(
        epsilon=shared.epsilon, delta=shared.delta, gap=gap, correlation=correlation
    )
    sweeps.watch((spec.sweep(),), partial(_draw_complexity, spec))
    st.caption("The spectrum is given and no rows are read, so the ledger records nothing.")


def _complexity_control(place: Any, name: str) -> float:
    declared = params(ComplexitySpec)[name]
    value: float = place.select_slider(
        declared.title,
        list(declared.steps),
        getattr(ComplexitySpec, name),
        key=f"complexity_{name}",
        bind="query-params",
    )
    return value


def _draw_complexity(spec: ComplexitySpec, results: RowsOfSweeps) -> None:
    rows = results[0]
    slopes = {
        key: growth(rows, key)
        for key in MECHANISMS
        if sum(row["protocol"] == key for row in rows) > 1
    }
    last = {row["protocol"]: row["samples"] for row in rows if row["features"] == DIMENSIONS[-1]}
    if len(last) == len(MECHANISMS):
        st.markdown(
            f"With {DIMENSIONS[-1]} features MOD-SuLQ needs **{last['modsulq']:,.0f}** rows and "
            f"PPCA **{last['ppca']:,.0f}** for a correlation of {spec.correlation:g}."
        )
    else:
        st.markdown("The theorems say: rows grow as d with PPCA and as d^1.5 with MOD-SuLQ.")
    with st.container(height=440, border=False):
        figure = people_needed(
            rows,
            bounds(spec, DIMENSIONS, rows),
            slopes,
            dimensions=(DIMENSIONS[0], DIMENSIONS[-1]),
            dark=charts.is_dark(),
        )
        slope = ", ".join(f"{key} grows as d^{value:.2f}" for key, value in slopes.items())
        alt = f"Rows needed against the number of features: {slope}."
        charts.show_figure(figure, key="compare_complexity", alt=alt)
