"""Quiz: six questions before and after the lesson."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from dpcore.experiments.engine.summaries import counted
from dpcore.teaching.activities import Quiz
from dpcore.teaching.quiz import QUESTIONS, UNKNOWN, Phase, is_right, quiz_csv
from dpcore.teaching.quiz_analysis import analyse_quiz
from dpcore.teaching.rooms import Room, Student
from pages.learn.activities.visitor import View, Visitor, draw_nothing, send_in_round, show_bars

# Fewer pairs of answers would show the answers of single phones.
_FEWEST_PAIRS = 3
_PHASES = {Phase.BEFORE: "Before the lesson", Phase.AFTER: "After the lesson"}


def _choose_quiz(room: Room) -> Callable[[], Quiz]:
    phase = st.segmented_control(
        "When",
        list(Phase),
        format_func=_PHASES.__getitem__,
        default=Phase.BEFORE,
        required=True,
        key="classroom_phase",
    )
    phones = room.quiz.phones()
    is_open = isinstance(room.activity, Quiz) and not room.is_revealed
    if phones and not is_open:
        st.download_button(
            f"Answers of {counted(len(phones), 'phone')} (CSV)",
            quiz_csv(phones),
            "quiz.csv",
            "text/csv",
            on_click="ignore",
        )
        st.caption(
            "One row per phone in random order, without names. `python -m dpcore quiz quiz.csv` "
            "compares both phases. In a small class, answers may identify a student."
        )
    return lambda: Quiz(phase, room.quiz)


def _quiz_progress(activity: Quiz) -> str:
    counts = activity.answers.n_answered(activity.phase)
    complete = sum(count == len(QUESTIONS) for count in counts)
    phase = _PHASES[activity.phase]
    return f"**{phase}:** {counted(complete, 'phone')} answered all {len(QUESTIONS)} questions."


def _quiz_headline(room: Room, activity: Quiz) -> str:
    return "" if room.is_revealed else _quiz_progress(activity).replace("*", "")


def _quiz_on_phone(visitor: Visitor, student: Student, activity: Quiz) -> None:
    room = visitor.room
    answers = activity.answers.of(student.seat)
    if room.is_revealed:
        _show_quiz_result(answers, activity)
        return
    following = activity.next_question(student.seat)
    if following is None:
        st.info("You have answered all six questions. Thank you.")
        return
    question, letters = following
    number = 1 + sum(phase is activity.phase for _, phase in answers)
    st.markdown(f"**Question {number} of {len(QUESTIONS)}.** {question.text}")
    for place, letter in enumerate(letters):
        st.button(
            "I do not know" if letter == UNKNOWN else question.choices[letter],
            key=f"classroom_quiz_{room.round}_{question.name}_{place}",
            width="stretch",
            disabled=room.is_paused,
            on_click=send_in_round(visitor, question.name, letter),
        )
    if number == 1:
        st.caption("The teacher can save all answers, without names and in random order.")


def _show_quiz_result(answers: Mapping[tuple[str, Phase], str], activity: Quiz) -> None:
    if activity.phase is Phase.BEFORE:
        st.info("Thank you. The same six questions come after the lesson, with the answers.")
        return
    right = {
        phase: sum(
            is_right(name, choice) for (name, when), choice in answers.items() if when is phase
        )
        for phase in Phase
    }
    st.markdown(f"### You: {right[Phase.BEFORE]} of 6 right before, {right[Phase.AFTER]} after")
    for question in QUESTIONS:
        own_answer = answers.get((question.name, Phase.AFTER), UNKNOWN)
        mark = "✓" if is_right(question.name, own_answer) else "✗"
        answer = question.choices[question.right]
        st.markdown(f"{mark} **{question.topic}.** {answer}. {question.reason}")


def _quiz_on_wall(room: Room, activity: Quiz) -> None:
    if not (room.is_revealed and activity.phase is Phase.AFTER):
        counts = activity.answers.n_answered(activity.phase)
        numbers = range(1, len(QUESTIONS) + 1)
        show_bars(
            [f"question {number}" for number in numbers],
            [sum(count >= number for count in counts) for number in numbers],
            most=room.n_joined,
            noun="Phones that have answered",
        )
        return
    analysis = analyse_quiz(activity.answers.phones() or [{}])
    n_pairs = max(pair.n_phones for pair in analysis.questions)
    if n_pairs < _FEWEST_PAIRS:
        st.markdown(f"Bars appear from {_FEWEST_PAIRS} phones that answered twice.")
        return
    lines, values = [], []
    for question, pair in zip(QUESTIONS, analysis.questions, strict=True):
        lines += [f"{question.topic}: before", "after"]
        values += [pair.n_right_before, pair.n_right_after]
    show_bars(lines, values, most=n_pairs, noun="Right answers of phones that answered twice")
    st.caption("A gain may come from the lesson, from the second reading, or from luck.")


QUIZ = View(
    "Quiz",
    "Six questions, before and after the lesson.",
    6,
    _choose_quiz,
    _quiz_progress,
    _quiz_headline,
    _quiz_on_phone,
    _quiz_on_wall,
    draw_nothing,
    (
        "Start the quiz before the lesson. Do not discuss the answers.",
        "Press Reveal when all phones are done. Teach the lesson.",
        "Start the quiz again with “After the lesson”, then press Reveal.",
        "Discuss the questions that most of the class got wrong.",
        "Save the answers and compare them with `python -m dpcore quiz`.",
    ),
)
