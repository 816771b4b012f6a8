"""Reference subspaces that are no release: exact PCA and a random subspace."""

from __future__ import annotations

import numpy as np

from dpcore.pca.aggregator import Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.protocol import (
    Kind,
    Look,
    Protocol,
    Where,
    data_independent_guarantee,
    no_guarantee,
    raw_row_bytes,
)
from dpcore.pca.protocols.register import register
from dpcore.spectra import SiteRows, Spectrum
from dpcore.streams import Purpose


def exact(draw: Draw) -> Subspace:
    """Run PCA on the pooled rows without noise: the optimum, without a guarantee."""
    eigenvalues, components = draw.compute_once(_pooled_moment).leading(draw.settings.n_components)
    return Subspace(components, eigenvalues, no_guarantee(), bytes_sent=raw_row_bytes(draw))


def _pooled_moment(draw: Draw) -> Spectrum:
    moments = draw.all_sites
    if isinstance(moments, SiteRows):
        moments = moments.unscaled_moments
    centred = moments if draw.settings.mean_share == 0 else moments.centred()
    return Spectrum(centred.pooled())


def random(draw: Draw) -> Subspace:
    """Return a uniformly random subspace, which does not depend on the data."""
    shape = (draw.moments.n_features, draw.settings.n_components)
    gaussian = draw.repetition.rng(Purpose.SUBSPACE).standard_normal(shape)
    components = np.linalg.qr(gaussian)[0].T
    return Subspace(components, np.zeros(len(components)), data_independent_guarantee())


register(
    Protocol(
        "exact",
        "Exact PCA",
        "No noise and no guarantee: the optimum that other results are compared with.",
        exact,
        no_guarantee,
        Kind.NONE,
        Where.HOLDER,
        look=Look("#1a1a1a", "line-ew-open", "dash"),
    )
)

register(
    Protocol(
        "random",
        "Random subspace",
        "Never looks at the data: the floor.",
        random,
        data_independent_guarantee,
        Kind.PURE,
        Where.HOLDER,
        look=Look("#8a8a8a", "x-thin-open", "dot"),
    )
)
