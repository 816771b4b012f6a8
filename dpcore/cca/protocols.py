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
from dpcore.pca.cape import honest_sites
from dpcore.pca.guarantees import AT_AGGREGATOR, AT_ONE_SITE, AT_SITES, UNDER_MASKS
from dpcore.pca.messages import message_length
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import noisy_second_moment, proxy_of
from dpcore.privacy import (
    Assumption,
    Guarantee,
    cape_mu,
    cape_scales,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
)
from dpcore.spectra import SiteMoments
from dpcore.streams import Purpose, Repetition

_EVERY_SITE = "every site, to its own joint second moment, before anything is sent"


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
        Noise standard deviation each site added to an entry of its own moment.
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
    release = _average_of_sites(alone, settings, repetition, 0, lambda noisy: noisy)
    guarantee = replace(
        release.guarantee,
        noise_added_by="the first site, which uses nobody else's data",
        assumptions=AT_ONE_SITE,
    )
    return replace(release, guarantee=guarantee)


def pooled(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> NoisyAverage:
    """The poster's algorithm at a trusted aggregator who holds everybody's rows."""
    n_samples = int(moments.n_samples.sum())
    sigma = _site_sigma(settings, n_samples)
    return NoisyAverage(
        average=noisy_second_moment(
            moments.pooled(),
            sigma,
            noise=settings.noise,
            rng=repetition.rng(Purpose.POOLED_NOISE),
        ),
        sigma_of_average=sigma,
        guarantee=_guarantee(
            settings,
            sigma,
            _site_sensitivity(settings, n_samples),
            "the aggregator, once, after pooling everybody's raw rows",
            AT_AGGREGATOR,
        ),
        sigma=np.array([sigma]),
        bytes_sent=moments.n_samples * moments.n_features * moments.second_moments.itemsize,
    )


def cape(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> NoisyAverage:
    """Masks that sum to zero over the sites leave the pooled noise only (`dpcore.privacy.cape`).

    Site s sends S n_s / N times its moment, so that every site has the same sensitivity and the
    plain average is the pooled moment. Masks are "compensated" where a guarantee is promised.
    """
    n_sites, n_samples = moments.n_sites, int(moments.n_samples.sum())
    n_honest = honest_sites(settings, n_sites)
    masks = settings.masks
    if masks == "published" and settings.calibration != "published":
        masks = "compensated"
    scales = cape_scales(
        _site_sigma(settings, n_samples / n_sites), n_sites, n_honest=n_honest, masks=masks
    )
    sensitivity = _site_sensitivity(settings, n_samples / n_sites)
    left = scales.noise_sigma / math.sqrt(n_sites)
    noise = symmetric_gaussian_noise(
        moments.n_features, left, shape=settings.noise, rng=repetition.rng(Purpose.MASK)
    )
    length = message_length(
        moments.n_features, moments.n_features, moments.second_moments.itemsize, whole=True
    )
    # One site needs no mask, whose share of the variance is 1 - 1/S.
    mask = math.sqrt(1 - 1 / n_sites) * scales.mask_sigma if n_sites > 1 else 0.0
    return NoisyAverage(
        average=moments.pooled() + noise,
        sigma_of_average=left,
        guarantee=_guarantee(
            settings,
            sensitivity / cape_mu(sensitivity, scales, n_honest),
            sensitivity,
            "every site, part of it in masks that cancel between the sites",
            UNDER_MASKS,
        ),
        sigma=np.full(n_sites, math.hypot(scales.noise_sigma, mask)),
        bytes_sent=np.full(n_sites, length),
    )


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
) -> NoisyAverage:
    """Weighted average of what the aggregator makes of each site's noisy joint moment."""
    sigma = np.array([_site_sigma(settings, int(n)) for n in moments.n_samples])
    average = np.zeros(moments.second_moments.shape[1:])
    for site, weight in enumerate(moments.weights):
        noisy = noisy_second_moment(
            moments.second_moments[site],
            sigma[site],
            noise=settings.noise,
            rng=repetition.rng(Purpose.SITE_NOISE, site),
        )
        average += weight * received(noisy)
    # Noise and sensitivity both go with 1 / n_s, so all sites promise the same.
    smallest = int(np.argmin(moments.n_samples))
    return NoisyAverage(
        average=average,
        sigma_of_average=float(np.linalg.norm(moments.weights * sigma)),
        guarantee=_guarantee(
            settings,
            sigma[smallest],
            _site_sensitivity(settings, int(moments.n_samples[smallest])),
            _EVERY_SITE,
            AT_SITES,
        ),
        sigma=sigma,
        bytes_sent=np.full(moments.n_sites, message_bytes),
    )


def _site_sigma(settings: ReleaseSettings, n_samples: float) -> float:
    return joint_moment_sigma(
        settings.budget,
        n_samples,
        calibration=settings.calibration,
        row_norm_bound=settings.row_norm_bound,
    )


def _site_sensitivity(settings: ReleaseSettings, n_samples: float) -> float:
    return l2_sensitivity_of_second_moment(n_samples, settings.row_norm_bound)


def _guarantee(
    settings: ReleaseSettings,
    sigma: float,
    l2_sensitivity: float,
    noise_added_by: str,
    assumptions: tuple[Assumption, ...],
) -> Guarantee:
    budget = settings.budget
    epsilon = gaussian_epsilon(budget.delta, float(sigma), float(l2_sensitivity))
    if settings.calibration != "published":
        # The solver rounds towards privacy; what is above the asked value is its tolerance.
        epsilon = min(epsilon, budget.epsilon)
    return Guarantee(
        asked=budget,
        epsilon=epsilon,
        delta=budget.delta,
        mechanism="none" if math.isinf(epsilon) else "gaussian",
        noise_added_by=noise_added_by,
        l2_sensitivity=float(l2_sensitivity),
        sigma=float(sigma),
        assumptions=assumptions,
    )
