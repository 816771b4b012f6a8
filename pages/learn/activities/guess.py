"""Guess: each phone randomises its answer to one question."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

import numpy as np
import streamlit as st

from dpcore.experiments.engine.summaries import counted
from dpcore.mechanisms import chance_of_truth, randomised_response
from dpcore.teaching.activities import Guess
from dpcore.teaching.rooms import Room, Student
from pages.components import notices
from pages.learn.activities.visitor import (
    View,
    Visitor,
    draw_action,
    send_in_round,
    show_bars,
)
from pages.number_format import plain

# This phone's true answer to the question of a round: room code, round, answer.
_TRUTH = "_classroom_truth"
_EPSILONS_OF_ANSWERS = (0.5, 1.0, 2.0, 3.0)


def _choose_guess(_: Room) -> Callable[[], Guess]:
    question = st.text_input(
        "Question",
        "Have you ever copied someone else's homework?",
        max_chars=200,
        key="classroom_question",
    )
    epsilon = st.segmented_control(
        "ε of an answer",
        _EPSILONS_OF_ANSWERS,
        format_func=plain,
        default=1.0,
        required=True,
        key="classroom_guess_epsilon",
    )
    return lambda: Guess(question[:200], ("Yes", "No"), epsilon)


def _guess_progress(activity: Guess) -> str:
    return f"**{counted(len(activity.answers), 'answer')}**."


def _guess_rule(activity: Guess) -> str:
    truth = 100 * chance_of_truth(len(activity.choices), activity.epsilon)
    return f"Your phone tells the truth {truth:.0f} times in 100 and lies the rest."


def _guess_on_phone(visitor: Visitor, student: Student, activity: Guess) -> None:
    room = visitor.room
    st.markdown(f"### {notices.escape_markdown(activity.question, 200)}")
    st.caption(f"{_guess_rule(activity)} This server draws the noise for your phone.")
    if student.seat in activity.answers:
        sent_answer = activity.choices[activity.answers[student.seat]]
        st.success(f"Your phone said “{sent_answer}”. That may or may not be your answer.")
        if room.is_revealed:
            _offer_true_answer(visitor, student, activity)
        return
    if room.is_revealed:
        st.info("This round is over. Look at the wall.")
        return
    for number, choice in enumerate(activity.choices):
        st.button(
            choice,
            key=f"classroom_answer_{room.round}_{number}",
            width="stretch",
            disabled=room.is_paused,
            on_click=_answer,
            args=(visitor, activity, number),
        )


def _answer(visitor: Visitor, activity: Guess, truth: int) -> None:
    rng = np.random.default_rng(secrets.randbits(128))
    sent_answer = randomised_response(truth, len(activity.choices), activity.epsilon, rng=rng)
    st.session_state[_TRUTH] = visitor.room.code, visitor.room.round, truth
    send_in_round(visitor, "randomised", sent_answer)()


def _offer_true_answer(visitor: Visitor, student: Student, activity: Guess) -> None:
    code, round_, truth = st.session_state.get(_TRUTH, ("", 0, 0))
    is_this_round = (code, round_) == (visitor.room.code, visitor.room.round)
    if not activity.is_open_late or not is_this_round:
        return
    if student.seat in activity.clear:
        st.info("Your true answer is counted.")
        return
    st.markdown("The teacher asks: may your true answer be counted, without noise?")
    st.button(
        "Count my true answer",
        key=f"classroom_clear_{round_}",
        on_click=send_in_round(visitor, "clear", truth),
    )


def _guess_on_wall(room: Room, activity: Guess) -> None:
    st.markdown(f"### {notices.escape_markdown(activity.question, 200)}")
    counts = activity.counts(activity.answers)
    show_bars(activity.choices, counts, most=room.n_joined, noun="Answers of the phones")
    st.caption(_guess_rule(activity).replace("Your phone", "Each phone"))
    if activity.is_open_late and activity.clear:
        n_true = len(activity.clear)
        notices.mark_not_private(f"{n_true} true answers:", "their owners agreed to it.")
        show_bars(
            activity.choices, activity.counts(activity.clear), most=n_true, noun="True answers"
        )


def _guess_headline(room: Room, activity: Guess) -> str:
    n_answers = len(activity.answers)
    if not (room.is_revealed and n_answers):
        return ""
    estimate, deviation = activity.estimate()
    most = int(np.argmax(estimate))
    number = min(max(round(estimate[most]), 0), n_answers)
    warning = " Too few answers to know." if 4 * deviation >= n_answers else ""
    return (
        f"About {number} of {n_answers} mean “{notices.escape_markdown(activity.choices[most])}”, "
        f"± {2 * deviation:.0f}.{warning}"
    )


def _guess_on_console(visitor: Visitor, activity: Guess) -> None:
    if visitor.room.is_revealed and not activity.is_open_late:
        allow = partial(setattr, activity, "is_open_late", True)
        draw_action("Ask for true answers", partial(visitor.room.show, visitor.key, allow))
        st.caption("Each phone may agree. Do not ask this for a sensitive question.")


GUESS = View(
    "Guess",
    "Phones randomise their answers; the tally is about right.",
    8,
    _choose_guess,
    _guess_progress,
    _guess_headline,
    _guess_on_phone,
    _guess_on_wall,
    _guess_on_console,
    (
        "Type a question that people rather do not answer. Press Start.",
        "“Your phone may lie for you. Answer truthfully.” Wait for all answers.",
        "Press Reveal: the estimate removes the lies on average.",
        "Ask: what do I know about you from your phone's answer?",
        "For a harmless question, ask for true answers and compare.",
    ),
)
