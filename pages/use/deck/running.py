"""What pinned views have not been run at yet, and running it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import streamlit as st

from dpcore.experiments.pca.sentences import counted
from pages.presenting.views import View
from pages.server import page_lock, visitors_jobs
from pages.use.deck.asked import Asked
from pages.widgets import session_ledger
from pages.widgets.run_request import too_much

_POLL_SECONDS = 0.2


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
    refused = too_much(job.cost)
    if refused:
        st.caption(f"{job.title}: {refused}")
    return not refused and session_ledger.has_room(job.charge)


def _run(job: Asked, say: Callable[[str], object]) -> None:
    view = visitors_jobs.start(job.page, job.question, job.parts)
    try:
        session_ledger.pay_ahead(job.charge)
        session_ledger.follow((job.name, job.question), view.rows_so_far)
        while (progress := view.progress()).goes_on:
            say(f"{job.title}: {job.said(progress)}")
            with page_lock.others():
                time.sleep(_POLL_SECONDS)
    finally:
        view.cancel()  # which does nothing once it has ended
