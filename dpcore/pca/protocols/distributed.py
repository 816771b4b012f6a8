"""Protocols of sites without masks (dpdis, full, local) and of one holder (pooled, exact, random).

Each protocol is a function from a `Draw` to a `Subspace`: the leading directions of a
    `NoisyAverage`. All read the noisy second moments of the draw, so differences between their
    results are not due to different noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.aggregator import Inbox, NoisyAverage, Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.protocol import (
    EVERY_SITE,
    FIRST_SITE,
    HOLDER,
    Kind,
    Look,
    Neighbours,
    Protocol,
    Trust,
    Where,
    data_independent_guarantee,
    no_guarantee,
    noise_guarantee,
    raw_row_bytes,
    traffic_of_diagonals,
    traffic_of_means,
)
from dpcore.pca.protocols.register import FIRST_MOMENT, POOLED_MOMENT, SITES_MOMENTS, register
from dpcore.pca.settings import ReleaseSettings, with_mean_share
from dpcore.pca.site import (
    Calibrate,
    NoiseScales,
    add_noise,
    centre_of_sphere,
    noise_of_sites,
    noise_scales,
    noisy_mean,
    noisy_second_moment,
)
from dpcore.privacy import Guarantee
from dpcore.spectra import SiteRows, Spectrum
from dpcore.streams import Purpose


@dataclass(frozen=True)
class AddedOnce:
    """A protocol that draws the noise of the pooled second moment once.

    A private mean is drawn in the same way, with noise of its own. On the sphere it is released one
    round earlier, because rows are centred by it.

    settled: (settings, samples at each site, features) -> settings with the budget share of the
        mean.
    scales: (these settings, samples at each site, Calibrate) -> NoiseScales of a noise source.
    noise_factor: Noise of the average divided by the noise of one source, given the number of sites
        that answer.
    n_noises: Draw -> number of noise sources.
    traffic: Draw -> bytes of each site's message, and rounds.
    purpose: Purpose of the noise streams.
    """

    trust: Trust
    settled: Callable[[ReleaseSettings, Sequence[int], int], ReleaseSettings]
    scales: Callable[[ReleaseSettings, Sequence[int], Calibrate], NoiseScales]
    noise_factor: Callable[[int], float]
    n_noises: Callable[[Draw], int]
    traffic: Callable[[Draw], tuple[IntArray, int]]
    purpose: Purpose

    def promise(
        self, settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
    ) -> Guarantee:
        """Return the guarantee of `release`, without reading rows."""
        settings = self.settled(settings, n_samples, n_features)
        noise = self.scales(settings, n_samples, noise_scales)
        return noise_guarantee(settings, self.trust, [noise])

    def release(self, draw: Draw) -> Subspace:
        """Return the leading directions of the noisy average."""
        return self.average(draw).subspace(draw.settings)

    def average(self, draw: Draw) -> NoisyAverage:
        """Return the noisy average, before its leading directions are computed."""
        noise, factor = self._noise(draw), self.noise_factor(draw.moments.n_sites)
        n_bytes, n_rounds = self.traffic(draw)
        centre = self._centre(draw)
        return NoisyAverage(
            draw.once(self._moment),
            noise_guarantee(draw.settings, self.trust, [noise]),
            np.full(self.n_noises(draw), noise.moment),
            n_bytes,
            factor * noise.moment,
            n_rounds=n_rounds,
            centre=centre,
            total=draw.total_around(centre),
            mean_sigma=0.0 if draw.settings.on_sphere else factor * noise.mean,
        )

    def mean(self, draw: Draw) -> FloatArray:
        """Return the mean of all rows with the noise that remains in it, shape (D,)."""
        exact = draw.moments.weights @ draw.moments.means
        return noisy_mean(exact, self._mean_sigma(draw), rng=draw.repetition.rng(self.purpose, 1))

    def _mean_sigma(self, draw: Draw) -> float:
        return self.noise_factor(draw.moments.n_sites) * self._noise(draw).mean

    def _noise(self, draw: Draw) -> NoiseScales:
        return self.scales(self.settled_in(draw), draw.n_samples, draw.calibrate)

    def settled_in(self, draw: Draw) -> ReleaseSettings:
        """Return the settings of a draw, with the budget share of the mean."""
        return self.settled(draw.settings, draw.n_samples, draw.moments.n_features)

    def _centre(self, draw: Draw) -> FloatArray | None:
        has_mean = self.settled_in(draw).mean_share != 0
        mean = draw.once(self.mean) if has_mean else None
        return pooled_centre(draw, mean, sigma=self._mean_sigma(draw))

    def _moment(self, draw: Draw) -> Spectrum:
        noise = symmetric_gaussian_noise(
            draw.moments.n_features,
            self.noise_factor(draw.moments.n_sites) * self._noise(draw).moment,
            shape=draw.settings.noise,
            rng=draw.repetition.rng(self.purpose),
            dtype=draw.precision,
        )
        return Spectrum(add_noise(_pooled_around(draw, self._centre(draw)), noise))


def pooled_centre(draw: Draw, mean: FloatArray | None, *, sigma: float = 0.0) -> FloatArray | None:
    """Return the centre of all rows, shape (D,), given their noisy mean, or None without a mean."""
    if not isinstance(draw.moments, SiteRows):
        return mean
    if mean is None:
        return np.zeros(draw.moments.n_features)
    rows = draw.moments
    return centre_of_sphere(mean, rows.half_widths, sigma=sigma, image_shape=rows.image_shape)


def _pooled_around(draw: Draw, centre: FloatArray | None) -> FloatArray:
    """Return the pooled second moment around a centre, or minus its outer product."""
    if isinstance(draw.moments, SiteRows):
        return draw.moment_around(centre)
    if centre is None:
        return draw.pooled_moment
    less: FloatArray = draw.pooled_moment - np.outer(centre, centre)
    return less


# Stream number of the first site in `local`.
_LOCAL_STREAM = 1


def noise_of_holder(
    settings: ReleaseSettings, n_samples: Sequence[int], calibrate: Calibrate = noise_scales
) -> NoiseScales:
    """Return the noise scales of a holder of the rows of all sites."""
    return calibrate(int(sum(n_samples)), settings)


def promised_by_sites(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int, trust: Trust = EVERY_SITE
) -> Guarantee:
    """Return the guarantee if every site releases its own noisy second moment."""
    settings = with_mean_share(settings, n_samples, n_features, n_noises=len(n_samples))
    return noise_guarantee(settings, trust, noise_of_sites(settings, n_samples))


def promised_by_first_site(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Return the guarantee of `local`: only the rows of the first site are read."""
    sharing = n_samples[:1] if settings.on_sphere else n_samples
    settings = with_mean_share(settings, sharing, n_features, n_noises=len(sharing))
    return noise_guarantee(settings, FIRST_SITE, noise_of_sites(settings, n_samples[:1]))


def dpdis(draw: Draw) -> Subspace:
    """Run DPdisPCA, Algorithm 1: every site sends a D x R proxy of its noisy second moment."""
    return average_of_sites(draw, draw.proxies()).subspace(draw.settings)


def full(draw: Draw) -> Subspace:
    """Run DPdisPCA with whole noisy second moments: no truncation error, longer messages."""
    return average_of_sites(draw, draw.whole_matrices()).subspace(draw.settings)


def local(draw: Draw) -> Subspace:
    """Run private PCA at the first site only, around its own private mean.

    No message is sent, and rows of other sites have no influence.
    """
    return replace(first_site_alone(draw).subspace(draw.settings), n_rounds=0)


def average_of_matrices(draw: Draw) -> NoisyAverage:
    """Return the average of whole matrices that the aggregator of `full` computes."""
    return average_of_sites(draw, draw.whole_matrices())


def average_of_proxies(draw: Draw) -> NoisyAverage:
    """Return the average of proxies that the aggregator of `dpdis` computes."""
    return average_of_sites(draw, draw.proxies())


def average_of_sites(draw: Draw, received: Inbox) -> NoisyAverage:
    """Return the average that the aggregator of `dpdis` or `full` computes.

    If the sites need the average of all noisy means for their messages, it is sent to them first.
    """
    of_proxies = bool(received.proxies)
    for_means, before = traffic_of_means(draw, come_back=of_proxies)
    for_diagonals, rounds = traffic_of_diagonals(draw) if of_proxies else (0, 0)
    weights, of_means = draw.moments.weights, [scales.mean for scales in draw.scales]
    return NoisyAverage(
        received.average,
        noise_guarantee(draw.settings, EVERY_SITE, draw.scales),
        draw.sigma,
        np.array(received.n_bytes) + for_means + for_diagonals,
        float(np.linalg.norm(weights * draw.sigma)),
        of_proxies,
        n_rounds=1 + before + rounds,
        centre=shared_centre(draw),
        total=draw.total_around(draw.centre),
        mean_sigma=0.0 if draw.settings.on_sphere else float(np.linalg.norm(weights * of_means)),
    )


def shared_centre(draw: Draw) -> FloatArray | None:
    """Return the common centre of all sites, shape (D,), or None."""
    if draw.centre is not None or draw.noisy_means is None:
        return draw.centre
    average: FloatArray = draw.moments.weights @ draw.noisy_means
    return average


def all_noisy_means(draw: Draw) -> FloatArray:
    """Return the means that the sites release, shape (S, D)."""
    if draw.noisy_means is None:
        raise ParameterError("mean_share", "greater than 0", draw.of_sites.mean_share)
    return draw.noisy_means


def first_noisy_mean(draw: Draw) -> FloatArray:
    """Return the mean that the first site releases, shape (D,)."""
    first: FloatArray = all_noisy_means(draw)[0]
    return first


def first_site_alone(draw: Draw) -> NoisyAverage:
    """Return the noisy second moment of the first site in `local`.

    On the sphere, `local` centres by the site's own mean, so its matrix differs from the one in the
    site's message and needs noise of its own. With the same noise, the difference of the two would
    reveal exact values.
    """
    scales = draw.once(_scales_of_first) if draw.settings.on_sphere else draw.scales[0]
    centre = None if draw.noisy_means is None else draw.noisy_means[0]
    if draw.centre is not None:
        centre = draw.once(_centre_of_first)
    return NoisyAverage(
        draw.first() if draw.centre is None else draw.once(_first_on_sphere),
        noise_guarantee(draw.settings, FIRST_SITE, [scales]),
        np.array([scales.moment]),
        np.zeros(1, dtype=np.int64),
        scales.moment,
        centre=centre,
        total=draw.total_around(centre),
        mean_sigma=0.0 if draw.settings.on_sphere else scales.mean,
    )


def _settings_of_first(draw: Draw) -> ReleaseSettings:
    return with_mean_share(draw.settings, draw.n_samples[:1], draw.moments.n_features)


def _scales_of_first(draw: Draw) -> NoiseScales:
    return draw.calibrate(draw.n_samples[0], _settings_of_first(draw))


def noisy_mean_of_first(draw: Draw) -> FloatArray:
    """Return the mean of the first site with the noise of `local` on the sphere, shape (D,)."""
    rng = draw.repetition.rng(Purpose.PREPARATION, draw.sites[0], _LOCAL_STREAM)
    return noisy_mean(draw.moments.means[0], draw.once(_scales_of_first).mean, rng=rng)


def _centre_of_first(draw: Draw) -> FloatArray | None:
    mean = noisy_mean_of_first(draw) if _settings_of_first(draw).mean_share else None
    return pooled_centre(draw, mean, sigma=draw.once(_scales_of_first).mean)


def _first_on_sphere(draw: Draw) -> Spectrum:
    scales = draw.once(_scales_of_first)
    rng = draw.repetition.rng(Purpose.SITE_NOISE, draw.sites[0], _LOCAL_STREAM)
    exact = draw.moment_around(draw.once(_centre_of_first), 0)
    noisy = noisy_second_moment(
        exact, scales.moment, noise=draw.settings.noise, rng=rng, precision=draw.moments.dtype
    )
    return Spectrum(noisy)


BY_HOLDER = AddedOnce(
    HOLDER,
    with_mean_share,
    noise_of_holder,
    noise_factor=lambda _: 1.0,
    n_noises=lambda _: 1,
    traffic=lambda draw: (raw_row_bytes(draw), 1),
    purpose=Purpose.POOLED_NOISE,
)
# Analyze Gauss (Dwork and others 2014) on all rows, at a trusted aggregator.
pooled, promised_by_holder = BY_HOLDER.release, BY_HOLDER.promise
# Noisy second moment of `pooled`, and the noisy mean of all rows.
noisy_pool, noisy_mean_of_holder = BY_HOLDER.average, BY_HOLDER.mean


def exact(draw: Draw) -> Subspace:
    """Run PCA on the pooled rows without noise: the optimum, without a guarantee."""
    eigenvalues, components = draw.once(_pooled_moment).leading(draw.settings.n_components)
    return Subspace(components, eigenvalues, no_guarantee(), bytes_sent=raw_row_bytes(draw))


def _pooled_moment(draw: Draw) -> Spectrum:
    moments = draw.everybody
    if isinstance(moments, SiteRows):
        moments = moments.as_they_are
    centred = moments if draw.settings.mean_share == 0 else moments.centred()
    return Spectrum(centred.pooled())


def random(draw: Draw) -> Subspace:
    """Return a uniformly random subspace: the floor for methods that read the data."""
    shape = (draw.moments.n_features, draw.settings.n_components)
    gaussian = draw.repetition.rng(Purpose.SUBSPACE).standard_normal(shape)
    components = np.linalg.qr(gaussian)[0].T
    return Subspace(components, np.zeros(len(components)), data_independent_guarantee())


register(
    Protocol(
        "dpdis",
        "DPdisPCA",
        "Each site adds noise to its second moment and sends its top R directions.",
        dpdis,
        promised_by_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        average=average_of_proxies,
        wants_proxies=True,
        look=Look("#D55E00", "circle"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    )
)

register(
    Protocol(
        "full",
        "Full matrices",
        "Each site sends its whole noisy second moment: nothing is cut, more is sent.",
        full,
        promised_by_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        average=average_of_matrices,
        wants_average=True,
        look=Look("#009E73", "diamond"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    )
)

register(
    Protocol(
        "local",
        "One site alone",
        "The first site runs private PCA on its own people and sends nothing.",
        local,
        promised_by_first_site,
        Kind.APPROXIMATE,
        Where.FIRST_SITE,
        FIRST_MOMENT,
        average=first_site_alone,
        look=Look("#E69F00", "triangle-up"),
        neighbours=Neighbours(n_sites=2, noisy_mean=first_noisy_mean),
    )
)

register(
    Protocol(
        "pooled",
        "Pooled, trusted",
        "A trusted aggregator holds all rows and adds noise once.",
        pooled,
        promised_by_holder,
        Kind.APPROXIMATE,
        Where.AFTER_POOLING,
        POOLED_MOMENT,
        average=noisy_pool,
        look=Look("#0072B2", "square"),
        neighbours=Neighbours(n_sites=2, noisy_mean=noisy_mean_of_holder),
    )
)
