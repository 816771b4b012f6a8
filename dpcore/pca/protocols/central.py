"""Analyze Gauss, SuLQ and MOD-SuLQ: a trusted holder of all rows releases a noisy second moment.

SuLQ and MOD-SuLQ are as published (Chaudhuri, Sarwate & Sinha 2012): rows are not centred by a
private mean, so `ReleaseSettings.mean_share` has no effect. Their noise scales were derived from
bounds that grow with the dimension, so they add far more noise than the requested epsilon needs.
`NoisyMoment.guarantee.epsilon` is the exact value, from the Gaussian profile at the replace-one
l2-sensitivity sqrt(2) c^2 / n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.aggregator import NoisyAverage, Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.holder import (
    guarantee_of_holder,
    noisy_mean_of_holder,
    noisy_pool,
    pooled,
)
from dpcore.pca.protocols.protocol import (
    HOLDER,
    GuaranteeFunction,
    Kind,
    Look,
    Neighbours,
    NoiseIdentity,
    Protocol,
    Where,
    gaussian_guarantee,
    raw_row_bytes,
)
from dpcore.pca.protocols.register import POOLED_MOMENT, register
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import Guarantee, PrivacyBudget, l2_sensitivity_of_second_moment
from dpcore.spectra import Spectrum
from dpcore.streams import Purpose


@dataclass(frozen=True)
class NoisyMoment:
    """Released second moment.

    matrix: shape (n_features, n_features). Not symmetric for SuLQ, and in general indefinite.
    sigma: Standard deviation of the noise, in units of the second moment.
    guarantee: `requested` is the epsilon that the source claims for this noise, `epsilon` the exact
        one.
    """

    matrix: FloatArray
    sigma: float
    guarantee: Guarantee


def sulq_sigma(
    n_features: int, n_samples: float, budget: PrivacyBudget, *, row_norm_bound: float = 1.0
) -> float:
    """Return sqrt(8) D ln(D / delta) c^2 / (n epsilon), the noise scale of SuLQ.

    Blum, Dwork, McSherry & Nissim (2005), as given by Chaudhuri, Sarwate & Sinha (2012),
    section 3: variance 8 D^2 ln^2(D / delta) / (n^2 epsilon^2).
    """
    if budget.is_noiseless:
        return 0.0
    _require_delta(budget)
    log_term = math.log(n_features / budget.delta)
    return row_norm_bound**2 * math.sqrt(8) * n_features * log_term / (n_samples * budget.epsilon)


def modsulq_sigma(
    n_features: int, n_samples: float, budget: PrivacyBudget, *, row_norm_bound: float = 1.0
) -> float:
    """Return the noise scale beta of MOD-SuLQ.

    Chaudhuri, Sarwate & Sinha (2012), Algorithm 1, step 2.

        beta = (D + 1) / (n epsilon) sqrt(2 ln((D^2 + D) / (delta 2 sqrt(2 pi))))
               + 1 / (sqrt(epsilon) n)

    Their theorem 1: the release is (epsilon, delta)-differentially private.

    Raises `ParameterError` if delta is 0, or so large that the logarithm is negative.
    """
    if budget.is_noiseless:
        return 0.0
    _require_delta(budget)
    limit = (n_features**2 + n_features) / (2 * math.sqrt(2 * math.pi))
    if budget.delta > limit:
        raise ParameterError("delta", f"at most {limit:.4g} for MOD-SuLQ", budget.delta)
    root = math.sqrt(2 * math.log(limit / budget.delta))
    leading = (n_features + 1) * root / (n_samples * budget.epsilon)
    return row_norm_bound**2 * (leading + 1 / (math.sqrt(budget.epsilon) * n_samples))


def sulq_moment(
    second_moment: FloatArray,
    n_samples: int,
    budget: PrivacyBudget,
    *,
    row_norm_bound: float = 1.0,
    rng: np.random.Generator,
) -> NoisyMoment:
    """Release a second moment by SuLQ.

    All D^2 entries have independent noise, so the result is not symmetric.

    PCA of such a matrix is not defined, because its eigenvalues may be complex; the 2012 paper
    therefore does not use SuLQ. Use `symmetric_part` first. tr(V^T M V) depends only on the
    symmetric part, so the leading eigenvectors of that part are the frame with the most energy in
    M.

    second_moment: shape (n_features, n_features), symmetric. X^T X / n over rows of norm at most
        `row_norm_bound`.
    budget: Budget with a positive delta.
    Raises `ParameterError` if delta is 0.
    """
    n_features = len(second_moment)
    sigma = sulq_sigma(n_features, n_samples, budget, row_norm_bound=row_norm_bound)
    noise = rng.standard_normal((n_features, n_features))
    noise *= sigma
    guarantee = noisy_moment_guarantee(budget, sigma, n_samples, row_norm_bound)
    return NoisyMoment(second_moment + noise, sigma, guarantee)


def modsulq_moment(
    second_moment: FloatArray,
    n_samples: int,
    budget: PrivacyBudget,
    *,
    row_norm_bound: float = 1.0,
    rng: np.random.Generator,
) -> NoisyMoment:
    """Release a second moment by MOD-SuLQ: symmetric noise of scale beta (Algorithm 1).

    Parameters and errors as in `sulq_moment` and `modsulq_sigma`.
    """
    sigma = modsulq_sigma(len(second_moment), n_samples, budget, row_norm_bound=row_norm_bound)
    noise = symmetric_gaussian_noise(len(second_moment), sigma, shape="triangle", rng=rng)
    guarantee = noisy_moment_guarantee(budget, sigma, n_samples, row_norm_bound)
    return NoisyMoment(second_moment + noise, sigma, guarantee)


def symmetric_part(matrix: FloatArray) -> FloatArray:
    """Return (M + M^T) / 2, the only part of M on which the energy tr(V^T M V) depends."""
    return (matrix + matrix.T) / 2


def noisy_moment_guarantee(
    budget: PrivacyBudget, sigma: float, n_samples: int, row_norm_bound: float = 1.0
) -> Guarantee:
    """Return the exact guarantee of noise of this scale."""
    return gaussian_guarantee(
        budget,
        HOLDER,
        l2_sensitivity=l2_sensitivity_of_second_moment(n_samples, row_norm_bound),
        sigma=sigma,
        is_calibrated=False,
    )


def _require_delta(budget: PrivacyBudget) -> None:
    if budget.delta <= 0:
        raise ParameterError("delta", "greater than 0 for Gaussian noise", budget.delta)


# Streams of POOLED_NOISE; lower numbers belong to `holder`.
_SULQ, _MODSULQ = 2, 3


def _guarantee_with(sigma_of: Callable[..., float]) -> GuaranteeFunction:
    def guarantee(
        settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
    ) -> Guarantee:
        people, bound = int(sum(n_samples)), settings.row_norm_bound
        sigma = sigma_of(n_features, people, settings.budget, row_norm_bound=bound)
        return noisy_moment_guarantee(settings.budget, sigma, people, bound)

    return guarantee


guarantee_of_sulq = _guarantee_with(sulq_sigma)
guarantee_of_modsulq = _guarantee_with(modsulq_sigma)


def sulq(draw: Draw) -> Subspace:
    """Return the leading directions of the symmetric part of the SuLQ release."""
    return sulq_average(draw).subspace(draw.settings)


def modsulq(draw: Draw) -> Subspace:
    """Return the leading directions of the MOD-SuLQ release."""
    return modsulq_average(draw).subspace(draw.settings)


def sulq_average(draw: Draw) -> NoisyAverage:
    """Return the symmetric part of the SuLQ release. Its noise is isometric for every setting."""
    return _noisy_average(draw, sulq_moment, _SULQ, "isometric")


def modsulq_average(draw: Draw) -> NoisyAverage:
    """Return the MOD-SuLQ release. Its noise is a triangle for every setting."""
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


register(
    Protocol(
        "ag",
        "Analyze Gauss",
        "Central: Gaussian noise on the second moment of all rows.",
        pooled,
        guarantee_of_holder,
        Kind.APPROXIMATE,
        Where.HOLDER,
        POOLED_MOMENT,
        average=noisy_pool,
        look=Look("#0072B2", "square-open"),
        neighbours=Neighbours(noisy_mean=noisy_mean_of_holder),
    )
)

register(
    Protocol(
        "sulq",
        "SuLQ",
        "Central: noise on every entry, scaled by a bound that grows with the dimension.",
        sulq,
        guarantee_of_sulq,
        Kind.APPROXIMATE,
        Where.HOLDER,
        NoiseIdentity("sulq", "the pooled moment, by SuLQ", ("delta", "dropped_sites")),
        average=sulq_average,
        look=Look("#999933", "hourglass"),
        # The noise is too large for the requested epsilon: the exact epsilon is about 1.
        neighbours=Neighbours(epsilon=15.0),
    )
)

register(
    Protocol(
        "modsulq",
        "MOD-SuLQ",
        "Central: the same idea with symmetric noise and a smaller bound.",
        modsulq,
        guarantee_of_modsulq,
        Kind.APPROXIMATE,
        Where.HOLDER,
        NoiseIdentity("modsulq", "the pooled moment, by MOD-SuLQ", ("delta", "dropped_sites")),
        average=modsulq_average,
        look=Look("#56B4E9", "triangle-down"),
        neighbours=Neighbours(epsilon=5.0),
    )
)
