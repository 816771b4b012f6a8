"""Analyze Gauss on the rows of all sites, at a trusted holder of all of them (pooled).

Dwork, Talwar, Thakurta and Zhang (2014), "Analyze Gauss", Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpcore.pca.protocols.pooled_release import PooledRelease
from dpcore.pca.protocols.protocol import (
    HOLDER,
    Kind,
    Look,
    Neighbours,
    Protocol,
    Where,
    raw_row_bytes,
)
from dpcore.pca.protocols.register import POOLED_MOMENT, register
from dpcore.pca.settings import ReleaseSettings, with_mean_share
from dpcore.pca.site import Calibrate, NoiseScales, noise_scales
from dpcore.streams import Purpose


def noise_of_holder(
    settings: ReleaseSettings, n_samples: Sequence[int], calibrate: Calibrate = noise_scales
) -> NoiseScales:
    """Return the noise scales of a holder of the rows of all sites."""
    return calibrate(int(sum(n_samples)), settings)


_RELEASE = PooledRelease(
    HOLDER,
    with_mean_share,
    noise_of_holder,
    noise_factor=lambda _: 1.0,
    n_noises=lambda _: 1,
    traffic=lambda draw: (raw_row_bytes(draw), 1),
    purpose=Purpose.POOLED_NOISE,
    holds_rows=True,
)
pooled, guarantee_of_holder = _RELEASE.release, _RELEASE.guarantee
# Noisy second moment and noisy mean of all rows.
noisy_pool, noisy_mean_of_holder = _RELEASE.average, _RELEASE.mean
noisy_votes_of_holder = _RELEASE.votes


register(
    Protocol(
        "pooled",
        "Pooled, trusted",
        "A trusted aggregator holds all rows and adds noise once.",
        pooled,
        guarantee_of_holder,
        Kind.APPROXIMATE,
        Where.AFTER_POOLING,
        POOLED_MOMENT,
        average=noisy_pool,
        look=Look("#0072B2", "square"),
        neighbours=Neighbours(n_sites=2, noisy_mean=noisy_mean_of_holder),
    )
)
