"""Protocols of sites without masks: dpdis, full, local, pooled, exact, random.

The protocols: who adds noise, what is sent, who takes the leading directions.

Each is a function from a `Draw` to a `Subspace`: the leading directions of a `NoisyAverage`. They
share the draw's noisy second moments, so differences between protocols are differences between
protocols and not luck.
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

# Noise that shows once, where everything has come together: a holder's, or what sites leave.


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
        centre = self._centre(draw)
        return NoisyAverage(
            draw.once(self._moment),
            noise_guarantee(draw.settings, self.trust, [noise]),
            np.full(self.n_noises(draw), noise.moment),
            n_bytes,
            left * noise.moment,
            n_rounds=n_rounds,
            centre=centre,
            total=draw.total_around(centre),
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


# The protocols: who adds noise, what is sent, who takes the leading directions.

# Of the first site's streams, where it is on its own.
_ALONE = 1


def noise_of_holder(
    settings: ReleaseSettings, n_samples: Sequence[int], calibrate: Calibrate = noise_scales
) -> NoiseScales:
    """What somebody adds who holds the rows of all sites of so many people."""
    return calibrate(int(sum(n_samples)), settings)


def promised_by_sites(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int, trust: Trust = EVERY_SITE
) -> Guarantee:
    """Every site of so many people releases its own noisy second moment."""
    settings = with_mean_share(settings, n_samples, n_features, n_noises=len(n_samples))
    return noise_guarantee(settings, trust, noise_of_sites(settings, n_samples))


def promised_by_first_site(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """The first site alone; nobody else's people are read."""
    sharing = n_samples[:1] if settings.on_sphere else n_samples
    settings = with_mean_share(settings, sharing, n_features, n_noises=len(sharing))
    return noise_guarantee(settings, FIRST_SITE, noise_of_sites(settings, n_samples[:1]))


def dpdis(draw: Draw) -> Subspace:
    """DPdisPCA, Algorithm 1: every site sends a D x R proxy of its noisy second moment."""
    return average_of_sites(draw, draw.proxies()).subspace(draw.settings)


def full(draw: Draw) -> Subspace:
    """Every site sends its whole noisy second moment: no truncation error, more to send."""
    return average_of_sites(draw, draw.whole_matrices()).subspace(draw.settings)


def local(draw: Draw) -> Subspace:
    """The first site on its own: private PCA of its people only, around its own private mean.

    Nothing travels, and no other site's row has a say in it.
    """
    return replace(first_site_alone(draw).subspace(draw.settings), n_rounds=0)


def average_of_matrices(draw: Draw) -> NoisyAverage:
    """What the aggregator of `full` has."""
    return average_of_sites(draw, draw.whole_matrices())


def average_of_proxies(draw: Draw) -> NoisyAverage:
    """What the aggregator of `dpdis` has."""
    return average_of_sites(draw, draw.proxies())


def average_of_sites(draw: Draw, received: Inbox) -> NoisyAverage:
    """What the aggregator of `dpdis` or `full` has.

    Where sites need the average of all noisy means for what they send, it goes round first.
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
    """(D,) what the sites centre by together, where they do."""
    if draw.centre is not None or draw.noisy_means is None:
        return draw.centre
    average: FloatArray = draw.moments.weights @ draw.noisy_means
    return average


def all_noisy_means(draw: Draw) -> FloatArray:
    """(S, D) means that the sites release, where they are bought."""
    if draw.noisy_means is None:
        raise ParameterError("mean_share", "greater than 0", draw.of_sites.mean_share)
    return draw.noisy_means


def first_noisy_mean(draw: Draw) -> FloatArray:
    """(D,) mean that the first site releases, where one is bought."""
    first: FloatArray = all_noisy_means(draw)[0]
    return first


def first_site_alone(draw: Draw) -> NoisyAverage:
    """What the first site of `local` has.

    On the sphere around its own mean it is another matrix than the one it would send, and has
    noise of its own: with the same noise on both, anybody could subtract it.
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
    """(D,) mean of the first site's rows, with the noise that `local` adds to it on the sphere."""
    rng = draw.repetition.rng(Purpose.PREPARATION, draw.sites[0], _ALONE)
    return noisy_mean(draw.moments.means[0], draw.once(_scales_of_first).mean, rng=rng)


def _centre_of_first(draw: Draw) -> FloatArray | None:
    mean = noisy_mean_of_first(draw) if _settings_of_first(draw).mean_share else None
    return pooled_centre(draw, mean, sigma=draw.once(_scales_of_first).mean)


def _first_on_sphere(draw: Draw) -> Spectrum:
    scales = draw.once(_scales_of_first)
    rng = draw.repetition.rng(Purpose.SITE_NOISE, draw.sites[0], _ALONE)
    exact = draw.moment_around(draw.once(_centre_of_first), 0)
    noisy = noisy_second_moment(
        exact, scales.moment, noise=draw.settings.noise, rng=rng, precision=draw.moments.dtype
    )
    return Spectrum(noisy)


BY_HOLDER = AddedOnce(
    HOLDER,
    with_mean_share,
    noise_of_holder,
    left=lambda _: 1.0,
    n_noises=lambda _: 1,
    traffic=lambda draw: (raw_row_bytes(draw), 1),
    purpose=Purpose.POOLED_NOISE,
)
# Analyze Gauss (Dwork and others 2014) on everybody's rows at a trusted aggregator.
pooled, promised_by_holder = BY_HOLDER.release, BY_HOLDER.promise
# What the holder of `pooled` has, and with it the mean of everybody's rows.
noisy_pool, noisy_mean_of_holder = BY_HOLDER.average, BY_HOLDER.mean


def exact(draw: Draw) -> Subspace:
    """PCA of the pooled rows without any noise: the optimum, and no promise to anybody."""
    eigenvalues, components = draw.once(_everybodys_moment).leading(draw.settings.n_components)
    return Subspace(components, eigenvalues, no_guarantee(), bytes_sent=raw_row_bytes(draw))


def _everybodys_moment(draw: Draw) -> Spectrum:
    moments = draw.everybody
    if isinstance(moments, SiteRows):
        moments = moments.as_they_are
    centred = moments if draw.settings.mean_share == 0 else moments.centred()
    return Spectrum(centred.pooled())


def random(draw: Draw) -> Subspace:
    """A uniformly random subspace: the floor any method that looks at the data should beat."""
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
