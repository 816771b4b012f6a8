"""Spend: one budget for the class, and every question is charged."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpcore.data import load_dataset
from dpcore.experiments.pca.sentences import counted, percent
from dpcore.privacy.card import say_number
from dpcore.privacy.filter import spoken_down
from pages.classroom.activities import Spend
from pages.classroom.room import Room, Student
from pages.learn.classroom.door import Here, called, sends
from pages.parameters.words import plain
from pages.widgets import session_ledger
from pages.widgets.messages import big_number, not_private

TITLE = "Spend"
ABOUT = (
    "One budget for the whole class. Every question about the same people is charged, until one is "
    "refused."
)
_BUDGETS = (0.5, 1.0, 2.0, 5.0, 10.0)
_PRICES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_LAST_SHOWN = 12


def asked(_: Room) -> Callable[[], Spend]:
    """The budget of the whole class."""
    epsilon = st.segmented_control(
        "ε for everybody together", _BUDGETS, format_func=plain, default=2.0, required=True,
        key="class_spend_epsilon",
    )  # fmt: skip
    return lambda: Spend(epsilon, _numerals())


def arrived(activity: Spend) -> str:
    refused = sum(list(activity.refused.values()))
    return (
        f"**{counted(len(activity.queries), 'answer')}**, {refused} refused, ε = "
        f"{spoken_down(activity.left)} left."
    )


def on_phone(here: Here, student: Student, activity: Spend) -> None:
    """Ask how many people wrote a numeral, at a price."""
    room = here.room
    st.markdown(
        f"1,797 people each wrote one numeral. The class may spend ε = "
        f"**{plain(activity.cap.epsilon)}** on all of them together."
    )
    over = room.is_paused or room.is_revealed
    numeral = st.segmented_control(
        "How many wrote a …", range(10), default=3, required=True,
        key=f"class_numeral_{room.round}", disabled=over,
    )  # fmt: skip
    price = st.segmented_control(
        "What you pay: ε of the answer", _PRICES, format_func=plain, default=0.1, required=True,
        key=f"class_price_{room.round}", disabled=over,
    )  # fmt: skip
    st.caption(f"The answer will be off by {1 / price:.0f} people on average.")
    st.button(
        f"Ask, for ε = {plain(price)}",
        type="primary",
        width="stretch",
        key=f"class_ask_{room.round}",
        on_click=sends(here, numeral, price),
        disabled=over,
    )
    mine = [query for query in list(activity.queries) if query.seat == student.seat]
    if mine:
        paid = sum(query.epsilon for query in mine)
        st.markdown(
            f"About **{mine[-1].answer:,.0f}** people wrote a {mine[-1].numeral}. "
            f"You have spent ε = {say_number(paid)} of everybody's."
        )


def on_wall(room: Room, activity: Spend) -> None:
    """What is left, and who spent it on what."""
    left = activity.left
    refused = sum(list(activity.refused.values()))
    big_number(
        spoken_down(left),
        f"is left of the class's ε\u00a0=\u00a0{plain(activity.cap.epsilon)}.",
        f"{counted(len(activity.queries), 'question')} answered, {refused} refused. Whoever was "
        "asked about pays for every answer, whoever asked.",
    )
    st.progress(min(1.0, activity.spent / activity.cap.epsilon), "spent")
    lines = [
        {
            "who asked": called(room, query.seat),
            "how many wrote a": query.numeral,
            "ε": query.epsilon,
            "answer": round(query.answer),
        }
        for query in reversed(activity.queries[-_LAST_SHOWN:])
    ]
    if lines:
        st.dataframe(lines, hide_index=True, width="stretch")
    if room.is_revealed and activity.queries:
        _revealed(activity)
    session_ledger.uncovered("digits", "Questions of a classroom", "charged to the room's budget")


def on_console(_: Here, __: Spend) -> None:
    """Nothing besides."""


def _revealed(activity: Spend) -> None:
    best = min(
        activity.queries, key=lambda query: abs(query.answer - activity.count(query.numeral))
    )
    dearest = max(list(activity.queries), key=lambda query: query.epsilon)
    known = {query.numeral for query in list(activity.queries)}
    st.markdown(
        f"The class learnt about **{len(known)} of 10** numerals. One question took "
        f"**{percent(dearest.epsilon / activity.cap.epsilon)}** of the budget. The closest answer "
        f"was {best.answer:,.0f} for {activity.count(best.numeral):,} who wrote a {best.numeral}."
    )
    not_private("The true count", "is read off the rows.")


def _numerals() -> list[int]:
    labels = load_dataset("digits").labels
    return [] if labels is None else [int(label) for label in labels]
