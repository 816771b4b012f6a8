"""Assessment of plain eigenvectors of one noisy matrix, in closed form by Stein's lemma.

For a projector P onto eigenvectors of M = A + E, tr(P A) = tr(P M) - tr(P E), and the mean of
tr(P E) is a sum over the gaps between eigenvalues of M.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import BoolArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.assessment.estimates import Assessment, Estimate
from dpcore.pca.assessment.noise_spectrum import n_above_noise, off_diagonal_sigma
from dpcore.pca.assessment.probes import NoisyMean
from dpcore.spectra import Spectrum

# The density of the gap between two eigenvalues is proportional to the gap near 0, so plain inverse
# gaps have infinite variance. Gaps below a tenth of the mean spacing of pure noise are given less
# weight.
_SMALL_GAP = 0.1


@dataclass(frozen=True)
class GroupEnergy:
    """Estimated energy of a group of eigenvectors, and the variance of its error.

    linear: Variance that a group of fixed directions would have.
    choice: Variance that is added because the directions depend on the noise.
    with_total: Covariance with the error of the total.
    loss: Energy lost by the choice, to second order in the noise of the matrix.
    """

    energy: float
    linear: float
    choice: float
    with_total: float
    loss: float = 0.0


class GroupEstimator:
    """Estimator of the energy of any group of eigenvectors of a noisy matrix."""

    def __init__(
        self,
        eigenvalues: FloatArray,
        vectors: FloatArray,
        sigma: float,
        noise: str,
        mean: NoisyMean | None,
    ):
        self.eigenvalues = eigenvalues
        self._variance = sigma**2
        self._squares = vectors**2 if noise == "triangle" else None
        self._inverse_gaps = _inverse_gaps(eigenvalues, off_diagonal_sigma(sigma, noise))
        self._mean_variance = 0.0 if mean is None else mean.sigma**2
        coordinates = np.zeros(len(eigenvalues)) if mean is None else vectors @ mean.value
        self._mean_squares = coordinates**2

    def estimate(self, group: BoolArray) -> GroupEnergy:
        """Return the energy of a group of eigenvectors, with its error."""
        without_mean = self._estimate_without_mean(group)
        if self._mean_variance == 0:
            return without_mean
        return self._add_noise_of_mean(group, without_mean)

    def _estimate_without_mean(self, group: BoolArray) -> GroupEnergy:
        inverse = self._inverse_gaps[np.ix_(group, ~group)]
        linear, size = self._variance * group.sum(), self._variance * np.ones_like(inverse)
        if self._squares is not None:
            # Triangle noise is isometric noise of twice the variance, less a part of the diagonal.
            inside, outside = self._squares[group], self._squares[~group]
            linear = 2 * linear - self._variance * (inside.sum(axis=0) ** 2).sum()
            size = 2 * self._variance * (1 - inside @ outside.T)
        bias = float((size * inverse).sum())
        return GroupEnergy(
            energy=float(self.eigenvalues[group].sum()) - bias,
            linear=float(linear),
            choice=float(((size * inverse) ** 2).sum()),
            with_total=float(self._variance * group.sum()),
            loss=bias / 2,
        )

    def _add_noise_of_mean(self, group: BoolArray, without_mean: GroupEnergy) -> GroupEnergy:
        """Add the terms of Stein's lemma for the noise xi of the mean m + xi.

        With m the released mean, A = M - E + m xi^T + xi m^T - xi xi^T. Hence tr(P A) contains
        2 xi^T P m - xi^T P xi, and both terms have divergences in closed form.
        """
        v, all_inverse, squares = self._mean_variance, self._inverse_gaps, self._mean_squares
        inverse = all_inverse[np.ix_(group, ~group)]
        inside, outside = squares[group][:, None], squares[~group][None, :]
        turning = squares * all_inverse.sum(axis=1) + all_inverse @ squares
        first = float(((inside + outside) * inverse).sum())
        second = -float(
            (
                2 * (inside - outside) * inverse**2
                + inverse * (2 - turning[group][:, None] - turning[~group][None, :])
            ).sum()
        )
        n = int(group.sum())
        size = self._variance * (1 if self._squares is None else 2)
        diagonal = (outside * inverse).sum(axis=1), (inside * inverse).sum(axis=0)
        bends = (
            ((1 - diagonal[0]) ** 2).sum()
            + (diagonal[1] ** 2).sum()
            + 2 * (inside * outside * inverse**2).sum()
        )
        crossed = ((inside + outside) * inverse**2).sum()
        mean_linear = 4 * v * float(inside.sum()) + 2 * v**2 * n
        return replace(
            without_mean,
            energy=without_mean.energy + 2 * v * (n - first) - v * n - v**2 * second,
            linear=without_mean.linear + mean_linear,
            choice=without_mean.choice + float(4 * v * size * crossed + 4 * v**2 * bends),
            with_total=without_mean.with_total + mean_linear,
        )


def _inverse_gaps(eigenvalues: FloatArray, off_diagonal: float) -> FloatArray:
    """Return 1 / (lambda_i - lambda_j) of all pairs, smoothed for this noise level."""
    gaps = np.subtract.outer(eigenvalues, eigenvalues)
    spacing = 4 * off_diagonal / math.sqrt(len(eigenvalues))
    denominator = gaps**2 + (_SMALL_GAP * spacing) ** 2
    return np.divide(gaps, denominator, out=np.zeros_like(gaps), where=denominator > 0)


def assess(
    spectrum: Spectrum,
    n_components: int,
    *,
    sigma: float,
    noise: str,
    ranking: str = "value",
    mean: NoisyMean | None = None,
) -> Assessment:
    """Assess the n leading directions of a noisy second moment.

    spectrum: Spectrum of A + E, or of A + E minus the outer product of the noisy mean.
    sigma: Scale of E in `dpcore.mechanisms.symmetric_gaussian_noise`.
    noise: {"triangle", "isometric"}
    ranking: {"value", "magnitude"}. Ranking of the components.
    mean: None if none was subtracted.
    Raises `ParameterError` if n_components is not in [1, n_features] or the ranking unknown.
    """
    n_features = len(spectrum.matrix)
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
    values, vectors = spectrum.leading(n_features, by=ranking)
    eigenvalues = values.astype(np.float64)
    estimator = GroupEstimator(eigenvalues, vectors.astype(np.float64), sigma, noise, mean)
    ranks = np.arange(n_features)
    estimates = [estimator.estimate(ranks == rank) for rank in range(n_components)]
    components = estimator.estimate(ranks < n_components)
    everything = estimator.estimate(np.ones(n_features, dtype=bool))
    n_above = n_above_noise(eigenvalues, sigma, noise=noise)
    # One of them may be the noise of the mean: -(m xi^T + xi m^T) has one positive eigenvalue.
    n_above = max(n_above - (mean is not None), 0)
    if mean is not None and n_above == 0:
        # The effect of the mean's noise on the choice is as large as the estimate, so that no
        # estimate is given.
        estimates = [replace(group, energy=math.nan) for group in estimates]
        components = replace(components, energy=math.nan)
    # The loss is known to second order only, which is not enough if a mean is noisy.
    loss_is_known = (
        mean is None and n_above >= n_components and eigenvalues[:n_components].min() > 0
    )
    return Assessment(
        explained_variance=_energies(estimates),
        explained_variance_ratio=_shares(estimates, everything),
        captured=_single(_energies([components])),
        captured_share=_single(_shares([components], everything)),
        total=_single(_energies([everything])),
        energy_ratio=_energy_ratio(components) if loss_is_known else None,
        n_above_noise=min(n_above, n_components),
    )


def _energy_ratio(group: GroupEnergy) -> Estimate:
    """Return the energy divided by that of the best subspace, by the delta method.

    The loss is a sum of squares of noise entries: its variance is half of `choice`.
    """
    optimum = group.energy + group.loss
    variance = group.choice / 2 + (group.loss / optimum) ** 2 * group.linear
    return Estimate(
        np.array(group.energy / optimum), np.array(math.sqrt(variance) / optimum), most=1.0
    )


def _energies(groups: Sequence[GroupEnergy]) -> Estimate:
    energies = np.array([group.energy for group in groups])
    return Estimate(energies, np.sqrt([group.linear + group.choice for group in groups]))


def _shares(groups: Sequence[GroupEnergy], everything: GroupEnergy) -> Estimate:
    """Return energies divided by the total, by the delta method; NaN if the total may be 0."""
    parts, total = _energies(groups), _energies([everything])
    if total.interval[0, 0] <= 0:
        return Estimate(parts.value * np.nan, parts.value * np.nan, most=1.0)
    shares = parts.value / total.value
    with_total = np.array([group.with_total for group in groups])
    variances = (
        parts.standard_error**2 - 2 * shares * with_total + (shares * total.standard_error) ** 2
    )
    return Estimate(shares, np.sqrt(np.maximum(variances, 0)) / total.value, most=1.0)


def _single(estimates: Estimate) -> Estimate:
    """Return a single value as an estimate of shape ()."""
    return replace(estimates, value=estimates.value[0], standard_error=estimates.standard_error[0])
