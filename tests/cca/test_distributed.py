"""CCA in the protocols of the distributed PCA."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from dpcore.cca import PROTOCOLS, canonical_pairs, distributed_cca
from dpcore.errors import ParameterError
from dpcore.pca import ReleaseSettings
from dpcore.privacy import (
    Adversary,
    PrivacyBudget,
    gaussian_delta,
    l2_sensitivity_on_sphere,
    mean_weight,
)
from dpcore.spectra import SiteRows, site_moments
from dpcore.streams import Repetition

N_X, N_Y = 12, 8
SIZES = (400, 250, 350)


def joined_rows(offset=0.0):
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((sum(SIZES), 3))
    X = shared @ rng.standard_normal((3, N_X)) + rng.standard_normal((sum(SIZES), N_X))
    Y = shared @ rng.standard_normal((3, N_Y)) + rng.standard_normal((sum(SIZES), N_Y))
    Z = np.hstack([X, Y]) - np.hstack([X, Y]).mean(axis=0) + offset
    return Z / np.linalg.norm(Z, axis=1).max()


def three_sites(offset=0.0):
    Z = joined_rows(offset)
    return site_moments(Z, np.split(np.arange(len(Z)), np.cumsum(SIZES)[:-1]))


def three_sites_on_sphere():
    Z = joined_rows(0.3)
    half = math.sqrt(0.5)
    parts = (slice(N_X), half), (slice(N_X, None), half)
    return SiteRows.of(Z, np.split(np.arange(len(Z)), np.cumsum(SIZES)[:-1]), parts=parts)


def settings_for(epsilon=1.0, **changes):
    settings = ReleaseSettings(
        PrivacyBudget(epsilon, 0.01), 3, N_X + N_Y, calibration="analytic", noise="isometric"
    )
    return replace(settings, **changes)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("mean_share", [0.0, 0.2])
def test_without_noise_every_protocol_is_plain_cca(protocol, mean_share):
    moments = three_sites(offset=0.3 if mean_share else 0.0)
    settings = settings_for(math.inf, mean_share=mean_share)
    pairs = distributed_cca(moments, N_X, settings, protocol=protocol, repetition=Repetition(0))
    alone = moments.at([0]) if protocol == "local" else moments
    whole = (alone.centred() if mean_share else alone).pooled()
    assert_allclose(pairs.correlations, canonical_pairs(whole, N_X, 3)[2], atol=1e-9)
    assert pairs.floor == 0 and math.isinf(pairs.guarantee.epsilon)
    assert not pairs.guarantee.is_private


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("mean_share", [0.0, 0.2, None])
def test_on_the_sphere_every_protocol_is_cca_of_directions(protocol, mean_share):
    """Without noise. With noise, the guarantee covers moment and mean together."""
    rows, settings = three_sites_on_sphere(), settings_for(mean_share=mean_share, on_sphere=True)

    def pairs_at(settings):
        return distributed_cca(rows, N_X, settings, protocol=protocol, repetition=Repetition(0))

    pairs = pairs_at(replace(settings, budget=PrivacyBudget(math.inf, 0.01)))
    alone = rows.at([0]) if protocol == "local" else rows
    centre = alone.weights @ alone.means if mean_share != 0 else np.zeros(N_X + N_Y)
    expected = canonical_pairs(alone.moment_around(centre), N_X, 3)[2]
    assert_allclose(pairs.mean, centre, atol=1e-12)
    assert_allclose(pairs.correlations, expected, atol=1e-9)
    guarantee = pairs_at(settings).guarantee
    assert_allclose(guarantee.epsilon, 1.0)
    if mean_share == 0.2 and protocol != "cape":
        n = sum(SIZES) if protocol == "pooled" else SIZES[0] if protocol == "local" else min(SIZES)
        weight = mean_weight(mean_share)
        assert_allclose(guarantee.l2_sensitivity, l2_sensitivity_on_sphere(n, weight=weight))


def test_nobody_elses_rows_have_a_say_in_a_site_alone():
    settings = settings_for(mean_share=0.2)

    def alone(moments):
        return distributed_cca(moments, N_X, settings, protocol="local", repetition=Repetition(0))

    moments_of_first, moments_of_second = three_sites(), three_sites()
    moments_of_second.second_moments[1:] *= 0.5
    moments_of_second.means[1:] = -0.1
    for name in ("joint_moment", "mean", "x_rotations", "y_rotations", "correlations"):
        result, again = (
            getattr(alone(moments), name) for moments in (moments_of_first, moments_of_second)
        )
        np.testing.assert_array_equal(result, again)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_against_whom_canonical_pairs_hold(protocol):
    """Only a holder of all rows is trusted, and the weakest of the other guarantees counts."""
    guarantee = distributed_cca(
        three_sites(), N_X, settings_for(), protocol=protocol, repetition=Repetition(0)
    ).guarantee
    trusted = {entry.adversary for entry in guarantee.against if entry.is_trusted}
    assert trusted == ({Adversary.AGGREGATOR} if protocol == "pooled" else set())
    assert Adversary.SITE in {entry.adversary for entry in guarantee.against}
    assert guarantee.epsilon == max(e.epsilon for e in guarantee.against if not e.is_trusted)
    assert_allclose(guarantee.epsilon, 1.0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("noise", ["triangle", "isometric"])
def test_the_law_of_what_the_aggregator_holds(protocol, noise):
    moments = three_sites()
    settings = settings_for(noise=noise)
    pairs = distributed_cca(moments, N_X, settings, protocol=protocol, repetition=Repetition(7))
    truth = moments.second_moments[0] if protocol == "local" else moments.pooled()
    difference = pairs.joint_moment - truth
    if protocol == "dpdis":
        # R = D and "svd" replaces the noisy matrix by its absolute value: no Gaussian law.
        assert np.linalg.eigvalsh(pairs.joint_moment)[0] >= -1e-12
        return
    left = pairs.sigma_of_average
    off_diagonal = difference[np.triu_indices(N_X + N_Y, 1)] / left
    if noise == "isometric":
        off_diagonal *= math.sqrt(2)
    standard = np.concatenate([off_diagonal, difference.diagonal() / left])
    assert stats.kstest(standard, "norm").pvalue > 1e-9


def test_sites_alone_need_more_noise_and_cape_little_of_it():
    moments, settings = three_sites(), settings_for()
    left = {
        protocol: distributed_cca(
            moments, N_X, settings, protocol=protocol, repetition=Repetition(0)
        ).sigma_of_average
        for protocol in PROTOCOLS
    }
    wide = distributed_cca(
        moments, N_X, replace(settings, masks="wide"), protocol="cape", repetition=Repetition(0)
    )
    # n_s / N weights times noise of scale 1 / n_s: S equal terms of 1 / N, hence sqrt(S).
    assert_allclose(left["full"], math.sqrt(3) * left["pooled"], rtol=1e-9)
    assert_allclose(left["local"], sum(SIZES) / SIZES[0] * left["pooled"], rtol=1e-9)
    # A site knows its own noise, so the noise of two of three sites must suffice: 3 / 2 of the
    # pooled variance.
    assert_allclose(wide.sigma_of_average, math.sqrt(1.5) * left["pooled"], rtol=1e-9)
    assert left["pooled"] < left["cape"] < math.sqrt(2) * left["pooled"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("mean_share", [0.0, 0.2])
@pytest.mark.parametrize("calibration", ["published", "analytic", "classic"])
def test_guarantees_are_what_the_noise_gives(protocol, mean_share, calibration):
    moments = three_sites()
    settings = settings_for(mean_share=mean_share, calibration=calibration)
    guarantee = distributed_cca(
        moments, N_X, settings, protocol=protocol, repetition=Repetition(0)
    ).guarantee
    delta = gaussian_delta(guarantee.epsilon, 1.0, guarantee.mu)
    assert delta <= 0.01 * (1 + 1e-9)
    if calibration == "analytic":
        assert guarantee.keeps_requested and guarantee.epsilon > 1 - 1e-6
    if protocol == "cape" and calibration == "published":
        # 2 S / (S + 1) times a local release's mu^2 if all three kept their masks; of two it is
        # S / 2 + S / (2 (S + 1)).
        local = distributed_cca(
            moments, N_X, settings, protocol="pooled", repetition=Repetition(0)
        ).guarantee
        assert_allclose((guarantee.mu / local.mu) ** 2, 1.875)


def test_common_random_numbers_and_streams_of_their_own():
    moments = three_sites()

    def draw(protocol="full", epsilon=1.0, index=0):
        return distributed_cca(
            moments,
            N_X,
            settings_for(epsilon),
            protocol=protocol,
            repetition=Repetition(3, index),
        )

    same, again = draw(), draw()
    assert np.array_equal(same.joint_moment, again.joint_moment)
    assert not np.array_equal(same.joint_moment, draw(index=1).joint_moment)
    stronger = draw(epsilon=2.0)
    unit = (same.joint_moment - moments.pooled()) / same.sigma_of_average
    assert_allclose(
        (stronger.joint_moment - moments.pooled()) / stronger.sigma_of_average, unit, atol=1e-9
    )


def test_bytes_are_what_a_message_holds():
    moments, settings = three_sites(), settings_for(intermediate_dim=4)
    sent = {
        protocol: distributed_cca(
            moments, N_X, settings, protocol=protocol, repetition=Repetition(0)
        ).bytes_sent
        for protocol in PROTOCOLS
    }
    assert (sent["dpdis"] < sent["full"]).all() and (sent["full"] == sent["cape"]).all()
    assert (sent["dpdis"] >= 20 * 4 * 8).all() and (sent["local"] == 0).all()
    assert (sent["pooled"] == np.array(SIZES) * 20 * 8).all()


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"protocol": "random"}, "protocol"),
        ({"floor": "none"}, "floor"),
        ({"floor": -1.0}, "floor"),
        ({"n_x": 0}, "n_x"),
        ({"n_x": 18}, "n_components"),
        ({"settings": settings_for(intermediate_dim=21)}, "intermediate_dim"),
        ({"settings": settings_for(honest_sites=4)}, "honest_sites"),
    ],
)
def test_refusals_name_the_parameter(change, parameter):
    arguments = {"n_x": N_X, "settings": settings_for(), "protocol": "cape"} | change
    with pytest.raises(ParameterError) as caught:
        distributed_cca(three_sites(), repetition=Repetition(0), **arguments)
    assert caught.value.parameter == parameter
