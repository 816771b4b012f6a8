"""A page's own question as a job beside it: begun, watched with a count and Stop, paid for."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.run_cost import RunCost
from pages.server import visitors_jobs
from pages.server.background_jobs import Parts, Progress, View
from pages.widgets import session_ledger
from pages.widgets.plain_text import said
from pages.widgets.run_request import start, start_button, starts_by_itself

# Numbers in a data set up to which an answer is there before one would press a button.
_AT_ONCE = 200_000
_POLL_SECONDS = 0.3
_STOOD = "_{}_stood"


def watch(
    page: str,
    question: Hashable,
    parts: Callable[[], Parts],
    cost: RunCost,
    dataset: DatasetStatus,
    draw: Callable[[Progress], None],
    count: Callable[[Progress], str],
    charge: session_ledger.Planned = None,
    *,
    is_there: Callable[[Progress], bool] = lambda progress: bool(progress.arrived),
) -> None:
    """Draw a job again and again while it goes on; small data begin by themselves.

    `charge` gives what all of it is charged; without it nobody knows beforehand. Until `is_there`,
    what stood on the page before stays under what is drawn, greyed.
    """
    work = visitors_jobs.find(page, question)
    if work is None and not session_ledger.has_room(charge):
        return
    is_small = dataset.n_samples * dataset.n_features <= _AT_ONCE
    if work is None and is_small and starts_by_itself(cost):
        work = start(page, question, parts, charge)
    if work is not None:
        session_ledger.follow((page, question), work.rows_so_far)
    progress = None if work is None else work.progress()
    if progress is None or progress.state in ("cancelled", "unseen", "failed"):
        label = "Run" if progress is None else "Go on"
        caption = f"Real runs on {dataset.title}, which take a while; Stop keeps what arrived"
        start_button(page, question, parts, cost, charge, label=label, caption=caption)
    if work is None or progress is None:
        _what_stood(page)
        return
    every = _POLL_SECONDS if progress.goes_on else None
    st.fragment(_look, run_every=every)(page, work, draw, count, is_there, progress.goes_on)


def _look(
    page: str,
    work: View,
    draw: Callable[[Progress], None],
    count: Callable[[Progress], str],
    is_there: Callable[[Progress], bool],
    went_on: bool,
) -> None:
    progress = work.progress()
    if progress.state == "running" and not progress.arrived:
        # Instead of coming back in a while: the first rows are drawn the moment they are there.
        work.wait_for_rows(_POLL_SECONDS)
        progress = work.progress()
    if progress.state == "failed":
        st.error(said(progress.sentence), icon="⚠️")
    if progress.goes_on:
        words, button = st.columns([5, 1], vertical_alignment="center")
        is_waiting = progress.state == "waiting"
        words.caption("Waiting for other runs to end …" if is_waiting else count(progress))
        button.button("Stop", on_click=work.cancel, key=f"{page}_do_stop")
    draw(progress)
    if is_there(progress):
        st.session_state[_STOOD.format(page)] = draw, progress
    else:
        _what_stood(page)
    if went_on and not progress.goes_on:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def _what_stood(page: str) -> None:
    if stood := st.session_state.get(_STOOD.format(page)):
        draw, progress = stood
        st.caption("Below, greyed: what the settings before gave.")
        with st.container(key=f"greyed_{page}"):
            draw(progress)
