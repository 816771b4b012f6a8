"""Secure sum: the aggregator learns only the sum of the sites' messages.

Site s sends n_s A_s + g_s as whole numbers modulo 2^64, under masks that each pair of sites agrees
on (Bonawitz and others 2017), so that the noise of all answering sites protects every row. The
noise of a site that drops out is missing: `ReleaseSettings.dropped_sites` is the number of allowed
dropouts, and the other sites add enough noise without them. Masks are agreed on among the sites
that answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcore.arrays import IntArray
from dpcore.pca.centre_rule import N_COUNTS
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.cape import honest_sites
from dpcore.pca.protocols.pooled_release import PooledRelease
from dpcore.pca.protocols.protocol import (
    AT_SITES,
    Kind,
    Look,
    Neighbours,
    NoiseIdentity,
    Protocol,
    Trust,
    Where,
)
from dpcore.pca.protocols.register import GAUSSIAN, register
from dpcore.pca.settings import ReleaseSettings, with_mean_share
from dpcore.pca.site import Calibrate, NoiseScales, noise_scales
from dpcore.privacy import (
    Adversary,
    Assumption,
    cape_mu,
    cape_scales,
)
from dpcore.streams import Purpose

# Bytes of a whole number modulo 2^64, and of a public key, from which two sites derive their common
# mask.
_NUMBER, _KEY = 8, 32

TRUST_IN_SUM = Trust(
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
    """Return the noise of each site that answers, in units of an entry of the pooled second moment.

    All dropouts that the study allows may be among the honest sites, of which at least the person's
    own remains. A site that reads the result also knows its own noise.
    """
    n_answering = len(n_samples)
    counted_on = honest_sites(settings, n_answering + settings.dropped_sites)
    n_counted = max(1, counted_on - settings.dropped_sites)
    single = calibrate(int(sum(n_samples)), settings)
    shares = cape_scales(1.0, n_answering, n_honest=n_counted, masks="wide")
    share = shares.noise_sigma
    mu = cape_mu(
        single.l2_sensitivity,
        replace(shares, noise_sigma=share * single.moment),
        n_answering,
        n_counted,
    )
    return NoiseScales(
        share * single.moment,
        share * single.mean,
        single.l2_sensitivity,
        mu,
        share * single.votes,
    )


def _traffic(draw: Draw) -> tuple[IntArray, int]:
    """Return the bytes of a public key, the mean if any, and the matrix.

    On the sphere, the average mean is sent back.
    """
    n_features, rounds = draw.moments.n_features, 2
    numbers = n_features * (n_features + 1) // 2
    settings = BY_SUMMANDS.settings_of(draw)
    if settings.test_share:
        numbers, rounds = numbers + 2 * N_COUNTS, rounds + 2
    if settings.mean_share:
        numbers += n_features * (2 if draw.settings.on_sphere else 1)
        rounds += 2 if draw.settings.on_sphere else 0
    return np.full(draw.moments.n_sites, numbers * _NUMBER + _KEY), rounds


BY_SUMMANDS = PooledRelease(
    TRUST_IN_SUM,
    with_mean_share,
    noise_of_summands,
    noise_factor=math.sqrt,
    n_noises=lambda draw: draw.moments.n_sites,
    traffic=_traffic,
    purpose=Purpose.SUMMANDS,
)
# Top-K subspace of the sum of the sites' noisy second moments, and its guarantee if as many sites
# drop out as the study allows.
secure_sum, guarantee_of_summands = BY_SUMMANDS.release, BY_SUMMANDS.guarantee


register(
    Protocol(
        "securesum",
        "Secure sum",
        "Sites send whole numbers under pairwise masks: the aggregator sees only their sum.",
        secure_sum,
        guarantee_of_summands,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        NoiseIdentity(
            "secure sum",
            "the sum of the moments of {sites}",
            (*GAUSSIAN, "honest_sites", "dropped_sites"),
        ),
        average=BY_SUMMANDS.average,
        look=Look("#661100", "hexagon", "dashdot"),
        neighbours=Neighbours(n_sites=4, noisy_mean=BY_SUMMANDS.mean, has_own_cases=True),
    )
)
