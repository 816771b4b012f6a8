"""Guess: a question to everybody, answered through randomised response."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

import numpy as np
import streamlit as st

from dpcore.experiments.pca.sentences import counted
from dpcore.mechanisms import chance_of_truth, randomised_response
from pages.classroom.activities import Guess
from pages.classroom.room import Room, Student
from pages.learn.classroom.door import Here, sends, trying
from pages.parameters.words import plain
from pages.stories.lessons import STORIES
from pages.widgets.messages import big_number
from pages.widgets.plain_text import plainly

TITLE = "Guess"
ABOUT = (
    "A question to everybody. Every answer is randomised before it enters the room, and the tally "
    "is still about right."
)
_EPSILONS = (0.5, 1.0, 2.0, 3.0)
_OWN = "own"
_LONGEST_QUESTION = 200
# What this phone answered in truth, by room and round; it does not leave the session unasked.
_TRUTH = "_classroom_truth"


def asked(_: Room) -> Callable[[], Guess]:
    """Which question, and the ε of every answer."""
    name = st.selectbox(
        "Question",
        [_OWN, *STORIES],
        format_func=lambda each: "Yes or no, in your own words" if each == _OWN
        else STORIES[each].title,
        key="class_question",
    )  # fmt: skip
    if name == _OWN:
        question = st.text_input(
            "What do you ask?",
            "Have you ever copied somebody's homework?",
            max_chars=_LONGEST_QUESTION,
            key="class_own_question",
        )
        choices: tuple[str, ...] = ("Yes", "No")
    else:
        question = STORIES[name].question
        choices = tuple(choice.text for choice in STORIES[name].choices)
    epsilon = st.segmented_control(
        "ε of an answer", _EPSILONS, format_func=plain, default=1.0, required=True,
        key="class_guess_epsilon",
    )  # fmt: skip
    st.caption(_rule(len(choices), epsilon))
    return lambda: Guess(question[:_LONGEST_QUESTION], choices, epsilon)


def arrived(activity: Guess) -> str:
    clear = f", {len(activity.clear)} of them also in clear" if activity.is_open_late else ""
    return f"**{counted(len(activity.answers), 'answer')}**{clear}."


def on_phone(here: Here, student: Student, activity: Guess) -> None:
    """One answer, which is randomised before it is sent."""
    room = here.room
    st.markdown(_letters(activity.question))
    st.caption(
        f"{_rule(len(activity.choices), activity.epsilon)} Whoever goes by what yours says, the "
        "teacher too, is right about you that often; who guesses blind, "
        f"{100 / len(activity.choices):.0f} times. (This lab's server rolls the dice for your "
        "phone; in a real study the phone would, and nobody else would ever have your answer.)"
    )
    if student.seat in activity.answers:
        _after(here, student, activity)
        return
    if room.is_revealed:
        st.info("This round is over. Look at the wall.")
        return
    for number, choice in enumerate(activity.choices):
        st.button(
            _letters(choice),
            key=f"class_answer_{room.round}_{number}",
            width="stretch",
            disabled=room.is_paused,
            on_click=_answer,
            args=(here, activity, number),
        )


def on_wall(room: Room, activity: Guess) -> None:
    """The question; after Reveal the estimate, and the answers in clear of those who agreed."""
    st.markdown(f"### {_letters(activity.question)}")
    n_answers = len(activity.answers)
    if not room.is_revealed or not n_answers:
        st.markdown(
            f"**{counted(n_answers, 'answer')}.** {_rule(len(activity.choices), activity.epsilon)}"
        )
        return
    estimate, deviation = activity.estimate()
    counts = activity.counts(activity.answers)
    most = int(np.argmax(estimate))
    words = big_number(
        f"{_about(estimate[most], n_answers)} of {n_answers}",
        f"mean “{_letters(activity.choices[most])}”, give or take {2 * deviation:.0f}.",
        f"{_rule(len(activity.choices), activity.epsilon)} The estimate takes out what was said by "
        "chance alone, and is right on average; give or take is two standard deviations.",
    )
    lines = [
        {"answer": choice, "said": count, "estimated truths": f"{each:.1f}"}
        for choice, count, each in zip(activity.choices, counts, estimate, strict=True)
    ]
    if activity.is_open_late and activity.clear:
        true = activity.counts(activity.clear)
        for line, count in zip(lines, true, strict=True):
            line["in clear"] = count
        words.markdown(
            f":red-badge[not private] **{len(activity.clear)} of {n_answers}** let theirs be "
            "counted as it is."
        )
    st.dataframe(lines, hide_index=True, width="stretch")


def on_console(here: Here, activity: Guess) -> None:
    """After Reveal: ask who lets the true answer be counted."""
    if not here.room.is_revealed or activity.is_open_late:
        return
    st.button(
        "Ask who lets the true answer be counted",
        on_click=trying,
        args=(partial(here.room.show, here.key, partial(setattr, activity, "is_open_late", True)),),
        help="Each phone says yes or does nothing. Only of those who say yes the wall counts the "
        "answer without noise; for a sensitive question, do not ask.",
    )


def _answer(here: Here, activity: Guess, truth: int) -> None:
    rng = np.random.default_rng(secrets.randbits(128))
    said = randomised_response(truth, len(activity.choices), activity.epsilon, rng=rng)
    st.session_state[_TRUTH] = here.room.code, here.room.round, truth
    sends(here, "randomised", said)()


def _after(here: Here, student: Student, activity: Guess) -> None:
    said = activity.choices[activity.answers[student.seat]]
    st.success(f"Your phone said “{_letters(said)}”: perhaps your answer, perhaps not.")
    code, round_, truth = st.session_state.get(_TRUTH, ("", 0, 0))
    if not activity.is_open_late or (code, round_) != (here.room.code, here.room.round):
        return
    if student.seat in activity.clear:
        st.info("Your true answer is counted too.")
        return
    st.markdown("The teacher asks: may your true answer be counted, without noise?")
    st.button(
        "Count mine as it is",
        key=f"class_clear_{round_}",
        on_click=sends(here, "clear", truth),
        disabled=here.room.is_paused,
    )


def _letters(text: str) -> str:
    return plainly(text, longest=1000)


def _about(estimate: float, most: int) -> int:
    """An estimate as a number of people: what is shown is cut, what is tabulated is not."""
    return min(max(round(estimate), 0), most)


def _rule(n_choices: int, epsilon: float) -> str:
    truth = chance_of_truth(n_choices, epsilon)
    other = "the other" if n_choices == 2 else "another"
    return (
        f"At ε = {plain(epsilon)} a phone says the truth {100 * truth:.0f} times in 100, and "
        f"{other} answer else."
    )
