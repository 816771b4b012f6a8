"""How a group of eigenvectors of a noisy matrix answers to the noise: sums over eigenvalue gaps;
and where the spectrum of pure noise ends.

Formulas and derivation: ``docs/algorithms/self-assessment.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import BoolArray, FloatArray

# Chance that more components are said to stand out than do, and the quantile of the Tracy-Widom
# law of the Gaussian orthogonal ensemble (beta = 1) that noise exceeds with this chance.
ERROR_RATE = 0.01
_TRACY_WIDOM = 2.0234
# Edges of the spectrum in units of sqrt(D) sigma: twice the standard deviation of an entry off the
# diagonal, and for a Wishart difference that of the free difference of two Poisson laws of rate 1
# (Nica & Speicher 1998, "Commutators of free random variables": the tetilla law).
_EDGES = {"triangle": 2.0, "isometric": math.sqrt(2), "wishart": math.sqrt((11 + 5 * 5**0.5) / 8)}


def noise_edge(sigma: np.ndarray, weights: np.ndarray, n_features: int, *, noise: str) -> float:
    """Largest eigenvalue that noise alone would give the averaged matrix, about.

    A symmetric matrix with independent off-diagonal entries of standard deviation s has its
    eigenvalues within 2 sqrt(D) s of zero as D grows (Wigner's semicircle law; the diagonal does
    not matter in the limit). Eigenvalues of a noisy second moment that don't rise above it say
    nothing about the data.

    sigma: shape (n_sites,). Noise standard deviation of each matrix that went into the average; one
        for central.
    weights: shape (n_sites,). Weights of the average.
    noise: {"triangle", "isometric", "wishart"}
    Returns: In units of the second moment.
    """
    together = math.sqrt(float(np.sum((weights * sigma) ** 2)))
    return _EDGES[noise] * math.sqrt(n_features) * together


def off_diagonal_sigma(sigma: float, noise: str) -> float:
    """Standard deviation off the diagonal of symmetric noise of this scale and shape."""
    return sigma / math.sqrt(2) if noise == "isometric" else sigma


def n_above_noise(eigenvalues: FloatArray, sigma: float, *, noise: str) -> int:
    """How many leading eigenvalues of a noisy second moment noise alone would not have given.

    Were A of rank k, eigenvalue k + 1 of A + E would be at most the largest of E on the D - k
    directions that A leaves (Courant & Fischer), whose law is Tracy and Widom's: mean edge
    2 sqrt(n) s, spread s n^(-1/6), s the standard deviation off the diagonal. So k is raised while
    eigenvalue k + 1 exceeds what such noise exceeds once in a hundred, and the number found is too
    large with at most that chance. It is measured from the mean of the eigenvalues that are left,
    if that is above 0: variance that is the same in every direction singles out none.

    eigenvalues: shape (n_features,)
    noise: {"triangle", "isometric"}. The quantile is above the exact one at every size, for
        triangle noise by more.
    """
    descending = np.sort(eigenvalues)[::-1]
    left = np.arange(len(descending), 0, -1)
    floor = np.maximum(np.cumsum(descending[::-1])[::-1] / left, 0)
    reach = off_diagonal_sigma(sigma, noise) * (2 * np.sqrt(left) + _TRACY_WIDOM * left ** (-1 / 6))
    # A single direction that is left is its own floor and stands out of nothing.
    return int(np.argmin(np.append(descending - floor > reach, False)))


# Eigenvalues that almost meet would give an estimate without a variance: their law near 0 is
# proportional to the gap. Below a tenth of the mean spacing of pure noise a gap counts for less.
_SMOOTHED = 0.1


@dataclass(frozen=True, eq=False)
class NoisyMean:
    """A released mean whose outer product was subtracted from the second moment.

    value: shape (n_features,). As released.
    sigma: Standard deviation of the noise in each of its entries.
    """

    value: FloatArray
    sigma: float


@dataclass(frozen=True)
class OfGroup:
    """A group of eigenvectors: its energy, and where the squared error of that comes from.

    `linear` would be there if the group had been fixed beforehand, `choice` comes with its
    having been chosen; `shared` is the covariance with the error of the total. `loss` is what the
    choice cost, to second order in the noise of the matrix.
    """

    energy: float
    linear: float
    choice: float
    shared: float
    loss: float = 0.0


def inverse_gaps(eigenvalues: FloatArray, off_diagonal: float) -> FloatArray:
    """1 / (lambda_i - lambda_j) of all pairs, smoothed for noise of this standard deviation."""
    gaps = np.subtract.outer(eigenvalues, eigenvalues)
    spacing = 4 * off_diagonal / math.sqrt(len(eigenvalues))
    denominator = gaps**2 + (_SMOOTHED * spacing) ** 2
    return np.divide(gaps, denominator, out=np.zeros_like(gaps), where=denominator > 0)


class NoiseField:
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
        self._inverse_gaps = inverse_gaps(eigenvalues, off_diagonal_sigma(sigma, noise))
        self._mean_variance = 0.0 if mean is None else mean.sigma**2
        along = np.zeros(n_features) if mean is None else vectors @ mean.value
        self._along_mean = along**2

    def of(self, group: BoolArray) -> OfGroup:
        """Energy and error of a group of eigenvectors."""
        by_matrix = self._of_matrix(group)
        return by_matrix if self._mean_variance == 0 else self._with_mean(group, by_matrix)

    def _of_matrix(self, group: BoolArray) -> OfGroup:
        inverse = self._inverse_gaps[np.ix_(group, ~group)]
        linear, size = self._variance * group.sum(), self._variance * np.ones_like(inverse)
        if self._squares is not None:
            # Triangle noise is isometric noise of twice the variance, less a part of the diagonal.
            inside, outside = self._squares[group], self._squares[~group]
            linear = 2 * linear - self._variance * (inside.sum(axis=0) ** 2).sum()
            size = 2 * self._variance * (1 - inside @ outside.T)
        tilt = float((size * inverse).sum())
        return OfGroup(
            energy=float(self.eigenvalues[group].sum()) - tilt,
            linear=float(linear),
            choice=float(((size * inverse) ** 2).sum()),
            shared=float(self._variance * group.sum()),
            loss=tilt / 2,
        )

    def _with_mean(self, group: BoolArray, by_matrix: OfGroup) -> OfGroup:
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
