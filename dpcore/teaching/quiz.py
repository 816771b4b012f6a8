"""A quiz of six questions before and after a lesson, and the file of its answers.

The questions measure objective comprehension of epsilon, delta and the aggregator, in the manner of
Nanayakkara, Smart, Cummings, Kaptchuk & Redmiles (2023). They have not been validated on people.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO

import numpy as np

from dpcore.errors import ParameterError, require_one_of


class Phase(StrEnum):
    """Phase of the quiz."""

    BEFORE = "before"
    AFTER = "after"


UNKNOWN = "unknown"
"""The choice of a student who does not know; counted as not right."""


@dataclass(frozen=True)
class Question:
    """A question with three answers, of which one is right.

    name: Name of its columns in a file.
    topic: Topic in a few words.
    choices: Answers by letter.
    right: Letter of the right answer.
    reason: Explanation in one sentence.
    """

    name: str
    topic: str
    text: str
    choices: Mapping[str, str]
    right: str
    reason: str


QUESTIONS = (
    Question(
        "smaller_epsilon",
        "Which ε protects more",
        "Two hospitals publish the same statistic about the same patients with noise: one at "
        "ε = 0.5, the other at ε = 5. Which publication protects each patient better?",
        {
            "a": "The one at ε = 5",
            "b": "The one at ε = 0.5",
            "c": "Both equally: the statistic is the same",
        },
        "b",
        "A smaller ε means more noise, and less that can be concluded about one person.",
    ),
    Question(
        "best_guess",
        "What ε = 1 bounds",
        "A coin decides whether Ana's record is in the data. A result is published at ε = 1 and "
        "δ = 0. An attacker knows all other records and guesses whether hers is in. How often can "
        "the attacker be right at most, on average?",
        {"a": "50 of 100 times", "b": "100 of 100 times", "c": "73 of 100 times"},
        "c",
        "The odds grow by a factor of e at most: 2.72 to 1 is 73 of 100.",
    ),
    Question(
        "population",
        "What ε does not hide",
        "A study at a very small ε finds that smoking causes cancer. Ana smokes, and her record "
        "was in the study. Her insurer reads the study and raises her price. Did the study break "
        "what ε promises her?",
        {
            "a": "No: the study would have said so without her record too",
            "b": "Yes: without the study the insurer would not have raised her price",
            "c": "Yes: her record was in the data",
        },
        "a",
        "ε limits what her own record adds. What is true of all smokers is learnt without her.",
    ),
    Question(
        "composition",
        "Ten releases of the same data",
        "Ten results about the same people are published, each with fresh noise at ε = 0.1 and "
        "δ = 0. What is promised for all ten together?",
        {
            "a": "ε = 0.1: each of them keeps it",
            "b": "ε = 0.01: noise in ten results hides more than in one",
            "c": "ε = 1: the ten add up",
        },
        "c",
        "Every answer uses up privacy of the same people; pure ε add up.",
    ),
    Question(
        "delta",
        "What δ allows",
        "A release about 10,000 people promises a small ε with δ = 1 in 100. Which release could "
        "keep this promise?",
        {
            "a": "Only one whose numbers are off by 1 % at most",
            "b": "One that publishes each record, as it is, with a chance of 1 in 100",
            "c": "Only one that never publishes a record as it is",
        },
        "b",
        "δ allows, for each person, a chance to fail completely: about 100 of 10,000 would be "
        "published.",
    ),
    Question(
        "aggregator",
        "What an aggregator can do",
        "Each hospital adds its own noise for ε = 1 before it sends anything. The aggregator is "
        "curious, keeps every message and has the fastest computers. What can it learn about one "
        "patient?",
        {
            "a": "No more than ε = 1 allows, however it computes",
            "b": "The patient's record, after enough computing",
            "c": "Whatever it likes, until it deletes the messages",
        },
        "a",
        "Noise that was added before sending cannot be computed away; no one has to trust the "
        "aggregator for this.",
    ),
)
BY_NAME = {question.name: question for question in QUESTIONS}

Answers = Mapping[tuple[str, Phase], str]
"""Answers of one phone: a letter or `UNKNOWN` by question and phase; absent if not answered."""

_PHONE = "phone"
_COLUMNS = [
    _PHONE,
    *(f"{name}_{phase}" for name in BY_NAME for phase in Phase),
    *(f"{name}_{phase}_correct" for name in BY_NAME for phase in Phase),
]


def is_right(name: str, choice: str) -> bool:
    """Return whether an answer is right; `UNKNOWN` is not."""
    return choice == BY_NAME[name].right


def check_answer(name: str, choice: str) -> None:
    """Refuse an unknown question or answer.

    Raises `ParameterError` naming it.
    """
    require_one_of("question", name, BY_NAME)
    require_one_of(name, choice, (*BY_NAME[name].choices, UNKNOWN))


def shuffled_quiz(rng: np.random.Generator) -> list[tuple[Question, list[str]]]:
    """Return the questions in random order, each with the letters of its answers in random order.

    `UNKNOWN` is always last.
    """
    order = rng.permutation(len(QUESTIONS))
    return [
        (question, [*(sorted(question.choices)[k] for k in rng.permutation(3)), UNKNOWN])
        for question in (QUESTIONS[k] for k in order)
    ]


def quiz_csv(phones: Sequence[Answers]) -> str:
    """Return the answers as CSV: one row per phone, without names.

    Rows are sorted by content. In the order of joining, two downloads would show which phone
    answered in between.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    ordered = sorted(phones, key=lambda answers: sorted(answers.items()))
    for number, answers in enumerate(ordered, start=1):
        row: dict[str, object] = {_PHONE: number}
        for (name, phase), choice in answers.items():
            row[f"{name}_{phase}"] = choice
            row[f"{name}_{phase}_correct"] = int(is_right(name, choice))
        writer.writerow(row)
    return out.getvalue()


def read_quiz(file: TextIO) -> list[Answers]:
    """Return the answers in a file of `quiz_csv`.

    Raises `ParameterError` if columns are missing, an answer does not belong to its question, or
        the file marks a wrong answer as right, because it was written for other questions.
    """
    reader = csv.DictReader(file)
    missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
    if missing:
        raise ParameterError(
            "columns",
            f"the {len(_COLUMNS)} of a file that the classroom's console saved",
            f"a file without the column {missing[0]}",
        )
    return [_answers_of(row, number) for number, row in enumerate(reader, start=2)]


def _answers_of(row: Mapping[str, str | None], line: int) -> Answers:
    answers: dict[tuple[str, Phase], str] = {}
    for name, question in BY_NAME.items():
        for phase in Phase:
            column = f"{name}_{phase}"
            choice = (row[column] or "").strip()
            if not choice:
                continue
            require_one_of(f"{column} in line {line}", choice, (*question.choices, UNKNOWN))
            marked, right = (row[f"{column}_correct"] or "").strip(), is_right(name, choice)
            if marked not in ("", str(int(right))):
                raise ParameterError(
                    f"{column}_correct in line {line}", f"{int(right)} for “{choice}”", marked
                )
            answers[name, phase] = choice
    return answers
