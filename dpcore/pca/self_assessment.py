"""How good a release is, told by the release: the energy its components capture, with an interval.

The components v_i come from M = A + E, noise of a known law on the second moment A of the rows. The
eigenvalues of M say too much: the noise that is in M also chose the v_i. By how much is known. For
Gaussian noise that is i.i.d. of variance sigma^2 in an orthonormal basis of symmetric matrices
("isometric"), and any function P of M, Stein's lemma gives E <P, E> = sigma^2 E div P. For the
projector onto a group G of eigenvectors div P = sum 1 / (lambda_i - lambda_j) over i in G and j not
in G, so that

    sum_{i in G} lambda_i - sigma^2 sum_{i in G, j not in G} 1 / (lambda_i - lambda_j)

is tr(P A) without bias, whatever A, in every dimension, above the noise and below. Its squared
error has an unbiased estimate as well: sigma^2 |G| + sigma^4 sum 1 / (lambda_i - lambda_j)^2. All
of it is read off M: post-processing, and nobody pays. A private mean m + xi, whose outer product
has been subtracted, is one more Gaussian field in the same formulas. Sources and derivation:
``docs/algorithms/self-assessment.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.noise_field import NoiseField, NoisyMean, OfGroup, n_above_noise
from dpcore.spectra import Spectrum

LEVEL = 0.9
_QUANTILE = 1.6448536269514722  # of the standard normal at (1 + LEVEL) / 2


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers with what is known of their error.

    value, standard_error: ndarray of any one shape
    most: What none of the true numbers exceeds. None is below 0.
    """

    value: FloatArray
    standard_error: FloatArray
    most: float = math.inf

    @property
    def interval(self) -> FloatArray:
        """Lower and upper ends, shape (2, ...), between which the truth lies in 90 of 100 draws."""
        reach = _QUANTILE * self.standard_error
        low, high = np.clip([self.value - reach, self.value + reach], 0, self.most)
        return np.array([np.nan_to_num(low, nan=0.0), np.where(np.isnan(high), self.most, high)])


@dataclass(frozen=True, eq=False)
class Assessment:
    """What a release says of itself. All of it refers to the rows as prepared.

    explained_variance: Estimate of shape (n_components,). v_i^T A v_i, the variance along each
        component; it sums to `captured`. Both are NaN where a mean was subtracted and nothing
        stands out of the noise.
    explained_variance_ratio: Estimate of shape (n_components,). Of the total. NaN where that is not
        told, or the total itself is lost in the noise.
    captured: Estimate of shape (). tr(V^T A V), the energy of all components.
    captured_share: Estimate of shape (). Of the total. NaN where that is not told, or the total
        itself is lost in the noise.
    total: Estimate of shape (). tr A.
    energy_ratio: Estimate of shape () or None. Captured energy over that of the best subspace of
        this dimension; None unless every component stands out of the noise and no mean was
        subtracted: else too little is known of what was missed.
    n_above_noise: Leading components that the noise alone would not have given: more than there are
        directions in the data in one release of a hundred at most (`n_above_noise`). None where the
        law of the noise is not known, as after a cut.
    """

    explained_variance: Estimate
    explained_variance_ratio: Estimate
    captured: Estimate
    captured_share: Estimate
    total: Estimate
    energy_ratio: Estimate | None = None
    n_above_noise: int | None = None


def assess(
    spectrum: Spectrum,
    n_components: int,
    *,
    sigma: float,
    noise: str,
    ranking: str = "value",
    mean: NoisyMean | None = None,
) -> Assessment:
    """What the first n leading directions of a noisy second moment capture of the exact one.

    spectrum: Of A + E, or of A + E less the outer product of the noisy mean.
    sigma: Of E, as `dpcore.mechanisms.symmetric_gaussian_noise` drew it.
    noise: {"triangle", "isometric"}
    ranking: {"value", "magnitude"}. As the components were chosen.
    mean: None where none was subtracted.
    Raises `ParameterError` if n_components is not in [1, n_features] or the ranking unknown.
    """
    n_features = len(spectrum.matrix)
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
    values, vectors = spectrum.leading(n_features, by=ranking)
    field = NoiseField(values.astype(np.float64), vectors.astype(np.float64), sigma, noise, mean)
    chosen = np.arange(n_features) < n_components
    each = [field.of(np.arange(n_features) == i) for i in range(n_components)]
    together, everything = field.of(chosen), field.of(np.ones(n_features, dtype=bool))
    n_above = n_above_noise(field.eigenvalues, sigma, noise=noise)
    # One of them may be the noise of the mean: -(m xi^T + xi m^T) has one positive eigenvalue.
    n_above = max(n_above - (mean is not None), 0)
    if mean is not None and n_above == 0:
        each, together = [_unknown(group) for group in each], _unknown(together)
    # To second order only, which beside the noise of a mean is not enough.
    is_known = (
        mean is None and n_above >= n_components and field.eigenvalues[:n_components].min() > 0
    )
    return replace(
        assessment_of(each, together, everything),
        energy_ratio=_of_optimum(together) if is_known else None,
        n_above_noise=min(n_above, n_components),
    )


def assessment_of(each: Sequence[OfGroup], together: OfGroup, everything: OfGroup) -> Assessment:
    """From each component, all components together, and all directions."""
    return Assessment(
        explained_variance=_estimate(each),
        explained_variance_ratio=_shares(each, everything),
        captured=_single(_estimate([together])),
        captured_share=_single(_shares([together], everything)),
        total=_single(_estimate([everything])),
    )


def _unknown(group: OfGroup) -> OfGroup:
    """Nothing is said where a mean was subtracted and nothing stands out: what its noise did to the
    choice is then as large as what is to be told."""
    return replace(group, energy=math.nan)


def _of_optimum(group: OfGroup) -> Estimate:
    """Energy over energy and loss, by the delta method: both share the linear error.

    The loss is a sum of squares of noise entries: its variance is half of `choice`.
    """
    optimum = group.energy + group.loss
    variance = group.choice / 2 + (group.loss / optimum) ** 2 * group.linear
    return Estimate(
        np.array(group.energy / optimum), np.array(math.sqrt(variance) / optimum), most=1.0
    )


def _estimate(groups: Sequence[OfGroup]) -> Estimate:
    energies = np.array([group.energy for group in groups])
    return Estimate(energies, np.sqrt([group.linear + group.choice for group in groups]))


def _shares(groups: Sequence[OfGroup], everything: OfGroup) -> Estimate:
    """Energies over the total, by the delta method; nothing is said where the total may be 0."""
    parts, total = _estimate(groups), _estimate([everything])
    if total.interval[0, 0] <= 0:
        return Estimate(parts.value * np.nan, parts.value * np.nan, most=1.0)
    shares = parts.value / total.value
    shared = np.array([group.shared for group in groups])
    variances = parts.standard_error**2 - 2 * shares * shared + (shares * total.standard_error) ** 2
    return Estimate(shares, np.sqrt(np.maximum(variances, 0)) / total.value, most=1.0)


def _single(estimates: Estimate) -> Estimate:
    """The one number of them, of shape ()."""
    return replace(estimates, value=estimates.value[0], standard_error=estimates.standard_error[0])
