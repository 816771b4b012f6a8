"""Noise that shows once, where everything has come together: a holder's, or what sites leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.aggregator import NoisyAverage, Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.guarantees import Trust, noise_guarantee
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import (
    Calibrate,
    NoiseScales,
    add_noise,
    centre_of_sphere,
    noise_scales,
    noisy_mean,
)
from dpcore.privacy import Guarantee
from dpcore.spectra import SiteRows, Spectrum
from dpcore.streams import Purpose


@dataclass(frozen=True)
class AddedOnce:
    """A noisy second moment of everybody, for which the noise of all is drawn in one.

    A mean, where one is bought, goes the same way, under noise of its own; on the sphere in a
    round before, so that rows can be centred by it.

    settled: (settings, people at each site, features) -> those, with the share that a mean takes.
    scales: (those settings, people at each site, Calibrate) -> NoiseScales of whoever adds noise.
    left: Of so many who answer -> how many times that noise the average carries.
    n_noises: Draw -> how many add it.
    traffic: Draw -> bytes of each site's message, and rounds.
    purpose: Of its streams.
    """

    trust: Trust
    settled: Callable[[ReleaseSettings, Sequence[int], int], ReleaseSettings]
    scales: Callable[[ReleaseSettings, Sequence[int], Calibrate], NoiseScales]
    left: Callable[[int], float]
    n_noises: Callable[[Draw], int]
    traffic: Callable[[Draw], tuple[IntArray, int]]
    purpose: Purpose

    def promise(
        self, settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
    ) -> Guarantee:
        """What `release` comes with, no row being read."""
        settings = self.settled(settings, n_samples, n_features)
        noise = self.scales(settings, n_samples, noise_scales)
        return noise_guarantee(settings, self.trust, [noise])

    def release(self, draw: Draw) -> Subspace:
        """Its leading directions."""
        return self.average(draw).subspace(draw.settings)

    def average(self, draw: Draw) -> NoisyAverage:
        """What is there before its leading directions are taken."""
        noise, left = self._noise(draw), self.left(draw.moments.n_sites)
        n_bytes, n_rounds = self.traffic(draw)
        return NoisyAverage(
            draw.once(self._moment),
            noise_guarantee(draw.settings, self.trust, [noise]),
            np.full(self.n_noises(draw), noise.moment),
            n_bytes,
            left * noise.moment,
            n_rounds=n_rounds,
            centre=self._centre(draw),
            mean_sigma=0.0 if draw.settings.on_sphere else left * noise.mean,
        )

    def mean(self, draw: Draw) -> FloatArray:
        """(D,) mean of everybody's rows, with the noise that is left in it."""
        exact = draw.moments.weights @ draw.moments.means
        return noisy_mean(exact, self._left(draw), rng=draw.repetition.rng(self.purpose, 1))

    def _left(self, draw: Draw) -> float:
        return self.left(draw.moments.n_sites) * self._noise(draw).mean

    def _noise(self, draw: Draw) -> NoiseScales:
        return self.scales(self.settled_in(draw), draw.n_samples, draw.calibrate)

    def settled_in(self, draw: Draw) -> ReleaseSettings:
        """The settings of a draw, with the share that a mean takes."""
        return self.settled(draw.settings, draw.n_samples, draw.moments.n_features)

    def _centre(self, draw: Draw) -> FloatArray | None:
        has_mean = self.settled_in(draw).mean_share != 0
        mean = draw.once(self.mean) if has_mean else None
        return pooled_centre(draw, mean, sigma=self._left(draw))

    def _moment(self, draw: Draw) -> Spectrum:
        noise = symmetric_gaussian_noise(
            draw.moments.n_features,
            self.left(draw.moments.n_sites) * self._noise(draw).moment,
            shape=draw.settings.noise,
            rng=draw.repetition.rng(self.purpose),
            dtype=draw.precision,
        )
        return Spectrum(add_noise(_pooled_around(draw, self._centre(draw)), noise))


def pooled_centre(draw: Draw, mean: FloatArray | None, *, sigma: float = 0.0) -> FloatArray | None:
    """(D,) what everybody's rows are centred by, from a noisy mean where one has been bought."""
    if not isinstance(draw.moments, SiteRows):
        return mean
    if mean is None:
        return np.zeros(draw.moments.n_features)
    rows = draw.moments
    return centre_of_sphere(mean, rows.half_widths, sigma=sigma, image_shape=rows.image_shape)


def _pooled_around(draw: Draw, centre: FloatArray | None) -> FloatArray:
    """On the sphere around a centre, or less its outer product."""
    if isinstance(draw.moments, SiteRows):
        return draw.moment_around(centre)
    if centre is None:
        return draw.pooled_moment
    less: FloatArray = draw.pooled_moment - np.outer(centre, centre)
    return less
