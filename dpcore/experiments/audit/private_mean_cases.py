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
from dpcore.experiments.audit.pca_cases import (
    SETTINGS,
    drawn,
    is_gaussian,
    prepared_sites,
    protocol_case,
    rebuilt,
    sent,
    untrusted,
)
from dpcore.experiments.audit.worst_neighbours import PRIVATE_MEAN, along
from dpcore.pca import Draw
from dpcore.pca.protocols.distributed import all_noisy_means
from dpcore.pca.protocols.entry import Protocol, Where
from dpcore.privacy import Adversary, mean_weight
from dpcore.privacy.audit import AuditCase
from dpcore.spectra import SiteMoments
from dpcore.streams import Repetition

_SHARE, _D = 0.1, 3
_RESULT_AND_MEAN = "the result, and the noisy mean that it is centred around"


def private_mean_cases_of(entry: Protocol) -> tuple[AuditCase, ...]:
    """A protocol that buys a mean: with the aggregator, where one reads messages, and with a site
    that adds noise of its own."""
    if entry.neighbours.noisy_mean is None:
        return ()
    cases = [private_mean_case(entry, entry.neighbours.noisy_mean)]
    if entry.where is Where.EVERY_SITE and not entry.neighbours.has_own_cases:
        cases.append(seen_by_second_site_case(entry))
    return tuple(cases)


def seen_by_second_site_case(entry: Protocol, *, mean_share: float = _SHARE) -> AuditCase:
    """The first of two sites is attacked by the second, which knows what it sent itself.

    The means come back to the sites, to centre by. A view is the result, the second site's own
    part of it, and both noisy means.
    """
    settings = replace(SETTINGS, mean_share=mean_share)
    pair = worst_sites(mean_share, 2)
    moments, moments_prime = pair

    def view(draw: Draw) -> FloatArray:
        means = all_noisy_means(draw)
        own = sent(entry, draw, 1, means=(means[1], draw.moments.weights @ means))
        return np.vstack([rebuilt(entry.release(draw)), own, means])

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

    return protocol_case(
        entry,
        settings,
        pair,
        view,
        Adversary.SITE,
        name=f"{entry.title}, private mean",
        sees="the result, the means that come back, its own rows and its own noise",
        preparation=PRIVATE_MEAN,
        statistic=likelihood_ratio,
        is_gaussian=True,
        neighbours="One person's row at the first site turns by a little more than a right angle.",
    )


def worst_sites(mean_share: float, n_sites: int) -> tuple[SiteMoments, SiteMoments]:
    """Sites whose first holds one of two rows of length 1 that move moment and mean the most."""
    cosine = -mean_share / (4 * (1 - mean_share))
    rows = np.array([[1.0, 0.0, 0.0], [cosine, math.sqrt(1 - cosine**2), 0.0]])
    first, second = (prepared_sites(row, n_sites) for row in rows)
    return first, second


def private_mean_case(
    entry: Protocol,
    noisy_mean: Callable[[Draw], FloatArray],
    *,
    mean_share: float = _SHARE,
) -> AuditCase:
    """A protocol's matrix and the mean behind it, seen together."""
    settings, n_sites = replace(SETTINGS, mean_share=mean_share), entry.neighbours.n_sites
    pair = worst_sites(mean_share, n_sites)
    moments, moments_prime = pair

    def view(draw: Draw) -> FloatArray:
        return np.column_stack([rebuilt(entry.release(draw)), noisy_mean(draw)])

    moment_score = along(moments.second_moments[0] - moments_prime.second_moments[0])
    # The mean's noise is smaller by this factor, and its part in the likelihood ratio larger.
    weight = mean_weight(mean_share)
    mean_score = along(weight**2 * (moments.means[0] - moments_prime.means[0]))

    def likelihood_ratio(releases: FloatArray) -> FloatArray:
        centred, means = releases[:, :, :-1], releases[:, :, -1]
        around_zero = centred + means[:, :, None] * means[:, None, :]
        return moment_score(around_zero) + mean_score(means)

    guarantee = entry.release(drawn(entry, moments, settings, Repetition(0))).guarantee
    # Of one site, whose noise nobody else's hides, the result is the message.
    is_read = n_sites == 1 and Adversary.AGGREGATOR in untrusted(guarantee)
    return protocol_case(
        entry,
        settings,
        pair,
        view,
        Adversary.AGGREGATOR if is_read else Adversary.OUTSIDER,
        name=f"{entry.title}, private mean",
        sees="every site's message and noisy mean" if is_read else _RESULT_AND_MEAN,
        preparation=PRIVATE_MEAN,
        statistic=likelihood_ratio,
        is_gaussian=is_gaussian(entry),
        neighbours="One person's row turns by a little more than a right angle.",
    )
