"""Audit cases of the protocols that also release a private mean.

Rows at an angle with cosine -s / (4 (1 - s)) attain the joint sensitivity of matrix and mean
(`dpcore.privacy.l2_sensitivity_of_moment_and_mean`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit_cases.neighbours import (
    PRIVATE_MEAN,
    projection_on,
)
from dpcore.audit_cases.protocol_cases import (
    compute_message,
    is_gaussian,
    list_untrusted,
    make_draw,
    matrix_score,
    prepared_sites,
    protocol_case,
    rebuild_matrix,
    settings_of,
)
from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca.protocols.distributed import all_noisy_means
from dpcore.pca.protocols.protocol import Protocol, Where
from dpcore.privacy import Adversary, mean_weight
from dpcore.privacy.audit import AuditCase, Statistic
from dpcore.spectra import (
    SiteMoments,
)
from dpcore.streams import Repetition

SHARE, D_WITH_MEAN = 0.1, 3
TURN_FROM_MEAN = "One person's row turns around, at a right angle to the mean of the others."
_RESULT_AND_MEAN = "the result, and the noisy mean that it is centred around"


def with_mean(entry: Protocol) -> ReleaseSettings:
    """Return the audit's settings for a protocol that also releases a mean."""
    return replace(settings_of(entry), mean_share=SHARE)


def private_mean_cases_of(entry: Protocol) -> tuple[AuditCase, ...]:
    """Return the cases of a protocol with a mean: outsider or aggregator, and second site."""
    if entry.neighbours.noisy_mean is None:
        return ()
    cases = [private_mean_case(entry, entry.neighbours.noisy_mean)]
    if entry.where is Where.EVERY_SITE and not entry.neighbours.has_own_cases:
        cases.append(second_site_case(entry))
    return tuple(cases)


def second_site_case(entry: Protocol) -> AuditCase:
    """Return the attack on the first of two sites by the second, which knows its own message.

    The sites receive the means to centre by. A view contains the result, the second site's message
    and both noisy means.
    """
    pair = worst_sites(2)
    weights = pair[0].weights

    def view(draw: Draw) -> FloatArray:
        means = all_noisy_means(draw)
        own_message = compute_message(entry, draw, 1, means=(means[1], weights @ means))
        return np.vstack([rebuild_matrix(entry.release(draw)), own_message, means])

    moment_score, mean_score = _scores(entry, pair)

    def likelihood_ratio(views: FloatArray) -> FloatArray:
        result, own_message, means = (
            views[:, :D_WITH_MEAN],
            views[:, D_WITH_MEAN : 2 * D_WITH_MEAN],
            views[:, 2 * D_WITH_MEAN :],
        )
        first_mean, average = means[:, 0], np.tensordot(means, weights, axes=(1, 0))
        cross = average[:, :, None] * first_mean[:, None, :]
        outer = average[:, :, None] * average[:, None, :]
        around_zero = (result - weights[1] * own_message) / weights[0]
        around_zero = around_zero + cross + cross.swapaxes(1, 2) - outer
        return moment_score(around_zero) + mean_score(first_mean)

    return protocol_case(
        entry,
        with_mean(entry),
        pair,
        view,
        Adversary.SITE,
        name=f"{entry.title}, private mean",
        sees="the result, the means that come back, its own rows and its own noise",
        centring=PRIVATE_MEAN,
        statistic=likelihood_ratio,
        is_gaussian=is_gaussian(entry),
        neighbours="One person's row at the first site turns by a little more than a right angle.",
    )


def worst_sites(n_sites: int) -> tuple[SiteMoments, SiteMoments]:
    """Return sites of which the first contains an extreme row.

    The row is one of the two unit rows that change moment and mean most.
    """
    cosine = -SHARE / (4 * (1 - SHARE))
    rows = np.array([[1.0, 0.0, 0.0], [cosine, math.sqrt(1 - cosine**2), 0.0]])
    first, second = (prepared_sites(row, n_sites) for row in rows)
    return first, second


def _scores(entry: Protocol, pair: tuple[SiteMoments, SiteMoments]) -> tuple[Statistic, Statistic]:
    """Return the scores of the first site's matrix around zero and of its mean.

    The mean's noise is smaller by the weight, so its part of the likelihood ratio is larger.
    """
    moments, moments_prime = pair
    means = mean_weight(SHARE) ** 2 * (moments.means[0] - moments_prime.means[0])
    moment_score = matrix_score(entry, with_mean(entry), moments, moments_prime)
    return moment_score, projection_on(means)


def private_mean_case(entry: Protocol, noisy_mean: Callable[[Draw], FloatArray]) -> AuditCase:
    """Return the case of an adversary who sees a protocol's matrix and its mean."""
    n_sites = entry.neighbours.n_sites
    pair = worst_sites(n_sites)

    def view(draw: Draw) -> FloatArray:
        return np.column_stack([rebuild_matrix(entry.release(draw)), noisy_mean(draw)])

    moment_score, mean_score = _scores(entry, pair)

    def likelihood_ratio(releases: FloatArray) -> FloatArray:
        centred, means = releases[:, :, :-1], releases[:, :, -1]
        around_zero = centred + means[:, :, None] * means[:, None, :]
        return moment_score(around_zero) + mean_score(means)

    guarantee = entry.release(make_draw(entry, pair[0], with_mean(entry), Repetition(0))).guarantee
    # The result of a single site is its message.
    is_read = n_sites == 1 and Adversary.AGGREGATOR in list_untrusted(guarantee)
    return protocol_case(
        entry,
        with_mean(entry),
        pair,
        view,
        Adversary.AGGREGATOR if is_read else Adversary.OUTSIDER,
        name=f"{entry.title}, private mean",
        sees="every site's message and noisy mean" if is_read else _RESULT_AND_MEAN,
        centring=PRIVATE_MEAN,
        statistic=likelihood_ratio,
        is_gaussian=is_gaussian(entry),
        neighbours="One person's row turns by a little more than a right angle.",
    )
