"""A page's own question as a job beside it: what it takes, begun if wanted, watched, paid for."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.errors import ParameterError
from dpcore.experiments.engine.sweep import RunCost
from dpcore.experiments.pca.sentences import counted
from dpcore.privacy import BeyondCap
from pages.server import visitors_jobs
from pages.server.background_jobs import Parts, Progress, View
from pages.server.visitors_jobs import Sweeps
from pages.widgets import session_ledger
from pages.widgets.charts import is_presented
from pages.widgets.plain_text import said

# Nobody is asked about a minute. Two hours of everybody's server are for the command line, and so
# are rows beyond about 200 MB.
_ASKED_SECONDS, _MOST_SECONDS = 60, 2 * 3600
_MOST_ROWS = 100_000
# So short that a page had rather open with its figure than ask.
_UNASKED_SECONDS = 3
_UNASKED = "_unasked"
# Numbers in a data set up to which an answer is there before one would press a button.
_AT_ONCE = 2_000_000
_POLL_SECONDS = 0.3
_STOOD = "_{}_stood"


@dataclass(frozen=True)
class Request:
    """A page's question as a job.

    page, question, parts: As for `visitors_jobs.start`.
    cost: What it takes. More than a minute is started only once that has been confirmed.
    charge: Gives what the whole run is charged; None where that depends on what it finds. What a
        cap has no room for does not start.
    """

    page: str
    question: Hashable
    parts: Callable[[], Parts]
    cost: RunCost
    charge: session_ledger.Planned = None


def of_sweeps(page: str, sweeps: Sweeps, charge: session_ledger.Planned = None) -> Request:
    """The question that is these sweeps."""
    parts = partial(visitors_jobs.parts_of_sweeps, sweeps)
    return Request(page, sweeps, parts, visitors_jobs.cost_of(sweeps), charge)


def start_button(
    request: Request,
    *,
    label: str = "Run",
    disabled: bool = False,
    caption: str = "",
    help: str | None = None,
) -> None:
    """The button that starts a run, and under it what keeps it from starting.

    label, caption, help: Of the button, and beside it.
    """
    page, cost = request.page, request.cost
    refused = too_much(cost)
    seconds = _seconds(cost)
    asked = st.session_state.get(f"_{page}_asked") == request.question
    joins = visitors_jobs.goes_on(page, request.question)
    start_now: Callable[..., Any] = start
    begin = _ask if seconds > _ASKED_SECONDS and not joins else start_now
    disabled = disabled or bool(refused) or not session_ledger.has_room(request.charge)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            label,
            type="primary",
            icon="▶️",
            on_click=begin,
            args=(request,),
            key=f"{page}_do_run",
            disabled=disabled,
        )
        if seconds > _ASKED_SECONDS and not refused:
            caption += f"; up to about {time_in_words(seconds)}"
        if joins:
            caption += f". It is being computed already: {label} shows it"
        st.caption(caption, help=help)
    if refused:
        st.warning(refused)
    elif asked and not joins:
        st.warning(
            f"This run makes {counted(cost.draws, 'draw')} and takes up to about "
            f"{time_in_words(seconds)}. It ends by itself two minutes after nobody looks at it any "
            "more, and keeps what arrived."
        )
        st.button(
            "Start it",
            on_click=start_now,
            args=(request,),
            key=f"{page}_do_start",
            disabled=disabled,
        )
    if refused := st.session_state.pop(f"_{page}_refused", None):
        st.error(said(refused))


def start(request: Request) -> View | None:
    """Start a run and, under a cap, pay for it; what keeps it from starting is said at its button.

    It is paid once it has its place, and before anything of it can be seen.
    """
    page = request.page
    st.session_state.pop(f"_{page}_asked", None)
    try:
        view = visitors_jobs.start(page, request.question, request.parts)
    except ParameterError as error:
        st.session_state[f"_{page}_refused"] = f"{error}."
        return None
    try:
        session_ledger.pay_ahead(request.charge)
    except BeyondCap as beyond:
        view.cancel()
        st.session_state[f"_{page}_refused"] = f"Not drawn. {beyond}"
        return None
    return view


def start_unasked(request: Request) -> None:
    """Start a run of a moment, so that a page opens with its figure.

    Whoever has a cap spends by hand, and a run that goes on elsewhere does not give way to one
    that nobody asked for, unless nobody asked for it either.
    """
    # In presenter mode there is no button to press.
    most = _ASKED_SECONDS if is_presented() else _UNASKED_SECONDS
    is_short = _seconds(request.cost) <= most and not too_much(request.cost)
    before = st.session_state.get(_UNASKED)
    if is_short and session_ledger.cap() is None and not session_ledger.is_going_on(before):
        st.session_state[_UNASKED] = request.question
        start(request)


def starts_by_itself(cost: RunCost) -> bool:
    """Whether a run is so short that nobody need be asked."""
    return _seconds(cost) <= _ASKED_SECONDS and not too_much(cost)


def too_much(cost: RunCost) -> str:
    """Why a run is too much for a page, and what to do; empty where it is not."""
    instead = "Take fewer draws, values or settings, or run it from the command line."
    if cost.rows > _MOST_ROWS:
        most = f"{_MOST_ROWS:,}"
        return f"This run would give {cost.rows:,} rows; a page takes at most {most}. {instead}"
    if _seconds(cost) > _MOST_SECONDS:
        return (
            f"This run would take about {time_in_words(_seconds(cost))}; a page takes at most "
            f"{time_in_words(_MOST_SECONDS)}. {instead}"
        )
    return ""


def time_in_words(seconds: float) -> str:
    """A time in whole seconds, minutes or hours."""
    if seconds < 100:
        return counted(round(seconds), "second")
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"


def _seconds(cost: RunCost) -> float:
    # How fast a cluster is, is not known here.
    return 0.0 if visitors_jobs.scheduler() else cost.seconds / (os.cpu_count() or 1)


def _ask(request: Request) -> None:
    st.session_state[f"_{request.page}_asked"] = request.question


def watch(
    request: Request,
    dataset: DatasetStatus,
    draw: Callable[[Progress], None],
    count: Callable[[Progress], str],
    *,
    is_there: Callable[[Progress], bool] = lambda progress: bool(progress.arrived),
) -> None:
    """Draw a job again and again while it goes on; small data begin by themselves.

    Until `is_there`, what stood on the page before stays under what is drawn, greyed.
    """
    page = request.page
    work = visitors_jobs.find(page, request.question)
    if work is None and not session_ledger.has_room(request.charge):
        return
    is_small = dataset.n_samples * dataset.n_features <= _AT_ONCE
    if work is None and is_small and starts_by_itself(request.cost):
        work = start(request)
    if work is not None:
        session_ledger.follow((page, request.question), work.rows_so_far)
    progress = None if work is None else work.progress()
    if progress is None or progress.state in ("cancelled", "unseen", "failed"):
        label = "Run" if progress is None else "Go on"
        caption = f"Real runs on {dataset.title}, which take a while; Stop keeps what arrived"
        start_button(request, label=label, caption=caption)
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
