"""CAPE: correlated noise, so that the average of the messages carries only the pooled noise.

Site s sends A_s + e_s + g_s. The masks e_s sum to zero over the sites and cancel in the average;
the g_s are private to each site. `dpcore.privacy.cape` derives what the aggregator and a
participating site can learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.protocols.pooled_release import PooledRelease
from dpcore.pca.protocols.protocol import (
    MASKED_SITES,
    Kind,
    Look,
    Neighbours,
    NoiseIdentity,
    Protocol,
    Where,
    traffic_of_means,
    whole_matrix_bytes,
)
from dpcore.pca.protocols.register import GAUSSIAN, register
from dpcore.pca.settings import ReleaseSettings, with_mean_share
from dpcore.pca.site import Calibrate, NoiseScales, noise_scales
from dpcore.privacy import (
    CapeScales,
    cape_mu,
    cape_scales,
    default_honest_sites,
)
from dpcore.spectra import SiteMoments, SiteRows
from dpcore.streams import Purpose, Repetition

# Streams of MASK; lower numbers belong to the averages.
_MASKS, _NOISES, _MEAN_MASKS, _MEAN_NOISES = 2, 3, 4, 5
# Scale of the masks in units of the noise, where an infinite scale is requested.
_LARGEST_MASK_RATIO = 1e5


def noise_of_masked_sites(
    settings: ReleaseSettings, n_samples: Sequence[int], calibrate: Calibrate = noise_scales
) -> NoiseScales:
    """Return each site's noise that remains when the masks have cancelled.

    The sensitivity is that of S n_s / N times the site's moment, the same at every site.

    Raises `ParameterError` if a site drops out: the masks of the others would stay in the average.
    """
    if settings.dropped_sites > 0:
        raise ParameterError(
            "dropped_sites",
            "0 for CAPE, whose masks cancel only where every site answers",
            settings.dropped_sites,
        )
    n_sites, scales = len(n_samples), release_scales(settings, n_samples, calibrate)
    single, sigma = _noise_of_single_site(settings, n_samples, calibrate), scales.noise_sigma
    mu = cape_mu(single.l2_sensitivity, scales, n_sites, honest_sites(settings, n_sites))
    # The ratios of the noises of mean, votes and matrix are the same for every party.
    ratio = sigma / single.moment if single.moment > 0 else 0.0
    mean, votes = ratio * single.mean, ratio * single.votes
    return NoiseScales(sigma, mean, single.l2_sensitivity, mu, votes)


def release_scales(
    settings: ReleaseSettings, n_samples: Sequence[int], calibrate: Calibrate = noise_scales
) -> CapeScales:
    """Return the scales of mask and noise on a matrix, given the samples at each site.

    The published calibration keeps the published a and b, with the guarantee that results; under
    the others the same shape grows until the guarantee holds against the worse adversary.
    """
    masks, n_sites = settings.masks, len(n_samples)
    if masks == "published" and settings.calibration != "published":
        masks = "compensated"
    sigma = _noise_of_single_site(settings, n_samples, calibrate).moment
    return cape_scales(sigma, n_sites, n_honest=honest_sites(settings, n_sites), masks=masks)


def _noise_of_single_site(
    settings: ReleaseSettings, n_samples: Sequence[int], calibrate: Calibrate
) -> NoiseScales:
    return calibrate(sum(map(int, n_samples)) / len(n_samples), settings)


def honest_sites(settings: ReleaseSettings, n_sites: int) -> int:
    """Return H, at most `n_sites`; all but one by default."""
    if settings.honest_sites is None:
        return default_honest_sites(n_sites)
    if not 1 <= settings.honest_sites <= n_sites:
        raise ParameterError("honest_sites", f"in [1, n_sites={n_sites}]", settings.honest_sites)
    return settings.honest_sites


# Site s scales its second moment by S n_s / N, so that the plain average of the messages is the
# pooled second moment and every site has the same sensitivity. Only the averages are drawn: the
# masks cancel in them exactly, so drawing them would add rounding error and nothing else.
UNDER_CANCELLING_MASKS = PooledRelease(
    MASKED_SITES,
    lambda settings, people, n_features: with_mean_share(
        settings, people, n_features, n_noises=len(people)
    ),
    noise_of_masked_sites,
    # The mean of S independent N(0, b^2) draws is one N(0, b^2 / S) draw.
    noise_factor=lambda n_sites: 1 / math.sqrt(n_sites),
    n_noises=lambda draw: draw.moments.n_sites,
    traffic=lambda draw: (whole_matrix_bytes(draw), 1 + traffic_of_means(draw)[1]),
    purpose=Purpose.MASK,
)
# Top-K subspace of the average of masked messages (Imtiaz & Sarwate, capePCA), and its guarantee
# against the aggregator, who reads every message, and against a site.
cape, guarantee_of_masked_sites = UNDER_CANCELLING_MASKS.release, UNDER_CANCELLING_MASKS.guarantee
# Noisy average of `cape`, and the average of the masked means before it.
masked_average = UNDER_CANCELLING_MASKS.average
noisy_mean_of_messages = UNDER_CANCELLING_MASKS.mean


@dataclass(frozen=True, eq=False)
class MaskedRound:
    """Messages of one round of CAPE, with masks and noises: everything that adversaries may read.

    masks: shape (n_sites, ...). e_s, which sum to zero.
    noises: shape (n_sites, ...). g_s.
    messages: shape (n_sites, ...). (S n_s / N) f_s + e_s + g_s, f_s a second moment or a mean.
        Their plain average has the law of the average that `cape` draws.
    """

    masks: FloatArray
    noises: FloatArray
    messages: FloatArray


def masked_round(
    moments: SiteMoments, scales: CapeScales, *, noise: str, repetition: Repetition
) -> MaskedRound:
    """Draw every site's mask, noise and message: (n_sites, n_features, n_features).

    scales: `release_scales`.
    noise: {"triangle", "isometric"}
    """
    n_features = moments.n_features

    def draw_noise(sigma: float, rng: np.random.Generator) -> FloatArray:
        return symmetric_gaussian_noise(n_features, sigma, shape=noise, rng=rng)

    return _round(
        moments, moments.second_moments, scales, draw_noise, (_MASKS, _NOISES), repetition
    )


def masked_mean_round(
    moments: SiteMoments | SiteRows, scales: CapeScales, *, weight: float, repetition: Repetition
) -> MaskedRound:
    """Draw the round of the means, before that of the matrices: (n_sites, n_features).

    scales: Scales of the matrices; those of a mean are smaller by the factor `weight`.
    weight: `dpcore.privacy.mean_weight` of its share; positive.
    """

    def draw_noise(sigma: float, rng: np.random.Generator) -> FloatArray:
        return sigma / weight * rng.standard_normal(moments.n_features)

    return _round(
        moments, moments.means, scales, draw_noise, (_MEAN_MASKS, _MEAN_NOISES), repetition
    )


def _round(
    moments: SiteMoments | SiteRows,
    exact: FloatArray,
    scales: CapeScales,
    draw_noise: Callable[[float, np.random.Generator], FloatArray],
    streams: tuple[int, int],
    repetition: Repetition,
) -> MaskedRound:
    """Draw the messages of all sites. A site's mask is its own draw minus the average of all draws.

    Masks without bound are drawn 10^5 times as large as the noise; a message then leaks 10^-10 of
    its mu squared.
    """
    n_sites = moments.n_sites
    masks, noises = (
        np.stack(
            [
                draw_noise(sigma, repetition.rng(Purpose.MASK, stream, site))
                for site in range(n_sites)
            ]
        )
        for sigma, stream in zip(
            (min(scales.mask_sigma, _LARGEST_MASK_RATIO * scales.noise_sigma), scales.noise_sigma),
            streams,
            strict=True,
        )
    )
    masks -= masks.mean(axis=0)
    sizes = (n_sites * moments.weights).reshape(-1, *(1,) * (exact.ndim - 1))
    return MaskedRound(masks, noises, sizes * exact + masks + noises)


register(
    Protocol(
        "cape",
        "CAPE",
        "Sites send whole matrices under masks that cancel: almost the noise of pooled rows.",
        cape,
        guarantee_of_masked_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        NoiseIdentity(
            "cape", "the average moment of {sites}", (*GAUSSIAN, "masks", "honest_sites")
        ),
        average=masked_average,
        look=Look("#CC79A7", "pentagon"),
        neighbours=Neighbours(
            n_sites=4,
            settings=(("masks", "wide"),),
            noisy_mean=noisy_mean_of_messages,
            has_own_cases=True,
        ),
    )
)
