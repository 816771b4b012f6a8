"""Tables whose columns are alike are not denoised; sites share one decision and one profile."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca import Draw
from dpcore.pca.assessment import columns_differ
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
    found = release(draw_of(moments, settings, key))
    without = release(draw_of(moments, replace(settings, bases=()), key))
    is_same = np.array_equal(found.components, without.components)
    assert is_same == (profile == "alike")
    assert found.guarantee == without.guarantee


def test_sharing_the_diagonals_is_counted(rng, settings):
    moments = moments_with(PROFILES["unlike"], rng)
    found = PROTOCOLS["dpdis"].release(draw_of(moments, settings, "dpdis"))
    always = replace(settings, bases=(COLUMNS,))
    other = PROTOCOLS["dpdis"].release(draw_of(moments, always, "dpdis"))
    np.testing.assert_array_equal(found.bytes_sent - other.bytes_sent, 2 * 8 * D)
    assert found.n_rounds == other.n_rounds + 2


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
    own = np.mean([denoise(each, sigma) for each in noisy], axis=0)
    shared = [
        denoise(each, sigma, sigma_of_average=of_average, diagonal_of_average=diagonal)
        for each in noisy
    ]
    assert np.linalg.norm(np.mean(shared, axis=0) - exact) < np.linalg.norm(own - exact)


def test_equal_variances_are_rarely_said_to_differ(rng):
    found = [columns_differ(1 / D + 0.01 * rng.standard_normal(D), 0.01) for _ in range(1000)]
    assert np.mean(found) < 0.01
    assert columns_differ(PROFILES["unlike"] / D, 0.01)
    assert not columns_differ(np.ones(1), 0.01)
