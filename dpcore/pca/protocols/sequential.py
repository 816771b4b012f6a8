"""Chain of sites of djICA (Imtiaz, Silva, Baker, Plis, Sarwate & Calhoun 2016, CISS).

Reference 13 of the DPdisPCA paper, which calls it "less fault-tolerant": data go "from one site to
another in a sequential manner". There is no aggregator. Sites are in a random order; each combines
its own noisy proxy with the one it received, and sends the top R of both to the next site.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcore.errors import ParameterError
from dpcore.pca.aggregator import Inbox, Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.messages import transmit
from dpcore.pca.protocols.distributed import first_noisy_mean, guarantee_of_sites, shared_centre
from dpcore.pca.protocols.protocol import (
    AT_SITES,
    Kind,
    Look,
    Neighbours,
    Protocol,
    Trust,
    Where,
    traffic_of_diagonals,
    traffic_of_means,
)
from dpcore.pca.protocols.register import SITES_MOMENTS, register
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import SiteMessage
from dpcore.privacy import Adversary, Guarantee
from dpcore.streams import Purpose

# Messages are computed from proxies, each protected by its own site's noise. All that a coalition
# of other sites can see is post-processing of the noisy proxy of the person's own site.
CHAIN = Trust(
    "every site, to its own second moment, before anything is sent",
    AT_SITES,
    {
        Adversary.SITE: "the proxy that it receives, the result, and its own rows and noise, "
        "even in collusion with other sites",
        Adversary.OUTSIDER: "the result",
    },
)


def guarantee_of_chain(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Return the guarantee of DPdisPCA, whose noise is read, without an aggregator as adversary.

    Raises `ParameterError` if K is above R: the last site holds only R directions.
    """
    if settings.n_components > settings.intermediate_dim:
        raise ParameterError(
            "n_components",
            f"at most intermediate_dim={settings.intermediate_dim} in a chain, whose last site "
            "holds no more directions",
            settings.n_components,
        )
    return guarantee_of_sites(settings, n_samples, n_features, CHAIN)


def sequential(draw: Draw) -> Subspace:
    """Return the top K of the last site's proxy of dimension R.

    The sites form a chain in random order.

    Site s receives P and replaces it by the top R of the average of P P^T and its own P_s P_s^T,
    weighted by the numbers of samples. S messages of D x R numbers are sent one after the other, in
    S rounds instead of one in DPdisPCA. Directions that matter to a later site may have been cut
    before.

    A site that drops out loses the message that it received. The next site starts again without a
    message; if there is none, the result is the message of the last site that answered.
    """
    settings = draw.settings
    received = draw.proxies()
    guarantee = guarantee_of_chain(settings, draw.n_samples, draw.moments.n_features)
    order = draw.repetition.rng(Purpose.ORDER).permutation(draw.all_sites.n_sites)
    lengths = np.zeros(len(draw.sites), dtype=np.int64)
    # The sum of all means is passed from site to site once; their average is then sent with the
    # proxies.
    for_means, before = traffic_of_means(draw, come_back=True)
    for_diagonals, rounds = traffic_of_diagonals(draw)
    previous: SiteMessage | None = None
    last = _own_message(draw, received, 0)
    for number in order:
        if number not in draw.sites:
            previous = None
            continue
        site = draw.sites.index(number)
        joined = _own_message(draw, received, site)
        if previous is not None:
            joined = join_proxies(previous, joined, settings.intermediate_dim)
        previous, length = transmit(joined, settings.encoding)
        last, lengths[site] = previous, length + for_means + for_diagonals
    _, sizes, directions = np.linalg.svd(last.values.T, full_matrices=False)
    return Subspace(
        components=directions[: settings.n_components],
        eigenvalues=np.square(sizes[: settings.n_components]),
        guarantee=guarantee,
        sigma=draw.sigma,
        bytes_sent=lengths,
        centre=shared_centre(draw),
        centre_choice=draw.of_sites.centre_choice,
        n_rounds=draw.all_sites.n_sites * (2 if before else 1) + rounds,
    )


def _own_message(draw: Draw, received: Inbox, site: int) -> SiteMessage:
    return SiteMessage(received.proxies[site].T, draw.n_samples[site], float(draw.sigma[site]))


def join_proxies(previous: SiteMessage, proxy: SiteMessage, intermediate_dim: int) -> SiteMessage:
    """Return the next proxy: the top R of (n P P^T + n_s P_s P_s^T) / (n + n_s).

    These are the left singular vectors of [sqrt(n) P, sqrt(n_s) P_s], each times its singular
    value, so no D x D matrix is needed.
    """
    n_samples = previous.n_samples + proxy.n_samples
    stacked = np.concatenate(
        [
            message.values.T * message.values.dtype.type((message.n_samples / n_samples) ** 0.5)
            for message in (previous, proxy)
        ]
    )
    _, sizes, directions = np.linalg.svd(stacked, full_matrices=False)
    scaled = sizes[:intermediate_dim, None] * directions[:intermediate_dim]
    return SiteMessage(scaled.T, n_samples, proxy.sigma)


register(
    Protocol(
        "sequential",
        "Chain of sites",
        "Sites in random order pass on the top R directions of their noisy moments so far.",
        sequential,
        guarantee_of_chain,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        silent_because="each site cuts what it receives, and no party has the noisy matrix",
        wants_proxies=True,
        is_chain=True,
        look=Look("#882255", "bowtie", "dashdot"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    )
)
