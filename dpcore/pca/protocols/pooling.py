"""Noise added once, where everything has come together already."""

from __future__ import annotations

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.draw import Draw
from dpcore.pca.site import centre_of_sphere, noisy_mean
from dpcore.spectra import SiteRows, Spectrum
from dpcore.streams import Purpose


def noisy_pooled_moment(
    draw: Draw, centre: FloatArray | None, sigma: float, purpose: Purpose
) -> Spectrum:
    """Everybody's second moment, centred by what has been released, and noise added once."""
    noise = symmetric_gaussian_noise(
        draw.moments.n_features,
        sigma,
        shape=draw.settings.noise,
        rng=draw.repetition.rng(purpose),
        dtype=draw.precision,
    )
    return Spectrum(_pooled_around(draw, centre) + noise)


def noisy_pooled_mean(draw: Draw, sigma: float, purpose: Purpose) -> FloatArray:
    """(D,) mean of everybody with noise added once, where that of the matrices is added."""
    mean = draw.moments.weights @ draw.moments.means
    return noisy_mean(mean, sigma, rng=draw.repetition.rng(purpose, 1))


def pooled_centre(draw: Draw, mean: FloatArray | None) -> FloatArray | None:
    """(D,) what everybody's rows are centred by, from a noisy mean where one has been bought."""
    if not isinstance(draw.moments, SiteRows):
        return mean
    if mean is None:
        return np.zeros(draw.moments.n_features)
    return centre_of_sphere(mean, draw.moments.half_widths)


def _pooled_around(draw: Draw, centre: FloatArray | None) -> FloatArray:
    """On the sphere around a centre, or less its outer product."""
    if isinstance(draw.moments, SiteRows):
        return draw.moment_around(centre)
    if centre is None:
        return draw.pooled_moment
    less: FloatArray = draw.pooled_moment - np.outer(centre, centre).astype(draw.precision)
    return less
