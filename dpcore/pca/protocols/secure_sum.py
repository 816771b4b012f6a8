"""Secure sum: the aggregator learns what the sites' messages add up to, and nothing else of them.

Site s sends n_s A_s + g_s as whole numbers modulo 2^64, under masks that each pair of sites agrees
on and that cancel in the sum (Bonawitz and others 2017), so that the noise of all who answer hides
everybody. Who never answers takes a part of the noise along: `ReleaseSettings.dropped_sites` is
how many the study allows for, and those who answer add as much as it takes without them. Masks are
agreed on among those who answer, and cancel whoever does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcore.arrays import IntArray
from dpcore.pca.draw import Draw
from dpcore.pca.mean_share import with_mean_share
from dpcore.pca.protocols.cape import honest_sites
from dpcore.pca.protocols.distributed import of_holder
from dpcore.pca.protocols.guarantees import AT_SITES, Trust, noise_guarantee
from dpcore.pca.protocols.pooling import AddedOnce
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import Calibrate, NoiseScales, noise_scales
from dpcore.pca.subspace import Subspace
from dpcore.privacy import Adversary, Assumption, Guarantee, cape_mu, cape_scales
from dpcore.streams import Purpose

# Bytes of a whole number modulo 2^64, and of a public key that a pair of masks is agreed on with.
_NUMBER, _KEY = 8, 32

SUMMED = Trust(
    "every site, a part of it each, and all that answer together",
    (*AT_SITES, Assumption.ENOUGH_HONEST_SITES, Assumption.AGREED_MASKS),
    {
        Adversary.AGGREGATOR: "the sum of all messages, and the masks and noise of all sites but "
        "those counted on",
        Adversary.SITE: "the result, its own rows, masks and noise, and those of all sites but "
        "the ones counted on",
        Adversary.OUTSIDER: "the result",
    },
)


def noise_of_summands(
    settings: ReleaseSettings, n_samples: Sequence[int], calibrate: Calibrate = noise_scales
) -> NoiseScales:
    """What each of the sites that answer adds, in units of an entry of everybody's second moment.

    Of the sites counted on, as many as the study allows to drop out may be the ones that do. At
    least the person's own is left; a site that reads the result knows its own noise besides.
    """
    n_answering = len(n_samples)
    counted_on = honest_sites(settings, n_answering + settings.dropped_sites)
    left = max(1, counted_on - settings.dropped_sites)
    alone = calibrate(int(sum(n_samples)), settings)
    shares = cape_scales(1.0, n_answering, n_honest=left, masks="wide")
    share = shares.noise_sigma
    mu = cape_mu(
        alone.l2_sensitivity, replace(shares, noise_sigma=share * alone.moment), n_answering, left
    )
    return NoiseScales(share * alone.moment, share * alone.mean, alone.l2_sensitivity, mu)


def promised_by_summands(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """What holds when as many sites drop out as the study allows, against whom."""
    settings = with_mean_share(settings, n_samples, n_features)
    return noise_guarantee(settings, SUMMED, [noise_of_summands(settings, n_samples)])


def _traffic(draw: Draw) -> tuple[IntArray, int]:
    """A public key, the mean where there is one, the matrix; on the sphere the mean comes back."""
    n_features, rounds = draw.moments.n_features, 2
    numbers = n_features * (n_features + 1) // 2
    if of_holder(draw).mean_share:
        numbers += n_features * (2 if draw.settings.on_sphere else 1)
        rounds += 2 if draw.settings.on_sphere else 0
    return np.full(draw.moments.n_sites, numbers * _NUMBER + _KEY), rounds


BY_SUMMANDS = AddedOnce(
    SUMMED,
    of_holder,
    noise_of_summands,
    left=math.sqrt,
    n_noises=lambda draw: draw.moments.n_sites,
    traffic=_traffic,
    purpose=Purpose.SUMMANDS,
)


def secure_sum(draw: Draw) -> Subspace:
    """Top-K subspace of what the sites' noisy second moments add up to."""
    return BY_SUMMANDS.average(draw).subspace(draw.settings)
