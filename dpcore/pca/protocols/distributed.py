"""DPdisPCA (dpdis) and its variant with whole matrices (full): every site adds its own noise.

The sites send proxies or whole noisy second moments, and the aggregator averages them. Both
protocols read the same noisy matrices of a `Draw`, so differences between their results are not due
to different noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.aggregator import Inbox, NoisyAverage, Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.protocol import (
    EVERY_SITE,
    Kind,
    Look,
    Neighbours,
    Protocol,
    Trust,
    Where,
    noise_guarantee,
    traffic_of_diagonals,
    traffic_of_means,
)
from dpcore.pca.protocols.register import SITES_MOMENTS, register
from dpcore.pca.settings import ReleaseSettings, with_mean_share
from dpcore.pca.site import noise_of_sites
from dpcore.privacy import Guarantee


def guarantee_of_sites(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int, trust: Trust = EVERY_SITE
) -> Guarantee:
    """Return the guarantee if every site releases its own noisy second moment."""
    settings = with_mean_share(settings, n_samples, n_features, n_noises=len(n_samples))
    return noise_guarantee(settings, trust, noise_of_sites(settings, n_samples))


def dpdis(draw: Draw) -> Subspace:
    """Run DPdisPCA, Algorithm 1: every site sends a D x R proxy of its noisy second moment."""
    return average_of_proxies(draw).subspace(draw.settings)


def full(draw: Draw) -> Subspace:
    """Run DPdisPCA with whole noisy second moments: no truncation error, longer messages."""
    return average_of_matrices(draw).subspace(draw.settings)


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
    has_proxies = bool(received.proxies)
    mean_bytes, mean_rounds = traffic_of_means(draw, come_back=has_proxies)
    diagonal_bytes, diagonal_rounds = traffic_of_diagonals(draw) if has_proxies else (0, 0)
    weights, mean_sigmas = draw.moments.weights, [scales.mean for scales in draw.scales]
    return NoisyAverage(
        received.average,
        noise_guarantee(draw.settings, EVERY_SITE, draw.scales),
        draw.sigma,
        np.array(received.n_bytes) + mean_bytes + diagonal_bytes,
        float(np.linalg.norm(weights * draw.sigma)),
        has_proxies,
        n_rounds=1 + mean_rounds + diagonal_rounds,
        centre=shared_centre(draw),
        total=draw.total_around(draw.centre),
        mean_sigma=0.0 if draw.settings.on_sphere else float(np.linalg.norm(weights * mean_sigmas)),
        centre_choice=draw.of_sites.centre_choice,
        mean_error=draw.of_sites.mean_error,
        proxy_variance=received.variance,
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


register(
    Protocol(
        "dpdis",
        "DPdisPCA",
        "Each site adds noise to its second moment and sends its top R directions.",
        dpdis,
        guarantee_of_sites,
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
        guarantee_of_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        average=average_of_matrices,
        wants_average=True,
        look=Look("#009E73", "diamond"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    )
)
