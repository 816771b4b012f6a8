"""Figures that fill in while one looks, in slices, with a count and a way to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from dpcore.experiments.classification_runs import Row
from dpcore.experiments.learning import ClassificationSpec
from pages.shared import runs_learning

# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.25


def fill_in(
    name: str, specs: Sequence[ClassificationSpec], draw: Callable[[list[Row]], None]
) -> None:
    """Draw from the rows that are there, and go on computing the others.

    Parameters
    ----------
    name : str
        Of the figure; one of a name on a page.
    specs : sequence of ClassificationSpec
    draw : callable
        Draws the figure from rows, incomplete ones too.
    """
    specs = tuple(specs)
    unfinished = bool(runs_learning.finished(specs)[1])
    stopped = st.session_state.get(f"_stopped_{name}") == specs
    every = 0.05 if unfinished and not stopped else None
    st.fragment(_slice, run_every=every)(name, specs, draw, unfinished)


def _slice(name: str, specs: tuple, draw: Callable[[list[Row]], None], unfinished: bool) -> None:
    started = st.session_state.get(f"_started_{name}") == specs
    stopped = st.session_state.get(f"_stopped_{name}") == specs
    st.session_state[f"_started_{name}"] = specs
    found, missing = runs_learning.finished(specs)
    if missing and started and not stopped:
        runs_learning.compute_for(missing, _SLICE_SECONDS)
        found, missing = runs_learning.finished(specs)
    if found:
        draw(found)
    if missing:
        total = len(found) + len(missing)
        bar, button = st.columns([5, 1], vertical_alignment="center")
        bar.progress(len(found) / total, f"{len(found)} of {total} draws")
        if button.button("Go on" if stopped else "Stop", key=f"stop_{name}"):
            st.session_state[f"_stopped_{name}"] = None if stopped else specs
            st.rerun()
    elif unfinished and started:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()
