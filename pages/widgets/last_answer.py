"""What stood on a page stays, greyed, until its successor is there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.server.visitors_jobs import SweepProgress

_STOOD = "_stood"


def drawn(name: str, progress: SweepProgress, draw: Callable[[SweepProgress], None]) -> None:
    """Draw what has arrived of a figure; while that is less than half, what stood there before.

    name: Of the figure, by which what it showed last is kept for this visitor.
    """
    is_there = 2 * progress.done >= max(progress.total, 1)
    if not is_there and (progress.goes_on or not progress.done) and stands(name):
        return
    draw(progress)
    if is_there and not progress.goes_on:
        keep(name, partial(draw, progress))


def keep(name: str, draw: Callable[[], object]) -> None:
    """What a figure shows, for when its successor keeps one waiting."""
    st.session_state.setdefault(_STOOD, {})[name] = draw


def stands(name: str) -> bool:
    """Draw what a figure showed last, greyed; False, and nothing, if it has shown nothing yet."""
    last = st.session_state.get(_STOOD, {}).get(name)
    if last is None:
        return False
    # The style of what is greyed goes by this key.
    with st.container(key=f"stood_{name}"):
        last()
    return True
