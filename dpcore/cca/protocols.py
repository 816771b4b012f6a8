"""Who adds noise to the joint second moment, and what the aggregator is left with.

Each protocol is a function (moments, settings, repetition) -> NoisyAverage. The rows behind the
moments are bounded by `settings.row_norm_bound`, a constant coordinate included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpcore.cca.release import joint_moment_sigma
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.messages.encoding import message_length
from dpcore.pca.protocols.cape import masked_noise, masked_scales
from dpcore.pca.protocols.guarantees import (
    EVERY_SITE,
    FIRST_SITE,
    HOLDER,
    MASKED_SITES,
    Trust,
    noise_guarantee,
)
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import NoiseScales, noisy_second_moment, proxy_of
from dpcore.privacy import CapeScales, Guarantee, l2_sensitivity_of_second_moment
from dpcore.spectra import SiteMoments
from dpcore.streams import Purpose, Repetition


@dataclass(frozen=True, eq=False)
class NoisyAverage:
    """The average the aggregator holds, and the facts of its making.

    Attributes
    ----------
    average : ndarray of shape (n_features, n_features), float64
    sigma_of_average : float
        Noise standard deviation left in an entry of it, before any truncation at the sites.
    guarantee : Guarantee
    sigma : ndarray of shape (n_sites,)
        Noise standard deviation each site added to an entry of its own moment, without masks
        that cancel.
    bytes_sent : ndarray of shape (n_sites,)
    is_truncated : bool
        Whether sites sent their leading directions only.
    """

    average: np.ndarray
    sigma_of_average: float
    guarantee: Guarantee
    sigma: np.ndarray
    bytes_sent: np.ndarray
    is_truncated: bool = False


def full(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> NoisyAverage:
    """Every site sends its whole noisy joint moment."""
    length = message_length(
        moments.n_features, moments.n_features, moments.second_moments.itemsize, whole=True
    )
    return _average_of_sites(moments, settings, repetition, length, lambda noisy: noisy)


def dpdis(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> NoisyAverage:
    """Every site sends the D x R proxy of its noisy joint moment, Algorithm 1 of DPdisPCA."""

    def rebuilt(noisy: np.ndarray) -> np.ndarray:
        proxy = proxy_of(noisy, settings.intermediate_dim, settings.ranking)
        return proxy @ proxy.T

    length = message_length(
        moments.n_features,
        settings.intermediate_dim,
        moments.second_moments.itemsize,
        whole=False,
    )
    release = _average_of_sites(moments, settings, repetition, length, rebuilt)
    return replace(release, is_truncated=True)


def local(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> NoisyAverage:
    """The first site on its own; nothing travels."""
    alone = SiteMoments(moments.second_moments[:1], moments.means[:1], moments.n_samples[:1])
    return _average_of_sites(alone, settings, repetition, 0, lambda noisy: noisy, trust=FIRST_SITE)


def pooled(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> NoisyAverage:
    """The poster's algorithm at a trusted aggregator who holds everybody's rows."""
    n_samples = int(moments.n_samples.sum())
    noise = joint_noise(settings, n_samples)
    sigma = noise.moment
    return NoisyAverage(
        average=noisy_second_moment(
            moments.pooled(),
            sigma,
            noise=settings.noise,
            rng=repetition.rng(Purpose.POOLED_NOISE),
        ),
        sigma_of_average=sigma,
        guarantee=noise_guarantee(settings, HOLDER, [noise]),
        sigma=np.array([sigma]),
        bytes_sent=moments.n_samples * moments.n_features * moments.second_moments.itemsize,
    )


def cape(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> NoisyAverage:
    """Masks that sum to zero over the sites leave the pooled noise only (`dpcore.privacy.cape`).

    Site s sends S n_s / N times its moment, so that every site has the same sensitivity and the
    plain average is the pooled moment. Masks are "compensated" where a guarantee is promised.
    """
    n_sites, n_samples = moments.n_sites, int(moments.n_samples.sum())
    noise = masked_noise(settings, joint_noise(settings, n_samples / n_sites), n_sites)
    left = noise.moment / math.sqrt(n_sites)
    drawn = symmetric_gaussian_noise(
        moments.n_features, left, shape=settings.noise, rng=repetition.rng(Purpose.MASK)
    )
    length = message_length(
        moments.n_features, moments.n_features, moments.second_moments.itemsize, whole=True
    )
    return NoisyAverage(
        average=moments.pooled() + drawn,
        sigma_of_average=left,
        guarantee=noise_guarantee(settings, MASKED_SITES, [noise]),
        sigma=np.full(n_sites, noise.moment),
        bytes_sent=np.full(n_sites, length),
    )


def joint_masked_scales(settings: ReleaseSettings, n_sites: int, n_samples: int) -> CapeScales:
    """CAPE's scales on a joint moment, for `n_sites` sites and `n_samples` people in all."""
    return masked_scales(settings, joint_noise(settings, n_samples / n_sites).moment, n_sites)


PROTOCOLS: dict[str, Callable[[SiteMoments, ReleaseSettings, Repetition], NoisyAverage]] = {
    "dpdis": dpdis,
    "full": full,
    "local": local,
    "pooled": pooled,
    "cape": cape,
}


def _average_of_sites(
    moments: SiteMoments,
    settings: ReleaseSettings,
    repetition: Repetition,
    message_bytes: int,
    received: Callable[[np.ndarray], np.ndarray],
    trust: Trust = EVERY_SITE,
) -> NoisyAverage:
    """Weighted average of what the aggregator makes of each site's noisy joint moment."""
    noise = [joint_noise(settings, int(n)) for n in moments.n_samples]
    sigma = np.array([scales.moment for scales in noise])
    average = np.zeros(moments.second_moments.shape[1:])
    for site, weight in enumerate(moments.weights):
        noisy = noisy_second_moment(
            moments.second_moments[site],
            sigma[site],
            noise=settings.noise,
            rng=repetition.rng(Purpose.SITE_NOISE, site),
        )
        average += weight * received(noisy)
    return NoisyAverage(
        average=average,
        sigma_of_average=float(np.linalg.norm(moments.weights * sigma)),
        guarantee=noise_guarantee(settings, trust, noise),
        sigma=sigma,
        bytes_sent=np.full(moments.n_sites, message_bytes),
    )


def joint_noise(settings: ReleaseSettings, n_samples: float) -> NoiseScales:
    """What a site of so many people adds to its joint second moment."""
    sigma = joint_moment_sigma(
        settings.budget,
        n_samples,
        calibration=settings.calibration,
        row_norm_bound=settings.row_norm_bound,
    )
    l2_sensitivity = l2_sensitivity_of_second_moment(n_samples, settings.row_norm_bound)
    return NoiseScales(sigma, 0.0, l2_sensitivity)
