"""CAPE and secure sum before those who take part: the aggregator with its friends, and a site.

Messages come from rounds as the sites run them (`dpcore.pca.protocols.masked.masked_round`); claims
are those of the guarantee against that adversary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.cca import distributed_cca
from dpcore.cca.canonical import joint_noise
from dpcore.experiments.audit.mean_cases import (
    SHARE,
    TURN,
    expected,
    moments_around,
    turned_mean,
    worst_on_sphere,
    worst_sites,
)
from dpcore.experiments.audit.pca_cases import Held
from dpcore.experiments.audit.worst_neighbours import (
    BUDGET,
    DISTRIBUTED,
    N_SAMPLES,
    PRIVATE_MEAN,
    PROTOCOL_TRIALS,
    SPHERE,
    along,
    claim,
    one_by_one,
    worst_second_moments,
)
from dpcore.pca import ReleaseSettings
from dpcore.pca.protocols.masked import (
    MaskedRound,
    honest_sites,
    masked_mean_round,
    masked_round,
    noise_of_summands,
    promised_by_masked_sites,
    promised_by_summands,
    release_scales,
)
from dpcore.pca.site import centre_of_sphere
from dpcore.privacy import Adversary, CapeScales, Guarantee, mean_weight
from dpcore.privacy.audit import AuditCase, Statistic
from dpcore.spectra import SiteMoments, SiteRows
from dpcore.streams import Repetition

_D, _N_SITES = 4, 3
_SETTINGS = ReleaseSettings(BUDGET, 1, _D)
# Every site counted on: then the site that takes part is the worse of the two.
_WIDE = replace(_SETTINGS, masks="wide", honest_sites=_N_SITES)
_WITH_MEAN = replace(_SETTINGS, mean_share=SHARE, intermediate_dim=1)
_ON_SPHERE = replace(_WITH_MEAN, on_sphere=True)
_SUM = "pca.securesum"
_SEES = {
    (True, True): "the result, and its own masks and noise",
    (False, False): "every site's message, and the masks and noise of those in league with it",
    (False, True): "the sum of all messages, and the masks and noise of those in league with it",
}
# Three of four sites answer, and one of the three is in league with the adversary.
_FEWER = replace(_SETTINGS, dropped_sites=1)
_FEWER_ON_SPHERE = replace(_ON_SPHERE, dropped_sites=1)


def cape_cases() -> tuple[AuditCase, ...]:
    """Masks of the published shape and one site in league; masks without bound and none."""
    both = Adversary.AGGREGATOR, Adversary.SITE
    cases: tuple[Callable[[Adversary], AuditCase], ...] = (
        partial(_of_matrices, "compensated masks", _SETTINGS),
        partial(_of_matrices, "wide masks, all counted on", _WIDE),
        partial(_of_matrices, "compensated masks, private mean", _WITH_MEAN),
        partial(_of_matrices, "compensated masks, on the sphere", _ON_SPHERE),
        _of_pairs,
        partial(_of_sums, "one site drops out", _FEWER),
        partial(_of_sums, "on the sphere", _FEWER_ON_SPHERE),
    )
    return tuple(case(adversary) for case in cases for adversary in both)


def _of_sums(name: str, settings: ReleaseSettings, adversary: Adversary) -> AuditCase:
    """As CAPE's sites, but of what they send the aggregator gets the sum."""
    n_samples = _neighbours(settings)[0].n_samples.tolist()
    noise = noise_of_summands(settings, n_samples)
    return masked_case(
        f"Secure sum, {name}",
        _SUM,
        settings,
        CapeScales(math.inf, _N_SITES * noise.moment),
        promised_by_summands(settings, n_samples, _D),
        adversary,
    )


def _of_matrices(name: str, settings: ReleaseSettings, adversary: Adversary) -> AuditCase:
    n_samples = _neighbours(settings)[0].n_samples.tolist()
    return masked_case(
        f"CAPE, {name}",
        "pca.cape",
        settings,
        release_scales(settings, n_samples),
        promised_by_masked_sites(settings, n_samples, _D),
        adversary,
    )


def _of_pairs(adversary: Adversary) -> AuditCase:
    moments, _ = _at_three_sites(_SETTINGS)
    pairs = distributed_cca(moments, 2, _SETTINGS, protocol="cape", repetition=Repetition(0))
    case = masked_case(
        "CCA, CAPE, compensated masks",
        "cca.cape",
        _SETTINGS,
        release_scales(_SETTINGS, moments.n_samples.tolist(), joint_noise),
        pairs.guarantee,
        adversary,
    )
    return replace(case, family="CCA")


def masked_case(
    name: str,
    covers: str,
    settings: ReleaseSettings,
    scales: CapeScales,
    guarantee: Guarantee,
    adversary: Adversary,
) -> AuditCase:
    """A person at the first of three sites, whose friends are none of the adversary's.

    The adversary's view is stacked: the messages, or the result; then the masks, then the noises
    of the sites it knows, which are the last ones. A private mean is one more column of each.
    """
    is_site = adversary is Adversary.SITE
    has_result = is_site or covers == _SUM
    counted_on = honest_sites(settings, _N_SITES + settings.dropped_sites) - settings.dropped_sites
    unknown = min(counted_on, _N_SITES - 1) if is_site else counted_on
    pair = _neighbours(settings)
    weight = mean_weight(settings.mean_share or 0.0)
    # Of the noise in an entry of the average of all means.
    left = scales.noise_sigma / (weight * math.sqrt(_N_SITES)) if weight > 0 else 0.0

    def seen(found: MaskedRound) -> FloatArray:
        sent = found.messages.mean(axis=0, keepdims=True) if has_result else found.messages
        return np.concatenate([sent, found.masks[unknown:], found.noises[unknown:]])

    def view(at_sites: Held, repetition: Repetition) -> FloatArray:
        if weight == 0:
            return seen(_matrices(at_sites, np.zeros(_D), scales, settings, repetition))
        means = masked_mean_round(at_sites, scales, weight=weight, repetition=repetition)
        centre = centre_of_sphere(means.messages.mean(axis=0), sigma=left)
        matrices = _matrices(at_sites, centre, scales, settings, repetition)
        return np.concatenate([seen(matrices), seen(means)[:, :, None]], axis=2)

    def of_the_result(views: FloatArray) -> FloatArray:
        found: FloatArray = views[:, 0] - views[:, 1 + _N_SITES - unknown :].sum(axis=1) / _N_SITES
        return found

    def of_the_messages(views: FloatArray) -> FloatArray:
        # The inverse covariance of the unknown noise, given its masks' sum, applied to a change
        # at the first site.
        across = scales.mask_sigma**2 + scales.noise_sigma**2
        weights = np.full(unknown, (scales.noise_sigma**-2 - 1 / across) / unknown)
        weights[0] += 1 / across
        known = views[:, _N_SITES : 2 * _N_SITES - unknown].sum(axis=1, keepdims=True) / unknown
        return np.tensordot(views[:, :unknown] + known, weights, axes=(1, 0))

    found = of_the_result if has_result else of_the_messages
    return AuditCase(
        name=name,
        family=DISTRIBUTED,
        covers=covers,
        n_trials=PROTOCOL_TRIALS,
        **claim(guarantee, adversary),
        sees=_SEES[is_site, has_result],
        sampler_d=one_by_one(lambda repetition: view(pair[0], repetition)),
        sampler_d_prime=one_by_one(lambda repetition: view(pair[1], repetition)),
        statistic=_score(pair, weight, left, 1 if has_result else _N_SITES, found),
        is_gaussian=True,
        **_prepared(settings),
    )


def _prepared(settings: ReleaseSettings) -> dict[str, str]:
    """What a case says of its rows."""
    if settings.on_sphere:
        return {"preparation": SPHERE, "neighbours": TURN}
    turns = "One person's row at the first site turns from the first axis to the second"
    if settings.mean_share:
        return {"preparation": PRIVATE_MEAN, "neighbours": f"{turns}, and a little beyond."}
    return {"neighbours": f"{turns}."}


def _matrices(
    at_sites: Held,
    centre: FloatArray,
    scales: CapeScales,
    settings: ReleaseSettings,
    repetition: Repetition,
) -> MaskedRound:
    """The round of the matrices, around the centre of rows that wait for one."""
    if isinstance(at_sites, SiteRows):
        exact = moments_around(at_sites, centre)
        at_sites = SiteMoments(exact, at_sites.means, at_sites.n_samples)
    return masked_round(at_sites, scales, noise=settings.noise, repetition=repetition)


def _score(
    pair: tuple[Held, Held], weight: float, left: float, n_sent: int, found: Statistic
) -> Statistic:
    """Views, by what is found in them about the first site; `n_sent` messages come first."""
    if rows := [held for held in pair if isinstance(held, SiteRows)]:
        return partial(_score_on_sphere, (rows[0], rows[1]), left, n_sent, found)
    first, second = (held for held in pair if isinstance(held, SiteMoments))
    change = first.second_moments[0] - second.second_moments[0]
    if weight > 0:
        # A mean's noise is smaller by the weight, and its part in the likelihood ratio larger.
        change = np.column_stack([change, weight**2 * (first.means[0] - second.means[0])])
    return lambda views: along(change)(found(views))


def _score_on_sphere(
    pair: tuple[SiteRows, SiteRows], left: float, n_sent: int, found: Statistic, views: FloatArray
) -> FloatArray:
    """A view's own mean says what its matrices may have been."""
    means = views[:, :n_sent, :, -1].mean(axis=1)
    centres = np.array([centre_of_sphere(mean, sigma=left) for mean in means])
    middles, changes = expected(pair, centres)
    less = views.copy()
    less[:, :n_sent, :, :-1] -= middles.mean(axis=1, keepdims=True) if n_sent == 1 else middles
    known = found(less)
    scores: FloatArray = np.einsum("nij,nij->n", known[:, :, :-1], changes)
    return scores + known[:, :, -1] @ turned_mean(pair)


def _neighbours(settings: ReleaseSettings) -> tuple[Held, Held]:
    return worst_on_sphere(_N_SITES) if settings.on_sphere else _at_three_sites(settings)


def _at_three_sites(settings: ReleaseSettings) -> tuple[SiteMoments, SiteMoments]:
    """Equal sites; the others' rows are known to everybody, and lie evenly."""
    if settings.mean_share:
        return worst_sites(_N_SITES)
    others = np.tile(np.eye(_D) / _D, (_N_SITES - 1, 1, 1))
    counts = np.full(_N_SITES, N_SAMPLES)
    first, first_prime = worst_second_moments(_D, N_SAMPLES)
    at_sites = [
        SiteMoments(np.concatenate([moment[None], others]), np.zeros((_N_SITES, _D)), counts)
        for moment in (first, first_prime)
    ]
    return at_sites[0], at_sites[1]
