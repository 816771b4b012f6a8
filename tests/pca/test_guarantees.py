"""What is promised is what the noise that was added gives, no more and no less."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcore.pca import Draw
from dpcore.pca.cape import cape, cape_guarantee, release_scales
from dpcore.pca.distributed import dpdis, exact, full, local, pooled, random
from dpcore.pca.guarantees import gaussian_release_guarantee
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import noise_scales
from dpcore.privacy import (
    PrivacyBudget,
    composed_mu,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
)
from dpcore.streams import Repetition

GAUSSIAN = (dpdis, full, local, pooled)


@pytest.mark.parametrize(
    ("asked", "holds"), [(0.1, 0.020), (0.5, 0.316), (1.0, 0.811), (3.0, 3.53), (10.0, 20.1)]
)
@pytest.mark.parametrize("protocol", GAUSSIAN)
def test_published_noise_holds_another_epsilon(moments, settings_with, protocol, asked, holds):
    """DESIGN 4, delta = 0.01; to the digits given there."""
    guarantee = protocol(Draw(moments, settings_with(asked), Repetition(0))).guarantee
    assert guarantee.epsilon == pytest.approx(holds, rel=5e-3, abs=5e-4)
    assert guarantee.asked.epsilon == asked
    assert guarantee.keeps_asked == (holds <= asked)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("protocol", (*GAUSSIAN, cape))
def test_analytic_noise_holds_what_was_asked(moments, settings_with, protocol, epsilon):
    settings = settings_with(epsilon, 1e-5, calibration="analytic")
    guarantee = protocol(Draw(moments, settings, Repetition(0))).guarantee
    assert guarantee.epsilon <= epsilon
    assert guarantee.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("calibration", ["published", "classic", "analytic"])
def test_with_unequal_sites_the_weakest_counts(moments, settings_with, calibration):
    settings = settings_with(0.8, calibration=calibration)
    found = dpdis(Draw(moments, settings, Repetition(0)))
    per_site = [
        gaussian_epsilon(0.01, sigma, l2_sensitivity_of_second_moment(int(n)))
        for n, sigma in zip(moments.n_samples, found.sigma, strict=True)
    ]
    assert found.guarantee.epsilon == pytest.approx(max(per_site), rel=1e-9)
    smallest = int(moments.n_samples.argmin())
    assert found.guarantee.sigma == found.sigma[smallest] == found.sigma.max()
    assert found.guarantee.l2_sensitivity == l2_sensitivity_of_second_moment(
        int(moments.n_samples[smallest])
    )


@given(
    share=st.floats(0.01, 0.99),
    n_samples=st.integers(2, 10**6),
    bound=st.floats(0.01, 100),
    calibration=st.sampled_from(["published", "analytic"]),
)
def test_a_private_mean_is_paid_out_of_the_same_budget(share, n_samples, bound, calibration):
    settings = ReleaseSettings(
        PrivacyBudget(1.0, 1e-5),
        2,
        2,
        calibration=calibration,
        row_norm_bound=bound,
        mean_share=share,
    )
    scales = noise_scales(n_samples, settings)
    sensitivity = l2_sensitivity_of_second_moment(n_samples, bound)
    both = composed_mu(sensitivity / scales.moment, 2 * bound / n_samples / scales.mean)
    promised = gaussian_release_guarantee(
        settings, [n_samples], noise_added_by="a test", assumptions=()
    )
    assert both == pytest.approx(sensitivity / promised.sigma, rel=1e-12)


@pytest.mark.parametrize("masks", ["published", "wide"])
@pytest.mark.parametrize("calibration", ["published", "analytic"])
@pytest.mark.parametrize("honest", [1, 2, 4])
def test_cape_promises_what_its_messages_reveal(rng, calibration, masks, honest, false_alarm):
    """Masks and noise simulated as the sites would draw them, against the promised sigma.

    Everything an aggregator sees is one Gaussian vector an entry: the honest messages, and the
    masks of the colluding sites. Its precision at one honest message is 1 / sigma^2 of a plain
    Gaussian mechanism. With n draws of a known mean, n over the sample precision of one of p
    entries is sigma^2 chi^2 with n - p + 1 degrees of freedom, whatever the covariance.
    """
    n_sites, n_samples, n_draws = 4, 400, 20_000
    settings = ReleaseSettings(
        PrivacyBudget(2.0, 0.01), 1, 1, calibration=calibration, masks=masks, honest_sites=honest
    )
    scales = release_scales(settings, n_sites, n_samples)
    # A finite stand-in for masks without bound: it leaks a share (b/a)^2 of the limit.
    mask_sigma = min(scales.mask_sigma, 1e4 * scales.noise_sigma)
    raw = mask_sigma * rng.standard_normal((n_draws, n_sites))
    masks_drawn = raw - raw.mean(axis=1, keepdims=True)
    messages = masks_drawn + scales.noise_sigma * rng.standard_normal((n_draws, n_sites))
    np.testing.assert_allclose(masks_drawn.sum(axis=1), 0, atol=1e-10 * mask_sigma)

    seen = np.hstack([messages[:, :honest], masks_drawn[:, honest:]])
    precision = np.linalg.inv(seen.T @ seen / n_draws)[0, 0]
    promised = cape_guarantee(settings, n_sites, n_samples)
    statistic = n_draws / precision / promised.sigma**2
    law = stats.chi2(n_draws - n_sites + 1)
    assert law.ppf(false_alarm / 2) < statistic < law.isf(false_alarm / 2)
    if calibration == "analytic":
        assert promised.epsilon == pytest.approx(2.0, rel=1e-9)


def test_cape_as_published_breaks_its_promise_where_one_site_would_keep_it(settings_with, moments):
    """2 S / (S + 1) times a local release's mu^2 (DESIGN 4)."""
    draw = Draw(moments, settings_with(), Repetition(0))
    alone, masked = local(draw).guarantee, cape(draw).guarantee
    n_sites = moments.n_sites
    ratio = (masked.l2_sensitivity / masked.sigma) ** 2 / (alone.l2_sensitivity / alone.sigma) ** 2
    assert ratio == pytest.approx(2 * n_sites / (n_sites + 1))
    assert masked.epsilon > alone.epsilon


def test_wide_masks_and_all_honest_give_the_pooled_noise(settings_with, moments):
    settings = settings_with(masks="wide", calibration="analytic")
    scales = release_scales(settings, moments.n_sites, int(moments.n_samples.sum()))
    n_samples = int(moments.n_samples.sum())
    assert scales.noise_sigma / math.sqrt(moments.n_sites) == pytest.approx(
        noise_scales(n_samples, settings).moment
    )


def test_nothing_is_promised_without_noise_and_everything_without_data(moments, settings_with):
    draw = Draw(moments, settings_with(math.inf), Repetition(0))
    for protocol in (*GAUSSIAN, cape, exact):
        guarantee = protocol(draw).guarantee
        assert guarantee.epsilon == math.inf
        assert guarantee.mechanism == "none"
    assert random(draw).guarantee.epsilon == 0
