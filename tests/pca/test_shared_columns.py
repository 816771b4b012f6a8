"""Tables whose columns are alike are not denoised; sites share one decision and one profile."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca import Draw
from dpcore.pca.assessment import columns_differ, off_diagonal_energy
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.spectra import COLUMNS, COLUMNS_WHERE_BETTER, SiteMoments, denoise
from dpcore.streams import Repetition

D, S, N = 40, 3, 3000
PROFILES = {"alike": np.ones(D), "unlike": np.where(np.arange(D) < 6, 6.0, 0.1)}


def moments_with(profile, rng):
    variances = profile / profile.sum()
    turn = np.linalg.qr(rng.standard_normal((D, 3)))[0] * np.sqrt(variances)[:, None]
    exact = np.diag(variances) / 2 + turn @ turn.T / 2
    return SiteMoments(np.stack([exact] * S), np.zeros((S, D)), np.full(S, N))


def draw_of(moments, settings, key):
    entry = PROTOCOLS[key]
    return Draw(
        moments,
        settings,
        Repetition(7),
        proxies=entry.wants_proxies,
        average=entry.wants_average,
    )


@pytest.fixture
def settings(settings_with):
    chosen = settings_with(epsilon=2.0, calibration="analytic", noise="isometric", truncation="psd")
    return replace(chosen, bases=(COLUMNS_WHERE_BETTER,))


@pytest.mark.parametrize("key", ["dpdis", "sequential", "full", "pooled"])
@pytest.mark.parametrize("profile", PROFILES)
def test_only_columns_that_differ_are_denoised(rng, settings, key, profile):
    moments = moments_with(PROFILES[profile], rng)
    release = PROTOCOLS[key].release
    subspace = release(draw_of(moments, settings, key))
    without = release(draw_of(moments, replace(settings, bases=()), key))
    is_same = np.array_equal(subspace.components, without.components)
    assert is_same == (profile == "alike")
    assert subspace.guarantee == without.guarantee


def test_sharing_the_diagonals_is_counted(rng, settings):
    moments = moments_with(PROFILES["unlike"], rng)
    subspace = PROTOCOLS["dpdis"].release(draw_of(moments, settings, "dpdis"))
    always = replace(settings, bases=(COLUMNS,))
    other = PROTOCOLS["dpdis"].release(draw_of(moments, always, "dpdis"))
    np.testing.assert_array_equal(subspace.bytes_sent - other.bytes_sent, 2 * 8 * (D + 1))
    assert subspace.n_rounds == other.n_rounds + 2


def test_sites_see_the_average_of_all_noisy_diagonals(rng, settings):
    draw = draw_of(moments_with(PROFILES["unlike"], rng), settings, "dpdis")
    noisy = [draw.noisy_site(site).noisy for site in range(S)]
    np.testing.assert_allclose(draw.diagonal_of_average, np.mean(noisy, axis=0).diagonal())


@pytest.mark.parametrize("threads", [1, 2])
def test_noise_is_the_same_if_it_is_drawn_again(rng, settings, monkeypatch, threads):
    moments = moments_with(PROFILES["unlike"], rng)
    released = []
    for limit in (2**28, 0):
        monkeypatch.setattr("dpcore.pca.draw._MOST_BYTES_STORED", limit)
        monkeypatch.setattr("dpcore.pca.draw.THREADED_FROM_FEATURES", D)
        draw = Draw(moments, settings, Repetition(7), average=False, threads=threads)
        released.append(PROTOCOLS["dpdis"].release(draw).components)
    np.testing.assert_array_equal(*released)


def test_a_shared_profile_is_closer_than_a_profile_of_each_site(rng):
    exact, sigma = moments_with(PROFILES["unlike"], rng).second_moments[0], 0.05
    noisy = [
        exact + symmetric_gaussian_noise(D, sigma, shape="isometric", rng=rng) for _ in range(8)
    ]
    diagonal, of_average = np.mean(noisy, axis=0).diagonal(), sigma / np.sqrt(8)
    denoised_alone = np.mean([denoise(matrix, sigma) for matrix in noisy], axis=0)
    shared = [
        denoise(matrix, sigma, sigma_of_average=of_average, diagonal_of_average=diagonal)
        for matrix in noisy
    ]
    assert np.linalg.norm(np.mean(shared, axis=0) - exact) < np.linalg.norm(denoised_alone - exact)


def differ(noisy, sigma):
    return columns_differ(np.diagonal(noisy), off_diagonal_energy(noisy, sigma), sigma)


def test_equal_variances_are_rarely_said_to_differ(rng):
    sigma = 0.01
    noises = (symmetric_gaussian_noise(D, sigma, shape="isometric", rng=rng) for _ in range(1000))
    differ_at = [differ(np.eye(D) / D + noise, sigma) for noise in noises]
    assert np.mean(differ_at) < 0.01
    assert differ(np.diag(PROFILES["unlike"] / D), sigma)
    assert not differ(np.ones((1, 1)), sigma)


def test_few_directions_in_general_position_are_no_variance_profile(rng, false_alarm):
    """Columns differ in variance by chance; profiles cost .02 of the energy of such tables."""
    n_features, n_draws = 30, 400
    eigenvalues = np.append([0.83, 0.05, 0.03], np.full(n_features - 3, 0.09 / (n_features - 3)))
    chosen = 0
    for _ in range(n_draws):
        turn = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
        exact, sigma = turn * eigenvalues @ turn.T, 0.05
        noise = symmetric_gaussian_noise(n_features, sigma, shape="isometric", rng=rng)
        chosen += differ(exact + noise, sigma)
    # Profiles are chosen in 1 of 200 such draws.
    assert chosen <= binom.isf(false_alarm, n_draws, 0.01)


def test_one_direction_is_no_variance_profile(rng, false_alarm):
    """A profile costs .07 of the energy of a table with one strong direction of unequal entries."""
    n_features, sigma, n_draws = 60, 0.005, 200
    chosen = 0
    for _ in range(n_draws):
        direction = rng.dirichlet(np.ones(n_features))
        direction /= np.linalg.norm(direction)
        exact = 0.95 * np.outer(direction, direction) + 0.05 * np.eye(n_features) / n_features
        noise = symmetric_gaussian_noise(n_features, sigma, shape="isometric", rng=rng)
        chosen += differ(exact + noise, sigma)
    assert chosen <= binom.isf(false_alarm, n_draws, 0.01)


def test_few_columns_of_large_variance_are_found_in_noise(rng):
    """The sum of squares of the diagonal exceeds that of noise in 4 of 10 of these draws only."""
    n_features, sigma, n_draws = 150, 0.02, 300
    differ_at = 0
    for _ in range(n_draws):
        variances = rng.gamma(0.3, size=n_features)
        noise = symmetric_gaussian_noise(n_features, sigma, shape="isometric", rng=rng)
        differ_at += differ(np.diag(variances / variances.sum()) + noise, sigma)
    assert differ_at > n_draws / 2


def test_columns_of_categories_are_denoised(rng):
    """Variances of columns of 0 and 1 vary little, and most energy is on the diagonal."""
    sizes, n_rows, sigma = (4, 6, 10, 15, 25), 3000, 0.01
    drawn = [rng.choice(n, n_rows, p=rng.dirichlet(np.ones(n))) for n in sizes]
    rows = np.hstack([np.eye(n)[group] for n, group in zip(sizes, drawn, strict=True)])
    rows -= rows.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    noise = symmetric_gaussian_noise(sum(sizes), sigma, shape="isometric", rng=rng)
    assert differ(rows.T @ rows / n_rows + noise, sigma)
