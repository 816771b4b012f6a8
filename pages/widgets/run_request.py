"""Before a run begins: what it takes, whether that is wanted, and what is too much for a page."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.engine.run_cost import RunCost
from dpcore.experiments.pca.sentences import counted
from dpcore.privacy import BeyondCap
from pages.server import visitors_jobs
from pages.server.background_jobs import Parts, View
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


def start_button(
    page: str,
    question: Hashable,
    parts: Callable[[], Parts],
    cost: RunCost,
    charge: session_ledger.Planned,
    *,
    label: str = "Run",
    disabled: bool = False,
    caption: str = "",
    help: str | None = None,
) -> None:
    """The button that starts a run, and under it what keeps it from starting.

    question, parts: As for `runs_jobs.start`.
    cost: A run of more than a minute is started only once that has been confirmed.
    charge: Gives what the whole run is charged; None where that depends on what it finds. What a
        cap has no room for does not start.
    label, caption, help: Of the button, and beside it.
    """
    refused = too_much(cost)
    seconds = _seconds(cost)
    asked = st.session_state.get(f"_{page}_asked") == question
    joins = visitors_jobs.goes_on(page, question)
    start_now: Callable[..., Any] = start
    begin = _ask if seconds > _ASKED_SECONDS and not joins else start_now
    run = page, question, parts, charge
    disabled = disabled or bool(refused) or not session_ledger.has_room(charge)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            label,
            type="primary",
            icon="▶️",
            on_click=begin,
            args=run,
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
            "Start it", on_click=start_now, args=run, key=f"{page}_do_start", disabled=disabled
        )
    if refused := st.session_state.pop(f"_{page}_refused", None):
        st.error(said(refused))


def start(
    page: str, question: Hashable, parts: Callable[[], Parts], charge: session_ledger.Planned
) -> View | None:
    """Start a run and, under a cap, pay for it; what keeps it from starting is said at its button.

    It is paid once it has its place, and before anything of it can be seen.
    """
    st.session_state.pop(f"_{page}_asked", None)
    try:
        view = visitors_jobs.start(page, question, parts)
    except ParameterError as error:
        st.session_state[f"_{page}_refused"] = f"{error}."
        return None
    try:
        session_ledger.pay_ahead(charge)
    except BeyondCap as beyond:
        view.cancel()
        st.session_state[f"_{page}_refused"] = f"Not drawn. {beyond}"
        return None
    return view


def start_unasked(page: str, question: Hashable, parts: Callable[[], Parts], cost: RunCost) -> None:
    """Start a run of a moment, so that a page opens with its figure.

    Whoever has a cap spends by hand, and a run that goes on elsewhere does not give way to one
    that nobody asked for, unless nobody asked for it either.
    """
    # In presenter mode there is no button to press.
    most = _ASKED_SECONDS if is_presented() else _UNASKED_SECONDS
    is_short = _seconds(cost) <= most and not too_much(cost)
    before = st.session_state.get(_UNASKED)
    if is_short and session_ledger.cap() is None and not session_ledger.is_going_on(before):
        st.session_state[_UNASKED] = question
        start(page, question, parts, None)


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


def _ask(page: str, question: Hashable, *_: object) -> None:
    st.session_state[f"_{page}_asked"] = question
