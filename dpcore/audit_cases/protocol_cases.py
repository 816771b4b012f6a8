"""Audit cases of the protocols in the register.

With K = R = D the components and eigenvalues of a release determine the averaged noisy matrix, so
an attack on the release is an attack on the matrix. Claims are those of the guarantee of the
release.

The cases here have no mean: one row turns to another axis. `private_mean_cases` and `sphere_cases`
attack the other preparations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.audit_cases.neighbours import (
    BUDGET,
    DISTRIBUTED,
    PROTOCOL_TRIALS,
    RESULT_AND_OWN_NOISE,
    TURN,
    claim,
    embed_row,
    log_ratio_of_rounded,
    projection_on,
    sample_one_by_one,
    with_site_adversary,
)
from dpcore.data import Dataset, prepare
from dpcore.pca import Draw, ReleaseSettings, Subspace, site_message
from dpcore.pca.assessment import off_diagonal_sigma
from dpcore.pca.protocols.ppca import PpcaRelease, draw_ppca
from dpcore.pca.protocols.protocol import Kind, Protocol, Where
from dpcore.pca.site import noise_scales
from dpcore.privacy import Adversary, Guarantee, PrivacyBudget
from dpcore.privacy.audit import AuditCase, Sampler, Statistic
from dpcore.spectra import (
    PublicBasis,
    SiteMoments,
    SiteRows,
    site_moments,
)
from dpcore.streams import Purpose, Repetition

CENTRAL = "Central PCA"
D = 3
SETTINGS = ReleaseSettings(BUDGET, D, D, truncation="svd")
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
    has_noisy_matrix = entry.guarantee(SETTINGS, [2], D).sigma is not None
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
    first, second = (sites(axis, n_sites) for axis in np.eye(D)[:2])
    return first, second


def _score_of_turn(
    entry: Protocol, settings: ReleaseSettings, neighbours: tuple[SiteData, SiteData]
) -> Statistic:
    first, second = (
        data.around_public_middle() if isinstance(data, SiteRows) else data for data in neighbours
    )
    return matrix_score(entry, settings, first, second)


def matrix_score(
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
    deviations = np.full((D, D), off_diagonal)
    np.fill_diagonal(deviations, sigma)
    step = entry.neighbours.step * off_diagonal
    return sigma**2 * log_ratio_of_rounded(matrices, exact, exact_prime, deviations, step)


def ppca_by_chains_case(*, epsilon: float = 3.0) -> AuditCase:
    """Return the case of two directions of four by Markov chains.

    The number of chains is that of the draws. They start at random and have the effective sample
    size per draw of a release with four chains.
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
    at_sites = [embed_row(row), *[embed_row(np.eye(D)[0])] * (n_sites - 1)]
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
