"""The stated guarantee is exactly that of the noise that was added."""

from __future__ import annotations

import math
import secrets
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.pca import Draw
from dpcore.pca.protocols.cape import cape, guarantee_of_masked_sites, masked_round, release_scales
from dpcore.pca.protocols.central import modsulq, sulq
from dpcore.pca.protocols.distributed import dpdis, full
from dpcore.pca.protocols.first_site import local
from dpcore.pca.protocols.holder import guarantee_of_holder, pooled
from dpcore.pca.protocols.ppca import ppca
from dpcore.pca.protocols.references import exact, random
from dpcore.pca.protocols.wishart import (
    guarantee_of_wishart,
    noisy_mean_of_wishart,
    wishart,
    with_pure_share,
)
from dpcore.pca.settings import SMALLEST_MEAN_SHARE, ReleaseSettings
from dpcore.pca.site import NoiseScales, centre_of_sphere, noise_scales
from dpcore.privacy import (
    Adversary,
    PrivacyBudget,
    gaussian_epsilon,
    gaussian_mu,
    l2_sensitivity_of_second_moment,
)
from dpcore.spectra import SiteMoments, SiteRows
from dpcore.streams import Repetition

GAUSSIAN = (dpdis, full, local, pooled)


@pytest.mark.parametrize(
    ("asked", "holds"), [(0.1, 0.020), (0.5, 0.316), (1.0, 0.811), (3.0, 3.53), (10.0, 20.1)]
)
@pytest.mark.parametrize("protocol", GAUSSIAN)
def test_published_noise_holds_another_epsilon(moments, settings_with, protocol, asked, holds):
    """Known values at delta = 0.01, to the digits of their source."""
    guarantee = protocol(Draw(moments, settings_with(asked), Repetition(0))).guarantee
    assert guarantee.epsilon == pytest.approx(holds, rel=5e-3, abs=5e-4)
    assert guarantee.requested.epsilon == asked
    assert guarantee.keeps_requested == (holds <= asked)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("protocol", [*GAUSSIAN, cape])
def test_analytic_noise_holds_what_was_asked(moments, settings_with, protocol, epsilon):
    settings = settings_with(epsilon, 1e-5, calibration="analytic")
    guarantee = protocol(Draw(moments, settings, Repetition(0))).guarantee
    assert guarantee.epsilon <= epsilon
    assert guarantee.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("calibration", ["published", "classic", "analytic"])
def test_with_unequal_sites_the_weakest_counts(moments, settings_with, calibration):
    settings = settings_with(0.8, calibration=calibration)
    subspace = dpdis(Draw(moments, settings, Repetition(0)))
    per_site = [
        gaussian_epsilon(0.01, sigma, l2_sensitivity_of_second_moment(int(n)))
        for n, sigma in zip(moments.n_samples, subspace.sigma, strict=True)
    ]
    assert subspace.guarantee.epsilon == pytest.approx(max(per_site), rel=1e-9)
    smallest = int(moments.n_samples.argmin())
    assert subspace.guarantee.sigma == subspace.sigma[smallest] == subspace.sigma.max()
    assert subspace.guarantee.l2_sensitivity == l2_sensitivity_of_second_moment(
        int(moments.n_samples[smallest])
    )


def moved_by(x: np.ndarray, y: np.ndarray, scales: NoiseScales, n_samples: int) -> float:
    """Return mu of a change of one person's row from x to y, from both releases that contain it."""
    moment = np.linalg.norm(np.outer(x, x) - np.outer(y, y)) / scales.moment
    mean = np.linalg.norm(x - y) / scales.mean if scales.mean else 0.0
    return math.hypot(moment, mean) / n_samples


@given(
    share=st.just(0.0) | st.floats(SMALLEST_MEAN_SHARE, 0.99),
    n_samples=st.integers(2, 10**6),
    bound=st.floats(0.01, 100),
    calibration=st.sampled_from(["published", "analytic"]),
    norms=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    cosine=st.floats(-1, 1),
)
def test_no_two_rows_are_told_apart_better_than_guaranteed(
    share, n_samples, bound, calibration, norms, cosine
):
    """Rows of any length at any angle; the worst pair attains the guarantee."""
    settings = ReleaseSettings(
        PrivacyBudget(1.0, 1e-5),
        2,
        2,
        calibration=calibration,
        row_norm_bound=bound,
        mean_share=share,
    )
    scales = noise_scales(n_samples, settings)
    guarantee = guarantee_of_holder(settings, [n_samples], 2)
    ratio = guarantee.l2_sensitivity / guarantee.sigma
    assert guarantee.sigma == scales.moment

    def at_angle(t: float) -> tuple[np.ndarray, np.ndarray]:
        return bound * np.eye(2)[0], bound * np.array([t, math.sqrt(1 - t**2)])

    x, y = at_angle(cosine)
    assert moved_by(norms[0] * x, norms[1] * y, scales, n_samples) <= ratio * (1 + 1e-9)
    worst = at_angle(max(-1.0, -share / (4 * (1 - share))))
    assert moved_by(*worst, scales, n_samples) == pytest.approx(ratio, rel=1e-9)
    if calibration == "analytic":
        assert guarantee.epsilon == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.79, 0.81, 0.95])
def test_the_supremum_over_all_pairs_of_rows_is_what_is_calibrated_for(share):
    """On a grid over both lengths and the angle, the supremum is at full length and is not
    exceeded.
    """
    settings = ReleaseSettings(
        PrivacyBudget(1.0, 0.01), 2, 2, calibration="analytic", mean_share=share
    )
    scales = noise_scales(1, settings)
    length = np.linspace(0, 1, 41)
    p, q, t = np.meshgrid(length, length, np.linspace(-1, 1, 201), indexing="ij")
    moment = p**4 + q**4 - 2 * (p * q * t) ** 2
    mean = p**2 + q**2 - 2 * p * q * t
    square = moment / scales.moment**2 + (mean / scales.mean**2 if share else 0.0)
    guarantee = guarantee_of_holder(settings, [1], 2)
    squared_ratio = (guarantee.l2_sensitivity / guarantee.sigma) ** 2
    assert square.max() <= squared_ratio * (1 + 1e-9)
    assert square.max() >= 0.999 * squared_ratio


def test_a_published_mean_of_half_the_budget_holds_less_than_was_thought(settings_with):
    """The exact mu is sqrt(25 / 32) of that of two worst pairs at once; the printed noise is
    unchanged.
    """
    alone = guarantee_of_holder(settings_with(), [100], 12)
    both = guarantee_of_holder(settings_with(mean_share=0.5), [100], 12)
    assert both.sigma == pytest.approx(math.sqrt(2) * alone.sigma)
    ratio = (both.l2_sensitivity / both.sigma) / (alone.l2_sensitivity / alone.sigma)
    assert ratio**2 == pytest.approx(25 / 32)


def test_an_analytic_mean_of_half_the_budget_takes_less_noise(settings_with):
    """Calibrated for two worst pairs at once, epsilon would be 0.848 where 1 was requested."""
    analytic = settings_with(calibration="analytic", mean_share=0.5)
    sigma = guarantee_of_holder(analytic, [100], 12).sigma
    whole = guarantee_of_holder(replace(analytic, mean_share=0.0), [100], 12)
    assert sigma == pytest.approx(math.sqrt(2 * 25 / 32) * whole.sigma)
    mu = whole.l2_sensitivity / whole.sigma * math.sqrt(25 / 32)
    assert gaussian_epsilon(0.01, 1.0, mu) == pytest.approx(0.848, abs=1e-3)


@pytest.mark.parametrize("masks", ["published", "wide"])
@pytest.mark.parametrize("calibration", ["published", "analytic"])
@pytest.mark.parametrize("honest", [1, 2, 3])
@pytest.mark.parametrize("who", [Adversary.AGGREGATOR, Adversary.SITE])
def test_cape_guarantees_what_is_seen_of_it(calibration, masks, honest, who, false_alarm):
    """Rounds as the sites run them, compared with the stated epsilon.

    What an adversary sees of an entry is one Gaussian vector of p numbers: the messages of the
    sites counted on, or the result, and the masks and noises of its friends. The first moves
    with the person, by 1 or by 1 / S. The change's squared Mahalanobis norm is mu^2; n mu^2 over
    that in the sample covariance of n draws of a known mean is chi^2 of n - p + 1 degrees of
    freedom, whatever the covariance.
    """
    n_sites, people = 3, np.array([130, 140, 130])
    settings = ReleaseSettings(
        PrivacyBudget(2.0, 0.01),
        1,
        1,
        calibration=calibration,
        noise="isometric",
        masks=masks,
        honest_sites=honest,
    )
    # Noise on the diagonal of a large matrix is as good as many rounds.
    moments = SiteMoments(np.zeros((n_sites, 600, 600)), np.zeros((n_sites, 600)), people)
    scales = release_scales(settings, people)
    rounds = [
        masked_round(
            moments, scales, noise="isometric", repetition=Repetition(secrets.randbits(60))
        )
        for _ in range(3)
    ]

    def diagonals(name: str) -> np.ndarray:
        drawn = [getattr(search_round, name).diagonal(axis1=1, axis2=2) for search_round in rounds]
        return np.concatenate(drawn, axis=1)

    messages, masks_drawn, noises = map(diagonals, ("messages", "masks", "noises"))
    assert np.abs(masks_drawn.sum(axis=0)).max() <= 1e-12 * np.abs(masks_drawn).max() * n_sites
    n_draws = messages.shape[1]
    if who is Adversary.AGGREGATOR:
        # The friends' noises add nothing to their messages and masks.
        seen = np.vstack([messages[:honest], masks_drawn[honest:]])
        change = np.eye(len(seen))[0]
    else:
        friends = min(honest, n_sites - 1)
        result = messages.mean(axis=0) - noises[friends:].sum(axis=0) / n_sites
        seen, change = result[None], np.array([1 / n_sites])
    covariance = seen @ seen.T / n_draws
    # Scaled, because masks without bound are far larger than what they hide.
    scale = np.sqrt(covariance.diagonal())
    correlation, unit = covariance / np.outer(scale, scale), change / scale
    square = float(unit @ np.linalg.solve(correlation, unit))
    guarantee = guarantee_of_masked_sites(settings, people, 600)
    (claim,) = (entry for entry in guarantee.against if entry.adversary is who)
    mu_of_one = gaussian_mu(PrivacyBudget(claim.epsilon, 0.01)) / guarantee.l2_sensitivity
    law = stats.chi2(n_draws - len(seen) + 1)
    statistic = n_draws * mu_of_one**2 / square
    assert law.ppf(false_alarm / 2) < statistic < law.isf(false_alarm / 2)
    assert guarantee.epsilon == max(entry.epsilon for entry in guarantee.against)
    if calibration == "analytic":
        assert guarantee.epsilon == pytest.approx(2.0, rel=1e-9)


def test_cape_as_published_breaks_its_guarantee_where_one_site_would_keep_it(
    settings_with, moments
):
    """mu^2 is 2 S / (S + 1) times that of a local release if all masks are secret, 1.875 if two
    are.
    """
    draw = Draw(moments, settings_with(), Repetition(0))
    alone, masked = local(draw).guarantee, cape(draw).guarantee
    ratio = masked.mu**2 / alone.mu**2
    assert moments.n_sites == 3
    assert ratio == pytest.approx(1.5 + 0.5 * 0.75)
    assert masked.epsilon > alone.epsilon


def test_wide_masks_leave_the_pooled_noise_but_for_the_site_that_knows_its_own(
    settings_with, moments
):
    n_sites = moments.n_sites
    for honest in (None, n_sites - 1, n_sites):
        settings = settings_with(masks="wide", calibration="analytic", honest_sites=honest)
        left = release_scales(settings, moments.n_samples).noise_sigma / math.sqrt(n_sites)
        pooled_sigma = noise_scales(int(moments.n_samples.sum()), settings).moment
        assert left == pytest.approx(pooled_sigma * math.sqrt(n_sites / (n_sites - 1)))


@pytest.mark.parametrize("masks", ["published", "wide"])
def test_the_masked_mean_is_hidden_as_well_as_the_masked_matrix(settings_with, moments, masks):
    """Both adversaries know the same share of the noise of mean and matrix, so a share of mu^2 is
    the same for both: the largest epsilon holds for every share of the mean.
    """
    for share in (0.0, 0.3, 0.9):
        settings = settings_with(masks=masks, calibration="analytic", mean_share=share)
        guarantee = guarantee_of_masked_sites(settings, moments.n_samples, 12)
        assert guarantee.epsilon == pytest.approx(1.0, rel=1e-9)
        outsider = guarantee.against[-1]
        assert outsider.adversary is Adversary.OUTSIDER
        assert outsider.epsilon < 0.95


def entries(protocol, draw: Draw) -> dict[Adversary, tuple[float, bool]]:
    guarantee = protocol(draw).guarantee
    untrusted = [entry.epsilon for entry in guarantee.against if not entry.is_trusted]
    assert guarantee.epsilon == max(untrusted)
    assert all(entry.sees for entry in guarantee.against)
    return {entry.adversary: (entry.epsilon, entry.is_trusted) for entry in guarantee.against}


def test_against_whom_each_protocol_holds(moments, settings_with):
    draw = Draw(moments, settings_with(calibration="analytic", honest_sites=3), Repetition(0))
    asked, trusted = (pytest.approx(1.0), False), (math.inf, True)
    all_adversaries = dict.fromkeys(Adversary, asked)
    assert entries(dpdis, draw) == entries(full, draw) == all_adversaries
    assert entries(local, draw) == {Adversary.OUTSIDER: asked, Adversary.SITE: asked}
    assert entries(pooled, draw) == all_adversaries | {Adversary.AGGREGATOR: trusted}
    assert entries(ppca, draw) == all_adversaries | {Adversary.AGGREGATOR: trusted}
    for central in (sulq, modsulq):
        assert entries(central, draw)[Adversary.AGGREGATOR] == trusted
    # If all three sites must answer, aggregator and sites learn the same.
    masked = entries(cape, draw)
    assert masked[Adversary.AGGREGATOR] == asked and masked[Adversary.SITE] == asked
    assert masked[Adversary.OUTSIDER][0] < 0.9
    assert exact(draw).guarantee.against == random(draw).guarantee.against == ()


def test_a_share_too_small_to_be_weighed_is_refused(settings_with):
    """The noise of its mean would be a quotient by zero."""
    assert noise_scales(100, settings_with(mean_share=SMALLEST_MEAN_SHARE)).mean > 1e100
    with pytest.raises(ParameterError, match="mean_share must be 0 or at least 1e-300"):
        settings_with(mean_share=5e-324)


def test_there_is_no_guarantee_without_noise_and_everything_without_data(moments, settings_with):
    draw = Draw(moments, settings_with(math.inf), Repetition(0))
    for protocol in (*GAUSSIAN, cape, exact):
        guarantee = protocol(draw).guarantee
        assert guarantee.epsilon == math.inf
        assert guarantee.mechanism == "none"
    assert random(draw).guarantee.epsilon == 0


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_wishart_difference_guarantees_pure_epsilon_and_its_sigma(
    moments, settings_with, share, rng, false_alarm
):
    """A diagonal entry is a difference of two chi-squared numbers, with one degree more than the
    width of the noisy matrix including its border; sigma is its standard deviation.
    """
    settings = settings_with(0.7, mean_share=share, n_components=12)
    noise, order = [], 12 + (share > 0)
    for root in rng.integers(2**63, size=300):
        draw = Draw(moments, settings, Repetition(int(root)))
        subspace = wishart(draw)
        matrix = (subspace.components.T * subspace.eigenvalues) @ subspace.components
        if share:
            mean = noisy_mean_of_wishart(draw)
            matrix += np.outer(mean, mean)
        noise.append((matrix - moments.pooled())[0, 0] / subspace.sigma[0])
    assert subspace.guarantee == guarantee_of_wishart(settings, [int(moments.n_samples.sum())], 12)
    assert (subspace.guarantee.epsilon, subspace.guarantee.delta) == (0.7, 0.0)
    added, taken_off = rng.chisquare(order + 1, (2, 20_000)) / (2 * math.sqrt(order + 1))
    assert stats.ks_2samp(noise, added - taken_off).pvalue > false_alarm
    bound = moments.n_samples.sum() * 0.7 * subspace.sigma[0]
    assert bound == pytest.approx(2 * (1 + share / (2 * (1 - share))) * math.sqrt(order + 1))


@pytest.mark.parametrize(("share", "box"), [(0.3, None), (None, None), (0.3, np.full(12, 0.28))])
def test_on_the_sphere_mean_and_moment_share_epsilon(rows, share, box, rng, false_alarm):
    """Undone, both noises have the scales that the two parts of epsilon ask for: the lengths of
    the mean's are Gamma(D), in the norm of the box where rows have one; a diagonal entry of the
    moment's is a difference of chi-squareds."""
    sites = SiteRows.of(rows, (np.arange(len(rows)),), box)
    settings = ReleaseSettings(
        PrivacyBudget(0.7, 0.01), 12, 12, truncation="svd", mean_share=share, on_sphere=True
    )
    settled = with_pure_share(settings, 400, 12)
    assert settled.mean_share == (share or pytest.approx(0.2, abs=0.1))
    lengths, entries = [], []
    for root in rng.integers(2**63, size=300):
        draw = Draw(sites, settings, Repetition(int(root)))
        subspace, mean = wishart(draw), noisy_mean_of_wishart(draw)
        away = mean - sites.means[0]
        lengths.append(np.linalg.norm(away) if box is None else np.abs(away / box).max())
        matrix = (subspace.components.T * subspace.eigenvalues) @ subspace.components
        entries.append((matrix - sites.moment_around(centre_of_sphere(mean, box)))[0, 0])
    assert subspace.guarantee == guarantee_of_wishart(settings, [400], 12)
    assert subspace.guarantee.epsilon == 0.7
    of_mean, of_moment = (part * 0.7 for part in (settled.mean_share, 1 - settled.mean_share))
    law = stats.gamma(12, scale=2 / (400 * of_mean))
    assert stats.kstest(lengths, law.cdf).pvalue > false_alarm
    added, taken_off = rng.chisquare(13, (2, 20_000)) / (400 * of_moment)
    assert stats.ks_2samp(entries, added - taken_off).pvalue > false_alarm


def test_a_border_is_refused_where_no_mean_is_bought(moments, settings_with):
    with pytest.raises(ParameterError, match="mean_share must be greater than 0"):
        noisy_mean_of_wishart(Draw(moments, settings_with(), Repetition(0)))


def test_a_wishart_difference_without_noise_has_no_guarantee(moments, settings_with):
    subspace = wishart(Draw(moments, settings_with(math.inf), Repetition(0)))
    assert (subspace.guarantee.epsilon, subspace.guarantee.mechanism) == (math.inf, "none")
    exactly = exact(Draw(moments, settings_with(), Repetition(0)))
    np.testing.assert_allclose(subspace.eigenvalues, exactly.eigenvalues)
