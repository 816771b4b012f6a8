"""A quiz of six questions before and after a lesson, and the paired analysis of its answers.

The questions measure objective comprehension of epsilon, delta and the aggregator, in the manner of
Nanayakkara, Smart, Cummings, Kaptchuk & Redmiles (2023). They have not been validated on people.

The analysis is exact, because classes are small: McNemar's test for each question, and sign-flip
and sign tests for the totals. Without a control class, a gain may come from the second reading.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO

import numpy as np
from scipy.special import betaincinv

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
        raise ParameterError("columns", f"all {len(_COLUMNS)} of a quiz", f"no {missing[0]}")
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


# Confidence of the limits.
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class PairedAnswers:
    """Answers to one question from phones that answered it twice.

    n_phones: Number of these phones.
    n_right_before, n_right_after: Numbers of right answers.
    n_gained, n_lost: Numbers of changes from wrong to right and from right to wrong.
    p_value: Two-sided p value of McNemar's exact test.
    p_adjusted: The same after Holm (1979), for six questions.
    gained_share: 95 % limits, by Clopper & Pearson (1934), of the share of changes that were gains;
        None if nothing changed.
    """

    question: str
    n_phones: int
    n_right_before: int
    n_right_after: int
    n_gained: int
    n_lost: int
    p_value: float
    p_adjusted: float
    gained_share: tuple[float, float] | None


@dataclass(frozen=True)
class PairedTotals:
    """Right answers of phones that answered all six questions twice.

    mean_gain: Mean of after minus before.
    p_permutation: Two-sided p value over all sign flips of the gains.
    p_sign: Two-sided p value of the sign test, without phones whose total did not change.
    median_gain: Limits of the median gain with at least 95 % confidence, by order statistics; None
        below six phones.
    """

    n_phones: int
    mean_before: float
    mean_after: float
    mean_gain: float
    n_gained: int
    n_lost: int
    p_permutation: float
    p_sign: float
    median_gain: tuple[int, int] | None


@dataclass(frozen=True)
class QuizAnalysis:
    """Analysis of a class's answers before and after."""

    n_phones: int
    questions: tuple[PairedAnswers, ...]
    totals: PairedTotals


def analyse_quiz(phones: Sequence[Answers]) -> QuizAnalysis:
    """Compare answers before with answers after, phone by phone.

    Raises `ParameterError` if there is no phone.
    """
    if not phones:
        raise ParameterError("phones", "at least 1", 0)
    pairs = {
        name: [
            (is_right(name, each[name, Phase.BEFORE]), is_right(name, each[name, Phase.AFTER]))
            for each in phones
            if all((name, phase) in each for phase in Phase)
        ]
        for name in BY_NAME
    }
    n_gained = {name: sum(after > before for before, after in own) for name, own in pairs.items()}
    n_lost = {name: sum(after < before for before, after in own) for name, own in pairs.items()}
    p_values = [mcnemar_p(n_gained[name], n_lost[name]) for name in BY_NAME]
    questions = tuple(
        PairedAnswers(
            name,
            len(pairs[name]),
            sum(before for before, _ in pairs[name]),
            sum(after for _, after in pairs[name]),
            n_gained[name],
            n_lost[name],
            p_value,
            adjusted,
            share_limits(n_gained[name], n_gained[name] + n_lost[name]),
        )
        for name, p_value, adjusted in zip(BY_NAME, p_values, holm(p_values), strict=True)
    )
    return QuizAnalysis(len(phones), questions, _totals(phones))


def _totals(phones: Sequence[Answers]) -> PairedTotals:
    scores = [
        tuple(sum(is_right(name, each[name, phase]) for name in BY_NAME) for phase in Phase)
        for each in phones
        if all((name, phase) in each for name in BY_NAME for phase in Phase)
    ]
    gains = [after - before for before, after in scores]
    n_gained, n_lost = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    count = max(len(scores), 1)
    before, after = (sum(score[k] for score in scores) / count for k in (0, 1))
    return PairedTotals(
        len(scores),
        before,
        after,
        after - before,
        n_gained,
        n_lost,
        sign_flip_p(gains),
        mcnemar_p(n_gained, n_lost),
        median_limits(gains),
    )


def mcnemar_p(n_gained: int, n_lost: int) -> float:
    """Return the two-sided p value of McNemar's exact test.

    It is the sign test of the changes: under the null hypothesis a change is a gain with
    probability 1/2.
    """
    changes = n_gained + n_lost
    tail = sum(math.comb(changes, k) for k in range(min(n_gained, n_lost) + 1))
    p_value: float = 2 * tail / 2**changes
    return min(1.0, p_value)


def sign_flip_p(gains: Sequence[int]) -> float:
    """Return the two-sided exact p value of the sum of paired differences under sign flips.

    All 2^n flips are counted, by their sum.
    """
    ways = {0: 1}
    for gain in gains:
        more: dict[int, int] = {}
        for total, count in ways.items():
            for flipped in (total + gain, total - gain):
                more[flipped] = more.get(flipped, 0) + count
        ways = more
    as_far = sum(count for total, count in ways.items() if abs(total) >= abs(sum(gains)))
    p_value: float = as_far / 2 ** len(gains)
    return p_value


def share_limits(successes: int, trials: int) -> tuple[float, float] | None:
    """Return exact 95 % limits of a share (Clopper & Pearson 1934), or None without trials."""
    if trials == 0:
        return None
    alpha, failures = (1 - _CONFIDENCE) / 2, trials - successes
    low = 0.0 if successes == 0 else float(betaincinv(successes, failures + 1, alpha))
    high = 1.0 if failures == 0 else float(betaincinv(successes + 1, failures, 1 - alpha))
    return low, high


def median_limits(values: Sequence[int]) -> tuple[int, int] | None:
    """Return limits of the median with at least 95 % confidence, for any distribution.

    They are the order statistics k + 1 and n - k for the largest k with P(Bin(n, 1/2) <= k) <=
    alpha / 2; None if no such k exists.
    """
    ordered, n_values = sorted(values), len(values)
    most, tail, k = (1 - _CONFIDENCE) / 2 * 2**n_values, 0, -1
    while (tail := tail + math.comb(n_values, k + 1)) <= most:
        k += 1
    return None if k < 0 else (ordered[k], ordered[n_values - 1 - k])


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for multiple tests (Holm 1979)."""
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda each: p_values[each])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted
