"""Audit cases of CAPE and secure sum, as seen by the aggregator and by a participating site.

Messages come from rounds as the sites run them (`dpcore.pca.protocols.cape.masked_round`). The
adversary knows the masks and noise of the sites that collude with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit_cases.neighbours import (
    BUDGET,
    DISTRIBUTED,
    N_SAMPLES,
    PROTOCOL_TRIALS,
    SPHERE,
    claim,
    projection_on,
    sample_one_by_one,
    worst_second_moments,
)
from dpcore.audit_cases.private_mean_cases import SHARE, TURN_FROM_MEAN
from dpcore.audit_cases.protocol_cases import SiteData
from dpcore.audit_cases.sphere_cases import (
    DENOISED,
    expected_matrices,
    mean_change,
    moments_around,
    worst_on_sphere,
)
from dpcore.cca import distributed_cca
from dpcore.cca.distributed import joint_noise
from dpcore.pca import ReleaseSettings
from dpcore.pca.protocols.cape import (
    MaskedRound,
    guarantee_of_masked_sites,
    honest_sites,
    masked_mean_round,
    masked_round,
    release_scales,
)
from dpcore.pca.protocols.secure_sum import guarantee_of_summands, noise_of_summands
from dpcore.pca.site import centre_of_sphere
from dpcore.privacy import Adversary, CapeScales, Guarantee, mean_weight
from dpcore.privacy.audit import AuditCase, Statistic
from dpcore.spectra import (
    SiteMoments,
    SiteRows,
    Spectrum,
)
from dpcore.streams import Repetition

_D_OF_SITES, _N_SITES = 4, 3
_SITES_SETTINGS = ReleaseSettings(BUDGET, 1, _D_OF_SITES)
# All sites are assumed honest; the participating site is then the stronger adversary.
_WIDE = replace(_SITES_SETTINGS, masks="wide", honest_sites=_N_SITES)
_ON_SPHERE = replace(
    _SITES_SETTINGS, mean_share=SHARE, intermediate_dim=1, on_sphere=True, bases=DENOISED
)
_SUM = "pca.securesum"
_VIEWS_IN_WORDS = {
    (True, True): "the result, and its own masks and noise",
    (False, False): "every site's message, and the masks and noise of those that collude with it",
    (False, True): "the sum of all messages, and the masks and noise of those that collude with it",
}
# Three of four sites answer, and one of the three colludes with the adversary.
_ONE_SITE_DROPPED = replace(_SITES_SETTINGS, dropped_sites=1)
_ONE_DROPPED_ON_SPHERE = replace(_ON_SPHERE, dropped_sites=1)


def cape_cases() -> tuple[AuditCase, ...]:
    """Return the cases of the published and wide masks, of secure sum and of CCA."""
    both = Adversary.AGGREGATOR, Adversary.SITE
    cases: tuple[Callable[[Adversary], AuditCase], ...] = (
        partial(_case_of_matrices, "compensated masks", _SITES_SETTINGS),
        partial(_case_of_matrices, "wide masks, all counted on", _WIDE),
        partial(_case_of_matrices, "compensated masks, on the sphere", _ON_SPHERE),
        _case_of_pairs,
        partial(_case_of_sums, "one site drops out", _ONE_SITE_DROPPED),
        partial(_case_of_sums, "on the sphere", _ONE_DROPPED_ON_SPHERE),
    )
    return tuple(case(adversary) for case in cases for adversary in both)


def _case_of_sums(name: str, settings: ReleaseSettings, adversary: Adversary) -> AuditCase:
    """Return a secure-sum case: the aggregator receives the sum of the sites' messages."""
    n_samples = _neighbours(settings)[0].n_samples.tolist()
    noise = noise_of_summands(settings, n_samples)
    return masked_case(
        f"Secure sum, {name}",
        _SUM,
        settings,
        CapeScales(math.inf, _N_SITES * noise.moment),
        guarantee_of_summands(settings, n_samples, _D_OF_SITES),
        adversary,
    )


def _case_of_matrices(name: str, settings: ReleaseSettings, adversary: Adversary) -> AuditCase:
    n_samples = _neighbours(settings)[0].n_samples.tolist()
    return masked_case(
        f"CAPE, {name}",
        "pca.cape",
        settings,
        release_scales(settings, n_samples),
        guarantee_of_masked_sites(settings, n_samples, _D_OF_SITES),
        adversary,
    )


def _case_of_pairs(adversary: Adversary) -> AuditCase:
    moments, _ = _moments_of_three_sites()
    pairs = distributed_cca(moments, 2, _SITES_SETTINGS, protocol="cape", repetition=Repetition(0))
    case = masked_case(
        "CCA, CAPE, compensated masks",
        "cca.cape",
        _SITES_SETTINGS,
        release_scales(_SITES_SETTINGS, moments.n_samples.tolist(), joint_noise),
        pairs.guarantee,
        adversary,
    )
    return replace(case, family="CCA")


def _statistic_of_result(unknown: int) -> Statistic:
    """Return the statistic of views that start with the result: the result less the known noise."""

    def statistic(views: FloatArray) -> FloatArray:
        noisy_moments: FloatArray = (
            views[:, 0] - views[:, 1 + _N_SITES - unknown :].sum(axis=1) / _N_SITES
        )
        return noisy_moments

    return statistic


def _statistic_of_messages(scales: CapeScales, unknown: int) -> Statistic:
    """Return the statistic of views that start with the messages.

    The weights are the inverse covariance of the unknown noise, given the sum of its masks, applied
    to a change at the first site.
    """
    across = scales.mask_sigma**2 + scales.noise_sigma**2
    weights = np.full(unknown, (scales.noise_sigma**-2 - 1 / across) / unknown)
    weights[0] += 1 / across

    def statistic(views: FloatArray) -> FloatArray:
        of_known_sites = (
            views[:, _N_SITES : 2 * _N_SITES - unknown].sum(axis=1, keepdims=True) / unknown
        )
        return np.tensordot(views[:, :unknown] + of_known_sites, weights, axes=(1, 0))

    return statistic


def masked_case(
    name: str,
    covers: str,
    settings: ReleaseSettings,
    scales: CapeScales,
    guarantee: Guarantee,
    adversary: Adversary,
) -> AuditCase:
    """Return a case in which a row at the first of three sites turns.

    A view is one array: the messages or the result, followed by the masks and the noises of the
    last sites, which the adversary knows. A private mean is an additional column of each.
    """
    is_site = adversary is Adversary.SITE
    has_result = is_site or covers == _SUM
    counted_on = honest_sites(settings, _N_SITES + settings.dropped_sites) - settings.dropped_sites
    unknown = min(counted_on, _N_SITES - 1) if is_site else counted_on
    pair = _neighbours(settings)
    weight = mean_weight(settings.mean_share or 0.0)
    mean_sigma = scales.noise_sigma / (weight * math.sqrt(_N_SITES)) if weight > 0 else 0.0

    def view_of_round(masked_round: MaskedRound) -> FloatArray:
        messages = (
            masked_round.messages.mean(axis=0, keepdims=True)
            if has_result
            else masked_round.messages
        )
        return np.concatenate(
            [messages, masked_round.masks[unknown:], masked_round.noises[unknown:]]
        )

    def view(at_sites: SiteData, repetition: Repetition) -> FloatArray:
        if weight == 0:
            return view_of_round(
                _matrices(at_sites, np.zeros(_D_OF_SITES), scales, settings, repetition)
            )
        means = masked_mean_round(at_sites, scales, weight=weight, repetition=repetition)
        picture = at_sites.image_shape if isinstance(at_sites, SiteRows) else None
        centre = centre_of_sphere(
            means.messages.mean(axis=0), sigma=mean_sigma, image_shape=picture
        )
        matrices = view_of_round(_matrices(at_sites, centre, scales, settings, repetition))
        if has_result and settings.bases:
            noise_left = scales.noise_sigma / math.sqrt(_N_SITES)
            noisy = Spectrum(matrices[0])
            matrices[0] = noisy.denoised(
                noise_left, bases=settings.bases, noise=settings.noise
            ).matrix
        return np.concatenate([matrices, view_of_round(means)[:, :, None]], axis=2)

    statistic = (
        _statistic_of_result(unknown) if has_result else _statistic_of_messages(scales, unknown)
    )
    return AuditCase(
        name=name,
        family=DISTRIBUTED,
        covers=covers,
        n_trials=PROTOCOL_TRIALS,
        **claim(guarantee, adversary),
        sees=_VIEWS_IN_WORDS[is_site, has_result],
        sampler_d=sample_one_by_one(lambda repetition: view(pair[0], repetition)),
        sampler_d_prime=sample_one_by_one(lambda repetition: view(pair[1], repetition)),
        statistic=_score(pair, mean_sigma, 1 if has_result else _N_SITES, statistic),
        is_gaussian=True,
        **_preparation_fields(settings),
    )


def _preparation_fields(settings: ReleaseSettings) -> dict[str, str]:
    """Return the fields of a case that describe its rows."""
    if settings.on_sphere:
        return {"centring": SPHERE, "neighbours": TURN_FROM_MEAN}
    return {
        "neighbours": "One person's row at the first site turns from the first axis to the second."
    }


def _matrices(
    at_sites: SiteData,
    centre: FloatArray,
    scales: CapeScales,
    settings: ReleaseSettings,
    repetition: Repetition,
) -> MaskedRound:
    """Return the round of the matrices, taken around the centre if rows are on the sphere."""
    if isinstance(at_sites, SiteRows):
        exact = moments_around(at_sites, centre)
        at_sites = SiteMoments(exact, at_sites.means, at_sites.n_samples)
    return masked_round(at_sites, scales, noise=settings.noise, repetition=repetition)


def _score(
    pair: tuple[SiteData, SiteData], mean_sigma: float, n_sent: int, statistic: Statistic
) -> Statistic:
    """Return the score of views, given what `statistic` extracts about the first site.

    The first `n_sent` entries of a view are messages.
    """
    if rows := [site_rows for site_rows in pair if isinstance(site_rows, SiteRows)]:
        return partial(_score_on_sphere, (rows[0], rows[1]), mean_sigma, n_sent, statistic)
    first, second = (moments for moments in pair if isinstance(moments, SiteMoments))
    change = first.second_moments[0] - second.second_moments[0]
    return lambda views: projection_on(change)(statistic(views))


def _score_on_sphere(
    pair: tuple[SiteRows, SiteRows],
    mean_sigma: float,
    n_sent: int,
    statistic: Statistic,
    views: FloatArray,
) -> FloatArray:
    """Score views on the sphere: the mean in a view determines both possible matrices."""
    means = views[:, :n_sent, :, -1].mean(axis=1)
    picture = pair[0].image_shape
    centres = np.array(
        [centre_of_sphere(mean, sigma=mean_sigma, image_shape=picture) for mean in means]
    )
    middles, changes = expected_matrices(pair, centres)
    less = views.copy()
    less[:, :n_sent, :, :-1] -= middles.mean(axis=1, keepdims=True) if n_sent == 1 else middles
    remainder = statistic(less)
    scores: FloatArray = np.einsum("nij,nij->n", remainder[:, :, :-1], changes)
    return scores + remainder[:, :, -1] @ mean_change(pair)


def _neighbours(settings: ReleaseSettings) -> tuple[SiteData, SiteData]:
    return worst_on_sphere(_N_SITES) if settings.on_sphere else _moments_of_three_sites()


def _moments_of_three_sites() -> tuple[SiteMoments, SiteMoments]:
    """Return moments of three equal sites under D and D'. The other rows lie evenly on the axes."""
    others = np.tile(np.eye(_D_OF_SITES) / _D_OF_SITES, (_N_SITES - 1, 1, 1))
    counts = np.full(_N_SITES, N_SAMPLES)
    first, first_prime = worst_second_moments(_D_OF_SITES, N_SAMPLES)
    at_sites = [
        SiteMoments(
            np.concatenate([moment[None], others]), np.zeros((_N_SITES, _D_OF_SITES)), counts
        )
        for moment in (first, first_prime)
    ]
    return at_sites[0], at_sites[1]
