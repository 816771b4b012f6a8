"""Release of the pooled second moment, and mean, with one draw of noise.

The holder of all rows adds the noise, or sites whose masks cancel add shares of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.aggregator import NoisyAverage, Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.protocol import Trust, noise_guarantee
from dpcore.pca.settings import ReleaseSettings, settle_by_votes
from dpcore.pca.site import (
    Calibrate,
    NoiseScales,
    add_noise,
    centre_of_site_rows,
    noise_scales,
    noisy_mean,
    noisy_votes,
)
from dpcore.privacy import Guarantee
from dpcore.spectra import SiteRows, Spectrum
from dpcore.streams import Purpose


@dataclass(frozen=True)
class PooledRelease:
    """Protocol that draws the noise of the pooled second moment once.

    The private mean has noise of its own, also drawn once. On the sphere the mean is released one
    round earlier, because rows are centred by it.

    share_budget: (settings, samples of each site, n_features) -> settings with the budget share of
        the mean.
    scales: (these settings, samples of each site, Calibrate) -> NoiseScales of a noise source.
    noise_factor: Noise of the average divided by the noise of one source, given the number of sites
        that answer.
    n_noises: Draw -> number of noise sources.
    traffic: Draw -> bytes of each site's message, and number of rounds.
    purpose: Purpose of the noise streams.
    holds_rows: Whether a holder of all rows forms pairs of rows of different sites.
    """

    trust: Trust
    share_budget: Callable[[ReleaseSettings, Sequence[int], int], ReleaseSettings]
    scales: Callable[[ReleaseSettings, Sequence[int], Calibrate], NoiseScales]
    noise_factor: Callable[[int], float]
    n_noises: Callable[[Draw], int]
    traffic: Callable[[Draw], tuple[IntArray, int]]
    purpose: Purpose
    holds_rows: bool = False

    def guarantee(
        self, settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
    ) -> Guarantee:
        """Return the guarantee of `release`, computed from public numbers."""
        settings = self.share_budget(settings, n_samples, n_features)
        noise = self.scales(settings, n_samples, noise_scales)
        return noise_guarantee(settings, self.trust, [noise])

    def release(self, draw: Draw) -> Subspace:
        """Return the leading directions of the noisy pooled second moment."""
        return self.average(draw).subspace(draw.settings)

    def average(self, draw: Draw) -> NoisyAverage:
        """Return the noisy pooled second moment."""
        noise, factor = self._noise(draw), self.noise_factor(draw.moments.n_sites)
        n_bytes, n_rounds = self.traffic(draw)
        centre = self._centre(draw)
        return NoisyAverage(
            draw.compute_once(self._moment),
            noise_guarantee(draw.settings, self.trust, [noise]),
            np.full(self.n_noises(draw), noise.moment),
            n_bytes,
            factor * noise.moment,
            n_rounds=n_rounds,
            centre=centre,
            total=draw.total_around(centre),
            mean_sigma=0.0 if draw.settings.on_sphere else factor * noise.mean,
            centre_choice=self.settings_of(draw).centre_choice,
            mean_error=self.settings_of(draw).mean_error,
        )

    def mean(self, draw: Draw) -> FloatArray:
        """Return the noisy mean of all rows, shape (n_features,)."""
        exact = draw.moments.weights @ draw.moments.means
        return noisy_mean(exact, self._mean_sigma(draw), rng=draw.repetition.rng(self.purpose, 1))

    def _mean_sigma(self, draw: Draw) -> float:
        return self.noise_factor(draw.moments.n_sites) * self._noise(draw).mean

    def _noise(self, draw: Draw) -> NoiseScales:
        return self.scales(self.settings_of(draw), draw.n_samples, draw.calibrate)

    def settings_of(self, draw: Draw) -> ReleaseSettings:
        """Return the settings of the draw, with the centre that was chosen."""
        return draw.compute_once(self._settle)

    def votes(self, draw: Draw) -> FloatArray | None:
        """Return the noisy shares of votes on the centre, shape (4,); None without votes."""
        before, rows = self._settings_before_votes(draw), draw.moments
        if before.test_share == 0 or not isinstance(rows, SiteRows):
            return None
        scales = self.scales(before, draw.n_samples, draw.calibrate)
        return noisy_votes(
            rows.votes(before.vote_rule.votes, across_sites=self.holds_rows),
            self.noise_factor(rows.n_sites) * scales.votes,
            rng=draw.repetition.rng(Purpose.VOTES, self.purpose),
        )

    def _settings_before_votes(self, draw: Draw) -> ReleaseSettings:
        return self.share_budget(draw.settings, draw.n_samples, draw.moments.n_features)

    def _settle(self, draw: Draw) -> ReleaseSettings:
        before, votes = self._settings_before_votes(draw), draw.compute_once(self.votes)
        return before if votes is None else settle_by_votes(before, votes)

    def _centre(self, draw: Draw) -> FloatArray | None:
        has_mean = self.settings_of(draw).mean_share != 0
        mean = draw.compute_once(self.mean) if has_mean else None
        return centre_of_rows(draw, mean, sigma=self._mean_sigma(draw))

    def _moment(self, draw: Draw) -> Spectrum:
        noise = symmetric_gaussian_noise(
            draw.moments.n_features,
            self.noise_factor(draw.moments.n_sites) * self._noise(draw).moment,
            shape=draw.settings.noise,
            rng=draw.repetition.rng(self.purpose),
            dtype=draw.precision,
        )
        settings, centre = self.settings_of(draw), self._centre(draw)
        if settings.is_of_differences:
            exact = draw.exact_moment(settings, None, across_sites=self.holds_rows)
        else:
            exact = _pooled_around(draw, centre)
        return Spectrum(add_noise(exact, noise))


def centre_of_rows(draw: Draw, mean: FloatArray | None, *, sigma: float = 0.0) -> FloatArray | None:
    """Return the centre of all rows, given their noisy mean; None if no mean was released.

    Rows on the sphere always have a centre: zero if no mean was released.
    """
    if not isinstance(draw.moments, SiteRows):
        return mean
    return centre_of_site_rows(draw.moments, mean, sigma)


def _pooled_around(draw: Draw, centre: FloatArray | None) -> FloatArray:
    """Return the pooled second moment around the centre, or less its outer product."""
    if isinstance(draw.moments, SiteRows):
        return draw.moment_around(centre)
    if centre is None:
        return draw.pooled_moment
    centred: FloatArray = draw.pooled_moment - np.outer(centre, centre)
    return centred
