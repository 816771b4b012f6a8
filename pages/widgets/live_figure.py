"""Figures that fill in while one looks: sweeps beside the page, with a count and Stop.

What stood on a page stays, greyed, until its successor is there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import streamlit as st

from dpcore.errors import ParameterError
from pages.server import visitors_jobs
from pages.server.visitors_jobs import SweepProgress, Sweeps, SweepsView
from pages.widgets.plain_text import said

_POLL_SECONDS = 0.2
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


def live_figure(
    name: str, sweeps: Sweeps, draw: Callable[[SweepProgress], None], *, noun: str = "draws"
) -> None:
    """Compute sweeps beside the page from now on, and draw their rows as they arrive.

    They begin by themselves and go on where they were, from the rows on disk. What the figure of
    this name showed before stays, greyed, until half of the new one is there.

    name: Of the figure; one of a name on a server. A page's figures share the first word, up to an
        underscore: those of the page that was looked at before give way.
    sweeps: The first comes first.
    draw: Draws what is there, all or a part or nothing yet.
    noun: What is counted.
    """
    try:
        job = visitors_jobs.live(name, sweeps)
    except ParameterError as error:  # too many go on
        st.caption(said(f"{error}."))
        return
    goes_on = job.progress().goes_on
    every = _POLL_SECONDS if goes_on else None
    st.fragment(_look, run_every=every)(name, job, draw, noun, goes_on)


def _look(
    name: str, job: SweepsView, draw: Callable[[SweepProgress], None], noun: str, went_on: bool
) -> None:
    progress = job.progress()
    drawn(name, progress, draw)
    if progress.goes_on or progress.state == "cancelled":
        bar, button = st.columns([5, 1], vertical_alignment="center")
        bar.progress(
            progress.done / max(progress.total, 1), f"{progress.done} of {progress.total} {noun}"
        )
        if progress.goes_on:
            button.button("Stop", on_click=job.view.cancel, key=f"stop_{name}")
        else:
            button.button("Go on", on_click=_go_on, args=(name, job.sweeps), key=f"go_on_{name}")
    elif progress.sentence:
        st.error(said(progress.sentence.rstrip(".") + "."), icon="⚠️")
    if went_on != progress.goes_on:
        # The whole page once more, so that the fragment stops asking to be run again, or starts.
        st.rerun()


def _go_on(name: str, sweeps: Sweeps) -> None:
    # Where there is no room for it just now, it stays as it is.
    with suppress(ParameterError):
        visitors_jobs.live(name, sweeps, anew=True)
