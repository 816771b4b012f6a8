"""Protocols of a trusted aggregator from the 2012 paper: SuLQ, MOD-SuLQ and PPCA.

They release one thing, a noisy second moment or a subspace, as published: nothing is centred by
a private mean, whatever `ReleaseSettings.mean_share` asks of the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcore.pca.central import (
    NoisyMoment,
    modsulq_moment,
    modsulq_sigma,
    noisy_moment_guarantee,
    sulq_moment,
    sulq_sigma,
    symmetric_part,
)
from dpcore.pca.draw import Draw
from dpcore.pca.exponential import ppca as draw_ppca
from dpcore.pca.exponential import ppca_guarantee
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.subspace import Subspace
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.spectra import leading_eigenpairs
from dpcore.streams import Purpose

# Streams of POOLED_NOISE and SUBSPACE: lower numbers belong to `dpcore.pca.protocols.distributed`.
_SULQ, _MODSULQ, _PPCA = 2, 3, 1


def promised_by_sulq(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """What SuLQ's noise for so many people and features promises."""
    people, bound = int(sum(n_samples)), settings.row_norm_bound
    sigma = sulq_sigma(n_features, people, settings.budget, row_norm_bound=bound)
    return noisy_moment_guarantee(settings.budget, sigma, people, bound)


def promised_by_modsulq(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """What MOD-SuLQ's noise for so many people and features promises."""
    people, bound = int(sum(n_samples)), settings.row_norm_bound
    sigma = modsulq_sigma(n_features, people, settings.budget, row_norm_bound=bound)
    return noisy_moment_guarantee(settings.budget, sigma, people, bound)


def promised_by_ppca(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Pure epsilon, if chains pass: one component, or all but one, is drawn without them."""
    is_chain = settings.n_components not in (1, n_features - 1, n_features)
    return ppca_guarantee(PrivacyBudget(settings.budget.epsilon), is_chain=is_chain)


def sulq(draw: Draw) -> Subspace:
    """SuLQ: leading directions of the symmetric part of a second moment with noise everywhere."""
    settings = draw.settings
    release = sulq_moment(
        draw.pooled_moment,
        draw.n_people,
        settings.budget,
        row_norm_bound=settings.row_norm_bound,
        rng=draw.repetition.rng(Purpose.POOLED_NOISE, _SULQ),
    )
    return _leading_directions(draw, release)


def modsulq(draw: Draw) -> Subspace:
    """MOD-SuLQ: leading directions of a second moment with symmetric noise of scale beta."""
    settings = draw.settings
    release = modsulq_moment(
        draw.pooled_moment,
        draw.n_people,
        settings.budget,
        row_norm_bound=settings.row_norm_bound,
        rng=draw.repetition.rng(Purpose.POOLED_NOISE, _MODSULQ),
    )
    return _leading_directions(draw, release)


def ppca(draw: Draw) -> Subspace:
    """PPCA: a random subspace, likelier the more energy it captures. Pure epsilon.

    Eigenvalues are NaN: none are released, and the subspace's own energies would not be private.
    """
    settings = draw.settings
    release = draw_ppca(
        draw.pooled_moment,
        draw.n_people,
        settings.budget.epsilon,
        settings.n_components,
        row_norm_bound=settings.row_norm_bound,
        rng=draw.repetition.rng(Purpose.SUBSPACE, _PPCA),
    )
    chains = release.draw
    return Subspace(
        components=release.components,
        eigenvalues=np.full(settings.n_components, np.nan),
        guarantee=release.guarantee,
        bytes_sent=draw.raw_row_bytes(),
        diagnostics={
            "method": chains.method,
            "converged": chains.converged,
            "r_hat": chains.r_hat,
            "ess_bulk": chains.ess_bulk,
            "ess_tail": chains.ess_tail,
            "sweeps": chains.n_sweeps,
            "seconds": chains.seconds,
        },
    )


def _leading_directions(draw: Draw, release: NoisyMoment) -> Subspace:
    eigenvalues, components = leading_eigenpairs(
        symmetric_part(release.matrix), draw.settings.n_components, by=draw.settings.ranking
    )
    return Subspace(
        components=components,
        eigenvalues=eigenvalues,
        guarantee=release.guarantee,
        sigma=np.array([release.sigma]),
        bytes_sent=draw.raw_row_bytes(),
    )
