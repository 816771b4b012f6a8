"""Private PCA that buys a mean, to be audited: a person is in two releases under one budget.

Of bounded rows these are the mean and the matrix centred around it. Rows at an angle whose cosine
is -s / (4 (1 - s)) move the two together the most, and attain the promise
(`dpcore.privacy.l2_sensitivity_of_moment_and_mean`).

Of rows at length 1 they are the noisy mean and the matrix that is taken around it. Opposite rows
move the mean the most, and the matrix too where everybody else's mean is at a right angle to them
and as long (`dpcore.privacy.l2_sensitivity_on_sphere`). Whoever knows everybody else's rows and
the released mean knows both matrices it may have been, and weighs them by the likelihood ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.audit.pca_cases import (
    SETTINGS,
    TOO_LONG,
    as_prepared,
    direction_case,
    drawn,
    is_gaussian,
    matrix_case,
    prepared_sites,
    protocol_case,
    rebuilt,
    sent,
    settings_of,
    untrusted,
    with_participants,
)
from dpcore.experiments.audit.worst_neighbours import PRIVATE_MEAN, SPHERE, along, seen_by
from dpcore.pca import Draw
from dpcore.pca.protocols.distributed import all_noisy_means
from dpcore.pca.protocols.protocol import Kind, Protocol, Where
from dpcore.pca.site import centre_of_sphere, noise_scales
from dpcore.privacy import Adversary, mean_weight
from dpcore.privacy.audit import AuditCase, Statistic
from dpcore.spectra import SiteMoments, SiteRows
from dpcore.spectra.moments import WHOLE, Parts
from dpcore.streams import Repetition

SHARE, _D = 0.1, 3
_BOUNDED = replace(SETTINGS, mean_share=SHARE)
WITH_MEAN = replace(_BOUNDED, on_sphere=True)
TURN = "One person's row turns around, at a right angle to everybody else's mean."
_RESULT_AND_MEAN = "the result, and the noisy mean that it is centred around"
# Matrices, the centres they are taken around and the noisy means -> log-likelihood ratios, up to
# scale.
Score = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def private_mean_cases_of(entry: Protocol) -> tuple[AuditCase, ...]:
    """A protocol that buys a mean: with the aggregator, where one reads messages, and with a site
    that adds noise of its own."""
    if entry.neighbours.noisy_mean is None:
        return ()
    cases = [private_mean_case(entry, entry.neighbours.noisy_mean)]
    if entry.where is Where.EVERY_SITE and not entry.neighbours.has_own_cases:
        cases.append(seen_by_a_second_site(entry))
    return tuple(cases)


def seen_by_a_second_site(entry: Protocol) -> AuditCase:
    """The first of two sites is attacked by the second, which knows what it sent itself.

    The means come back to the sites, to centre by. A view is the result, the second site's own
    part of it, and both noisy means.
    """
    pair = worst_sites(2)
    weights = pair[0].weights

    def view(draw: Draw) -> FloatArray:
        means = all_noisy_means(draw)
        own = sent(entry, draw, 1, means=(means[1], weights @ means))
        return np.vstack([rebuilt(entry.release(draw)), own, means])

    moment_score, mean_score = _scores(pair)

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
        _BOUNDED,
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


def worst_sites(n_sites: int) -> tuple[SiteMoments, SiteMoments]:
    """Sites whose first holds one of two rows of length 1 that move moment and mean the most."""
    cosine = -SHARE / (4 * (1 - SHARE))
    rows = np.array([[1.0, 0.0, 0.0], [cosine, math.sqrt(1 - cosine**2), 0.0]])
    first, second = (prepared_sites(row, n_sites) for row in rows)
    return first, second


def _scores(pair: tuple[SiteMoments, SiteMoments]) -> tuple[Statistic, Statistic]:
    """Of the first site's matrix around zero and of its mean, whose noise is smaller by the weight
    and its part in the likelihood ratio larger."""
    moments, moments_prime = pair
    means = mean_weight(SHARE) ** 2 * (moments.means[0] - moments_prime.means[0])
    return along(moments.second_moments[0] - moments_prime.second_moments[0]), along(means)


def private_mean_case(entry: Protocol, noisy_mean: Callable[[Draw], FloatArray]) -> AuditCase:
    """A protocol's matrix and the mean behind it, seen together."""
    n_sites = entry.neighbours.n_sites
    pair = worst_sites(n_sites)

    def view(draw: Draw) -> FloatArray:
        return np.column_stack([rebuilt(entry.release(draw)), noisy_mean(draw)])

    moment_score, mean_score = _scores(pair)

    def likelihood_ratio(releases: FloatArray) -> FloatArray:
        centred, means = releases[:, :, :-1], releases[:, :, -1]
        around_zero = centred + means[:, :, None] * means[:, None, :]
        return moment_score(around_zero) + mean_score(means)

    guarantee = entry.release(drawn(entry, pair[0], _BOUNDED, Repetition(0))).guarantee
    # Of one site, whose noise nobody else's hides, the result is the message.
    is_read = n_sites == 1 and Adversary.AGGREGATOR in untrusted(guarantee)
    return protocol_case(
        entry,
        _BOUNDED,
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


def sphere_cases_of(entry: Protocol, *, parts: Parts = WHOLE) -> tuple[AuditCase, ...]:
    """A case of each adversary of a protocol that reads rows; around zero where no mean is
    bought. Parts of a row with a length of their own hold the first two columns, and the third."""
    if entry.noise is None:
        return ()
    if entry.neighbours.noisy_mean is None:
        around_zero = direction_case if entry.kind is Kind.PURE else matrix_case
        case = around_zero(entry, on_sphere=True)
        case = replace(case, name=_named(entry), preparation=SPHERE)
    else:
        case = sphere_case(entry, parts)

    def by_participant(adversary: Adversary) -> AuditCase:
        if adversary is Adversary.SITE:
            return seen_by_a_second_site_on_sphere(entry, parts)
        # Of one site, whose noise nobody else's hides, the result is the message.
        return seen_by(adversary, "every site's message and noisy mean", case)

    return with_participants(entry, case, by_participant)


def sphere_case(entry: Protocol, parts: Parts = WHOLE) -> AuditCase:
    """A protocol's matrix and the mean that it is taken around, both as released."""
    n_sites = entry.neighbours.n_sites
    pair = worst_on_sphere(n_sites, parts)
    score = likelihood_ratio(pair, 0 if entry.where is Where.FIRST_SITE else None)

    def view(draw: Draw) -> FloatArray:
        released = entry.release(draw)
        if released.centre is None:
            raise ValueError(f"{entry.key} says no centre")
        return np.column_stack([rebuilt(released), released.centre])

    return protocol_case(
        entry,
        replace(settings_of(entry), on_sphere=True, mean_share=SHARE),
        pair,
        view,
        name=_named(entry),
        sees="the result, and the mean that rows are taken around",
        preparation=SPHERE,
        statistic=lambda views: score(views[:, :, :_D], views[:, :, _D], views[:, :, _D]),
        is_gaussian=is_gaussian(entry),
        neighbours=TURN,
    )


def seen_by_a_second_site_on_sphere(entry: Protocol, parts: Parts = WHOLE) -> AuditCase:
    """The first of two sites is attacked by the second, which knows what it sent itself.

    A view is the result, the second site's own part of it, and both noisy means: their average
    comes back, and its own is known to it.
    """
    pair = worst_on_sphere(2, parts)
    weights, score = pair[0].weights, likelihood_ratio(pair, 0)
    scales = [noise_scales(int(n), WITH_MEAN).mean for n in pair[0].n_samples]
    left = float(np.linalg.norm(weights * scales))

    def view(draw: Draw) -> FloatArray:
        means = all_noisy_means(draw)
        return np.vstack([rebuilt(entry.release(draw)), sent(entry, draw, 1), means])

    def of_the_first_site(views: FloatArray) -> FloatArray:
        result, own, means = views[:, :_D], views[:, _D : 2 * _D], views[:, 2 * _D :]
        centres = [centre_of_sphere(weights @ both, sigma=left) for both in means]
        return score((result - weights[1] * own) / weights[0], np.array(centres), means[:, 0])

    return protocol_case(
        entry,
        WITH_MEAN,
        pair,
        view,
        Adversary.SITE,
        name=_named(entry),
        sees="the result, the mean that comes back, its own rows and its own noise",
        preparation=SPHERE,
        statistic=of_the_first_site,
        is_gaussian=True,
        neighbours=TURN,
    )


def likelihood_ratio(pair: tuple[SiteRows, SiteRows], site: int | None = None) -> Score:
    """Of a noisy matrix and a noisy mean of a site, or of everybody."""
    first, second = (rows if site is None else rows.at([site]) for rows in pair)
    weights, turned = first.weights, turned_mean((first, second))

    def score(matrices: FloatArray, centres: FloatArray, means: FloatArray) -> FloatArray:
        middles, changes = expected((first, second), centres)
        middle = np.tensordot(middles, weights, axes=(1, 0))
        scores: FloatArray = means @ turned + np.einsum("nij,nij->n", matrices - middle, changes)
        return scores

    return score


def turned_mean(pair: tuple[SiteRows, SiteRows]) -> FloatArray:
    """(D,) change of the first site's mean as it counts beside that of its matrix: its noise is
    smaller by the weight, and its part in the likelihood ratio larger."""
    change: FloatArray = pair[0].means[0] - pair[1].means[0]
    return mean_weight(SHARE) ** 2 * change


def expected(pair: tuple[SiteRows, SiteRows], centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What is known of the matrices around released centres, of shape (n, D): those of all sites
    between the two data sets, (n, S, D, D), and how the first one's changes, (n, D, D)."""
    exact = np.array([moments_around(pair[0], centre) for centre in centres])
    turned = np.array([pair[1].around(centre, 0, threads=1) for centre in centres])
    changes = exact[:, 0] - turned
    exact[:, 0] -= changes / 2
    return exact, changes


def moments_around(rows: SiteRows, centre: FloatArray) -> FloatArray:
    """(S, D, D) second moments of the sites."""
    return np.stack([rows.around(centre, site, threads=1) for site in range(rows.n_sites)])


def worst_on_sphere(n_sites: int, parts: Parts = WHOLE) -> tuple[SiteRows, SiteRows]:
    """Sites whose first holds one of two opposite rows.

    The others' rows point along the third axis and a little to all sides, or along it and beyond
    the bound. Seen from their mean they lie evenly along all axes: no direction drowns in the
    noise, so that a cut to the leading ones loses nothing. Of two parts the first turns around
    while the second stays, which is at a right angle whatever the others are.
    """
    aside, top = 0.3 * np.eye(_D)[:2], np.eye(_D)[2:]
    along = math.sqrt(1 - 0.3**2) * top
    others = np.repeat(np.vstack([along + aside, along - aside, TOO_LONG * top]), 20, axis=0)

    def held(row: FloatArray) -> SiteRows:
        at_sites = [np.vstack([each, others]) for each in (row, *[top] * (n_sites - 1))]
        rows = as_prepared(np.vstack(at_sites), "sphere")
        return SiteRows.of(rows, np.split(np.arange(len(rows)), n_sites), parts=parts)

    return held(np.eye(_D)[:1]), held(-np.eye(_D)[:1])


def _named(entry: Protocol) -> str:
    return f"{entry.title}, on the sphere"
