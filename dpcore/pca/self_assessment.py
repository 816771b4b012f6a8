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

from dpcore.arrays import BoolArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.noise_edge import n_above_noise, off_diagonal_sigma
from dpcore.spectra import Spectrum

LEVEL = 0.9
_QUANTILE = 1.6448536269514722  # of the standard normal at (1 + LEVEL) / 2
# Eigenvalues that almost meet would give an estimate without a variance: their law near 0 is
# proportional to the gap. Below a tenth of the mean spacing of pure noise a gap counts for less.
_SMOOTHED = 0.1


@dataclass(frozen=True, eq=False)
class NoisyMean:
    """A released mean whose outer product was subtracted from the second moment.

    Parameters
    ----------
    value : ndarray of shape (n_features,)
        As released.
    sigma : float
        Standard deviation of the noise in each of its entries.
    """

    value: FloatArray
    sigma: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers with what is known of their error.

    Parameters
    ----------
    value, standard_error : ndarray of any one shape
    most : float
        What none of the true numbers exceeds. None is below 0.
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

    Parameters
    ----------
    explained_variance : Estimate of shape (n_components,)
        v_i^T A v_i, the variance along each component; it sums to `captured`.
    explained_variance_ratio : Estimate of shape (n_components,)
        Of the total. NaN where the total itself is lost in the noise.
    captured : Estimate of shape ()
        tr(V^T A V), the energy of all components.
    captured_share : Estimate of shape ()
        Of the total. NaN where the total itself is lost in the noise.
    total : Estimate of shape ()
        tr A.
    energy_ratio : Estimate of shape () or None
        Captured energy over that of the best subspace of this dimension; None unless every
        component stands out of the noise and no mean was subtracted: else too little is known of
        what was missed.
    n_above_noise : int
        Leading components that the noise alone would not have given: more than there are
        directions in the data in one release of a hundred at most (`n_above_noise`).
    """

    explained_variance: Estimate
    explained_variance_ratio: Estimate
    captured: Estimate
    captured_share: Estimate
    total: Estimate
    energy_ratio: Estimate | None
    n_above_noise: int


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

    Parameters
    ----------
    spectrum : Spectrum
        Of A + E, or of A + E less the outer product of the noisy mean.
    n_components : int
    sigma : float
        Of E, as `dpcore.mechanisms.symmetric_gaussian_noise` drew it.
    noise : {"triangle", "isometric"}
    ranking : {"value", "magnitude"}
        As the components were chosen.
    mean : NoisyMean, optional
        None where none was subtracted.

    Returns
    -------
    Assessment

    Raises
    ------
    ParameterError
        If n_components is not in [1, n_features] or the ranking unknown.
    """
    n_features = len(spectrum.matrix)
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
    values, vectors = spectrum.leading(n_features, by=ranking)
    field = _NoiseField(values.astype(np.float64), vectors.astype(np.float64), sigma, noise, mean)
    chosen = np.arange(n_features) < n_components
    each = [field.of(np.arange(n_features) == i) for i in range(n_components)]
    together, everything = field.of(chosen), field.of(np.ones(n_features, dtype=bool))
    n_above = n_above_noise(field.eigenvalues, sigma, noise=noise)
    # One of them may be the noise of the mean: -(m xi^T + xi m^T) has one positive eigenvalue.
    n_above = max(n_above - (mean is not None), 0)
    # To second order only, which beside the noise of a mean is not enough.
    is_known = (
        mean is None and n_above >= n_components and field.eigenvalues[:n_components].min() > 0
    )
    return Assessment(
        explained_variance=_estimate(each),
        explained_variance_ratio=_shares(each, everything),
        captured=_single(_estimate([together])),
        captured_share=_single(_shares([together], everything)),
        total=_single(_estimate([everything])),
        energy_ratio=together.of_optimum() if is_known else None,
        n_above_noise=min(n_above, n_components),
    )


@dataclass(frozen=True)
class _OfGroup:
    """A group of eigenvectors: its energy, and where the squared error of that comes from.

    `linear` would be there if the group had been fixed beforehand, `choice` comes with its
    having been chosen; `shared` is the covariance with the error of the total. `loss` is what the
    choice cost, to second order in the noise of the matrix.
    """

    energy: float
    linear: float
    choice: float
    shared: float
    loss: float

    def of_optimum(self) -> Estimate:
        """Energy over energy and loss, by the delta method: both share the linear error.

        The loss is a sum of squares of noise entries: its variance is half of `choice`.
        """
        optimum = self.energy + self.loss
        variance = self.choice / 2 + (self.loss / optimum) ** 2 * self.linear
        return Estimate(
            np.array(self.energy / optimum), np.array(math.sqrt(variance) / optimum), most=1.0
        )


class _NoiseField:
    """Everything the formulas need of the eigenpairs, for any group of them."""

    def __init__(
        self,
        eigenvalues: FloatArray,
        vectors: FloatArray,
        sigma: float,
        noise: str,
        mean: NoisyMean | None,
    ):
        n_features = len(eigenvalues)
        self.eigenvalues = eigenvalues
        self._variance = sigma**2
        self._squares = vectors**2 if noise == "triangle" else None
        gaps = np.subtract.outer(eigenvalues, eigenvalues)
        spacing = 4 * off_diagonal_sigma(sigma, noise) / math.sqrt(n_features)
        denominator = gaps**2 + (_SMOOTHED * spacing) ** 2
        self._inverse_gaps = np.divide(
            gaps, denominator, out=np.zeros_like(gaps), where=denominator > 0
        )
        self._mean_variance = 0.0 if mean is None else mean.sigma**2
        along = np.zeros(n_features) if mean is None else vectors @ mean.value
        self._along_mean = along**2

    def of(self, group: BoolArray) -> _OfGroup:
        """Energy and error of a group of eigenvectors."""
        by_matrix = self._of_matrix(group)
        return by_matrix if self._mean_variance == 0 else self._with_mean(group, by_matrix)

    def _of_matrix(self, group: BoolArray) -> _OfGroup:
        inverse = self._inverse_gaps[np.ix_(group, ~group)]
        linear, size = self._variance * group.sum(), self._variance * np.ones_like(inverse)
        if self._squares is not None:
            # Triangle noise is isometric noise of twice the variance, less a part of the diagonal.
            inside, outside = self._squares[group], self._squares[~group]
            linear = 2 * linear - self._variance * (inside.sum(axis=0) ** 2).sum()
            size = 2 * self._variance * (1 - inside @ outside.T)
        tilt = float((size * inverse).sum())
        return _OfGroup(
            energy=float(self.eigenvalues[group].sum()) - tilt,
            linear=float(linear),
            choice=float(((size * inverse) ** 2).sum()),
            shared=float(self._variance * group.sum()),
            loss=tilt / 2,
        )

    def _with_mean(self, group: BoolArray, by_matrix: _OfGroup) -> _OfGroup:
        """Stein's lemma once more, over the noise xi of the mean m + xi.

        A = M - E + m xi^T + xi m^T + (terms of xi alone), m as released, so tr(P A) has
        2 xi^T P m - xi^T P xi besides; both have divergences in closed form.
        """
        v, all_inverse, along = self._mean_variance, self._inverse_gaps, self._along_mean
        inverse = all_inverse[np.ix_(group, ~group)]
        inside, outside = along[group][:, None], along[~group][None, :]
        turning = along * all_inverse.sum(axis=1) + all_inverse @ along
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
        along_group = 4 * v * float(inside.sum()) + 2 * v**2 * n
        return replace(
            by_matrix,
            energy=by_matrix.energy + 2 * v * (n - first) - v * n - v**2 * second,
            linear=by_matrix.linear + along_group,
            choice=by_matrix.choice + float(4 * v * size * crossed + 4 * v**2 * bends),
            shared=by_matrix.shared + along_group,
        )


def _estimate(groups: Sequence[_OfGroup]) -> Estimate:
    energies = np.array([group.energy for group in groups])
    return Estimate(energies, np.sqrt([group.linear + group.choice for group in groups]))


def _shares(groups: Sequence[_OfGroup], everything: _OfGroup) -> Estimate:
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
