"""Figures that fill in while one looks, in slices of work, with a count and a way to stop."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import streamlit as st

# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.25


def fill_in(
    name: str,
    identity: Hashable,
    *,
    progress: Callable[[], tuple[int, int]],
    step: Callable[[float], None],
    draw: Callable[[], None],
    noun: str = "points",
) -> None:
    """Draw what is there, and go on computing the rest.

    Parameters
    ----------
    name : str
        Of the figure; one of a name on a page.
    identity : hashable
        What is computed: a new one starts anew.
    progress : callable
        () -> (done, total).
    step : callable
        Seconds -> None; works for about so long.
    draw : callable
        Draws what is done, all or a part.
    noun : str
        What is counted.
    """
    done, total = progress()
    stopped = st.session_state.get(f"_stopped_{name}") == identity
    every = 0.05 if done < total and not stopped else None
    st.fragment(_slice, run_every=every)(name, identity, progress, step, draw, noun, done < total)


def _slice(
    name: str,
    identity: Hashable,
    progress: Callable[[], tuple[int, int]],
    step: Callable[[float], None],
    draw: Callable[[], None],
    noun: str,
    was_unfinished: bool,
) -> None:
    # The first run shows what there is, so that the page is whole before any waiting.
    started = st.session_state.get(f"_started_{name}") == identity
    stopped = st.session_state.get(f"_stopped_{name}") == identity
    st.session_state[f"_started_{name}"] = identity
    done, total = progress()
    if done < total and started and not stopped:
        step(_SLICE_SECONDS)
        done, total = progress()
    draw()
    if done < total:
        bar, button = st.columns([5, 1], vertical_alignment="center")
        bar.progress(done / total, f"{done} of {total} {noun}")
        if button.button("Go on" if stopped else "Stop", key=f"stop_{name}"):
            st.session_state[f"_stopped_{name}"] = None if stopped else identity
            st.rerun()
    elif was_unfinished and started:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()
