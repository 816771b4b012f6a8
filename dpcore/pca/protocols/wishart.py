"""Pure epsilon at a trusted aggregator, by the difference of two Wishart matrices.

The noise and the proof are in `dpcore.mechanisms.noise`. If rows keep their length, a private mean
needs no second release: with the mean as a border of the second moment, both are read from one
noisy matrix (`dpcore.privacy.nuclear_sensitivity_of_moment_and_mean`). On the sphere the mean has
to be released first, with a share of epsilon, and the two charges add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.mechanisms import box_laplace_noise, l2_laplace_noise, wishart_difference
from dpcore.pca.aggregator import NoisyAverage, Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.pooled_release import centre_of_rows
from dpcore.pca.protocols.protocol import (
    HOLDER,
    Kind,
    Look,
    Neighbours,
    NoiseIdentity,
    Protocol,
    Where,
    raw_row_bytes,
)
from dpcore.pca.protocols.register import register
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import add_noise
from dpcore.privacy import (
    Guarantee,
    PrivacyBudget,
    mean_weight,
    nuclear_sensitivity_of_moment_and_mean,
)
from dpcore.spectra import SiteRows, Spectrum
from dpcore.streams import Purpose

# Number of a POOLED_NOISE stream; lower numbers belong to `holder` and `central`.
_STREAM = 4
# Edge of the spectrum in units of D scale / 2 (`dpcore.pca.assessment`).
_EDGE = math.sqrt((11 + 5 * math.sqrt(5)) / 2)
# Largest error without any centre, as in `dpcore.pca.settings`; share if there is no
# noise.
_ERROR_WITHOUT_CENTRE, _SHARE_WITHOUT_NOISE = 0.25, 1e-6


def guarantee_of_wishart(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Return pure epsilon for every requested delta; sigma is that of a diagonal entry."""
    budget, is_private = PrivacyBudget(settings.budget.epsilon), not settings.budget.is_noiseless
    people = int(sum(n_samples))
    settings = with_pure_share(settings, people, n_features)
    return Guarantee(
        requested=budget,
        epsilon=budget.epsilon,
        delta=0.0,
        mechanism="laplace" if is_private else "none",
        noise_added_by=HOLDER.noise_added_by,
        sigma=_sigma(settings, people, n_features),
        assumptions=HOLDER.assumptions,
        against=HOLDER.against(dict.fromkeys(HOLDER.sees, budget.epsilon)),
    )


def wishart(draw: Draw) -> Subspace:
    """Return the leading directions of the second moment of all rows plus a Wishart difference."""
    n_features = draw.moments.n_features
    sigma = _sigma(_settings_of(draw), draw.n_people, n_features)
    mean = noisy_mean_of_wishart(draw) if _settings_of(draw).mean_share else None
    return NoisyAverage(
        draw.compute_once(_noisy_moment),
        guarantee_of_wishart(draw.settings, draw.n_samples, n_features),
        np.array([sigma]),
        raw_row_bytes(draw),
        sigma,
        centre=centre_of_rows(draw, mean),
        # Denoising assumes Gaussian noise.
    ).subspace(replace(draw.settings, bases=()))


def noisy_mean_of_wishart(draw: Draw) -> FloatArray:
    """Return the released mean of all rows, shape (D,).

    The mean was released before, or is taken from the border of the noisy matrix.
    """
    settings = _settings_of(draw)
    if settings.mean_share == 0:
        raise ParameterError("mean_share", "greater than 0", 0.0)
    if settings.on_sphere:
        return draw.compute_once(_noisy_mean)
    border: FloatArray = draw.compute_once(_noisy_matrix)[:-1, -1]
    return border / _weight(settings)


def with_pure_share(settings: ReleaseSettings, n_people: int, n_features: int) -> ReleaseSettings:
    """Return the settings with the share of epsilon for the mean, computed by a rule if it is None.

    As in `dpcore.pca.settings`, with y = D / (N epsilon): the mean's noise is 2 y / s long and
    changes the moment by y^2 / s^2 of the squared diameter, the moment's noise reaches 3.33 y / (1
    - s). Their sum has its minimum at s^3 / (1 - s)^2 = 0.6 y, which is close to s = r / (1 + r)
    with r the cube root of 0.6 y. The share is 0 if the mean costs more than it can gain.
    """
    if settings.mean_share is not None:
        return settings
    noise = n_features / (n_people * settings.budget.epsilon)
    root = (2 * noise / _EDGE) ** (1 / 3)
    share = max(root / (1 + root), _SHARE_WITHOUT_NOISE)
    costs = _EDGE * noise * root + (noise / share) ** 2
    return replace(settings, mean_share=share if costs < _ERROR_WITHOUT_CENTRE else 0.0)


def _settings_of(draw: Draw) -> ReleaseSettings:
    return with_pure_share(draw.settings, draw.n_people, draw.moments.n_features)


def _noisy_moment(draw: Draw) -> Spectrum:
    noisy, settings = draw.compute_once(_noisy_matrix), _settings_of(draw)
    if settings.mean_share == 0 or settings.on_sphere:
        return Spectrum(noisy)
    mean = noisy_mean_of_wishart(draw)
    return Spectrum(noisy[:-1, :-1] - np.outer(mean, mean))


def _noisy_matrix(draw: Draw) -> FloatArray:
    """Return the second moment, on the sphere or bordered by the weighted mean, plus noise."""
    matrix = _matrix(draw, _settings_of(draw))
    noise = wishart_difference(
        len(matrix),
        _scale(_settings_of(draw), draw.n_people),
        rng=draw.repetition.rng(Purpose.POOLED_NOISE, _STREAM),
        dtype=draw.precision,
    )
    return add_noise(matrix, noise)


def _matrix(draw: Draw, settings: ReleaseSettings) -> FloatArray:
    if settings.mean_share == 0:
        return draw.pooled_moment
    if settings.on_sphere:
        return draw.moment_around(centre_of_rows(draw, draw.compute_once(_noisy_mean)))
    weight = _weight(settings)
    border = weight * (draw.moments.weights @ draw.moments.means)[:, None]
    return np.block([[draw.pooled_moment, border], [border.T, np.full((1, 1), weight**2)]])


def _noisy_mean(draw: Draw) -> FloatArray:
    """Return the noisy mean of rows at most 1 long, or of rows in a box.

    Replacing one row changes the mean by at most 2 / n, or by 2 / n of the half-widths of the box.
    """
    settings, rows = _settings_of(draw), draw.moments
    scale = 2 / (draw.n_people * _share(settings) * settings.budget.epsilon)
    rng = draw.repetition.rng(Purpose.POOLED_NOISE, _STREAM, 1)
    mean: FloatArray = rows.weights @ rows.means
    box = rows.half_widths if isinstance(rows, SiteRows) else None
    if box is None:
        return mean + l2_laplace_noise(len(mean), scale, rng=rng)
    return mean + box_laplace_noise(box, scale, rng=rng)


def _share(settings: ReleaseSettings) -> float:
    if settings.mean_share is None:
        raise ParameterError("mean_share", "settled before noise is calibrated", None)
    return settings.mean_share


def _weight(settings: ReleaseSettings) -> float:
    return mean_weight(_share(settings), settings.row_norm_bound)


def _scale(settings: ReleaseSettings, n_people: int) -> float:
    """Return the nuclear sensitivity divided by the remaining epsilon."""
    if settings.on_sphere:
        remaining = (1 - _share(settings)) * settings.budget.epsilon
        return nuclear_sensitivity_of_moment_and_mean(n_people) / remaining
    bound, weight = settings.row_norm_bound, _weight(settings)
    sensitivity = nuclear_sensitivity_of_moment_and_mean(n_people, bound, weight=weight)
    return sensitivity / settings.budget.epsilon


def _sigma(settings: ReleaseSettings, n_people: int, n_features: int) -> float:
    is_bordered = _share(settings) > 0 and not settings.on_sphere
    return _scale(settings, n_people) * math.sqrt(n_features + is_bordered + 1)


register(
    Protocol(
        "wishart",
        "Wishart difference",
        "A trusted aggregator adds one Wishart matrix, takes off another: pure ε, drawn exactly.",
        wishart,
        guarantee_of_wishart,
        Kind.PURE,
        Where.AFTER_POOLING,
        NoiseIdentity(
            "wishart",
            "the pooled moment, by a Wishart difference",
            ("mean_share", "dropped_sites"),
        ),
        silent_because="the bias of the directions is not known for noise that is not Gaussian",
        shape="wishart",
        look=Look("#44AA99", "hexagram", "longdash"),
        neighbours=Neighbours(epsilon=3.0, noisy_mean=noisy_mean_of_wishart),
    )
)
