"""CAPE: correlated noise across sites, so that the average carries only the pooled noise.

Site s sends A_s + e_s + g_s. The masks e_s sum to zero over the sites and cancel in the average;
the g_s are private to each site. What an aggregator who reads every message can learn is worked
out in `dpcore.privacy.cape`.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.errors import ParameterError
from dpcore.pca.guarantees import UNDER_MASKS
from dpcore.pca.rounds import Draw
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.subspace import Subspace
from dpcore.privacy import (
    CapeScales,
    Guarantee,
    cape_mu,
    cape_scales,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
    second_moment_sigma,
)
from dpcore.streams import Purpose


def release_scales(settings: ReleaseSettings, n_sites: int, n_samples: int) -> CapeScales:
    """Scales of mask and noise for `n_sites` sites and `n_samples` people in all.

    tau is the noise of a site alone. The published calibration keeps the published a and b, and
    the guarantee is what it is; under the others the same shape grows until the promise holds
    against the honest sites that the settings count on.
    """
    tau = second_moment_sigma(
        settings.budget,
        n_samples / n_sites,
        calibration=settings.calibration,
        row_norm_bound=settings.row_norm_bound,
    )
    masks = settings.masks
    if masks == "published" and settings.calibration != "published":
        masks = "compensated"
    return cape_scales(tau, n_sites, n_honest=honest_sites(settings, n_sites), masks=masks)


def honest_sites(settings: ReleaseSettings, n_sites: int) -> int:
    """H, at most `n_sites`."""
    honest = n_sites if settings.honest_sites is None else settings.honest_sites
    if not 1 <= honest <= n_sites:
        raise ParameterError("honest_sites", f"in [1, n_sites={n_sites}]", honest)
    return honest


def cape(draw: Draw) -> Subspace:
    """Top-K subspace of the average of masked messages (Imtiaz & Sarwate, capePCA).

    Site s scales its second moment by S n_s / N, so that the plain average of the messages is
    the pooled second moment and every site has the same sensitivity sqrt(2) c^2 S / N. Only the
    average is drawn: the masks cancel in it exactly, so drawing them would add rounding error
    and nothing else.
    """
    moments, settings = draw.moments, draw.settings
    n_sites, n_samples = moments.n_sites, draw.n_people
    scales = release_scales(settings, n_sites, n_samples)
    share = settings.mean_share
    noise_sigma = scales.noise_sigma / math.sqrt(1 - share)
    mask_sigma = scales.mask_sigma / math.sqrt(1 - share)

    def noisy_average() -> np.ndarray:
        average = draw.pooled_moment
        if noise_sigma > 0:
            # The mean of S independent N(0, b^2) draws is one N(0, b^2 / S) draw.
            average = average + draw.pooled_noise(noise_sigma / math.sqrt(n_sites), Purpose.MASK)
        if share > 0:
            scale = math.sqrt(2) * scales.noise_sigma / (settings.row_norm_bound * math.sqrt(share))
            rng = draw.repetition.rng(Purpose.MASK, 1)
            mean = moments.weights @ moments.means
            mean = mean + scale / math.sqrt(n_sites) * rng.standard_normal(len(mean))
            average = average - np.outer(mean, mean).astype(average.dtype)
        return average

    spectrum = draw.decomposed("cape", noisy_average)
    eigenvalues, components = spectrum.leading(settings.n_components, by=settings.ranking)
    # One site needs no mask, whose share of the variance is 1 - 1/S.
    masked = math.sqrt(1 - 1 / n_sites) * mask_sigma if n_sites > 1 else 0.0
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=cape_guarantee(settings, n_sites, n_samples),
        sigma=np.full(n_sites, math.hypot(noise_sigma, masked)),
        bytes_sent=draw.whole_matrix_bytes(),
    )


def cape_guarantee(settings: ReleaseSettings, n_sites: int, n_samples: int) -> Guarantee:
    """What the messages promise against an aggregator who reads them all."""
    scales = release_scales(settings, n_sites, n_samples)
    sensitivity = l2_sensitivity_of_second_moment(n_samples / n_sites, settings.row_norm_bound)
    mu = cape_mu(sensitivity, scales, honest_sites(settings, n_sites))
    sigma = sensitivity / mu
    epsilon = gaussian_epsilon(settings.budget.delta, sigma, sensitivity)
    if settings.calibration != "published":
        epsilon = min(epsilon, settings.budget.epsilon)
    return Guarantee(
        asked=settings.budget,
        epsilon=epsilon,
        delta=settings.budget.delta,
        mechanism="none" if math.isinf(epsilon) else "gaussian",
        noise_added_by="every site, part of it in masks that cancel between the sites",
        l2_sensitivity=sensitivity,
        sigma=sigma,
        assumptions=UNDER_MASKS,
    )
