"""The protocols: who adds noise, what is sent, who takes the leading directions.

Each is a function from a `Draw` to a `Subspace`. They share the draw's noisy second moments, so
differences between protocols are differences between protocols and not luck.
"""

from __future__ import annotations

import numpy as np

from dpcore.pca.aggregator import aggregate
from dpcore.pca.guarantees import (
    AT_AGGREGATOR,
    AT_ONE_SITE,
    AT_SITES,
    data_independent_guarantee,
    gaussian_release_guarantee,
    no_guarantee,
)
from dpcore.pca.messages import message_length
from dpcore.pca.rounds import Draw
from dpcore.pca.site import noise_scales
from dpcore.pca.subspace import Subspace
from dpcore.spectra import leading_eigenpairs
from dpcore.streams import Purpose


def dpdis(draw: Draw) -> Subspace:
    """DPdisPCA, Algorithm 1: every site sends a D x R proxy of its noisy second moment."""
    settings, sites = draw.settings, draw.sites
    eigenvalues, components = aggregate(sites.proxies, settings.n_components)
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=gaussian_release_guarantee(
            settings,
            draw.moments.n_samples,
            noise_added_by="every site, to its own second moment, before anything is sent",
            assumptions=AT_SITES,
        ),
        sigma=sites.sigma,
        bytes_sent=draw.mean_bytes()
        + np.array(
            [
                message_length(*m.values.shape, m.values.itemsize, whole=False)
                for m in sites.proxies
            ]
        ),
    )


def full(draw: Draw) -> Subspace:
    """Every site sends its whole noisy second moment: no truncation error, more to send."""
    settings, sites = draw.settings, draw.sites
    eigenvalues, components = leading_eigenpairs(
        sites.average, settings.n_components, by=settings.ranking
    )
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=gaussian_release_guarantee(
            settings,
            draw.moments.n_samples,
            noise_added_by="every site, to its own second moment, before anything is sent",
            assumptions=AT_SITES,
        ),
        sigma=sites.sigma,
        bytes_sent=draw.whole_matrix_bytes(),
    )


def local(draw: Draw) -> Subspace:
    """The first site on its own: private PCA of its people only; nothing travels."""
    settings, sites = draw.settings, draw.sites
    eigenvalues, components = (part[: settings.n_components] for part in draw.first_leading())
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=gaussian_release_guarantee(
            settings,
            draw.moments.n_samples[:1],
            noise_added_by="the first site, which uses nobody else's data",
            assumptions=AT_ONE_SITE,
        ),
        sigma=sites.sigma[:1],
        bytes_sent=np.zeros(1, dtype=np.int64),
    )


def pooled(draw: Draw) -> Subspace:
    """Analyze Gauss (Dwork and others 2014) on everybody's rows at a trusted aggregator."""
    settings, moments = draw.settings, draw.moments
    scales = noise_scales(draw.n_people, settings)
    noisy = draw.pooled_moment + draw.pooled_noise(scales.moment, Purpose.POOLED_NOISE)
    if settings.mean_share > 0:
        rng = draw.repetition.rng(Purpose.POOLED_NOISE, 1)
        mean = moments.weights @ moments.means
        mean = mean + scales.mean * rng.standard_normal(len(mean))
        noisy -= np.outer(mean, mean).astype(noisy.dtype)
    eigenvalues, components = leading_eigenpairs(
        noisy, settings.n_components, by=settings.ranking
    )
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=gaussian_release_guarantee(
            settings,
            [draw.n_people],
            noise_added_by="the aggregator, once, after pooling everybody's raw rows",
            assumptions=AT_AGGREGATOR,
        ),
        sigma=np.array([scales.moment]),
        bytes_sent=draw.raw_row_bytes(),
    )


def exact(draw: Draw) -> Subspace:
    """PCA of the pooled rows without any noise: the optimum, and no promise to anybody."""
    moments = draw.moments
    second_moment = (moments.centred() if draw.settings.mean_share else moments).pooled()
    eigenvalues, components = leading_eigenpairs(second_moment, draw.settings.n_components)
    return Subspace(
        components, eigenvalues, no_guarantee(), bytes_sent=draw.raw_row_bytes()
    )


def random(draw: Draw) -> Subspace:
    """A uniformly random subspace: the floor any method that looks at the data should beat."""
    shape = (draw.moments.n_features, draw.settings.n_components)
    gaussian = draw.repetition.rng(Purpose.SUBSPACE).standard_normal(shape)
    components = np.linalg.qr(gaussian)[0].T
    return Subspace(components, np.zeros(len(components)), data_independent_guarantee())
