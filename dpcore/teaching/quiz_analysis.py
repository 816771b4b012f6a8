"""Paired analysis of a class's answers before and after a lesson.

The analysis is exact, because classes are small: McNemar's test for each question, and sign-flip
and sign tests for the totals. Without a control class, a gain may come from the second reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.errors import ParameterError
from dpcore.teaching.quiz import BY_NAME, Answers, Phase, is_right

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
            (is_right(name, phone[name, Phase.BEFORE]), is_right(name, phone[name, Phase.AFTER]))
            for phone in phones
            if all((name, phase) in phone for phase in Phase)
        ]
        for name in BY_NAME
    }
    n_gained = {
        name: sum(after > before for before, after in answers) for name, answers in pairs.items()
    }
    n_lost = {
        name: sum(after < before for before, after in answers) for name, answers in pairs.items()
    }
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
        tuple(sum(is_right(name, phone[name, phase]) for name in BY_NAME) for phase in Phase)
        for phone in phones
        if all((name, phase) in phone for name in BY_NAME for phase in Phase)
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
    from scipy.stats import binomtest

    changes = n_gained + n_lost
    return float(binomtest(n_gained, changes).pvalue) if changes else 1.0


def sign_flip_p(gains: Sequence[int]) -> float:
    """Return the two-sided exact p value of the sum of paired differences under sign flips.

    All 2^n flips are counted, by their sum. `scipy.stats.permutation_test` enumerates them one by
    one and samples above 2^n = 9999.
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
    from scipy.stats import binomtest

    if trials == 0:
        return None
    limits = binomtest(successes, trials).proportion_ci(_CONFIDENCE, method="exact")
    return float(limits.low), float(limits.high)


def median_limits(values: Sequence[int]) -> tuple[int, int] | None:
    """Return limits of the median with at least 95 % confidence, for any distribution.

    They are the order statistics k + 1 and n - k for the largest k with P(Bin(n, 1/2) <= k) <=
    alpha / 2; None if no such k exists.
    """
    from scipy.stats import binom

    alpha, n_values = (1 - _CONFIDENCE) / 2, len(values)
    k = int(np.searchsorted(binom.cdf(np.arange(n_values), n_values, 0.5), alpha, "right")) - 1
    ordered = sorted(values)
    return None if k < 0 else (ordered[k], ordered[n_values - 1 - k])


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for multiple tests (Holm 1979)."""
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(
        sorted(range(len(p_values)), key=lambda position: p_values[position])
    ):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted
