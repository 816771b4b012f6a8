"""CAPE before those who take part in it: the aggregator with its friends, and a site.

Messages come from rounds as the sites run them (`dpcore.pca.protocols.cape.masked_round`); claims
are those of the guarantee against that adversary.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.cca import distributed_cca
from dpcore.cca.release import joint_noise
from dpcore.experiments.audit.private_mean_cases import worst_sites
from dpcore.experiments.audit.worst_neighbours import (
    BUDGET,
    DISTRIBUTED,
    N_SAMPLES,
    PRIVATE_MEAN,
    PROTOCOL_TRIALS,
    along,
    claim,
    one_by_one,
    worst_second_moments,
)
from dpcore.pca import ReleaseSettings
from dpcore.pca.protocols.cape import (
    MaskedRound,
    honest_sites,
    masked_mean_round,
    masked_round,
    promised_by_masked_sites,
    release_scales,
)
from dpcore.privacy import Adversary, CapeScales, Guarantee, mean_weight
from dpcore.privacy.audit import AuditCase
from dpcore.spectra import SiteMoments
from dpcore.streams import Repetition

_D, _N_SITES = 4, 3
_SETTINGS = ReleaseSettings(BUDGET, 1, _D)
# Every site counted on: then the site that takes part is the worse of the two.
_WIDE = replace(_SETTINGS, masks="wide", honest_sites=_N_SITES)
_WITH_MEAN = replace(_SETTINGS, mean_share=0.1, intermediate_dim=1)


def cape_cases() -> tuple[AuditCase, ...]:
    """Masks of the published shape and one site in league; masks without bound and none."""
    both = Adversary.AGGREGATOR, Adversary.SITE
    return (
        *(_of_matrices("compensated masks", _SETTINGS, adversary) for adversary in both),
        *(_of_matrices("wide masks, all counted on", _WIDE, adversary) for adversary in both),
        *(
            replace(
                _of_matrices("compensated masks, private mean", _WITH_MEAN, adversary),
                preparation=PRIVATE_MEAN,
            )
            for adversary in both
        ),
        *(_of_pairs(adversary) for adversary in both),
    )


def _of_matrices(name: str, settings: ReleaseSettings, adversary: Adversary) -> AuditCase:
    n_samples = _at_three_sites(settings)[0].n_samples.tolist()
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
    counted_on = honest_sites(settings, _N_SITES)
    unknown = min(counted_on, _N_SITES - 1) if is_site else counted_on
    moments, moments_prime = _at_three_sites(settings)
    weight = mean_weight(settings.mean_share or 0.0)

    def seen(found: MaskedRound) -> FloatArray:
        sent = found.messages.mean(axis=0, keepdims=True) if is_site else found.messages
        return np.concatenate([sent, found.masks[unknown:], found.noises[unknown:]])

    def view(at_sites: SiteMoments, repetition: Repetition) -> FloatArray:
        matrices = masked_round(at_sites, scales, noise=settings.noise, repetition=repetition)
        if weight == 0:
            return seen(matrices)
        means = masked_mean_round(at_sites, scales, weight=weight, repetition=repetition)
        return np.concatenate([seen(matrices), seen(means)[:, :, None]], axis=2)

    change = moments.second_moments[0] - moments_prime.second_moments[0]
    if weight > 0:
        # A mean's noise is smaller by the weight, and its part in the likelihood ratio larger.
        turned = weight**2 * (moments.means[0] - moments_prime.means[0])
        change = np.column_stack([change, turned])
    score = along(change)

    def of_the_result(views: FloatArray) -> FloatArray:
        return score(_N_SITES * views[:, 0] - views[:, 1 + _N_SITES - unknown :].sum(axis=1))

    def of_the_messages(views: FloatArray) -> FloatArray:
        # The inverse covariance of the unknown noise, given its masks' sum, applied to a change
        # at the first site.
        across = scales.mask_sigma**2 + scales.noise_sigma**2
        weights = np.full(unknown, (scales.noise_sigma**-2 - 1 / across) / unknown)
        weights[0] += 1 / across
        known = views[:, _N_SITES : 2 * _N_SITES - unknown].sum(axis=1, keepdims=True) / unknown
        return score(np.tensordot(views[:, :unknown] + known, weights, axes=(1, 0)))

    return AuditCase(
        name=name,
        family=DISTRIBUTED,
        covers=covers,
        n_trials=PROTOCOL_TRIALS,
        **claim(guarantee, adversary),
        sees="the result, and its own masks and noise"
        if is_site
        else "every site's message, and the masks and noise of those in league with it",
        sampler_d=one_by_one(lambda repetition: view(moments, repetition)),
        sampler_d_prime=one_by_one(lambda repetition: view(moments_prime, repetition)),
        statistic=of_the_result if is_site else of_the_messages,
        is_gaussian=True,
        neighbours="One person's row at the first site turns from the first axis to the second"
        + (", and a little beyond." if weight > 0 else "."),
    )


def _at_three_sites(settings: ReleaseSettings) -> tuple[SiteMoments, SiteMoments]:
    """Equal sites; the others' rows are known to everybody, and lie evenly."""
    if settings.mean_share:
        return worst_sites(settings.mean_share, _N_SITES)
    others = np.tile(np.eye(_D) / _D, (_N_SITES - 1, 1, 1))
    counts = np.full(_N_SITES, N_SAMPLES)
    first, first_prime = worst_second_moments(_D, N_SAMPLES)
    at_sites = [
        SiteMoments(np.concatenate([moment[None], others]), np.zeros((_N_SITES, _D)), counts)
        for moment in (first, first_prime)
    ]
    return at_sites[0], at_sites[1]
