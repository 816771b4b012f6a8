"""The draws that an answer is still without."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.experiments.pca.spec import RunSpec
from pages.server import page_lock, result_cache
from pages.server.result_cache import Cell
from pages.server.spare_time import compute_for
from pages.sidebar.parts import and_nothing_else, ask_again, draw_again

# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.2
# Leaves the browser time to draw between two slices.
_TICK_SECONDS = 0.3
_BEGUN = "_draws_begun"


def make_the_rest(spec: RunSpec, to_come: Sequence[Cell]) -> None:
    """Make the draws that are still to come while the page stands, and draw the answer again then.

    to_come: sequence of cells. Those of its draws that what stands below has not.
    """
    st.fragment(and_nothing_else()(_go_on))(spec, bool(to_come))


def _go_on(spec: RunSpec, is_short: bool) -> None:
    begun = st.session_state.get(_BEGUN)
    st.session_state[_BEGUN] = spec if is_short else None
    if not is_short:
        if begun is not None:
            ask_again(None)
        return
    to_come = result_cache.finished_rows((spec,))[1]
    if to_come and begun == spec:
        compute_for(to_come, result_cache.cell_rows, _SLICE_SECONDS)
        to_come = result_cache.finished_rows((spec,))[1]
    if begun == spec and not to_come:
        draw_again("answer")
    if to_come:
        done = spec.repetitions - len(to_come)
        st.progress(done / spec.repetitions, f"From {done} of {spec.repetitions} draws so far")
    # Also where somebody else has made them since: the answer above is without them.
    ask_again(page_lock.unhurried(_TICK_SECONDS))
