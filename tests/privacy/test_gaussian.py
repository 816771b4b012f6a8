"""The exact Gaussian profile against two independent oracles, and its inverses."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.privacy import (
    PrivacyBudget,
    composed_mu,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_sigma,
    gaussian_trade_off,
    l2_sensitivity_of_second_moment,
    published_sigma,
    second_moment_sigma,
)

EPSILONS = np.geomspace(0.01, 50, 17)
DELTAS = np.geomspace(1e-12, 0.1, 12)
GRID = [(float(e), float(d)) for e in EPSILONS for d in DELTAS]

epsilons = st.floats(1e-4, 1e3)
deltas = st.floats(1e-15, 0.5)
mus = st.floats(1e-3, 1e3)


def exact_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """Evaluate the formula as printed, with sixty digits."""
    with mpmath.workdps(60):
        epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
        first = mpmath.erfc((epsilon / mu - mu / 2) / mpmath.sqrt(2)) / 2
        second = mpmath.erfc((epsilon / mu + mu / 2) / mpmath.sqrt(2)) / 2
        return first - mpmath.exp(epsilon) * second


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_profile_agrees_with_sixty_digits_on_the_grid(epsilon, delta):
    sigma = gaussian_sigma(PrivacyBudget(epsilon, delta), 1.0)
    ours = gaussian_delta(epsilon, sigma, 1.0)
    true = exact_delta(epsilon, 1 / sigma)
    assert abs(ours / true - 1) < 1e-12
    assert true <= delta * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_profile_is_never_below_dp_accounting(epsilon, delta):
    from dp_accounting.pld import privacy_loss_mechanism

    sigma = gaussian_sigma(PrivacyBudget(epsilon, delta), 1.0)
    theirs = privacy_loss_mechanism.GaussianPrivacyLoss(sigma).get_delta_for_epsilon(epsilon)
    assert gaussian_delta(epsilon, sigma, 1.0) >= theirs * (1 - 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_solvers_agree_with_dp_accounting(epsilon, delta):
    import dp_accounting

    sigma = gaussian_sigma(PrivacyBudget(epsilon, delta), 1.0)
    assert sigma == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta), rel=1e-8)
    theirs = dp_accounting.get_epsilon_gaussian(sigma, delta)
    assert gaussian_epsilon(delta, sigma, 1.0) == pytest.approx(theirs, rel=1e-8)


def test_profile_far_outside_the_grid():
    """Cancellation, overflow and underflow: tiny and huge mu, epsilon from 0 to 1e4."""
    for epsilon in (0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4):
        for mu in np.geomspace(1e-9, 1e4, 40):
            ours = gaussian_delta(epsilon, 1.0, float(mu))
            true = exact_delta(epsilon, float(mu))
            if true > 1e-300:
                assert abs(ours / true - 1) < 1e-11, (epsilon, mu)
            else:
                assert 0 <= ours < 1e-299, (epsilon, mu)


@given(epsilons, deltas)
def test_round_trips(epsilon, delta):
    budget = PrivacyBudget(epsilon, delta)
    sigma = gaussian_sigma(budget, 1.0)
    assert gaussian_epsilon(delta, sigma, 1.0) == pytest.approx(epsilon, rel=1e-8)
    assert gaussian_delta(epsilon, sigma, 1.0) == pytest.approx(delta, rel=1e-8)
    assert 1 / gaussian_mu(budget) == pytest.approx(sigma, rel=1e-12)


@settings(max_examples=300)
@given(epsilons, deltas, st.floats(1e-6, 1e6))
def test_solvers_round_towards_privacy(epsilon, delta, sensitivity):
    budget = PrivacyBudget(epsilon, delta)
    assert gaussian_delta(epsilon, gaussian_sigma(budget, sensitivity), sensitivity) <= delta
    assert gaussian_delta(gaussian_epsilon(delta, 1.0, 2.0), 1.0, 2.0) <= delta


@given(mus, st.lists(st.floats(0, 1e4), min_size=2, max_size=30))
def test_profile_is_finite_and_monotone_in_epsilon(mu, points):
    values = [gaussian_delta(epsilon, 1.0, mu) for epsilon in sorted(points)]
    assert all(0 <= value <= 1 for value in values)
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in itertools.pairwise(values))


@given(st.floats(0, 1e3), st.lists(mus, min_size=2, max_size=30))
def test_profile_is_monotone_in_mu(epsilon, points):
    values = [gaussian_delta(epsilon, 1.0, mu) for mu in sorted(points)]
    assert all(later >= earlier * (1 - 1e-12) for earlier, later in itertools.pairwise(values))


@given(st.floats(0.01, 1), st.floats(1e-12, 0.99))
def test_classic_calibration_keeps_its_guarantee_up_to_one(epsilon, delta):
    budget = PrivacyBudget(epsilon, delta)
    sigma = gaussian_sigma(budget, 1.0, calibration="classic")
    assert gaussian_delta(epsilon, sigma, 1.0) <= delta
    assert gaussian_sigma(budget, 1.0) <= sigma


@pytest.mark.parametrize(
    ("asked", "exact"), [(0.1, 0.020), (0.5, 0.316), (1, 0.811), (3, 3.53), (10, 20.1)]
)
def test_what_the_published_noise_really_guarantees(asked, exact):
    """Known values, to the digits of their source."""
    n_samples = 1000
    sigma = published_sigma(PrivacyBudget(asked, 0.01), n_samples)
    epsilon = gaussian_epsilon(0.01, sigma, l2_sensitivity_of_second_moment(n_samples))
    assert float(f"{epsilon:.3g}") == pytest.approx(exact, abs=6e-4 if exact < 1 else 6e-3 * exact)


def test_the_limits():
    assert gaussian_delta(1.0, 0.0, 1.0) == 1.0
    assert gaussian_delta(math.inf, 0.0, 1.0) == 0.0
    assert gaussian_delta(1.0, math.inf, 1.0) == 0.0
    assert gaussian_epsilon(0.01, 0.0, 1.0) == math.inf
    assert gaussian_epsilon(0.0, 1.0, 1.0) == math.inf
    assert gaussian_epsilon(0.5, 1.0, 1.0) == 0.0
    assert gaussian_epsilon(0.1, 1e-200, 1.0) == math.inf
    assert gaussian_sigma(PrivacyBudget(math.inf), 1.0) == 0.0
    assert gaussian_mu(PrivacyBudget(math.inf)) == math.inf
    assert published_sigma(PrivacyBudget(math.inf), 10) == 0.0


@given(mus, st.floats(0, 1))
def test_trade_off_is_symmetric_and_meets_the_profile(mu, type_one):
    type_two = gaussian_trade_off(type_one, mu)
    assert 0 <= type_two <= 1 - type_one + 1e-12
    # delta(epsilon) is the gap of the supporting line of slope -e^epsilon: at epsilon = 0 the
    # largest 1 - alpha - f(alpha).
    assert 1 - type_one - type_two <= gaussian_delta(0.0, 1.0, mu) * (1 + 1e-9) + 1e-15


def test_trade_off_without_noise_and_composition():
    np.testing.assert_array_equal(gaussian_trade_off(np.linspace(0, 1, 5), math.inf), 0)
    assert composed_mu(3.0, 4.0) == 5.0
    assert composed_mu() == 0.0


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: gaussian_delta(-1.0, 1.0, 1.0), "epsilon"),
        (lambda: gaussian_delta(math.nan, 1.0, 1.0), "epsilon"),
        (lambda: gaussian_delta(1.0, -1.0, 1.0), "sigma"),
        (lambda: gaussian_delta(1.0, 1.0, 0.0), "l2_sensitivity"),
        (lambda: gaussian_delta(1.0, 1.0, math.inf), "l2_sensitivity"),
        (lambda: gaussian_epsilon(1.0, 1.0, 1.0), "delta"),
        (lambda: gaussian_epsilon(-0.1, 1.0, 1.0), "delta"),
        (lambda: gaussian_mu(PrivacyBudget(1.0)), "delta"),
        (lambda: gaussian_sigma(PrivacyBudget(1.0), 1.0), "delta"),
        (lambda: gaussian_sigma(PrivacyBudget(1.0, 0.1), -1.0), "l2_sensitivity"),
        (lambda: gaussian_sigma(PrivacyBudget(1.0, 0.1), "1"), "l2_sensitivity"),
        (lambda: gaussian_sigma(PrivacyBudget(1.0, 0.1), 1.0, calibration="x"), "calibration"),
        (lambda: gaussian_sigma(PrivacyBudget(2.0, 0.1), 1.0, calibration="classic"), "epsilon"),
        (lambda: published_sigma(PrivacyBudget(1.0), 10), "delta"),
        (lambda: published_sigma(PrivacyBudget(1.0, 0.1), 0), "n_samples"),
        (lambda: second_moment_sigma(PrivacyBudget(1.0, 0.1), 9, calibration="x"), "calibration"),
        (lambda: l2_sensitivity_of_second_moment(10, -1.0), "row_norm_bound"),
    ],
)
def test_bad_input_names_the_parameter(call, parameter):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.parameter == parameter


def test_calibrations_of_a_second_moment():
    budget, sensitivity = PrivacyBudget(1.0, 0.01), l2_sensitivity_of_second_moment(50, 2.0)
    for calibration in ("classic", "analytic"):
        assert second_moment_sigma(
            budget, 50, calibration=calibration, row_norm_bound=2.0
        ) == gaussian_sigma(budget, sensitivity, calibration=calibration)
    assert second_moment_sigma(
        budget, 50, calibration="published", row_norm_bound=2.0
    ) == published_sigma(budget, 50, 2.0)


@settings(max_examples=500)
@given(st.floats(1e-12, 1e40), st.floats(1e-300, 0.99))
def test_solvers_answer_whatever_the_budget(epsilon, delta):
    mu = gaussian_mu(PrivacyBudget(epsilon, delta))
    assert 0 < mu < math.inf
    assert gaussian_epsilon(delta, 1.0, mu) <= epsilon * (1 + 1e-8) + 1e-12
