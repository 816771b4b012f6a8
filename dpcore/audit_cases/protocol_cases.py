"""Audit cases of the protocols in the register.

With K = R = D the components and eigenvalues of a release determine the averaged noisy matrix, so
an attack on the release is an attack on the matrix. Claims are those of the guarantee of the
release.

Three preparations are attacked. Without a mean, one row turns to another axis. With a private mean,
rows at an angle with cosine -s / (4 (1 - s)) attain the joint sensitivity of matrix and mean
(`dpcore.privacy.l2_sensitivity_of_moment_and_mean`). On the sphere, opposite rows move the mean the
most, and they move the matrix the most if the mean of the other rows is at a right angle to them
(`dpcore.privacy.l2_sensitivity_on_sphere`). The adversary knows the other rows and the released
mean, hence both possible matrices, and uses the likelihood ratio. Mean and matrix are
denoised there: the three columns are pixels of one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.audit_cases.neighbours import (
    BUDGET,
    DISTRIBUTED,
    PRIVATE_MEAN,
    PROTOCOL_TRIALS,
    RESULT_AND_OWN_NOISE,
    SPHERE,
    TURN,
    claim,
    embed_row,
    log_ratio_of_rounded,
    projection_on,
    sample_one_by_one,
    with_adversary,
    with_site_adversary,
)
from dpcore.data import Dataset, prepare
from dpcore.pca import Draw, ReleaseSettings, Subspace, site_message
from dpcore.pca.assessment import off_diagonal_sigma
from dpcore.pca.protocols.distributed import all_noisy_means
from dpcore.pca.protocols.ppca import PpcaRelease, draw_ppca
from dpcore.pca.protocols.protocol import Kind, Protocol, Where
from dpcore.pca.site import centre_of_sphere, noise_scales
from dpcore.privacy import Adversary, Guarantee, PrivacyBudget, mean_weight
from dpcore.privacy.audit import AuditCase, Sampler, Statistic
from dpcore.spectra import (
    COLUMNS,
    PublicBasis,
    SiteMoments,
    SiteRows,
    cosine_basis,
    picture_basis,
    site_moments,
)
from dpcore.spectra.moments import WHOLE, Parts
from dpcore.streams import Purpose, Repetition

CENTRAL = "Central PCA"
_D = 3
SETTINGS = ReleaseSettings(BUDGET, _D, _D, truncation="svd")
# Raw rows are in other units and exceed the norm bound, so that `prepare` clips them.
_UNITS, TOO_LONG = 5.0, 3.0
SiteData = SiteMoments | SiteRows


def cases_of(entry: Protocol) -> tuple[AuditCase, ...]:
    """Return a case for each adversary that the guarantee of a protocol does not trust.

    An outsider attacks the result of a single site. An aggregator attacks the messages of two
    sites, and the second of two sites subtracts its own message from the result. A site that adds
    no noise sees no more than an outsider.
    """
    if entry.kind is Kind.NONE:
        return ()
    has_noisy_matrix = entry.guarantee(SETTINGS, [2], _D).sigma is not None
    case = matrix_case(entry) if has_noisy_matrix else direction_case(entry)
    return add_participants(entry, case, lambda who: two_sites_case(entry, who))


def add_participants(
    entry: Protocol, case: AuditCase, participant_case: Callable[[Adversary], AuditCase]
) -> tuple[AuditCase, ...]:
    """Return the outsider's case and the cases of the other untrusted adversaries."""
    cases = [case]
    for adversary in list_untrusted(case.guarantee):
        if adversary is Adversary.OUTSIDER:
            continue
        if entry.where is not Where.EVERY_SITE:
            cases.append(with_site_adversary(case))
        elif not entry.neighbours.has_own_cases:
            cases.append(participant_case(adversary))
    return tuple(cases)


def list_untrusted(guarantee: Guarantee | None) -> tuple[Adversary, ...]:
    """Return the adversaries against whom a guarantee holds."""
    against = () if guarantee is None else guarantee.against
    return tuple(adversary.adversary for adversary in against if not adversary.is_trusted)


def settings_of(entry: Protocol) -> ReleaseSettings:
    """Return the audit's settings with the changes that a protocol requests."""
    epsilon = entry.neighbours.epsilon or BUDGET.epsilon
    changes = dict(entry.neighbours.settings)
    return replace(SETTINGS, budget=PrivacyBudget(epsilon, BUDGET.delta), **changes)


def make_draw(
    entry: Protocol, moments: SiteData, settings: ReleaseSettings, repetition: Repetition
) -> Draw:
    """Return a draw with the messages that this protocol reads."""
    return Draw(
        moments,
        settings,
        repetition,
        proxies=entry.wants_proxies,
        average=entry.wants_average,
    )


def is_gaussian(entry: Protocol) -> bool:
    """Return whether the views of a protocol are functions of a matrix plus Gaussian noise.

    Rounding with a public dither is such a function.
    """
    return entry.kind is Kind.APPROXIMATE


def family_of(entry: Protocol) -> str:
    return DISTRIBUTED if entry.is_distributed else CENTRAL


def protocol_case(
    entry: Protocol,
    settings: ReleaseSettings,
    pair: tuple[SiteData, SiteData],
    view: Callable[[Draw], FloatArray],
    adversary: Adversary = Adversary.OUTSIDER,
    **fields: Any,
) -> AuditCase:
    """Return a case in which an adversary sees view(draw); claims are those of the release."""

    def sampler(moments: SiteData) -> Sampler:
        return sample_one_by_one(
            lambda repetition: view(make_draw(entry, moments, settings, repetition))
        )

    guarantee = entry.release(make_draw(entry, pair[0], settings, Repetition(0))).guarantee
    return AuditCase(
        family=family_of(entry),
        covers=f"pca.{entry.key}",
        n_trials=PROTOCOL_TRIALS,
        **claim(guarantee, adversary),
        sampler_d=sampler(pair[0]),
        sampler_d_prime=sampler(pair[1]),
        **{"name": entry.title} | fields,
    )


def compute_message(
    entry: Protocol,
    draw: Draw,
    site: int,
    *,
    means: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Return the matrix of a site's message; P P^T for a proxy."""
    if entry.neighbours.message is not None:
        return entry.neighbours.message(draw, site)
    message = site_message(
        draw.moment_around(draw.centre, site),
        int(draw.moments.n_samples[site]),
        draw.settings,
        rng=draw.repetition.rng(Purpose.SITE_NOISE, site),
        whole=not entry.wants_proxies,
        means=means,
    ).values
    return message @ message.T if entry.wants_proxies else message


def matrix_case(
    entry: Protocol, *, on_sphere: bool = False, bases: tuple[PublicBasis, ...] = ()
) -> AuditCase:
    """Return the outsider's case of a protocol with a noisy matrix, starting from raw rows."""
    neighbours = _neighbours_by_turn(entry.neighbours.n_sites, on_sphere=on_sphere)
    settings = replace(settings_of(entry), on_sphere=on_sphere, bases=bases)
    return protocol_case(
        entry,
        settings,
        neighbours,
        lambda draw: rebuild_matrix(entry.release(draw)),
        statistic=_score_of_turn(entry, settings, neighbours),
        is_gaussian=is_gaussian(entry),
        neighbours=TURN,
    )


def two_sites_case(entry: Protocol, adversary: Adversary) -> AuditCase:
    """Return the attack on the first of two sites by the aggregator or by the second site.

    A view contains the two messages, or the result and the second site's own message.
    """
    neighbours, by_aggregator = _neighbours_by_turn(2), adversary is Adversary.AGGREGATOR
    score = _score_of_turn(entry, settings_of(entry), neighbours)
    share, weight = neighbours[0].weights

    def view(draw: Draw) -> FloatArray:
        first = (
            compute_message(entry, draw, 0)
            if by_aggregator
            else rebuild_matrix(entry.release(draw))
        )
        return np.stack([first, compute_message(entry, draw, 1)])

    def of_the_first_site(views: FloatArray) -> FloatArray:
        first, second = views[:, 0], views[:, 1]
        return score(first if by_aggregator else (first - weight * second) / share)

    return protocol_case(
        entry,
        settings_of(entry),
        neighbours,
        view,
        adversary,
        sees="every site's message" if by_aggregator else RESULT_AND_OWN_NOISE,
        statistic=of_the_first_site,
        is_gaussian=is_gaussian(entry),
        neighbours="One person's row at the first site turns from the first axis to the second.",
    )


def direction_case(entry: Protocol, *, epsilon: float = 3.0, on_sphere: bool = False) -> AuditCase:
    """Return the case of a protocol that releases one direction in the plane.

    One other person lies on the second axis. The first axis is then rare enough for a likelihood
    ratio of up to e^2, of the e^3 that the guarantee allows.
    """
    settings = replace(SETTINGS, budget=PrivacyBudget(epsilon), n_components=1, intermediate_dim=1)
    settings = replace(settings, on_sphere=on_sphere)
    data_of_site = SiteRows.of if on_sphere else site_moments
    first, second = (data_of_site(np.eye(2)[[axis, 1]], (np.arange(2),)) for axis in (0, 1))
    return protocol_case(
        entry,
        settings,
        (first, second),
        lambda draw: entry.release(draw).components,
        statistic=lambda directions: np.square(directions[:, 0, 0]),
        neighbours=f"{TURN} One other person is there.",
    )


def _neighbours_by_turn(n_sites: int, *, on_sphere: bool = False) -> tuple[SiteData, SiteData]:
    sites = _rows_at_sites if on_sphere else prepared_sites
    first, second = (sites(axis, n_sites) for axis in np.eye(_D)[:2])
    return first, second


def _score_of_turn(
    entry: Protocol, settings: ReleaseSettings, neighbours: tuple[SiteData, SiteData]
) -> Statistic:
    first, second = (
        data.around_public_middle() if isinstance(data, SiteRows) else data for data in neighbours
    )
    return _matrix_score(entry, settings, first, second)


def _matrix_score(
    entry: Protocol, settings: ReleaseSettings, first: SiteMoments, second: SiteMoments
) -> Statistic:
    """Return the log-likelihood ratio of the first site's noisy matrix, up to scale.

    The scale is the variance of the noise on the diagonal. The matrix is not centred.
    """
    exact, exact_prime = first.second_moments[0], second.second_moments[0]
    if entry.neighbours.step == 0:
        return projection_on(exact - exact_prime)
    sigma = noise_scales(int(first.n_samples[0]), settings).moment
    return lambda matrices: rounded_score(entry, settings, sigma, matrices, exact, exact_prime)


def rounded_score(
    entry: Protocol,
    settings: ReleaseSettings,
    sigma: float,
    matrices: FloatArray,
    exact: FloatArray,
    exact_prime: FloatArray,
) -> FloatArray:
    """Return log-likelihood ratios of decoded matrices, in units of 1 / sigma^2."""
    off_diagonal = off_diagonal_sigma(sigma, settings.noise)
    deviations = np.full((_D, _D), off_diagonal)
    np.fill_diagonal(deviations, sigma)
    step = entry.neighbours.step * off_diagonal
    return sigma**2 * log_ratio_of_rounded(matrices, exact, exact_prime, deviations, step)


def ppca_by_chains_case(*, epsilon: float = 3.0) -> AuditCase:
    """Return the case of two directions of four by Markov chains.

    As many chains as draws start at random, with the effective sample size per draw of a release
    with four chains.
    """
    moments = [np.diag(np.eye(4)[[axis, 1, 2]].mean(axis=0)) for axis in (0, 1)]

    def draws(moment: FloatArray, rng: np.random.Generator, n: int) -> PpcaRelease:
        return draw_ppca(moment, 3, epsilon, 2, rng=rng, n_chains=2 * n, min_ess=12.5 * 2 * n)

    def sampler(moment: FloatArray) -> Sampler:
        return lambda rng, n: draws(moment, rng, n).draw.states[:n]

    return AuditCase(
        name="PPCA, two components by chains",
        family=CENTRAL,
        covers="pca.ppca",
        n_trials=PROTOCOL_TRIALS,
        **claim(draws(moments[0], np.random.default_rng(0), 50).guarantee),
        sampler_d=sampler(moments[0]),
        sampler_d_prime=sampler(moments[1]),
        statistic=lambda frames: (
            np.square(frames[:, :, 0]).sum(1) - np.square(frames[:, :, 1]).sum(1)
        ),
        neighbours=f"{TURN} One other person is there, one on the third.",
    )


def prepared_sites(row: FloatArray, n_sites: int) -> SiteMoments:
    """Return moments of clipped rows at sites, the first of which contains `row`."""
    rows, sites = _rows_and_members(row, n_sites)
    return site_moments(prepare_rows(rows, "bounded"), sites)


def _rows_at_sites(row: FloatArray, n_sites: int) -> SiteRows:
    rows, sites = _rows_and_members(row, n_sites)
    return SiteRows.of(prepare_rows(rows, "sphere"), sites)


def _rows_and_members(row: FloatArray, n_sites: int) -> tuple[FloatArray, list[IntArray]]:
    at_sites = [embed_row(row), *[embed_row(np.eye(_D)[0])] * (n_sites - 1)]
    rows = TOO_LONG * np.vstack(at_sites)
    return rows, np.array_split(np.arange(len(rows)), n_sites)


def prepare_rows(rows: FloatArray, mode: str) -> FloatArray:
    """Return rows in units of the public bound, as `prepare` returns them."""
    raw = Dataset(
        name="worst",
        title="Worst neighbours",
        X=_UNITS * rows,
        feature_names=tuple("abc"),
        provenance="Made up for an audit.",
        public_norm_bound=_UNITS,
    )
    return prepare(raw, mode=mode).X


def rebuild_matrix(subspace: Subspace) -> FloatArray:
    """Return the matrix with these eigenpairs."""
    return (subspace.components.T * subspace.eigenvalues) @ subspace.components


SHARE, _D_WITH_MEAN = 0.1, 3
# Columns are pixels on the sphere, because only the mean of pictures is denoised.
PICTURE = (1, _D_WITH_MEAN)
DENOISED = (COLUMNS,)
PICTURES = (picture_basis(PICTURE), COLUMNS)
TURN_FROM_MEAN = "One person's row turns around, at a right angle to the mean of the others."
_RESULT_AND_MEAN = "the result, and the noisy mean that it is centred around"
# (matrices, centres, noisy means) -> log-likelihood ratios up to scale.
Score = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def with_mean(entry: Protocol) -> ReleaseSettings:
    """Return the audit's settings for a protocol that also releases a mean."""
    return replace(settings_of(entry), mean_share=SHARE)


def with_mean_on_sphere(entry: Protocol) -> ReleaseSettings:
    """Return the audit's settings for rows of length 1 around a released mean."""
    return replace(with_mean(entry), on_sphere=True, bases=DENOISED)


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
            views[:, :_D_WITH_MEAN],
            views[:, _D_WITH_MEAN : 2 * _D_WITH_MEAN],
            views[:, 2 * _D_WITH_MEAN :],
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
    moment_score = _matrix_score(entry, with_mean(entry), moments, moments_prime)
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
            views[:, :, :_D_WITH_MEAN], views[:, :, _D_WITH_MEAN], views[:, :, _D_WITH_MEAN]
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
    basis = np.kron(*bases[0].factors) if is_picture else np.eye(_D)

    def view(draw: Draw) -> FloatArray:
        mean = all_noisy_means(draw)[0]
        centre = mean if draw.centre is None else draw.centre
        return np.column_stack([message(draw, 0), centre, mean])

    def likelihood_ratio_of_message(views: FloatArray) -> FloatArray:
        matrices, centres, means = views[:, :, :_D], views[:, :, _D], views[:, :, _D + 1]
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
            views[:, :_D_WITH_MEAN],
            views[:, _D_WITH_MEAN : 2 * _D_WITH_MEAN],
            views[:, 2 * _D_WITH_MEAN :],
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
    sideways, top = 0.3 * np.eye(_D_WITH_MEAN)[:2], np.eye(_D_WITH_MEAN)[2:]
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

    return site_rows(np.eye(_D_WITH_MEAN)[:1]), site_rows(-np.eye(_D_WITH_MEAN)[:1])


def _name_on_sphere(entry: Protocol) -> str:
    return f"{entry.title}, on the sphere"
