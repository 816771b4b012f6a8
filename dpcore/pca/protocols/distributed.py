"""The protocols: who adds noise, what is sent, who takes the leading directions.

Each is a function from a `Draw` to a `Subspace`. They share the draw's noisy second moments, so
differences between protocols are differences between protocols and not luck.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcore.pca.draw import Draw
from dpcore.pca.protocols.guarantees import (
    EVERY_SITE,
    FIRST_SITE,
    HOLDER,
    data_independent_guarantee,
    no_guarantee,
    noise_guarantee,
)
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import NoiseScales, noise_of_sites, noise_scales
from dpcore.pca.subspace import Subspace
from dpcore.privacy import Guarantee
from dpcore.streams import Purpose


def noise_of_holder(settings: ReleaseSettings, n_samples: Sequence[int]) -> NoiseScales:
    """What somebody adds who holds the rows of all sites of so many people."""
    return noise_scales(int(sum(n_samples)), settings)


def promised_by_sites(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Every site of so many people releases its own noisy second moment."""
    return noise_guarantee(settings, EVERY_SITE, noise_of_sites(settings, n_samples))


def promised_by_first_site(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """The first site alone; nobody else's people are read."""
    return noise_guarantee(settings, FIRST_SITE, noise_of_sites(settings, n_samples[:1]))


def promised_by_holder(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Somebody who holds the rows of all sites adds noise once."""
    return noise_guarantee(settings, HOLDER, [noise_of_holder(settings, n_samples)])


def dpdis(draw: Draw) -> Subspace:
    """DPdisPCA, Algorithm 1: every site sends a D x R proxy of its noisy second moment."""
    received = draw.proxies()
    eigenvalues, components = received.average.leading(draw.settings.n_components)
    # An average of proxies has no eigenvalue below zero but by rounding.
    return _from_sites(draw, np.maximum(eigenvalues, 0), components, received.message_bytes)


def full(draw: Draw) -> Subspace:
    """Every site sends its whole noisy second moment: no truncation error, more to send."""
    received = draw.whole_matrices()
    eigenvalues, components = received.average.leading(
        draw.settings.n_components, by=draw.settings.ranking
    )
    return _from_sites(draw, eigenvalues, components, received.message_bytes)


def _from_sites(
    draw: Draw, eigenvalues: np.ndarray, components: np.ndarray, message_bytes: np.ndarray
) -> Subspace:
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=noise_guarantee(draw.settings, EVERY_SITE, draw.scales),
        sigma=draw.sigma,
        bytes_sent=message_bytes,
    )


def local(draw: Draw) -> Subspace:
    """The first site on its own: private PCA of its people only, around its own private mean.

    Nothing travels, and no other site's row has a say in it.
    """
    settings = draw.settings
    eigenvalues, components = draw.first.leading(settings.n_components, by=settings.ranking)
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=noise_guarantee(settings, FIRST_SITE, draw.scales[:1]),
        sigma=draw.sigma[:1],
        bytes_sent=np.zeros(1, dtype=np.int64),
        n_rounds=0,
    )


def pooled(draw: Draw) -> Subspace:
    """Analyze Gauss (Dwork and others 2014) on everybody's rows at a trusted aggregator."""
    settings = draw.settings
    scales = noise_of_holder(settings, draw.moments.n_samples)

    def noisy() -> np.ndarray:
        noisy = draw.pooled_moment + draw.pooled_noise(scales.moment, Purpose.POOLED_NOISE)
        if settings.mean_share > 0:
            mean = noisy_mean_of_holder(draw)
            noisy -= np.outer(mean, mean).astype(noisy.dtype)
        return noisy

    spectrum = draw.decomposed("pooled", noisy)
    eigenvalues, components = spectrum.leading(settings.n_components, by=settings.ranking)
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=noise_guarantee(settings, HOLDER, [scales]),
        sigma=np.array([scales.moment]),
        bytes_sent=draw.raw_row_bytes(),
    )


def noisy_mean_of_holder(draw: Draw) -> np.ndarray:
    """(D,) mean of everybody's rows, with the noise that `pooled` adds to it."""
    scales = noise_of_holder(draw.settings, draw.moments.n_samples)
    return draw.noisy_pooled_mean(scales.mean, Purpose.POOLED_NOISE)


def exact(draw: Draw) -> Subspace:
    """PCA of the pooled rows without any noise: the optimum, and no promise to anybody."""
    moments = draw.everybody
    spectrum = draw.decomposed(
        "exact", (moments.centred() if draw.settings.mean_share else moments).pooled
    )
    eigenvalues, components = spectrum.leading(draw.settings.n_components)
    return Subspace(components, eigenvalues, no_guarantee(), bytes_sent=draw.raw_row_bytes())


def random(draw: Draw) -> Subspace:
    """A uniformly random subspace: the floor any method that looks at the data should beat."""
    shape = (draw.moments.n_features, draw.settings.n_components)
    gaussian = draw.repetition.rng(Purpose.SUBSPACE).standard_normal(shape)
    components = np.linalg.qr(gaussian)[0].T
    return Subspace(components, np.zeros(len(components)), data_independent_guarantee())
