"""CAPE: correlated noise across sites, so that the average carries only the pooled noise.

Site s sends A_s + e_s + g_s. The masks e_s sum to zero over the sites and cancel in the average;
the g_s are private to each site. var(e_s) = (1 - 1/S) a^2, var(g_s) = b^2.

An aggregator who reads every message, with H of the S sites honest, faces a Gaussian mechanism
with

    mu^2 = Delta^2 [1 / (H b^2) + (1 - 1/H) / (a^2 + b^2)],

Delta the l2-sensitivity of one message. As published a^2 = tau^2 and b^2 = tau^2 / S with tau
the noise of a site alone; wide masks let a grow without bound and need only b^2 = tau^2 / H.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.errors import ParameterError
from dpcore.pca.guarantees import DISJOINT_SITES, FLOATING_POINT, PUBLIC_BOUND, PUBLIC_COUNTS
from dpcore.pca.rounds import Draw
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.subspace import Subspace
from dpcore.privacy import (
    Guarantee,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
    second_moment_sigma,
)
from dpcore.spectra import leading_eigenpairs
from dpcore.streams import Purpose

HONEST_BUT_CURIOUS = "Sites follow the protocol, and at least H of them don't share their noise."
MASKS_DRAWN = "The zero-sum masks are drawn jointly without anybody else learning them."


def mask_scales(settings: ReleaseSettings, n_sites: int, n_samples: int) -> tuple[float, float]:
    """(a, b): mask and private scales for `n_sites` sites and `n_samples` people in all.

    Under the published calibration tau is the published local scale, and the guarantee is what
    it is. Under the others tau is chosen so that the promise holds against H honest sites:
    mu^2 = (Delta / tau)^2 [S/H + (1 - 1/H) S / (S + 1)] for the published split.
    """
    honest = honest_sites(settings, n_sites)
    tau = second_moment_sigma(
        settings.budget,
        n_samples / n_sites,
        calibration=settings.calibration,
        row_norm_bound=settings.row_norm_bound,
    )
    if settings.masks == "wide":
        return math.inf, tau / math.sqrt(honest)
    if settings.calibration != "published":
        tau *= math.sqrt(
            n_sites / honest + (1 - 1 / honest) * n_sites / (n_sites + 1)
        )
    return tau, tau / math.sqrt(n_sites)


def effective_sigma(a: float, b: float, honest: int) -> float:
    """Scale of the plain Gaussian mechanism with the same mu as CAPE's messages."""
    if b == 0:
        return 0.0
    precision = 1 / (honest * b**2)
    if math.isfinite(a):
        precision += (1 - 1 / honest) / (a**2 + b**2)
    return 1 / math.sqrt(precision)


def honest_sites(settings: ReleaseSettings, n_sites: int) -> int:
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
    a, b = mask_scales(settings, n_sites, n_samples)
    average = draw.pooled_moment()
    share = settings.mean_share
    b_moment = b / math.sqrt(1 - share)
    if b > 0:
        # The mean of S independent N(0, b^2) draws is one N(0, b^2 / S) draw.
        average += draw.pooled_noise(b_moment / math.sqrt(n_sites), Purpose.MASK)
    if share > 0:
        scale = math.sqrt(2) * b / (settings.row_norm_bound * math.sqrt(share))
        rng = draw.repetition.rng(Purpose.MASK, 1)
        mean = moments.weights @ moments.means
        mean = mean + scale / math.sqrt(n_sites) * rng.standard_normal(len(mean))
        average -= np.outer(mean, mean).astype(average.dtype)
    eigenvalues, components = leading_eigenpairs(
        average, settings.n_components, by=settings.ranking
    )
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=cape_guarantee(settings, n_sites, n_samples),
        sigma=np.full(n_sites, math.hypot(b_moment, math.sqrt(1 - 1 / n_sites) * a)),
        bytes_sent=draw.whole_matrix_bytes(),
    )


def cape_guarantee(settings: ReleaseSettings, n_sites: int, n_samples: int) -> Guarantee:
    a, b = mask_scales(settings, n_sites, n_samples)
    sigma = effective_sigma(a, b, honest_sites(settings, n_sites))
    sensitivity = l2_sensitivity_of_second_moment(
        n_samples / n_sites, settings.row_norm_bound
    )
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
        assumptions=(
            PUBLIC_BOUND,
            PUBLIC_COUNTS,
            DISJOINT_SITES,
            HONEST_BUT_CURIOUS,
            MASKS_DRAWN,
            FLOATING_POINT,
        ),
    )
