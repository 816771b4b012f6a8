"""Noise added once, where everything has come together already."""

from __future__ import annotations

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.draw import Draw
from dpcore.pca.site import centre_of_sphere, noisy_mean
from dpcore.spectra import Spectrum
from dpcore.streams import Purpose


def noisy_pooled_moment(
    draw: Draw, mean: FloatArray | None, sigma: float, purpose: Purpose
) -> Spectrum:
    """Everybody's second moment, centred by a noisy mean where one has been bought, and noise."""
    noise = symmetric_gaussian_noise(
        draw.moments.n_features,
        sigma,
        shape=draw.settings.noise,
        rng=draw.repetition.rng(purpose),
        dtype=draw.precision,
    )
    return Spectrum(_pooled_around(draw, mean) + noise)


def noisy_pooled_mean(draw: Draw, sigma: float, purpose: Purpose) -> FloatArray:
    """(D,) mean of everybody with noise added once, where that of the matrices is added."""
    mean = draw.moments.weights @ draw.moments.means
    return noisy_mean(mean, sigma, rng=draw.repetition.rng(purpose, 1))


def _pooled_around(draw: Draw, mean: FloatArray | None) -> FloatArray:
    """On the sphere around the mean; otherwise its outer product is subtracted."""
    if mean is None:
        return draw.pooled_moment
    if draw.settings.on_sphere:
        return draw.moment_around(centre_of_sphere(mean))
    moment = draw.pooled_moment
    return moment - np.outer(mean, mean).astype(moment.dtype)
