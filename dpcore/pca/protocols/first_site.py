"""Private PCA at the first site only (local): no message is sent, and no other site is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.pca.aggregator import NoisyAverage, Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.distributed import first_noisy_mean
from dpcore.pca.protocols.pooled_release import centre_of_rows
from dpcore.pca.protocols.protocol import (
    FIRST_SITE,
    Kind,
    Look,
    Neighbours,
    Protocol,
    Where,
    noise_guarantee,
)
from dpcore.pca.protocols.register import FIRST_MOMENT, register
from dpcore.pca.settings import ReleaseSettings, settle_by_votes, with_mean_share
from dpcore.pca.site import (
    NoiseScales,
    noise_of_sites,
    noisy_mean,
    noisy_second_moment,
    noisy_votes,
)
from dpcore.privacy import Guarantee
from dpcore.spectra import SiteRows, Spectrum
from dpcore.streams import Purpose

# Stream number of the noise that `local` draws on the sphere.
_LOCAL_STREAM = 1


def guarantee_of_first_site(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Return the guarantee of `local`: only the rows of the first site are read."""
    sharing = n_samples[:1] if settings.on_sphere else n_samples
    settings = with_mean_share(settings, sharing, n_features, n_noises=len(sharing))
    return noise_guarantee(settings, FIRST_SITE, noise_of_sites(settings, n_samples[:1]))


def local(draw: Draw) -> Subspace:
    """Run private PCA at the first site only, around its own private mean.

    No message is sent, and the rows of other sites have no influence.
    """
    return replace(average_of_first_site(draw).subspace(draw.settings), n_rounds=0)


def average_of_first_site(draw: Draw) -> NoisyAverage:
    """Return the noisy second moment of the first site in `local`.

    On the sphere, `local` centres by the site's own mean, so its matrix differs from the one in the
    site's message and needs noise of its own. With the same noise, the difference of the two would
    reveal exact values.
    """
    scales = draw.compute_once(_scales_of_first) if draw.settings.on_sphere else draw.scales[0]
    centre = None if draw.noisy_means is None else draw.noisy_means[0]
    if draw.centre is not None:
        centre = draw.compute_once(_centre_of_first)
    settled = draw.compute_once(_settings_of_first) if draw.settings.on_sphere else draw.of_sites
    return NoisyAverage(
        draw.first_spectrum()
        if draw.centre is None
        else draw.compute_once(_moment_of_first_on_sphere),
        noise_guarantee(draw.settings, FIRST_SITE, [scales]),
        np.array([scales.moment]),
        np.zeros(1, dtype=np.int64),
        scales.moment,
        centre=centre,
        total=draw.total_around(centre),
        mean_sigma=0.0 if draw.settings.on_sphere else scales.mean,
        centre_choice=settled.centre_choice,
        mean_error=settled.mean_error,
    )


def _settings_of_first(draw: Draw) -> ReleaseSettings:
    rows = draw.moments
    before = with_mean_share(draw.settings, draw.n_samples[:1], rows.n_features)
    if before.test_share == 0 or not isinstance(rows, SiteRows):
        return before
    sigma = draw.calibrate(draw.n_samples[0], before).votes
    rng = draw.repetition.rng(Purpose.VOTES, draw.sites[0], _LOCAL_STREAM)
    votes = noisy_votes(rows.votes(before.vote_rule.votes, 0), sigma, rng=rng)
    return settle_by_votes(before, votes)


def _scales_of_first(draw: Draw) -> NoiseScales:
    return draw.calibrate(draw.n_samples[0], draw.compute_once(_settings_of_first))


def noisy_mean_of_first(draw: Draw) -> FloatArray:
    """Return the mean of the first site with the noise of `local` on the sphere, shape (D,)."""
    rng = draw.repetition.rng(Purpose.PREPARATION, draw.sites[0], _LOCAL_STREAM)
    return noisy_mean(draw.moments.means[0], draw.compute_once(_scales_of_first).mean, rng=rng)


def _centre_of_first(draw: Draw) -> FloatArray | None:
    has_mean = draw.compute_once(_settings_of_first).mean_share
    mean = noisy_mean_of_first(draw) if has_mean else None
    return centre_of_rows(draw, mean, sigma=draw.compute_once(_scales_of_first).mean)


def _moment_of_first_on_sphere(draw: Draw) -> Spectrum:
    scales = draw.compute_once(_scales_of_first)
    rng = draw.repetition.rng(Purpose.SITE_NOISE, draw.sites[0], _LOCAL_STREAM)
    settings = draw.compute_once(_settings_of_first)
    exact = draw.exact_moment(settings, draw.compute_once(_centre_of_first), 0)
    noisy = noisy_second_moment(
        exact, scales.moment, noise=draw.settings.noise, rng=rng, precision=draw.moments.dtype
    )
    return Spectrum(noisy)


register(
    Protocol(
        "local",
        "One site alone",
        "The first site runs private PCA on its own people and sends nothing.",
        local,
        guarantee_of_first_site,
        Kind.APPROXIMATE,
        Where.FIRST_SITE,
        FIRST_MOMENT,
        average=average_of_first_site,
        look=Look("#E69F00", "triangle-up"),
        neighbours=Neighbours(n_sites=2, noisy_mean=first_noisy_mean),
    )
)
