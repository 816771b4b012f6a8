"""A drawn digit as one person more: what exact results give away and private ones do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, kstest

from dpcore.errors import ParameterError
from dpcore.privacy import PrivacyBudget, best_guess, guarantee_mu
from dpcore.teaching.adversary_test import (
    drawn_digits,
    play_rounds,
    promise_to_all,
    row_of,
    seat_person,
)
from tests.conftest import FALSE_ALARM

DIGITS = drawn_digits()


@pytest.mark.parametrize("digit", DIGITS)
def test_exact_results_subtracted_show_the_drawing(digit):
    person = seat_person(
        row_of(DIGITS[digit]), promise_to_all(PrivacyBudget(1, 1e-5)), np.random.default_rng(3)
    )
    assert person.n_people == 10_001
    assert person.exact_cosine > 0.9
    assert person.residual_with < person.residual_without
    assert 0 < person.exact_turn < person.private_turn


def test_the_best_attacker_stays_at_its_law_and_below_the_bound():
    guarantee, row = promise_to_all(PrivacyBudget(10, 1e-5)), row_of(DIGITS["5"])
    n_rounds = 400
    rounds = play_rounds(row, guarantee, n_rounds, 2, np.random.default_rng(5))
    # A blank sheet in the seat changes 1 / n where the noise is made for sqrt(2) / n.
    noise = np.sqrt(2) / guarantee_mu(guarantee)
    assert kstest((rounds.leanings - rounds.is_in) / noise, "norm").pvalue > FALSE_ALARM
    right = int(((rounds.leanings > 0.5) == rounds.is_in).sum())
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n_rounds, rounds.best_here)
    assert low <= right <= high
    assert 0.5 < rounds.best_here < best_guess(guarantee)
    assert rounds.pictures @ row == pytest.approx(rounds.leanings[:2])


@pytest.mark.parametrize(
    "ink", [np.zeros(196), np.ones(195), np.full(196, np.nan), np.full(196, 2)]
)
def test_what_is_no_drawing_is_refused(ink):
    with pytest.raises(ParameterError, match="drawing"):
        row_of(ink)
