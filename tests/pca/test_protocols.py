"""Protocols compared with a plain version of Algorithm 1, scikit-learn, and each other."""

from __future__ import annotations

import math
import secrets
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from sklearn.decomposition import PCA, TruncatedSVD

from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca import Draw, SiteMessage, Subspace, aggregate, encode_message, site_message
from dpcore.pca.protocols.cape import (
    cape,
    masked_mean_round,
    masked_round,
    noisy_mean_of_messages,
    release_scales,
)
from dpcore.pca.protocols.central import modsulq, sulq
from dpcore.pca.protocols.distributed import dpdis, full
from dpcore.pca.protocols.first_site import local
from dpcore.pca.protocols.holder import noisy_mean_of_holder, pooled
from dpcore.pca.protocols.ppca import ppca
from dpcore.pca.protocols.references import exact, random
from dpcore.privacy import mean_weight
from dpcore.spectra import SiteMoments, captured_energy, projector_distance, site_moments
from dpcore.streams import Purpose, Repetition

EXACT_WITHOUT_NOISE = (dpdis, full, pooled, cape)


def published_algorithm(noisy_moments, n_components, intermediate_dim):
    """Run Algorithm 1, steps 5 to 11, as printed, for sites of equal size."""
    total = 0
    for noisy in noisy_moments:
        U, S, _ = np.linalg.svd(noisy)
        P = U[:, :intermediate_dim] @ np.diag(S[:intermediate_dim] ** 0.5)
        total = total + P @ P.T / len(noisy_moments)
    return np.linalg.svd(total)[0][:, :n_components].T


def noise_of(site, scale, settings, repetition, n_features):
    return symmetric_gaussian_noise(
        n_features, scale, shape=settings.noise, rng=repetition.rng(Purpose.SITE_NOISE, site)
    )


class RelabelledSites(Repetition):
    """Streams of a repetition under other site numbers."""

    def __init__(self, seed: int, order: list[int]):
        super().__init__(seed)
        object.__setattr__(self, "order", order)

    def rng(self, purpose, *identity):
        if purpose in (Purpose.SITE_NOISE, Purpose.PREPARATION):
            identity = (self.order[identity[0]], *identity[1:])
        return super().rng(purpose, *identity)


@pytest.mark.parametrize("noise", ["triangle", "isometric"])
@pytest.mark.parametrize("intermediate_dim", [2, 4, 6, 12])
def test_dpdis_is_algorithm_1(moments, settings_with, noise, intermediate_dim):
    equal = SiteMoments(moments.second_moments, moments.means, np.array([100, 100, 100]))
    settings = settings_with(noise=noise, intermediate_dim=intermediate_dim)
    repetition = Repetition(7)
    draw = Draw(equal, settings, repetition)
    noisy = [
        A + noise_of(site, draw.scales[site].moment, settings, repetition, len(A))
        for site, A in enumerate(equal.second_moments)
    ]
    expected = published_algorithm(noisy, settings.n_components, intermediate_dim)
    assert projector_distance(dpdis(draw).components, expected) < 1e-8


def test_full_and_local_rank_by_magnitude_as_an_svd_would(moments, settings_with):
    settings, repetition = settings_with(epsilon=0.2), Repetition(3)
    draw = Draw(moments, settings, repetition)
    noisy = [
        A + noise_of(site, draw.scales[site].moment, settings, repetition, len(A))
        for site, A in enumerate(moments.second_moments)
    ]
    average = sum(w * A for w, A in zip(moments.weights, noisy, strict=True))
    for protocol, matrix in ((full, average), (local, noisy[0])):
        expected = np.linalg.svd(matrix)[0][:, :4].T
        assert projector_distance(protocol(draw).components, expected) < 1e-8


def test_positive_truncation_keeps_the_largest_eigenvalues_and_cuts_negative_ones(
    moments, settings_with
):
    settings, repetition = settings_with(epsilon=0.2, truncation="psd"), Repetition(3)
    draw = Draw(moments, settings, repetition)
    total = 0
    for site, A in enumerate(moments.second_moments):
        noisy = A + noise_of(site, draw.scales[site].moment, settings, repetition, len(A))
        values, vectors = np.linalg.eigh(noisy)
        kept = np.maximum(values[-6:], 0)
        total = total + moments.weights[site] * (vectors[:, -6:] * kept) @ vectors[:, -6:].T
    expected = np.linalg.eigh(total)[1][:, -4:].T
    assert projector_distance(dpdis(draw).components, expected) < 1e-8


@pytest.mark.parametrize("truncation", ["svd", "psd"])
@pytest.mark.parametrize("protocol", EXACT_WITHOUT_NOISE)
def test_without_noise_protocols_give_the_exact_pooled_subspace(
    rows, moments, settings_with, protocol, truncation
):
    settings = settings_with(math.inf, intermediate_dim=12, truncation=truncation)
    subspace = protocol(Draw(moments, settings, Repetition(0)))
    svd = TruncatedSVD(4, algorithm="arpack", tol=1e-12).fit(rows)
    assert projector_distance(subspace.components, svd.components_) < 1e-8
    assert not subspace.guarantee.is_private


@pytest.mark.parametrize("protocol", [*EXACT_WITHOUT_NOISE, exact])
def test_a_private_mean_without_noise_gives_centred_pca(rows, moments, settings_with, protocol):
    settings = settings_with(math.inf, intermediate_dim=12, mean_share=0.2)
    subspace = protocol(Draw(moments, settings, Repetition(0)))
    assert projector_distance(subspace.components, PCA(4).fit(rows).components_) < 1e-8


def test_without_noise_a_site_alone_sees_only_its_people(rows, labels, moments, settings_with):
    subspace = local(Draw(moments, settings_with(math.inf), Repetition(0)))
    svd = TruncatedSVD(4, algorithm="arpack", tol=1e-12)
    components_of_first = svd.fit(rows[labels == 0]).components_.copy()
    all_rows = svd.fit(rows).components_
    assert projector_distance(subspace.components, components_of_first) < 1e-8
    assert projector_distance(subspace.components, all_rows) > 1e-3


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_nobody_elses_rows_have_a_say_in_a_site_alone(
    rows, labels, moments, settings_with, epsilon
):
    """Bit for bit, also with other protocols: the private mean is that of the site's own people."""
    settings = settings_with(epsilon, mean_share=0.3)
    others = rows.copy()
    others[labels != 0] = -others[labels != 0][:, ::-1]
    elsewhere = site_moments(others, [np.flatnonzero(labels == site) for site in range(3)])
    assert not np.allclose(elsewhere.means[1:], moments.means[1:])

    def released(at_sites: SiteMoments, *, beside: bool) -> Subspace:
        draw = Draw(at_sites, settings, Repetition(4), proxies=beside, average=beside)
        if beside:
            dpdis(draw)
        return local(draw)

    together = released(moments, beside=True)
    for at_sites, beside in ((elsewhere, True), (elsewhere, False)):
        again = released(at_sites, beside=beside)
        np.testing.assert_array_equal(again.components, together.components)
        np.testing.assert_array_equal(again.eigenvalues, together.eigenvalues)
        assert again.guarantee == together.guarantee
    assert together.bytes_sent.sum() == 0
    if math.isinf(epsilon):
        components_of_first = PCA(4).fit(rows[labels == 0]).components_
        assert projector_distance(together.components, components_of_first) < 1e-8


def test_one_site_alone_is_everybody(rows, moments, settings_with):
    """dpdis at R = K, full and local are one release with one site; pooled has its noise."""
    all_rows = SiteMoments(
        moments.pooled()[None],
        (moments.weights @ moments.means)[None],
        moments.n_samples.sum(keepdims=True),
    )
    draw = Draw(all_rows, settings_with(intermediate_dim=4), Repetition(1))
    alone = local(draw)
    for protocol in (dpdis, full):
        subspace = protocol(draw)
        assert projector_distance(subspace.components, alone.components) < 1e-8
    for protocol in (dpdis, full, pooled):
        subspace = protocol(draw)
        np.testing.assert_array_equal(subspace.sigma, alone.sigma)
        assert subspace.guarantee.epsilon == alone.guarantee.epsilon


@pytest.mark.parametrize("mean_share", [0.0, 0.3])
@pytest.mark.parametrize("protocol", [dpdis, full])
def test_the_order_of_sites_does_not_matter(moments, settings_with, protocol, mean_share):
    settings, order = settings_with(mean_share=mean_share), [2, 0, 1]
    straight = protocol(Draw(moments, settings, Repetition(5)))
    shuffled = SiteMoments(
        moments.second_moments[order], moments.means[order], moments.n_samples[order]
    )
    subspace = protocol(Draw(shuffled, settings, RelabelledSites(5, order)))
    assert projector_distance(subspace.components, straight.components) < 1e-8
    np.testing.assert_array_equal(subspace.sigma, straight.sigma[order])
    assert subspace.guarantee == straight.guarantee


def test_fewer_directions_than_components_still_give_a_whole_subspace(moments, settings_with):
    """R < K is allowed: the subspace is spanned if S R >= K, and completed otherwise."""
    for intermediate_dim in (1, 2):
        settings = settings_with(n_components=4, intermediate_dim=intermediate_dim)
        subspace = dpdis(Draw(moments, settings, Repetition(0))).components
        np.testing.assert_allclose(subspace @ subspace.T, np.eye(4), atol=1e-12)


def test_no_two_sources_of_noise_share_a_stream(moments, settings_with):
    """Every stream of a draw has one purpose."""
    opened = Counter()

    class Recording(Repetition):
        def rng(self, purpose, *identity):
            opened[purpose, identity] += 1
            return super().rng(purpose, *identity)

    draw = Draw(moments, settings_with(mean_share=0.2), Recording(0))
    for protocol in (dpdis, full, local, pooled, cape, random, sulq, modsulq, ppca):
        protocol(draw)
    scales = release_scales(draw.settings, moments.n_samples)
    masked_round(moments, scales, noise="triangle", repetition=draw.repetition)
    masked_mean_round(moments, scales, weight=1.0, repetition=draw.repetition)
    assert set(opened.values()) == {1}
    assert len([key for key in opened if key[0] is Purpose.SITE_NOISE]) == moments.n_sites


def test_averages_carry_the_noise_they_should(rng, settings_with, false_alarm):
    """Test the law of the noisy average by KS: it is the eigenvalue if there is one feature.

    A KS test fails with its p-value's probability whatever the seed, so p > false_alarm.
    """
    counts = np.array([50, 150, 300])
    moments = SiteMoments(np.array([[[0.9]], [[0.5]], [[0.7]]]), np.zeros((3, 1)), counts)
    settings = settings_with(n_components=1, intermediate_dim=1)
    draws = [Draw(moments, settings, Repetition(11, r)) for r in range(500)]
    weights, sigma = counts / 500, np.array([s.moment for s in draws[0].scales])
    mean = float(weights @ moments.second_moments[:, 0, 0])
    tau = float(draws[0].scales[0].moment) * 50 / (500 / 3)
    for protocol, scale in (
        (full, float(np.sqrt(weights**2 @ sigma**2))),
        (pooled, tau / 3),
        (cape, tau / 3),  # the published b^2 = tau^2 / S, averaged over S sites
    ):
        values = [float(protocol(draw).eigenvalues[0]) for draw in draws]
        assert stats.kstest(values, "norm", args=(mean, scale)).pvalue > false_alarm


def test_bytes_are_the_lengths_of_real_messages(moments, settings_with):
    settings = settings_with()
    draw = Draw(moments, settings, Repetition(0))
    for whole, protocol in ((False, dpdis), (True, full)):
        lengths = [
            len(
                encode_message(
                    site_message(A, int(n), settings, rng=np.random.default_rng(0), whole=whole)
                )
            )
            for A, n in zip(moments.second_moments, moments.n_samples, strict=True)
        ]
        np.testing.assert_array_equal(protocol(draw).bytes_sent, lengths)
    assert local(draw).bytes_sent.sum() == 0
    assert pooled(draw).bytes_sent.sum() == moments.n_samples.sum() * moments.n_features * 8


def test_a_draw_is_what_the_sites_would_send(moments, settings_with):
    settings, repetition = settings_with(), Repetition(2)
    messages = [
        site_message(A, int(n), settings, rng=repetition.rng(Purpose.SITE_NOISE, site))
        for site, (A, n) in enumerate(zip(moments.second_moments, moments.n_samples, strict=True))
    ]
    subspace = dpdis(Draw(moments, settings, repetition))
    eigenvalues, components = aggregate(messages, 4)
    np.testing.assert_array_equal(subspace.components, components)
    np.testing.assert_array_equal(subspace.eigenvalues, eigenvalues)


def test_a_random_subspace_captures_its_share_on_average(moments, settings_with, false_alarm):
    """Energy ratios lie in [0, 1]: Hoeffding bounds the error of their mean."""
    second_moment, n_draws = moments.pooled(), 400
    ratios = [
        captured_energy(random(Draw(moments, settings_with(), Repetition(0, r))).components, A)
        for r in range(n_draws)
        for A in [second_moment / second_moment.trace()]
    ]
    bound = math.sqrt(math.log(2 / false_alarm) / (2 * n_draws))
    assert abs(np.mean(ratios) - 4 / 12) < bound


@pytest.mark.parametrize(
    ("messages", "parameter"),
    [
        ([], "messages"),
        (
            [
                SiteMessage(np.eye(3), 10, 1.0, whole=True),
                SiteMessage(np.eye(3), 10, 1.0, whole=False),
            ],
            "messages",
        ),
        ([SiteMessage(np.eye(3), 10, 1.0), SiteMessage(np.eye(4), 10, 1.0)], "messages"),
    ],
)
def test_the_aggregator_refuses_what_it_cannot_average(messages, parameter):
    with pytest.raises(ParameterError) as caught:
        aggregate(messages, 2)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"n_components": 13}, "n_components"),
        ({"intermediate_dim": 13}, "intermediate_dim"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": 0.0}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"epsilon": 1.5, "calibration": "classic"}, "epsilon"),
        ({"calibration": "exactly"}, "calibration"),
        ({"noise": "white"}, "noise"),
        ({"truncation": "qr"}, "truncation"),
        ({"masks": "small"}, "masks"),
        ({"row_norm_bound": 0.0}, "row_norm_bound"),
        ({"row_norm_bound": math.inf}, "row_norm_bound"),
        ({"mean_share": 1.0}, "mean_share"),
    ],
)
def test_bad_settings_name_the_parameter(moments, settings_with, changes, parameter):
    with pytest.raises(ParameterError, match=f"^{parameter} must be .*, got ") as caught:
        dpdis(Draw(moments, settings_with(**changes), Repetition(0)))
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("masks", ["published", "wide"])
def test_messages_under_masks_average_to_what_cape_releases(
    moments, settings_with, masks, false_alarm
):
    """Masks cancel in the sum; the remaining noise is normal with the released scale, by KS."""
    settings = settings_with(masks=masks, calibration="analytic")
    draw = Draw(moments, settings, Repetition(secrets.randbits(60)))
    scales = release_scales(settings, moments.n_samples)
    masked = masked_round(moments, scales, noise="triangle", repetition=draw.repetition)
    np.testing.assert_allclose(masked.masks.sum(axis=0), 0, atol=1e-12 * np.abs(masked.masks).max())
    left = masked.messages.mean(axis=0) - moments.pooled()
    np.testing.assert_allclose(
        left, masked.noises.mean(axis=0), atol=1e-12 * np.abs(masked.masks).max()
    )
    sigma = scales.noise_sigma / math.sqrt(3)
    standard = left[np.triu_indices(len(left))] / sigma
    assert stats.kstest(standard, "norm").pvalue > false_alarm
    # Each message differs from its site's matrix by mask and noise of the stated size.
    alone = masked.messages[1] - 3 * moments.weights[1] * moments.second_moments[1]
    if masks == "published":
        sent = math.hypot(scales.noise_sigma, math.sqrt(2 / 3) * scales.mask_sigma)
        standard = alone[np.triu_indices(len(alone))] / sent
        assert stats.kstest(standard, "norm").pvalue > false_alarm


def test_masked_means_average_to_the_mean_that_cape_centres_by(moments, settings_with, false_alarm):
    """The mean gets the noise of its weight: standardised values are normal, by KS."""
    settings = settings_with(calibration="analytic", mean_share=0.2)
    scales = release_scales(settings, moments.n_samples)
    weight = mean_weight(0.2)
    rounds = [
        masked_mean_round(
            moments, scales, weight=weight, repetition=Repetition(secrets.randbits(60))
        )
        for _ in range(100)
    ]
    largest = max(np.abs(search_round.masks).max() for search_round in rounds)
    for search_round in rounds:
        np.testing.assert_allclose(search_round.masks.sum(axis=0), 0, atol=1e-12 * largest)
    left = np.array([search_round.messages.mean(axis=0) for search_round in rounds])
    left -= moments.weights @ moments.means
    standard = left.ravel() * weight * math.sqrt(3) / scales.noise_sigma
    assert stats.kstest(standard, "norm").pvalue > false_alarm


@pytest.mark.parametrize("masks", ["published", "wide"])
def test_cape_at_one_site_needs_no_mask(moments, settings_with, masks):
    one = SiteMoments(moments.second_moments[:1], moments.means[:1], moments.n_samples[:1])
    settings = settings_with(masks=masks, calibration="analytic")
    alone, masked = (p(Draw(one, settings, Repetition(0))) for p in (local, cape))
    np.testing.assert_allclose(masked.sigma, alone.sigma, rtol=1e-12)
    assert masked.guarantee.epsilon == pytest.approx(alone.guarantee.epsilon)


@pytest.mark.parametrize("masks", ["published", "wide"])
def test_sigma_is_of_the_noise_that_stays(moments, settings_with, masks):
    """Masks cancel, so the edge of the noise does not depend on them."""
    settings = settings_with(masks=masks, calibration="analytic")
    subspace = cape(Draw(moments, settings, Repetition(0)))
    scales = release_scales(settings, moments.n_samples)
    np.testing.assert_array_equal(subspace.sigma, np.full(3, scales.noise_sigma))


def test_a_mean_gets_the_noise_that_its_share_pays_for(settings_with, false_alarm):
    """Test by KS that its noise is sqrt(2 (1 - s) / s) times that of a matrix entry at share s."""
    counts, n_features, share = np.array([60, 40, 100]), 600, 0.2
    moments = SiteMoments(np.zeros((3, n_features, n_features)), np.zeros((3, n_features)), counts)
    settings = settings_with(mean_share=share, calibration="analytic")
    draw = Draw(moments, settings, Repetition(secrets.randbits(60)))
    masked = release_scales(settings, counts).noise_sigma / math.sqrt(3)
    factor = math.sqrt(2 * (1 - share) / share)
    for mean, sigma in (
        (draw.noisy_means[0], draw.sigma[0]),
        (noisy_mean_of_holder(draw), pooled(draw).sigma[0]),
        (noisy_mean_of_messages(draw), masked),
    ):
        assert stats.kstest(mean / (factor * sigma), "norm").pvalue > false_alarm
