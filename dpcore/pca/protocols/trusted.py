"""Protocols of a trusted aggregator from the 2012 paper: SuLQ, MOD-SuLQ and PPCA.

They release one thing, a noisy second moment or a subspace, as published: nothing is centred by
a private mean, whatever `ReleaseSettings.mean_share` asks of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpcore.pca.aggregator import NoisyAverage, Subspace
from dpcore.pca.central import (
    NoisyMoment,
    modsulq_moment,
    modsulq_sigma,
    noisy_moment_guarantee,
    ppca_guarantee,
    sulq_moment,
    sulq_sigma,
    symmetric_part,
)
from dpcore.pca.central import ppca as draw_ppca
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.entry import raw_row_bytes
from dpcore.pca.protocols.guarantees import Promise
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.spectra import Spectrum
from dpcore.streams import Purpose

# Streams of POOLED_NOISE and SUBSPACE: lower numbers belong to `dpcore.pca.protocols.distributed`.
_SULQ, _MODSULQ, _PPCA = 2, 3, 1


def _promised_with(sigma_of: Callable[..., float]) -> Promise:
    def promised(settings: ReleaseSettings, n_samples: Sequence[int], n_features: int) -> Guarantee:
        people, bound = int(sum(n_samples)), settings.row_norm_bound
        sigma = sigma_of(n_features, people, settings.budget, row_norm_bound=bound)
        return noisy_moment_guarantee(settings.budget, sigma, people, bound)

    return promised


promised_by_sulq = _promised_with(sulq_sigma)
promised_by_modsulq = _promised_with(modsulq_sigma)


def promised_by_ppca(
    settings: ReleaseSettings, _n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Pure epsilon, if chains pass: one component, or all but one, is drawn without them."""
    is_chain = settings.n_components not in (1, n_features - 1, n_features)
    return ppca_guarantee(PrivacyBudget(settings.budget.epsilon), is_chain=is_chain)


def sulq(draw: Draw) -> Subspace:
    """SuLQ: leading directions of the symmetric part of a second moment with noise everywhere."""
    return sulq_average(draw).subspace(draw.settings)


def modsulq(draw: Draw) -> Subspace:
    """MOD-SuLQ: leading directions of a second moment with symmetric noise of scale beta."""
    return modsulq_average(draw).subspace(draw.settings)


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
        bytes_sent=raw_row_bytes(draw),
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


def sulq_average(draw: Draw) -> NoisyAverage:
    """The symmetric part of what `sulq` releases; its noise is isometric, whatever was asked."""
    return _noisy_average(draw, sulq_moment, _SULQ, "isometric")


def modsulq_average(draw: Draw) -> NoisyAverage:
    """What `modsulq` releases; its noise is a triangle, whatever was asked."""
    return _noisy_average(draw, modsulq_moment, _MODSULQ, "triangle")


def _noisy_average(
    draw: Draw, release_moment: Callable[..., NoisyMoment], stream: int, noise: str
) -> NoisyAverage:
    release = release_moment(
        draw.pooled_moment,
        draw.n_people,
        draw.settings.budget,
        row_norm_bound=draw.settings.row_norm_bound,
        rng=draw.repetition.rng(Purpose.POOLED_NOISE, stream),
    )
    return NoisyAverage(
        Spectrum(symmetric_part(release.matrix)),
        release.guarantee,
        np.array([release.sigma]),
        raw_row_bytes(draw),
        release.sigma,
        noise=noise,
    )
