"""The walk through Algorithm 1, kept for whoever steps back and forth."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.spec import RunSpec
from dpcore.experiments.stepping import Walk, walk
from dpcore.figures.matrices import matrix_png
from pages.shared import runs


@st.cache_resource(max_entries=4, show_spinner="Running Algorithm 1 …")
def steps(spec: RunSpec, site: int) -> Walk:
    return walk(spec, runs.problem(spec.problem_key()), site)


@st.cache_data(max_entries=64, show_spinner=False)
def picture(spec: RunSpec, site: int, step: int, panel: int) -> bytes:
    """PNG of one matrix of one step."""
    shown = steps(spec, site).steps[step].panels[panel]
    return matrix_png(shown.matrix, shown.limit)
