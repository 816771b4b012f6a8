"""Pure epsilon at a trusted aggregator, without a chain: one Wishart matrix added, another taken
off.

The noise, and the proof, are in `dpcore.mechanisms.wishart_difference`. A private mean to centre by
costs no second release: with the mean as a border of the second moment, both are read off one
noisy matrix (`dpcore.privacy.nuclear_sensitivity_of_moment_and_mean`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.mechanisms import wishart_difference
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.guarantees import HOLDER
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.subspace import NoisyAverage, Subspace
from dpcore.privacy import (
    Guarantee,
    PrivacyBudget,
    mean_weight,
    nuclear_sensitivity_of_moment_and_mean,
)
from dpcore.spectra import Spectrum
from dpcore.streams import Purpose

# Of the POOLED_NOISE streams; lower numbers belong to `distributed` and `trusted`.
_STREAM = 4


def promised_by_wishart(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Pure epsilon, whatever delta is asked; sigma is that of a diagonal entry."""
    budget, is_private = PrivacyBudget(settings.budget.epsilon), not settings.budget.is_noiseless
    return Guarantee(
        asked=budget,
        epsilon=budget.epsilon,
        delta=0.0,
        mechanism="laplace" if is_private else "none",
        noise_added_by=HOLDER.noise_added_by,
        sigma=_sigma(settings, n_samples, n_features),
        assumptions=HOLDER.assumptions,
        against=HOLDER.against(dict.fromkeys(HOLDER.sees, budget.epsilon)),
    )


def wishart(draw: Draw) -> Subspace:
    """Leading directions of everybody's second moment with a Wishart difference added."""
    settings = draw.settings
    sigma = _sigma(settings, draw.n_samples, draw.moments.n_features)
    return NoisyAverage(
        draw.once(_noisy_moment),
        promised_by_wishart(settings, draw.n_samples, draw.moments.n_features),
        np.array([sigma]),
        draw.raw_row_bytes(),
        sigma,
    ).subspace(settings)


def noisy_mean_of_wishart(draw: Draw) -> FloatArray:
    """(D,) mean of everybody's rows, from the border of the noisy matrix."""
    if draw.settings.mean_share == 0:
        raise ParameterError("mean_share", "greater than 0", 0.0)
    border: FloatArray = draw.once(_noisy_matrix)[:-1, -1]
    return border / _weight(draw.settings)


def _noisy_moment(draw: Draw) -> Spectrum:
    noisy, n_features = draw.once(_noisy_matrix), draw.moments.n_features
    if draw.settings.mean_share == 0:
        return Spectrum(noisy)
    mean = noisy_mean_of_wishart(draw)
    return Spectrum(noisy[:n_features, :n_features] - np.outer(mean, mean))


def _noisy_matrix(draw: Draw) -> FloatArray:
    """A, bordered by the weighted mean where one is bought, plus noise on all of it."""
    matrix, weight = draw.pooled_moment, _weight(draw.settings)
    if weight > 0:
        border = weight * (draw.moments.weights @ draw.moments.means)[:, None]
        matrix = np.block([[matrix, border], [border.T, np.full((1, 1), weight**2)]])
    noise = wishart_difference(
        len(matrix),
        _scale(draw.settings, draw.n_people),
        rng=draw.repetition.rng(Purpose.POOLED_NOISE, _STREAM),
        dtype=draw.precision,
    )
    noise += matrix
    return noise


def _weight(settings: ReleaseSettings) -> float:
    return mean_weight(settings.mean_share, settings.row_norm_bound)


def _scale(settings: ReleaseSettings, n_people: int) -> float:
    sensitivity = nuclear_sensitivity_of_moment_and_mean(
        n_people, settings.row_norm_bound, weight=_weight(settings)
    )
    return sensitivity / settings.budget.epsilon


def _sigma(settings: ReleaseSettings, n_samples: Sequence[int], n_features: int) -> float:
    order = n_features + (settings.mean_share > 0)
    return _scale(settings, int(sum(n_samples))) * math.sqrt(order + 1)
