"""A drawn digit as an additional person: evidence in exact and in private results."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, kstest

from dpcore.errors import ParameterError
from dpcore.privacy import PrivacyBudget, best_guess, guarantee_mu
from dpcore.teaching.drawn_person import (
    N_CANDIDATES,
    drawn_digits,
    guarantee_with_drawing,
    guess_drawing,
    play_rounds,
    row_of,
    seat_person,
)
from tests.conftest import FALSE_ALARM

DIGITS = drawn_digits()


@pytest.mark.parametrize("digit", DIGITS)
def test_exact_results_subtracted_show_the_drawing(digit):
    person = seat_person(row_of(DIGITS[digit]))
    assert person.n_people == 10_001
    assert person.exact_cosine > 0.9


@pytest.mark.parametrize("digit", DIGITS)
def test_the_attacker_guesses_at_small_epsilon_and_sees_the_drawing_at_large(digit):
    row = row_of(DIGITS[digit])
    beliefs = []
    for epsilon in (0.001, 1, 5, 20, 50):
        guarantee = guarantee_with_drawing(PrivacyBudget(epsilon, 1e-5))
        guess = guess_drawing(row, guarantee, np.random.default_rng(3))
        assert guess.beliefs.sum() == pytest.approx(1)
        # Bayes' rule under (epsilon, 0): the odds grow by at most e^epsilon.
        odds = guess.belief / (1 - guess.belief)
        assert odds <= np.exp(epsilon) / (N_CANDIDATES - 1)
        beliefs.append(guess.belief)
    assert beliefs[0] < beliefs[2] < beliefs[3] < beliefs[4]
    assert beliefs[0] == pytest.approx(1 / N_CANDIDATES, abs=1e-3)
    assert beliefs[-1] > 0.99


def test_the_best_attacker_stays_at_its_law_and_below_the_bound():
    guarantee, row = guarantee_with_drawing(PrivacyBudget(10, 1e-5)), row_of(DIGITS["5"])
    n_rounds = 400
    rounds = play_rounds(row, guarantee, n_rounds, 2, np.random.default_rng(5))
    # A blank sheet in the seat changes 1 / n where the noise is made for sqrt(2) / n.
    noise = np.sqrt(2) / guarantee_mu(guarantee)
    assert kstest((rounds.leanings - rounds.is_in) / noise, "norm").pvalue > FALSE_ALARM
    right = int(((rounds.leanings > 0.5) == rounds.is_in).sum())
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n_rounds, rounds.best_rate)
    assert low <= right <= high
    assert 0.5 < rounds.best_rate < best_guess(guarantee)
    assert rounds.pictures @ row == pytest.approx(rounds.leanings[:2])


@pytest.mark.parametrize(
    "ink", [np.zeros(196), np.ones(195), np.full(196, np.nan), np.full(196, 2)]
)
def test_what_is_no_drawing_is_refused(ink):
    with pytest.raises(ParameterError, match="drawing"):
        row_of(ink)
