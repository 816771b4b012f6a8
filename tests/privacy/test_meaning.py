"""Tests, odds and beliefs, compared with numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from dpcore.errors import ParameterError
from dpcore.privacy import (
    Guarantee,
    PrivacyBudget,
    best_guess,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_posterior,
    gaussian_trade_off,
    guarantee_mu,
    guarantee_power,
    guarantee_trade_off,
    icon_counts,
    odds_factor,
    posterior_bounds,
    trade_off,
)

LEVELS = np.linspace(0, 1, 201)
epsilons = st.floats(0.01, 20)
deltas = st.floats(1e-9, 0.5)
mus = st.floats(0.01, 8)


def gaussian(mu: float, delta: float = 0.01) -> Guarantee:
    return Guarantee(None, gaussian_epsilon(delta, 1.0, mu), delta, "gaussian", "the site")


def pure(epsilon: float) -> Guarantee:
    return Guarantee(None, epsilon, 0.0, "laplace", "the curator")


@given(epsilons)
def test_pure_curve_is_that_of_randomised_response(epsilon):
    """Its likelihood ratio takes the two extreme values, so its ROC is the bound itself."""
    keep = 1 / (1 + math.exp(-epsilon))
    # 1 - keep has lost digits that e^epsilon multiplies.
    assert trade_off(1 - keep, epsilon) == pytest.approx(1 - keep, abs=1e-15 * math.exp(epsilon))
    assert best_guess(pure(epsilon)) == pytest.approx(keep)


@given(mus, deltas)
def test_gaussian_curve_touches_every_epsilon_delta_curve_from_above(mu, delta):
    epsilon = gaussian_epsilon(delta, 1.0, mu)
    gap = gaussian_trade_off(LEVELS, mu) - trade_off(LEVELS, epsilon, delta)
    assert gap.min() >= -1e-9


@given(epsilons, deltas)
def test_curves_are_trade_off_functions(epsilon, delta):
    curve = trade_off(LEVELS, epsilon, delta)
    assert (curve <= 1 - LEVELS + 1e-12).all()
    assert (np.diff(curve) <= 1e-12).all()
    assert (np.diff(curve, 2) >= -1e-9).all()
    np.testing.assert_allclose(
        trade_off(curve[curve > 0], epsilon, delta), LEVELS[curve > 0], atol=1e-9
    )


@given(mus)
def test_mu_comes_back_from_the_exact_guarantee(mu):
    guarantee = gaussian(mu)
    recovered = guarantee_mu(guarantee)
    if guarantee.epsilon > 0:
        assert recovered == pytest.approx(mu, rel=1e-8)
    else:
        assert recovered >= mu
        assert gaussian_delta(0.0, 1.0, recovered) == pytest.approx(0.01)


@given(mus)
def test_best_guess_beats_no_level(mu):
    guarantee = gaussian(mu, 1e-6)
    errors = (LEVELS + guarantee_trade_off(guarantee, LEVELS)) / 2
    assert 1 - best_guess(guarantee) <= errors.min() + 1e-9
    # A level of the grid is within its step of the best one.
    assert errors.min() - (1 - best_guess(guarantee)) <= LEVELS[1]


def test_icons_are_rounded_up():
    assert icon_counts(gaussian(1.0)) == (70, 50)  # Phi(1/2) = 0.69146
    assert icon_counts(Guarantee(None, 0.0, 0.0, "data-independent", "nobody")) == (50, 50)
    assert icon_counts(Guarantee(None, math.inf, 0.0, "none", "nobody")) == (100, 50)
    assert guarantee_power(gaussian(2.0), 0.05) == pytest.approx(
        stats.norm.sf(stats.norm.isf(0.05) - 2.0)
    )


@given(st.floats(0.01, 0.99), epsilons)
def test_posterior_bounds_move_the_odds_by_the_factor(prior, epsilon):
    low, high = posterior_bounds(prior, epsilon)
    odds = prior / (1 - prior)
    assert high == pytest.approx(odds * odds_factor(epsilon) / (1 + odds * odds_factor(epsilon)))
    assert low == pytest.approx(odds / (odds + odds_factor(epsilon)))


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_gaussian_beliefs_average_to_what_integration_gives(mu):
    prior = 0.2

    def belief(x):
        ratio = math.exp(mu * x - mu**2 / 2)
        return prior * ratio / (prior * ratio + 1 - prior)

    expected, _ = integrate.quad(lambda x: belief(x) * stats.norm.pdf(x, mu), mu - 12, mu + 12)
    midpoints = (np.arange(100_000) + 0.5) / 100_000
    assert gaussian_posterior(prior, mu, midpoints).mean() == pytest.approx(expected, abs=1e-4)


def test_without_noise_everything_is_known():
    nothing = Guarantee(PrivacyBudget(math.inf), math.inf, 0.0, "gaussian", "nobody")
    assert guarantee_mu(nothing) == math.inf
    assert best_guess(nothing) == 1.0
    assert odds_factor(1e6) == math.inf
    np.testing.assert_array_equal(guarantee_trade_off(nothing, LEVELS), 0)
    np.testing.assert_array_equal(trade_off(LEVELS, math.inf), 0)
    np.testing.assert_array_equal(gaussian_posterior(0.5, math.inf, LEVELS), 1)


def test_bad_input_names_the_parameter():
    for call in (
        lambda: posterior_bounds(1.0, 1.0),
        lambda: gaussian_posterior(-1.0, 1.0, 0.5),
    ):
        with pytest.raises(ParameterError, match="prior must be in"):
            call()
    with pytest.raises(ParameterError, match="n_icons must be at least 1"):
        icon_counts(pure(1.0), 0)
