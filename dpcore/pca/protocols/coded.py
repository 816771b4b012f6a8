"""Coded matrices: every site sends its whole noisy second moment in few bytes.

Entries are rounded with dither to steps of one standard deviation of the noise, and entropy-coded
(`dpcore.pca.messages`). The aggregator averages the matrices and denoises once. Nothing is cut or
selected, so that the result is that of `full` with the variance of the noise increased by a sixth.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.pca.aggregator import NoisyAverage, Subspace
from dpcore.pca.assessment import off_diagonal_sigma
from dpcore.pca.draw import Draw
from dpcore.pca.messages import decode_message, encode_message
from dpcore.pca.protocols.distributed import first_noisy_mean, guarantee_of_sites, shared_centre
from dpcore.pca.protocols.protocol import (
    EVERY_SITE,
    Kind,
    Look,
    Neighbours,
    Protocol,
    Where,
    noise_guarantee,
    traffic_of_means,
)
from dpcore.pca.protocols.register import SITES_MOMENTS, register
from dpcore.pca.settings import NATIVE, ROUNDED
from dpcore.pca.site import NoisySite
from dpcore.spectra import Spectrum
from dpcore.streams import Purpose

# Step of the rounding in standard deviations of the noise off the diagonal: one of the diagonal, if
# the noise is isometric.
STEP = math.sqrt(2)


def noise_factor() -> float:
    """Return the noise of a decoded matrix, in units of the noise before encoding."""
    return math.sqrt(1 + STEP**2 / 12)


def coded(draw: Draw) -> Subspace:
    """Average the decoded matrices of all sites, denoise once, return the leading directions."""
    return average_of_coded(draw).subspace(draw.settings)


def average_of_coded(draw: Draw) -> NoisyAverage:
    """Return the average of the coded matrices, as the aggregator has it.

    Sites code the noisy matrices that DPdisPCA reads, so the guarantee is the same one.
    """
    settings, weights = draw.settings, draw.moments.weights.astype(draw.precision)
    total: FloatArray = np.zeros((draw.moments.n_features,) * 2, dtype=draw.precision)
    n_bytes = []
    for weight, message in zip(weights, draw.for_each_site(partial(message_of, draw)), strict=True):
        n_bytes.append(len(message))
        total += weight * decode_message(message).values
    for_means, before = traffic_of_means(draw, come_back=True)
    of_means = [scales.mean for scales in draw.scales]
    return NoisyAverage(
        Spectrum(total),
        noise_guarantee(settings, EVERY_SITE, draw.scales),
        draw.sigma,
        np.array(n_bytes) + for_means,
        draw.sigma_of_average * noise_factor(),
        n_rounds=1 + before,
        centre=shared_centre(draw),
        total=draw.total_around(draw.centre),
        mean_sigma=0.0 if settings.on_sphere else float(np.linalg.norm(weights * of_means)),
        centre_choice=draw.of_sites.centre_choice,
        mean_error=draw.of_sites.mean_error,
    )


def message_of(draw: Draw, site: int, noisy: NoisySite) -> bytes:
    """Return the message of a site, given its noisy matrix before it is centred."""
    step = STEP * off_diagonal_sigma(1.0, noisy.noise)
    # Without noise nothing is rounded.
    encoding = f"{ROUNDED}{step!r}" if noisy.sigma > 0 else NATIVE
    key = draw.repetition.rng(Purpose.ROUNDING, draw.sites[site])
    return encode_message(draw.centred_site(site, noisy).whole(), encoding, rng=key)


def decoded_message(draw: Draw, site: int) -> FloatArray:
    """Return the matrix that a site's message decodes to."""
    return decode_message(message_of(draw, site, draw.noisy_site(site))).values


register(
    Protocol(
        "coded",
        "Coded matrices",
        "Each site adds noise to its second moment and sends it rounded and entropy-coded.",
        coded,
        guarantee_of_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        silent_because="the error of rounded messages is not Gaussian",
        look=Look("#AA4499", "hexagon"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean, message=decoded_message, step=STEP),
    )
)
