"""The adversary's test and the person who moves, compared with closed forms and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.params import DELTAS, EPSILONS
from dpcore.privacy import PrivacyBudget, best_guess, gaussian_trade_off, guarantee_mu
from dpcore.teaching.adversary_test import (
    ANGLES,
    N_PEOPLE,
    belief_columns,
    densities,
    direction_law,
    errors_at,
    first_direction,
    guarantee_of_noise,
    trade_off_rows,
    turn_person,
)

budgets = st.builds(PrivacyBudget, st.sampled_from(EPSILONS), st.sampled_from(DELTAS))


@given(budgets, st.floats(-4, 8))
def test_every_threshold_lies_on_the_curve_of_the_noise(budget, threshold):
    mu = guarantee_mu(guarantee_of_noise(budget))
    type_one, type_two = errors_at(threshold, mu)
    assert type_two == pytest.approx(gaussian_trade_off(type_one, mu), abs=1e-7)


@given(budgets)
def test_the_noise_stays_above_its_guarantee_and_below_the_blind_guess(budget):
    curves = {row["curve"]: row["type_two"] for row in trade_off_rows(guarantee_of_noise(budget))}
    assert (curves["gaussian"] >= curves["approximate"] - 1e-9).all()
    assert (curves["gaussian"] <= curves["blind"] + 1e-12).all()
    assert (curves["pure"] >= curves["approximate"]).all()


def test_published_noise_dips_below_its_guarantee_at_large_epsilon():
    guarantee = guarantee_of_noise(PrivacyBudget(10.0, 0.01), "published")
    assert not guarantee.keeps_requested
    assert guarantee.epsilon == pytest.approx(20.1, abs=0.05)
    curves = {row["curve"]: row["type_two"] for row in trade_off_rows(guarantee)}
    assert (curves["gaussian"] < curves["approximate"]).any()


def test_classic_is_refused_where_it_is_not_proven():
    with pytest.raises(ParameterError, match="epsilon"):
        guarantee_of_noise(PrivacyBudget(2.0, 0.01), "classic")


@given(budgets)
def test_densities_integrate_to_one_and_fall_off_inside_the_picture(budget):
    columns = densities(guarantee_mu(guarantee_of_noise(budget)))
    for name in ("with_you", "without_you"):
        # Simpson's rule would be finer; what lies outside four sigma is 6e-5.
        area = np.trapezoid(columns[name], columns["release"])
        assert area == pytest.approx(1.0, abs=2e-4)


def test_beliefs_start_from_the_prior_and_stay_ordered():
    columns = belief_columns(guarantee_of_noise(PrivacyBudget(1.0, 0.01)))
    for order in (("least", "prior", "greatest"), ("low", "median", "high")):
        assert (np.diff([columns[name] for name in order], axis=0) >= 0).all()


@given(st.floats(-90, 90), budgets)
def test_laws_of_the_direction_are_densities_and_keep_the_guarantee(degrees, budget):
    guarantee = guarantee_of_noise(budget)
    turn = turn_person(degrees, guarantee)
    for law in (turn.law_before, turn.law_after):
        assert (law >= 0).all()
        # The trapezoid rule on a period; the sharpest law here is about 10 degrees wide.
        assert np.trapezoid(law, ANGLES) == pytest.approx(1.0, abs=1e-6)
    assert turn.private_shift <= 2 * best_guess(guarantee) - 1 + 1e-6
    assert 0 <= turn.exact_turn <= 90


def test_the_exact_direction_swings():
    turn = turn_person(70, guarantee_of_noise(PrivacyBudget(1.0, 0.01)))
    assert turn.exact_turn > 60
    assert turn.private_shift < 0.25
    assert np.linalg.norm(np.vstack((turn.people, turn.after)), axis=1).max() <= 1 + 1e-12
    assert len(turn.people) == N_PEOPLE - 1


def test_the_direction_of_simulated_noise_follows_the_law(rng, false_alarm):
    moment, sigma, n = np.array([[0.3, 0.05], [0.05, 0.2]]), 0.06, 20_000
    noise = symmetric_gaussian_noise(2, sigma, shape="isometric", rng=rng, size=n)
    drawn = np.array([first_direction(moment + one) for one in noise])
    fine = np.linspace(-90, 90, 20_001)
    law = direction_law(moment, sigma, fine)
    cumulative = np.concatenate(([0.0], np.cumsum((law[1:] + law[:-1]) / 2 * np.diff(fine))))
    # Kolmogorov-Smirnov; a right law fails with the chance of a false alarm.
    test = stats.kstest(drawn, lambda x: np.interp(x, fine, cumulative))
    assert test.pvalue > false_alarm
    assert math.isclose(cumulative[-1], 1.0, abs_tol=1e-9)
