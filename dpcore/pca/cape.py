"""CAPE: correlated noise across sites, so that the average carries only the pooled noise.

Site s sends A_s + e_s + g_s. The masks e_s sum to zero over the sites and cancel in the average;
the g_s are private to each site. Scales and promise are in `dpcore.privacy.cape`.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.errors import ParameterError
from dpcore.pca.guarantees import AT_SITES
from dpcore.pca.rounds import Draw
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.subspace import Subspace
from dpcore.privacy import (
    Assumption,
    CapeScales,
    Guarantee,
    cape_mu,
    cape_scales,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
    second_moment_sigma,
)
from dpcore.spectra import leading_eigenpairs
from dpcore.streams import Purpose


def settings_scales(settings: ReleaseSettings, n_sites: int, n_samples: int) -> CapeScales:
    """Mask and noise scales of one message.

    Under the published calibration both calibration and masks are as printed, and the guarantee
    is what it is; under the others tau grows until the promise holds against H honest sites.
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
    """H, everybody unless the settings say otherwise."""
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
    n_sites, n_samples = moments.n_sites, int(moments.n_samples.sum())
    scales = settings_scales(settings, n_sites, n_samples)
    share = settings.mean_share
    noise_sigma = scales.noise_sigma / math.sqrt(1 - share)
    # The mean of S independent N(0, b^2) draws is one N(0, b^2 / S) draw.
    average = draw.pooled_moment() + draw.pooled_noise(
        noise_sigma / math.sqrt(n_sites), Purpose.MASK
    )
    if share > 0:
        mean_sigma = (
            math.sqrt(2 / (share * n_sites)) * scales.noise_sigma / settings.row_norm_bound
        )
        mean = moments.weights @ moments.means
        mean = mean + mean_sigma * draw.repetition.rng(Purpose.MASK, 1).standard_normal(len(mean))
        average -= np.outer(mean, mean).astype(average.dtype)
    eigenvalues, components = leading_eigenpairs(
        average, settings.n_components, by=settings.ranking
    )
    in_a_message = math.hypot(noise_sigma, math.sqrt(1 - 1 / n_sites) * scales.mask_sigma)
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=cape_guarantee(settings, n_sites, n_samples),
        sigma=np.full(n_sites, in_a_message),
        bytes_sent=draw.whole_matrix_bytes(),
    )


def cape_guarantee(settings: ReleaseSettings, n_sites: int, n_samples: int) -> Guarantee:
    """What CAPE promises against an aggregator who reads every message."""
    scales = settings_scales(settings, n_sites, n_samples)
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
        assumptions=(*AT_SITES, Assumption.HONEST_SITES),
    )
