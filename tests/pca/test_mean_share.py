"""The share of the budget that a private mean takes: a rule of public numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar

from dpcore.errors import ParameterError
from dpcore.pca import ReleaseSettings
from dpcore.pca.settings import best_mean_share, with_mean_share
from dpcore.pca.site import centre_of_sphere, noise_scales
from dpcore.privacy import PrivacyBudget, gaussian_epsilon, published_sigma

SETTINGS = ReleaseSettings(
    PrivacyBudget(1.0, 1e-5), 2, 2, row_norm_bound=1.0, mean_share=None, on_sphere=True
)


@pytest.mark.parametrize("noise", [1e-4, 0.01, 0.1, 0.2])
def test_the_share_is_where_the_bound_is_least(noise):
    bound = minimize_scalar(
        lambda s: noise + noise / (1 - s) + noise**2 / s, bounds=(1e-9, 1 - 1e-9), method="bounded"
    )
    assert best_mean_share(noise) == pytest.approx(bound.x, rel=1e-3)
    assert bound.fun == pytest.approx(2 * noise + 2 * noise**1.5 + noise**2, rel=1e-6)


def test_no_mean_is_bought_where_the_middle_is_as_good():
    assert best_mean_share(0.21) > 0
    assert best_mean_share(0.23) == 0
    assert best_mean_share(0.23, at_any_noise=True) > best_mean_share(0.21)


def test_the_rule_reads_public_numbers_and_leaves_a_given_share_alone():
    few, many = (with_mean_share(SETTINGS, [n], 64).mean_share for n in (1000, 10**6))
    assert few > many > 0
    spread = with_mean_share(SETTINGS, [500, 500], 64, n_noises=2).mean_share
    assert spread > few
    assert with_mean_share(SETTINGS, [10], 64).mean_share == 0
    given = replace(SETTINGS, mean_share=0.3)
    assert with_mean_share(given, [10], 64) is given


@pytest.mark.parametrize("calibration", ["analytic", "classic", "published"])
def test_every_calibration_pays_for_the_mean_out_of_its_own_budget(calibration):
    settings = with_mean_share(replace(SETTINGS, calibration=calibration), [1000], 64)
    alone = replace(settings, mean_share=0.0)
    scales = noise_scales(1000, settings)
    mu = [scale.l2_sensitivity / scale.moment for scale in (scales, noise_scales(1000, alone))]
    assert mu[0] == pytest.approx(mu[1], rel=1e-9)
    if calibration == "published":
        sigma = published_sigma(settings.budget, 1000, 1.0)
        assert scales.moment == pytest.approx(sigma / math.sqrt(1 - settings.mean_share))


def test_both_releases_together_keep_what_was_asked():
    scales = noise_scales(1000, with_mean_share(SETTINGS, [1000], 64))
    mu = math.hypot(math.sqrt(2) / 1000 / scales.moment, 2 / 1000 / scales.mean)
    assert gaussian_epsilon(1e-5, 1.0, mu) == pytest.approx(1.0, rel=1e-6)


def test_noise_is_not_calibrated_before_the_share_is_known():
    with pytest.raises(ParameterError, match="mean_share must be settled"):
        noise_scales(100, SETTINGS)


def test_rows_on_the_sphere_come_in_units_of_their_bound():
    with pytest.raises(ParameterError, match="row_norm_bound must be 1 on the sphere"):
        replace(SETTINGS, row_norm_bound=2.0)


@pytest.mark.parametrize("offset", [0.0, 0.3, 0.9])
def test_a_mean_is_drawn_towards_the_middle_and_is_nearer_for_it(rng, offset):
    """James & Stein: the shrunk mean is closer on average for every mean, and much closer if all is
    noise.
    """
    mean, sigma, n_draws = np.zeros(30), 0.12, 2_000
    mean[0] = offset
    noisy = mean + sigma * rng.standard_normal((n_draws, 30))
    drawn = np.stack([centre_of_sphere(mean, sigma=sigma) for mean in noisy])
    cut = np.stack([centre_of_sphere(mean) for mean in noisy])
    nearer = ((cut - mean) ** 2).sum(axis=1) - ((drawn - mean) ** 2).sum(axis=1)
    assert nearer.mean() / stats.sem(nearer) > 6
    assert np.linalg.norm(drawn, axis=1).max() <= 1 + 1e-12
    if offset == 0:
        assert (drawn**2).sum(axis=1).mean() < 0.1 * (noisy**2).sum(axis=1).mean()


def test_without_noise_in_a_box_or_at_the_middle_it_stays_what_it_was():
    mean = np.array([0.3, -0.2, 0.1])
    np.testing.assert_allclose(centre_of_sphere(mean), mean)
    np.testing.assert_array_equal(centre_of_sphere(np.zeros(3), sigma=1.0), np.zeros(3))
    box = np.full(3, 0.25)
    np.testing.assert_array_equal(centre_of_sphere(mean, box), np.clip(mean, -box, box))
    np.testing.assert_allclose(centre_of_sphere(mean, box, sigma=9.0), np.zeros(3))
    np.testing.assert_allclose(np.linalg.norm(centre_of_sphere(9 * mean, sigma=1e-9)), 1)
