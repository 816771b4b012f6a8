"""A deck's views as they run: what is missing, two of them side by side, all of them as files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from dpcore.experiments.pca.sentences import counted
from pages.parameters.table import ask
from pages.presenting.pins import Pin
from pages.presenting.views import EXPLORED, View, side_by_side, views_of
from pages.server import page_lock, visitors_jobs
from pages.use.deck.asked import Asked, asked_by
from pages.use.deck.one_file import one_file
from pages.use.deck.powerpoint import powerpoint
from pages.use.deck.told import told_of
from pages.widgets import session_ledger
from pages.widgets.messages import errors_shown
from pages.widgets.watched_job import too_much

_POLL_SECONDS = 0.2
_SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def run_what_is_missing(views: Sequence[View], key: str, asked: Sequence[Asked] = ()) -> bool:
    """Whether all that views and pages need is there, paid for; else a button that runs the rest.

    What has been run by the time somebody presses Stop is kept.
    """
    for view in views:
        view.pay()
    missing = [item for view in views for item in view.frames()[1]]
    jobs = [each for each in asked if not each.has_ended and _can_run(each)]
    if not missing and not jobs:
        return True
    place = st.empty()
    draws = [counted(len(missing), "draw")] * bool(missing)
    needed = ", ".join([*draws, *dict.fromkeys(job.title for job in jobs)])
    if not place.button(f"Run what is missing: {needed}", type="primary", key=key):
        return False
    steps = len(missing) + len(jobs)
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0)
        # Pressed, it has the page drawn anew, which ends this here.
        st.button("Stop", key=f"{key}_stop")
    for done, item in enumerate(missing, start=1):
        with page_lock.others():
            item()
        bar.progress(done / steps, f"{done} of {counted(len(missing), 'draw')}")
    for done, job in enumerate(jobs, start=len(missing)):
        _run(job, lambda words, at=done: bar.progress(at / steps, words))  # type: ignore[misc]
    place.empty()
    return True


def _can_run(job: Asked) -> bool:
    """Whether a page may run it at all; says why not."""
    refused = too_much(job.request.cost)
    if refused:
        st.caption(f"{job.title}: {refused}")
    return not refused and session_ledger.has_room(job.request.charge)


def _run(job: Asked, say: Callable[[str], object]) -> None:
    asked = job.request
    view = visitors_jobs.start(asked.page, asked.question, asked.parts)
    try:
        session_ledger.pay_ahead(asked.charge)
        session_ledger.follow((job.name, asked.question), view.rows_so_far)
        while (progress := view.progress()).goes_on:
            say(f"{job.title}: {job.said(progress)}")
            with page_lock.others():
                time.sleep(_POLL_SECONDS)
    finally:
        view.cancel()  # which does nothing once it has ended


def compared(pins: Sequence[Pin]) -> None:
    """Two of the pins that have an ε, at one scale; chosen in the address."""
    there = [number for number, pin in enumerate(pins, start=1) if pin.page in EXPLORED]
    if len(there) < 2:
        return
    st.markdown("## Side by side")
    left, right = st.container(key="asked_of_deck_pair").columns(2)
    a = ask("deck_a", left, options=there)
    b = ask("deck_b", right, options=there, index=1)
    views = [view for number in (a, b) for view in views_of(pins[number - 1])]
    if run_what_is_missing(views, "deck_run_pair"):
        page_lock.breath()
        side_by_side(views)


def offered(pins: Sequence[Pin]) -> None:
    """The files, once all runs behind them are there."""
    st.markdown("## Take the deck away")
    views = [view for pin in pins for view in views_of(pin)]
    asked = [job for pin in pins if (job := asked_by(pin)) is not None]
    if not run_what_is_missing(views, "deck_run_all", asked):
        st.caption("The files hold what was run, at every ε; some of it is missing so far.")
        return
    told = [told_of(pin) for pin in pins]
    with st.container(horizontal=True):
        st.download_button(
            "PowerPoint, charts that can be edited",
            partial(powerpoint, told),
            "deck.pptx",
            _SLIDES,
            on_click="ignore",
            key="save_deck_pptx",
        )
        with errors_shown():
            st.download_button(
                "One HTML file that works offline",
                one_file(told),
                "deck.html",
                "text/html",
                on_click="ignore",
                key="save_deck_html",
            )
    st.caption(
        "In both, each view says its settings, its seed and what it promises. In the HTML file ε "
        "is still dragged; ← → move it, Page Up and Page Down change the slide."
    )
