"""Audit cases of the protocols on rows of length 1 around a private mean.

Opposite rows move the mean the most, and they move the matrix the most if the mean of the other
rows is at a right angle to them (`dpcore.privacy.l2_sensitivity_on_sphere`). The adversary knows
the other rows and the released mean, hence both possible matrices, and uses the likelihood ratio.
Mean and matrix are denoised there: the three columns are pixels of one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit_cases.neighbours import (
    SPHERE,
    with_adversary,
)
from dpcore.audit_cases.private_mean_cases import (
    D_WITH_MEAN,
    SHARE,
    TURN_FROM_MEAN,
    with_mean,
)
from dpcore.audit_cases.protocol_cases import (
    TOO_LONG,
    D,
    add_participants,
    compute_message,
    direction_case,
    is_gaussian,
    matrix_case,
    prepare_rows,
    protocol_case,
    rebuild_matrix,
    rounded_score,
)
from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca.protocols.distributed import all_noisy_means
from dpcore.pca.protocols.protocol import Kind, Protocol, Where
from dpcore.pca.site import centre_of_sphere, noise_scales
from dpcore.privacy import Adversary, mean_weight
from dpcore.privacy.audit import AuditCase
from dpcore.spectra import (
    COLUMNS,
    PublicBasis,
    SiteRows,
    cosine_basis,
    picture_basis,
)
from dpcore.spectra.site_rows import WHOLE, Parts

# Columns are pixels on the sphere, because only the mean of pictures is denoised.
PICTURE = (1, D_WITH_MEAN)
DENOISED = (COLUMNS,)
PICTURES = (picture_basis(PICTURE), COLUMNS)


# (matrices, centres, noisy means) -> log-likelihood ratios up to scale.
Score = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def with_mean_on_sphere(entry: Protocol) -> ReleaseSettings:
    """Return the audit's settings for rows of length 1 around a released mean."""
    return replace(with_mean(entry), on_sphere=True, bases=DENOISED)


def sphere_cases_of(entry: Protocol, *, parts: Parts = WHOLE) -> tuple[AuditCase, ...]:
    """Return the cases of all adversaries of a protocol on rows of length 1.

    Protocols that release no mean take zero as the centre. If parts of a row are normalised
    separately, they are the first two columns and the third.
    """
    if entry.noise is None:
        return ()
    if entry.neighbours.noisy_mean is None:
        if entry.kind is Kind.PURE:
            case = direction_case(entry, on_sphere=True)
        else:
            # Denoising in columns would shrink the diagonal, where the two data sets differ.
            bases = (cosine_basis(PICTURE), *DENOISED)
            case = matrix_case(entry, on_sphere=True, bases=bases)
        case = replace(case, name=_name_on_sphere(entry), centring=SPHERE)
    else:
        case = sphere_case(entry, parts)

    def participant_case(adversary: Adversary) -> AuditCase:
        if adversary is Adversary.SITE:
            return second_site_case_on_sphere(entry, parts)
        sees = "every site's message and noisy mean"
        if entry.neighbours.message is not None:
            return coded_message_case_on_sphere(entry, entry.neighbours.message)
        # The result of a single site is its message.
        return with_adversary(adversary, sees, case)

    cases = add_participants(entry, case, participant_case)
    if entry.neighbours.message is None or entry.neighbours.step == 0:
        return cases
    return (*cases, coded_message_case_on_sphere(entry, entry.neighbours.message, PICTURES))


def sphere_case(entry: Protocol, parts: Parts = WHOLE) -> AuditCase:
    """Return the outsider's case: a protocol's matrix and the mean it is centred around."""
    n_sites = entry.neighbours.n_sites
    pair = worst_on_sphere(n_sites, parts)
    score = likelihood_ratio(pair, 0 if entry.where is Where.FIRST_SITE else None)

    def view(draw: Draw) -> FloatArray:
        released = entry.release(draw)
        if released.centre is None:
            raise ValueError(f"{entry.key} says no centre")
        return np.column_stack([rebuild_matrix(released), released.centre])

    return protocol_case(
        entry,
        with_mean_on_sphere(entry),
        pair,
        view,
        name=_name_on_sphere(entry),
        sees="the result, and the mean that rows are taken around",
        centring=SPHERE,
        statistic=lambda views: score(
            views[:, :, :D_WITH_MEAN], views[:, :, D_WITH_MEAN], views[:, :, D_WITH_MEAN]
        ),
        is_gaussian=is_gaussian(entry),
        neighbours=TURN_FROM_MEAN,
    )


def coded_message_case_on_sphere(
    entry: Protocol,
    message: Callable[[Draw, int], FloatArray],
    bases: tuple[PublicBasis, ...] = DENOISED,
) -> AuditCase:
    """Return the case of an aggregator that decodes a site's message before it is denoised.

    A message of pictures contains a prior mean A_0 and the rounded coefficients of M - A_0 in
    cosines. Given A_0 and the dither, a decoded coefficient states an interval for that of M. The
    score is the likelihood ratio of these intervals; A_0 says little about positions within them.
    The noise is isometric in cosines too. The noise of three pixels is so small that all
    coefficients are sent.

    bases: Bases of the settings. The score is computed in the first one.
    """
    pair, settings = worst_on_sphere(1), replace(with_mean_on_sphere(entry), bases=bases)
    sigma, turned = noise_scales(int(pair[0].n_samples[0]), settings).moment, mean_change(pair)
    is_picture = bases[0].image_shape is not None
    basis = np.kron(*bases[0].factors) if is_picture else np.eye(D)

    def view(draw: Draw) -> FloatArray:
        mean = all_noisy_means(draw)[0]
        centre = mean if draw.centre is None else draw.centre
        return np.column_stack([message(draw, 0), centre, mean])

    def likelihood_ratio_of_message(views: FloatArray) -> FloatArray:
        matrices, centres, means = views[:, :, :D], views[:, :, D], views[:, :, D + 1]
        middles, changes = expected_matrices(pair, centres)
        exact, exact_prime = middles[:, 0] + changes / 2, middles[:, 0] - changes / 2
        in_basis = (basis @ matrix @ basis.T for matrix in (matrices, exact, exact_prime))
        return means @ turned + rounded_score(entry, settings, sigma, *in_basis)

    return protocol_case(
        entry,
        settings,
        pair,
        view,
        Adversary.AGGREGATOR,
        name=f"{entry.title} of pictures, on the sphere" if is_picture else _name_on_sphere(entry),
        sees="every site's message and noisy mean",
        centring=SPHERE,
        statistic=likelihood_ratio_of_message,
        is_gaussian=is_gaussian(entry),
        neighbours=TURN_FROM_MEAN,
    )


def second_site_case_on_sphere(entry: Protocol, parts: Parts = WHOLE) -> AuditCase:
    """Return the attack on the first of two sites by the second, which knows its own message.

    A view contains the result, the second site's message and both noisy means. The sites receive
    the average of the means, and the second site knows its own.
    """
    pair = worst_on_sphere(2, parts)
    weights, score = pair[0].weights, likelihood_ratio(pair, 0)
    settings = with_mean_on_sphere(entry)
    scales = [noise_scales(int(n), settings).mean for n in pair[0].n_samples]
    mean_sigma = float(np.linalg.norm(weights * scales))

    def view(draw: Draw) -> FloatArray:
        means = all_noisy_means(draw)
        return np.vstack(
            [rebuild_matrix(entry.release(draw)), compute_message(entry, draw, 1), means]
        )

    def of_the_first_site(views: FloatArray) -> FloatArray:
        result, own_message, means = (
            views[:, :D_WITH_MEAN],
            views[:, D_WITH_MEAN : 2 * D_WITH_MEAN],
            views[:, 2 * D_WITH_MEAN :],
        )
        picture = pair[0].image_shape
        centres = [
            centre_of_sphere(weights @ both, sigma=mean_sigma, image_shape=picture)
            for both in means
        ]
        return score(
            (result - weights[1] * own_message) / weights[0], np.array(centres), means[:, 0]
        )

    return protocol_case(
        entry,
        settings,
        pair,
        view,
        Adversary.SITE,
        name=_name_on_sphere(entry),
        sees="the result, the mean that comes back, its own rows and its own noise",
        centring=SPHERE,
        statistic=of_the_first_site,
        is_gaussian=is_gaussian(entry),
        neighbours=TURN_FROM_MEAN,
    )


def likelihood_ratio(pair: tuple[SiteRows, SiteRows], site: int | None = None) -> Score:
    """Return the score of a noisy matrix and a noisy mean, of one site or of all."""
    first, second = (rows if site is None else rows.at([site]) for rows in pair)
    weights, turned = first.weights, mean_change((first, second))

    def score(matrices: FloatArray, centres: FloatArray, means: FloatArray) -> FloatArray:
        middles, changes = expected_matrices((first, second), centres)
        middle = np.tensordot(middles, weights, axes=(1, 0))
        scores: FloatArray = means @ turned + np.einsum("nij,nij->n", matrices - middle, changes)
        return scores

    return score


def mean_change(pair: tuple[SiteRows, SiteRows]) -> FloatArray:
    """Return the (D,) change of the first site's mean, weighted as in the likelihood ratio.

    The mean's noise is smaller by the weight, so its part of the likelihood ratio is larger.
    """
    change: FloatArray = pair[0].means[0] - pair[1].means[0]
    return mean_weight(SHARE) ** 2 * change


def expected_matrices(
    pair: tuple[SiteRows, SiteRows], centres: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the expected matrices around n released centres.

    The (n, S, D, D) matrices of all sites are midpoints of the two data sets; the (n, D, D)
    matrices are the differences at the first site.
    """
    exact = np.array([moments_around(pair[0], centre) for centre in centres])
    turned = np.array([pair[1].moment_around(centre, 0, threads=1) for centre in centres])
    changes = exact[:, 0] - turned
    exact[:, 0] -= changes / 2
    return exact, changes


def moments_around(rows: SiteRows, centre: FloatArray) -> FloatArray:
    """Return the (S, D, D) second moments of the sites."""
    return np.stack([rows.moment_around(centre, site, threads=1) for site in range(rows.n_sites)])


def worst_on_sphere(n_sites: int, parts: Parts = WHOLE) -> tuple[SiteRows, SiteRows]:
    """Return sites of which the first contains one of two opposite rows.

    The other rows point along the third axis and slightly to all sides, or beyond the norm bound.
    Around their mean they lie evenly along all axes, so that all directions exceed the noise. If a
    row has two parts, the first is reversed and the second stays at a right angle to the other
    rows.
    """
    sideways, top = 0.3 * np.eye(D_WITH_MEAN)[:2], np.eye(D_WITH_MEAN)[2:]
    upwards = math.sqrt(1 - 0.3**2) * top
    others = np.repeat(
        np.vstack([upwards + sideways, upwards - sideways, TOO_LONG * top]), 20, axis=0
    )

    def site_rows(row: FloatArray) -> SiteRows:
        at_sites = [np.vstack([first_row, others]) for first_row in (row, *[top] * (n_sites - 1))]
        rows = prepare_rows(np.vstack(at_sites), "sphere")
        picture = PICTURE if parts == WHOLE else None
        at = np.split(np.arange(len(rows)), n_sites)
        return SiteRows.of(rows, at, parts=parts, image_shape=picture)

    return site_rows(np.eye(D_WITH_MEAN)[:1]), site_rows(-np.eye(D_WITH_MEAN)[:1])


def _name_on_sphere(entry: Protocol) -> str:
    return f"{entry.title}, on the sphere"
