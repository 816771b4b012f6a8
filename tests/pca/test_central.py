"""SuLQ, MOD-SuLQ and Analyze Gauss: scales, noise laws and exact guarantees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.pca.protocols.central import modsulq_moment, modsulq_sigma, sulq_moment, sulq_sigma
from dpcore.privacy import PrivacyBudget, gaussian_delta

BUDGET = PrivacyBudget(0.5, 0.05)


def test_sulq_scale_by_hand():
    # variance 8 * 100 * ln(200)^2 / (5000^2 * 0.25)
    expected = math.sqrt(8 * 10**2 * math.log(10 / 0.05) ** 2 / (5000**2 * 0.5**2))
    assert sulq_sigma(10, 5000, BUDGET) == pytest.approx(expected)
    assert sulq_sigma(10, 5000, BUDGET, row_norm_bound=3.0) == pytest.approx(9 * expected)


def test_modsulq_scale_by_hand():
    logarithm = math.log((100 + 10) / (0.05 * 2 * math.sqrt(2 * math.pi)))
    expected = 11 / (5000 * 0.5) * math.sqrt(2 * logarithm) + 1 / (math.sqrt(0.5) * 5000)
    assert modsulq_sigma(10, 5000, BUDGET) == pytest.approx(expected)
    assert modsulq_sigma(10, 5000, BUDGET, row_norm_bound=3.0) == pytest.approx(9 * expected)


@settings(max_examples=200, deadline=None)
@given(
    n_features=st.integers(2, 2_000),
    epsilon=st.floats(0.01, 20),
    log_delta=st.floats(math.log(1e-10), math.log(0.1)),
)
def test_the_sources_claims_are_true(n_features, epsilon, log_delta):
    budget = PrivacyBudget(epsilon, math.exp(log_delta))
    sensitivity = math.sqrt(2) / 1000
    for sigma in (sulq_sigma(n_features, 1000, budget), modsulq_sigma(n_features, 1000, budget)):
        assert gaussian_delta(budget.epsilon, sigma, sensitivity) <= budget.delta


@pytest.mark.parametrize("release", [sulq_moment, modsulq_moment])
def test_the_guarantee_is_the_exact_profile(release):
    noisy = release(np.eye(6) / 6, 400, BUDGET, rng=np.random.default_rng(1))
    guarantee = noisy.guarantee
    assert guarantee.requested == BUDGET and guarantee.keeps_requested
    assert guarantee.l2_sensitivity == pytest.approx(math.sqrt(2) / 400)
    exact = gaussian_delta(guarantee.epsilon, noisy.sigma, guarantee.l2_sensitivity)
    if guarantee.epsilon > 0:
        assert exact == pytest.approx(BUDGET.delta, rel=1e-6)
    else:
        assert exact <= BUDGET.delta


def assert_gaussian(entries, sigma):
    # Kolmogorov-Smirnov at a false-alarm probability of 1e-9 (Dvoretzky-Kiefer-Wolfowitz).
    limit = math.sqrt(math.log(2 / 1e-9) / (2 * entries.size))
    assert stats.kstest(entries, stats.norm(scale=sigma).cdf).statistic < limit


def test_sulq_noise_fills_the_whole_matrix():
    noisy = sulq_moment(np.zeros((120, 120)), 1000, BUDGET, rng=np.random.default_rng(3))
    assert_gaussian(noisy.matrix.ravel(), noisy.sigma)
    # Entries across the diagonal are independent: their differences have variance 2 sigma^2.
    upper = np.triu_indices(120, 1)
    across = (noisy.matrix - noisy.matrix.T)[upper]
    assert_gaussian(across, math.sqrt(2) * noisy.sigma)


def test_modsulq_noise_is_mirrored():
    noisy = modsulq_moment(np.zeros((120, 120)), 1000, BUDGET, rng=np.random.default_rng(4))
    np.testing.assert_array_equal(noisy.matrix, noisy.matrix.T)
    assert_gaussian(noisy.matrix[np.triu_indices(120)], noisy.sigma)


@pytest.mark.parametrize("release", [sulq_moment, modsulq_moment])
def test_no_noise_without_a_bound_on_epsilon(release):
    moment = np.diag([0.5, 0.3])
    noisy = release(moment, 10, PrivacyBudget(math.inf, 0.01), rng=np.random.default_rng(6))
    np.testing.assert_array_equal(noisy.matrix, moment)
    assert noisy.sigma == 0 and not noisy.guarantee.is_private


def test_what_is_refused():
    with pytest.raises(ParameterError, match="delta must be greater than 0"):
        sulq_sigma(5, 100, PrivacyBudget(1.0))
    with pytest.raises(ParameterError, match="delta must be greater than 0"):
        modsulq_sigma(5, 100, PrivacyBudget(1.0))
    with pytest.raises(ParameterError, match="delta must be at most"):
        modsulq_sigma(1, 100, PrivacyBudget(1.0, 0.9))
