"""The distribution of the draws: closed forms, importance sampling, limits.

Tolerances. A Kolmogorov-Smirnov distance of n independent draws exceeds
sqrt(ln(2 / p) / (2 n)) with probability at most p (Dvoretzky-Kiefer-Wolfowitz, Massart), at any n
and for any law; p is 1e-9 a test. Means are compared within 6.2 standard errors (1e-9 two-sided
normal). Draws of the rotation sampler are last states of many chains, which are independent
given the shared planes; half of them started at random and half at the mode.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import cumulative_simpson
from scipy.special import gammaln

from dpcore.mechanisms import sample_matrix_bingham, sample_vector_bingham
from dpcore.mechanisms.bingham_chains import sweep, uniform_frames

FALSE_ALARM = 1e-9
N_CHAINS = 2_000


def assert_law(draws, cdf):
    limit = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * len(draws)))
    assert stats.kstest(draws, cdf).statistic < limit


def assert_one_law(draws, others):
    # Each sample is that close to the law with probability 1 - p / 2.
    limit = sum(math.sqrt(math.log(4 / FALSE_ALARM) / (2 * len(x))) for x in (draws, others))
    assert stats.ks_2samp(draws, others).statistic < limit


def assert_same_mean(mean, error, other_mean, other_error):
    assert abs(mean - other_mean) < 6.2 * math.hypot(error, other_error)


def captured_share_cdf(n_features, n_components, kappa):
    """Return P(p <= x) for p = |V^T e_1|^2 under density exp(kappa p), a tilted beta distribution.

    Uniform frames have p ~ Beta(K / 2, (D - K) / 2). Substituting p = sin^2(u) leaves no
    singularity at either end.
    """
    u = np.linspace(0, np.pi / 2, 200_001)
    log_density = kappa * (np.sin(u) ** 2 - 1)
    density = np.exp(log_density) * np.sin(u) ** (n_components - 1)
    density *= np.cos(u) ** (n_features - n_components - 1)
    cumulative = cumulative_simpson(density, x=u, initial=0)
    cumulative /= cumulative[-1]
    return lambda p: np.interp(np.arcsin(np.sqrt(p)), u, cumulative)


def importance_energy(b, n_components, rng, n_draws=100_000):
    """Return the mean of tr(V^T B V) and its standard error from weighted uniform frames."""
    frames = uniform_frames(n_draws, b.size, n_components, rng)
    energies = np.einsum("d,ndk,ndk->n", b, frames, frames)
    weights = np.exp(energies - energies.max())
    weights /= weights.sum()
    mean = weights @ energies
    return mean, math.sqrt(weights**2 @ (energies - mean) ** 2)


@pytest.mark.parametrize("kappa", [0.01, 2.0, 30.0, 1e4])
@pytest.mark.parametrize("n_features", [2, 3, 10])
def test_exact_direction_one_eigenvalue(n_features, kappa):
    b = np.zeros(n_features)
    b[n_features // 2] = kappa
    draws, _ = sample_vector_bingham(b, 20_000, rng=np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(draws, axis=1), 1, rtol=1e-12)
    assert_law(draws[:, n_features // 2] ** 2, captured_share_cdf(n_features, 1, kappa))
    # Signs are free: each coordinate is symmetric.
    assert_one_law(draws[:10_000, 0], -draws[10_000:, 0])


@pytest.mark.parametrize("top", [1.0, 5.0, 12.0])
def test_exact_direction_general_spectrum(top):
    rng = np.random.default_rng(2)
    b = np.linspace(-3, top, 8)
    draws, _ = sample_vector_bingham(b, 20_000, rng=rng)
    energies = draws**2 @ b
    expected = importance_energy(b, 1, rng)
    assert_same_mean(energies.mean(), stats.sem(energies), *expected)


@pytest.mark.parametrize("n_features", [3, 50, 784])
@pytest.mark.parametrize("kappa", [1.0, 1e8])
def test_acceptance_is_what_the_envelope_says(n_features, kappa):
    b = np.zeros(n_features)
    b[0] = kappa
    _, acceptance = sample_vector_bingham(b, 2_000, rng=np.random.default_rng(3))
    worst = math.exp(
        gammaln(n_features / 2)
        + n_features / 2 * (1 + math.log(2 / n_features))
        + stats.chi2.logpdf(1, 1)
    )
    assert worst > 0.84 / math.sqrt(n_features)
    # 2000 kept draws have a relative standard error of at most 1 / sqrt(2000) in the share.
    assert acceptance > worst * (1 - 6.2 / math.sqrt(2_000))
    if kappa == 1e8:
        assert acceptance == pytest.approx(worst, rel=6.2 / math.sqrt(2_000))
    else:
        assert acceptance > 0.8


@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("kappa", [1e-9, 3.0, 40.0])
def test_rotations_one_eigenvalue(n_components, kappa):
    b = np.zeros(7)
    b[4] = kappa
    draw = sample_matrix_bingham(
        b, n_components, method="rotation", n_chains=N_CHAINS, rng=np.random.default_rng(4)
    )
    assert draw.converged
    share = (draw.states[:, :, 4] ** 2).sum(axis=1)
    assert_law(share, captured_share_cdf(7, n_components, kappa))


@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
@pytest.mark.parametrize("top", [1.0, 5.0, 12.0])
def test_rotations_general_spectrum(n_components, top):
    rng = np.random.default_rng(5)
    b = rng.permutation(np.linspace(-1, top, 8))
    draw = sample_matrix_bingham(b, n_components, method="rotation", n_chains=N_CHAINS, rng=rng)
    energies = draw.energies[:, -1]
    assert_same_mean(energies.mean(), stats.sem(energies), *importance_energy(b, n_components, rng))


@pytest.mark.parametrize("n_components", [2, 6])
def test_both_starts_reach_one_law_and_frames_are_uniform_within(n_components):
    b = np.linspace(0, 20, 9)
    draw = sample_matrix_bingham(
        b, n_components, n_chains=2 * N_CHAINS, rng=np.random.default_rng(6)
    )
    random, mode = np.split(draw.states, 2)
    energies = np.split(draw.energies[:, -1], 2)
    assert_one_law(*energies)
    # Turning the frame within its subspace, or changing the sign of a coordinate, changes nothing.
    assert_one_law(random[:, 0, 8], random[:, 1, 8])
    assert_one_law(mode[:, 0, 8], mode[:, 1, 8])
    assert_one_law(random[:, 0, 8], -mode[:, 0, 8])


@pytest.mark.parametrize("b", [np.array([9.0, 4.0, 1.0, 0.0, -2.0]), np.array([2e4, 0.0, -1e4])])
def test_a_sweep_leaves_the_law_as_it_is(b):
    # Exact directions in, exact directions out: no burn-in hides an error of the kernel.
    rng = np.random.default_rng(7)
    exact, _ = sample_vector_bingham(b, 40_000, rng=rng)
    states = exact.T[:, :, None].copy()
    for _ in range(3):
        sweep(b, states, rng)
    fresh, _ = sample_vector_bingham(b, 40_000, rng=rng)
    for coordinate in range(b.size):
        assert_one_law(states[coordinate, :, 0], fresh[:, coordinate])


@pytest.mark.parametrize("n_components", [2, 5])
def test_no_concentration_is_uniform(n_components):
    rng = np.random.default_rng(8)
    draws = np.array(
        [
            sample_matrix_bingham(np.full(6, 3.0), n_components, rng=rng).components
            for _ in range(2_000)
        ]
    )
    share = (draws[:, :, 0] ** 2).sum(axis=1)
    assert_law(share, stats.beta(n_components / 2, (6 - n_components) / 2).cdf)


@pytest.mark.parametrize("n_components", [2, 3])
def test_high_concentration_is_the_leading_subspace(n_components):
    # Near the mode the exponent falls short of its maximum by half a chi-square with K (D - K)
    # degrees of freedom, up to terms of the order of 1 / 1e6.
    b = 1e6 * np.arange(7.0)[::-1]
    draw = sample_matrix_bingham(b, n_components, n_chains=N_CHAINS, rng=np.random.default_rng(9))
    assert draw.converged
    shortfall = b[:n_components].sum() - draw.energies[:, -1]
    assert_law(shortfall, stats.gamma(n_components * (7 - n_components) / 2).cdf)


@pytest.mark.parametrize("kappa", [1e-9, 1e-6, 1e-3, 1.0, 60.0, 9e5, 2e6, 1e9])
def test_numpy_draws_the_angles_we_rely_on(kappa):
    # NumPy changes its algorithm below 1e-8 and 1e-5 and above 1e6.
    draws = np.random.default_rng(10).vonmises(0.0, np.full(20_000, kappa))
    width = min(np.pi, 40 / math.sqrt(kappa))
    grid = np.linspace(-width, width, 100_001)
    cumulative = cumulative_simpson(np.exp(-2 * kappa * np.sin(grid / 2) ** 2), x=grid, initial=0)
    assert_law(draws, lambda x: np.interp(x, grid, cumulative / cumulative[-1]))
