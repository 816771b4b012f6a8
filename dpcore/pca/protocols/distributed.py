"""The protocols: who adds noise, what is sent, who takes the leading directions.

Each is a function from a `Draw` to a `Subspace`: the leading directions of a `NoisyAverage`. They
share the draw's noisy second moments, so differences between protocols are differences between
protocols and not luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.pca.aggregator import Inbox
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.guarantees import (
    EVERY_SITE,
    FIRST_SITE,
    HOLDER,
    data_independent_guarantee,
    no_guarantee,
    noise_guarantee,
)
from dpcore.pca.self_assessment import NoisyMean
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import Calibrate, NoiseScales, noise_of_sites, noise_scales
from dpcore.pca.subspace import NoisyAverage, Subspace
from dpcore.privacy import Guarantee
from dpcore.spectra import Spectrum
from dpcore.streams import Purpose


def noise_of_holder(
    settings: ReleaseSettings, n_samples: Sequence[int], calibrate: Calibrate = noise_scales
) -> NoiseScales:
    """What somebody adds who holds the rows of all sites of so many people."""
    return calibrate(int(sum(n_samples)), settings)


def promised_by_sites(
    settings: ReleaseSettings, n_samples: Sequence[int], _n_features: int
) -> Guarantee:
    """Every site of so many people releases its own noisy second moment."""
    return noise_guarantee(settings, EVERY_SITE, noise_of_sites(settings, n_samples))


def promised_by_first_site(
    settings: ReleaseSettings, n_samples: Sequence[int], _n_features: int
) -> Guarantee:
    """The first site alone; nobody else's people are read."""
    return noise_guarantee(settings, FIRST_SITE, noise_of_sites(settings, n_samples[:1]))


def promised_by_holder(
    settings: ReleaseSettings, n_samples: Sequence[int], _n_features: int
) -> Guarantee:
    """Somebody who holds the rows of all sites adds noise once."""
    return noise_guarantee(settings, HOLDER, [noise_of_holder(settings, n_samples)])


def dpdis(draw: Draw) -> Subspace:
    """DPdisPCA, Algorithm 1: every site sends a D x R proxy of its noisy second moment."""
    return average_of_sites(draw, draw.proxies()).subspace(draw.settings)


def full(draw: Draw) -> Subspace:
    """Every site sends its whole noisy second moment: no truncation error, more to send."""
    return average_of_matrices(draw).subspace(draw.settings)


def local(draw: Draw) -> Subspace:
    """The first site on its own: private PCA of its people only, around its own private mean.

    Nothing travels, and no other site's row has a say in it.
    """
    return replace(first_site_alone(draw).subspace(draw.settings), n_rounds=0)


def pooled(draw: Draw) -> Subspace:
    """Analyze Gauss (Dwork and others 2014) on everybody's rows at a trusted aggregator."""
    return noisy_pool(draw).subspace(draw.settings)


def average_of_matrices(draw: Draw) -> NoisyAverage:
    """What the aggregator of `full` has."""
    return average_of_sites(draw, draw.whole_matrices())


def average_of_sites(draw: Draw, received: Inbox) -> NoisyAverage:
    """What the aggregator of `dpdis` or `full` has."""
    return NoisyAverage(
        received.average,
        noise_guarantee(draw.settings, EVERY_SITE, draw.scales),
        draw.sigma,
        np.array(received.n_bytes) + draw.mean_bytes,
        float(np.linalg.norm(draw.moments.weights * draw.sigma)),
        bool(received.proxies),
        _average_of_means(draw),
    )


def _average_of_means(draw: Draw) -> NoisyMean | None:
    if draw.noisy_means is None:
        return None
    weights, sigma = draw.moments.weights, [scales.mean for scales in draw.scales]
    return NoisyMean(weights @ draw.noisy_means, float(np.linalg.norm(weights * sigma)))


def first_site_alone(draw: Draw) -> NoisyAverage:
    """What the first site of `local` has."""
    sigma, means = draw.sigma[:1], draw.noisy_means
    return NoisyAverage(
        draw.first(),
        noise_guarantee(draw.settings, FIRST_SITE, draw.scales[:1]),
        sigma,
        np.zeros(1, dtype=np.int64),
        float(sigma[0]),
        mean=None if means is None else NoisyMean(means[0], draw.scales[0].mean),
    )


def noisy_pool(draw: Draw) -> NoisyAverage:
    """What the holder of `pooled` has."""
    scales = noise_of_holder(draw.settings, draw.n_samples, draw.calibrate)
    return NoisyAverage(
        draw.once(_noisy_pooled_moment),
        noise_guarantee(draw.settings, HOLDER, [scales]),
        np.array([scales.moment]),
        draw.raw_row_bytes(),
        scales.moment,
        mean=_mean_of_holder(draw, scales),
    )


def _mean_of_holder(draw: Draw, scales: NoiseScales) -> NoisyMean | None:
    if draw.settings.mean_share == 0:
        return None
    return NoisyMean(draw.once(noisy_mean_of_holder), scales.mean)


def _noisy_pooled_moment(draw: Draw) -> Spectrum:
    scales = noise_of_holder(draw.settings, draw.n_samples, draw.calibrate)
    noisy = draw.pooled_moment + draw.pooled_noise(scales.moment, Purpose.POOLED_NOISE)
    if draw.settings.mean_share > 0:
        mean = draw.once(noisy_mean_of_holder)
        noisy -= np.outer(mean, mean).astype(noisy.dtype)
    return Spectrum(noisy)


def noisy_mean_of_holder(draw: Draw) -> FloatArray:
    """(D,) mean of everybody's rows, with the noise that `pooled` adds to it."""
    scales = noise_of_holder(draw.settings, draw.n_samples, draw.calibrate)
    return draw.noisy_pooled_mean(scales.mean, Purpose.POOLED_NOISE)


def exact(draw: Draw) -> Subspace:
    """PCA of the pooled rows without any noise: the optimum, and no promise to anybody."""
    eigenvalues, components = draw.once(_everybodys_moment).leading(draw.settings.n_components)
    return Subspace(components, eigenvalues, no_guarantee(), bytes_sent=draw.raw_row_bytes())


def _everybodys_moment(draw: Draw) -> Spectrum:
    moments = draw.everybody.centred() if draw.settings.mean_share else draw.everybody
    return Spectrum(moments.pooled())


def random(draw: Draw) -> Subspace:
    """A uniformly random subspace: the floor any method that looks at the data should beat."""
    shape = (draw.moments.n_features, draw.settings.n_components)
    gaussian = draw.repetition.rng(Purpose.SUBSPACE).standard_normal(shape)
    components = np.linalg.qr(gaussian)[0].T
    return Subspace(components, np.zeros(len(components)), data_independent_guarantee())
