"""Figures that fill in while one looks, in slices of work, with a count and a way to stop."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import streamlit as st

from dpcore.experiments.engine.experiment import Row
from pages.server.result_cache import compute_for

# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.25


def fill_in(
    name: str,
    identity: Hashable,
    *,
    total: int,
    look: Callable[[], tuple[list[Row], Sequence]],
    compute: Callable,
    draw: Callable[[list[Row]], None],
    noun: str = "points",
) -> None:
    """Draw what is there, and go on computing the rest.

    Parameters
    ----------
    name : str
        Of the figure; one of a name on a page.
    identity : hashable
        What is computed: a new one starts anew.
    total : int
        How many items there are in all.
    look : callable
        () -> (rows there, items missing).
    compute : callable
        Works on one missing item.
    draw : callable
        Draws the rows that are there, all or a part.
    noun : str
        What is counted.
    """
    unfinished = bool(look()[1])
    stopped = st.session_state.get(f"_stopped_{name}") == identity
    every = 0.05 if unfinished and not stopped else None
    st.fragment(_slice, run_every=every)(
        name, identity, total, look, compute, draw, noun, unfinished
    )


def _slice(
    name: str,
    identity: Hashable,
    total: int,
    look: Callable,
    compute: Callable,
    draw: Callable,
    noun: str,
    was_unfinished: bool,
) -> None:
    # The first run shows what there is, so that the page is whole before any waiting.
    started = st.session_state.get(f"_started_{name}") == identity
    stopped = st.session_state.get(f"_stopped_{name}") == identity
    st.session_state[f"_started_{name}"] = identity
    found, missing = look()
    if missing and started and not stopped:
        compute_for(missing, compute, _SLICE_SECONDS)
        found, missing = look()
    draw(found)
    if missing:
        done = total - len(missing)
        bar, button = st.columns([5, 1], vertical_alignment="center")
        bar.progress(done / total, f"{done} of {total} {noun}")
        if button.button("Go on" if stopped else "Stop", key=f"stop_{name}"):
            st.session_state[f"_stopped_{name}"] = None if stopped else identity
            st.rerun()
    elif was_unfinished and started:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()
