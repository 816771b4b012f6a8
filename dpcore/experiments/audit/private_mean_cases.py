"""Private PCA with the private preparation, to be audited: a mean is bought with a share.

A person is in two releases under one budget, the mean and the matrix centred around it. Rows at
an angle whose cosine is -s / (4 (1 - s)) move the two together the most, and attain the promise
(`dpcore.privacy.l2_sensitivity_of_moment_and_mean`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.audit.pca_cases import CENTRAL, SETTINGS, prepared_sites, rebuilt
from dpcore.experiments.audit.worst_neighbours import (
    DISTRIBUTED,
    PRIVATE_MEAN,
    PROTOCOL_TRIALS,
    along,
    claim,
    one_by_one,
)
from dpcore.experiments.pca.methods import method
from dpcore.pca import Draw, site_message
from dpcore.pca.protocols.cape import noisy_mean_of_messages
from dpcore.pca.protocols.distributed import noisy_mean_of_holder
from dpcore.privacy import Adversary, mean_weight
from dpcore.privacy.audit import AuditCase, Sampler
from dpcore.spectra import SiteMoments
from dpcore.streams import Purpose, Repetition

_SHARE, _D = 0.1, 3
_RESULT_AND_MEAN = "the result, and the noisy mean that it is centred around"


def private_mean_cases() -> tuple[AuditCase, ...]:
    """Every protocol that buys a mean; one site where its messages are read."""

    def of_the_first(draw: Draw) -> FloatArray:
        return draw.noisy_means[0]

    return (
        private_mean_case("full", "full matrices", of_the_first, who=Adversary.AGGREGATOR),
        private_mean_case("dpdis", "DPdisPCA", of_the_first, who=Adversary.AGGREGATOR),
        private_mean_case("local", "one site alone", of_the_first, n_sites=2),
        private_mean_case("cape", "CAPE average", noisy_mean_of_messages, n_sites=3),
        private_mean_case("pooled", "pooled, trusted", noisy_mean_of_holder, n_sites=2),
        seen_by_second_site_case("full", "full matrices"),
        seen_by_second_site_case("dpdis", "DPdisPCA"),
    )


def seen_by_second_site_case(key: str, name: str, *, mean_share: float = _SHARE) -> AuditCase:
    """The first of two sites is attacked by the second, which knows what it sent itself.

    The means come back to the sites, to centre by. A view is the result, the second site's own
    part of it, and both noisy means.
    """
    protocol, settings = method(key), replace(SETTINGS, mean_share=mean_share)
    moments, moments_prime = (prepared_sites(row, 2) for row in worst_rows(mean_share))

    def drawn(moments: SiteMoments, repetition: Repetition) -> Draw:
        wanted = {"proxies": protocol.wants_proxies, "average": protocol.wants_average}
        return Draw(moments, settings, repetition, **wanted)

    def sent_by_the_second(draw: Draw) -> FloatArray:
        message = site_message(
            draw.moments.second_moments[1],
            int(draw.moments.n_samples[1]),
            settings,
            rng=draw.repetition.rng(Purpose.SITE_NOISE, 1),
            whole=not protocol.wants_proxies,
            means=(draw.noisy_means[1], draw.moments.weights @ draw.noisy_means),
        ).values
        return message @ message.T if protocol.wants_proxies else message

    def sampler(moments: SiteMoments) -> Sampler:
        def view(repetition: Repetition) -> FloatArray:
            draw = drawn(moments, repetition)
            result = rebuilt(protocol.release(draw))
            return np.vstack([result, sent_by_the_second(draw), draw.noisy_means])

        return one_by_one(view)

    moment_score = along(moments.second_moments[0] - moments_prime.second_moments[0])
    mean_score = along(mean_weight(mean_share) ** 2 * (moments.means[0] - moments_prime.means[0]))
    weights = moments.weights

    def likelihood_ratio(views: FloatArray) -> FloatArray:
        result, own, means = views[:, :_D], views[:, _D : 2 * _D], views[:, 2 * _D :]
        first, together = means[:, 0], np.tensordot(means, weights, axes=(1, 0))
        cross = together[:, :, None] * first[:, None, :]
        outer = together[:, :, None] * together[:, None, :]
        around_zero = (result - weights[1] * own) / weights[0]
        around_zero = around_zero + cross + cross.swapaxes(1, 2) - outer
        return moment_score(around_zero) + mean_score(first)

    return AuditCase(
        name=f"{name}, private mean",
        family=DISTRIBUTED,
        covers=f"pca.{key}",
        n_trials=PROTOCOL_TRIALS,
        **claim(protocol.release(drawn(moments, Repetition(0))).guarantee, Adversary.SITE),
        sees="the result, the means that come back, its own rows and its own noise",
        preparation=PRIVATE_MEAN,
        sampler_d=sampler(moments),
        sampler_d_prime=sampler(moments_prime),
        statistic=likelihood_ratio,
        is_gaussian=True,
        neighbours="One person's row at the first site turns by a little more than a right angle.",
    )


def worst_rows(mean_share: float) -> FloatArray:
    """(2, 3) rows of length 1 that move moment and mean together the most."""
    cosine = -mean_share / (4 * (1 - mean_share))
    return np.array([[1.0, 0.0, 0.0], [cosine, math.sqrt(1 - cosine**2), 0.0]])


def private_mean_case(
    key: str,
    name: str,
    noisy_mean: Callable[[Draw], FloatArray],
    *,
    n_sites: int = 1,
    who: Adversary = Adversary.OUTSIDER,
    mean_share: float = _SHARE,
) -> AuditCase:
    """A protocol's matrix and the mean behind it, seen together."""
    protocol, settings = method(key), replace(SETTINGS, mean_share=mean_share)
    moments, moments_prime = (prepared_sites(row, n_sites) for row in worst_rows(mean_share))

    def drawn(moments: SiteMoments, repetition: Repetition) -> Draw:
        wanted = {"proxies": protocol.wants_proxies, "average": protocol.wants_average}
        return Draw(moments, settings, repetition, **wanted)

    def sampler(moments: SiteMoments) -> Sampler:
        def release(repetition: Repetition) -> FloatArray:
            draw = drawn(moments, repetition)
            return np.column_stack([rebuilt(protocol.release(draw)), noisy_mean(draw)])

        return one_by_one(release)

    moment_score = along(moments.second_moments[0] - moments_prime.second_moments[0])
    # The mean's noise is smaller by this factor, and its part in the likelihood ratio larger.
    weight = mean_weight(mean_share)
    mean_score = along(weight**2 * (moments.means[0] - moments_prime.means[0]))

    def likelihood_ratio(releases: FloatArray) -> FloatArray:
        centred, means = releases[:, :, :-1], releases[:, :, -1]
        around_zero = centred + means[:, :, None] * means[:, None, :]
        return moment_score(around_zero) + mean_score(means)

    is_read = who is Adversary.AGGREGATOR
    return AuditCase(
        name=f"{name}, private mean",
        family=DISTRIBUTED if protocol.distributed else CENTRAL,
        covers=f"pca.{key}",
        n_trials=PROTOCOL_TRIALS,
        **claim(protocol.release(drawn(moments, Repetition(0))).guarantee, who),
        sees="every site's message and noisy mean" if is_read else _RESULT_AND_MEAN,
        preparation=PRIVATE_MEAN,
        sampler_d=sampler(moments),
        sampler_d_prime=sampler(moments_prime),
        statistic=likelihood_ratio,
        is_gaussian=True,
        neighbours="One person's row turns by a little more than a right angle.",
    )
