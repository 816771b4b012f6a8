"""Diagnostics of chains, compared with slow direct formulas, closed forms and textbook cases."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.mechanisms.convergence import (
    bulk_ess,
    effective_sample_size,
    rank_normalize,
    rank_normalized_r_hat,
    split_chains,
    split_r_hat,
    tail_ess,
)


def autoregression(phi, n_chains, length, rng):
    """Draw stationary AR(1) chains of unit variance."""
    draws = np.empty((n_chains, length))
    draws[:, 0] = rng.standard_normal(n_chains)
    steps = np.sqrt(1 - phi**2) * rng.standard_normal((n_chains, length))
    for t in range(1, length):
        draws[:, t] = phi * draws[:, t - 1] + steps[:, t]
    return draws


def direct_ess(draws):
    """Compute the effective sample size by sums over lags, as printed in the paper."""
    chains = split_chains(draws)
    m, n = chains.shape
    centred = chains - chains.mean(axis=1, keepdims=True)
    lagged = [(centred[:, : n - t] * centred[:, t:]).sum() for t in range(n)]
    covariance = np.array(lagged) / (m * n)
    within = chains.var(axis=1, ddof=1).mean()
    plus = (n - 1) / n * within + chains.mean(axis=1).var(ddof=1)
    rho = [1.0] + [1 - (within - covariance[t]) / plus for t in range(1, n)]
    time, previous, t = -1.0, np.inf, 0
    while t + 1 < n and rho[t] + rho[t + 1] >= 0:
        previous = min(previous, rho[t] + rho[t + 1])
        time += 2 * previous
        t += 2
    if t < n:
        time += max(rho[t], 0.0)
    return m * n / max(time, 1 / np.log10(m * n))


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.7, 0.95])
@pytest.mark.parametrize("length", [50, 201])
def test_ess_is_the_direct_sum(phi, length):
    draws = autoregression(phi, 3, length, np.random.default_rng(1))
    assert effective_sample_size(draws) == pytest.approx(direct_ess(draws), rel=1e-9)


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.7])
@pytest.mark.parametrize("length", [2_000, 2_001])
def test_diagnostics_are_those_of_arviz(phi, length):
    """The sum of correlations ends before the chain does, as after hundreds of lags."""
    draws = autoregression(phi, 4, length, np.random.default_rng(11))
    assert split_r_hat(draws) == pytest.approx(array_stats.rhat(draws, method="split"), rel=1e-12)
    assert rank_normalized_r_hat(draws) == pytest.approx(array_stats.rhat(draws), rel=1e-12)
    ess = array_stats.ess(draws, method="mean")
    assert effective_sample_size(draws) == pytest.approx(ess, rel=1e-10)
    assert bulk_ess(draws) == pytest.approx(array_stats.ess(draws, method="bulk"), rel=1e-10)
    halves = split_chains(draws)
    tails = [halves <= quantile for quantile in np.quantile(halves, [0.05, 0.95])]
    assert tail_ess(draws) == pytest.approx(
        min(array_stats.ess(tail.astype(float), method="identity") for tail in tails), rel=1e-10
    )


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_ess_of_an_autoregression(phi):
    # Closed form N (1 - phi) / (1 + phi). The estimated correlation time has a relative standard
    # deviation of about sqrt(2 (2 W + 1) / N) for a window of W lags (Sokal 1997); Geyer's cut
    # leaves W of some 5 correlation times. Six standard deviations: below 1e-8 a case.
    draws = autoregression(phi, 4, 20_000, np.random.default_rng(2))
    expected = draws.size * (1 - phi) / (1 + phi)
    window = 5 * (1 + phi) / (1 - phi)
    tolerance = 6 * np.sqrt(2 * (2 * window + 1) / draws.size)
    assert effective_sample_size(draws) == pytest.approx(expected, rel=tolerance)
    assert bulk_ess(draws) == pytest.approx(expected, rel=1.5 * tolerance)


def test_antithetic_chains_are_worth_more_than_their_length():
    draws = autoregression(-0.5, 4, 5_000, np.random.default_rng(3))
    assert effective_sample_size(draws) > 2 * draws.size


def test_split_r_hat_is_the_printed_formula():
    draws = np.random.default_rng(4).standard_normal((3, 101)).cumsum(axis=1)
    halves = [c[:50] for c in draws] + [c[-50:] for c in draws]
    means = [sum(h) / 50 for h in halves]
    within = sum(sum((x - m) ** 2 for x in h) / 49 for h, m in zip(halves, means, strict=True)) / 6
    grand = sum(means) / 6
    between = 50 * sum((m - grand) ** 2 for m in means) / 5
    assert split_r_hat(draws) == pytest.approx(np.sqrt((49 / 50 * within + between / 50) / within))


def test_agreeing_chains_pass():
    draws = np.random.default_rng(5).standard_normal((4, 2_000))
    # R-hat^2 - 1 is about chi^2_7 / (8 * 1000 - 8) for 8 half-chains: 1.01 is beyond 1e-30.
    assert split_r_hat(draws) < 1.01
    assert rank_normalized_r_hat(draws) < 1.01


def test_chains_in_different_places_fail():
    draws = np.random.default_rng(6).standard_normal((4, 500))
    draws[0] += 2
    assert split_r_hat(draws) > 1.1
    assert rank_normalized_r_hat(draws) > 1.1


def test_one_drifting_chain_fails_by_its_halves():
    draws = np.random.default_rng(7).standard_normal((1, 1_000)) + np.linspace(0, 4, 1_000)
    assert split_r_hat(draws) > 1.3


def test_chains_of_different_scale_fail_only_when_folded():
    draws = np.random.default_rng(8).standard_normal((4, 2_000))
    draws[0] *= 5
    assert split_r_hat(draws) < 1.05
    assert rank_normalized_r_hat(draws) > 1.05


def test_chains_without_a_variance_are_judged_by_ranks():
    draws = np.random.default_rng(9).standard_cauchy((4, 1_000))
    assert rank_normalized_r_hat(draws) < 1.02
    assert bulk_ess(draws) > 1_000


def test_tail_is_slower_where_visits_to_it_last():
    rng = np.random.default_rng(10)
    draws = rng.standard_normal((4, 2_000))
    volatility = np.exp(2 * autoregression(0.98, 4, 2_000, rng))
    assert tail_ess(draws * volatility) < bulk_ess(draws * volatility) / 3


def test_standing_still():
    still = np.ones((2, 10))
    assert split_r_hat(still) == 1.0
    assert effective_sample_size(still) == still.size
    apart = np.array([[0.0] * 10, [1.0] * 10])
    assert split_r_hat(apart) == np.inf
    assert effective_sample_size(apart) == 4


@pytest.mark.parametrize("shape", [(10,), (2, 3), (2, 2, 10)])
def test_too_short_or_misshapen(shape):
    with pytest.raises(ParameterError, match="draws"):
        split_r_hat(np.zeros(shape))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
def test_units_do_not_matter(seed, scale, shift):
    draws = np.random.default_rng(seed).standard_normal((3, 40))
    moved = scale * draws + shift
    assert split_r_hat(moved) == pytest.approx(split_r_hat(draws), rel=1e-6)
    assert effective_sample_size(moved) == pytest.approx(effective_sample_size(draws), rel=1e-6)
    np.testing.assert_allclose(rank_normalize(np.exp(draws)), rank_normalize(draws))
