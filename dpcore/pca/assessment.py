"""Assess a release from itself: captured energy with an interval, edge of the noise, cuts at sites.

Formulas and derivation: ``docs/algorithms/self-assessment.md``.

How good a release is, told by the release: the energy its components capture, with an interval.

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

How good a release is whose sites cut what they sent: each answers from the whole of its own.

A site holds its noisy second moment M_s = A_s + E_s and sent f(M_s), the part of its R leading
directions. The components come from the average of the f(M_s), so that what E_s has to do with
them is known: where F holds the divided differences of f at the eigenvalues of M_s, and B_ij is
(v_i v_j^T + v_j v_i^T) / sqrt(2) of two eigenvectors of the average, that average moves along B_ij
by w_s phi_ij, phi_ij = sum over a, b of F_ab (u_a^T B_ij u_b)^2. Stein's lemma then gives

    w_s v_i^T M_s v_i - w_s^2 sigma_s^2 sum_{j != i} phi_ij / (c_i - c_j),

whose sum over the sites is v_i^T A v_i without bias. It takes one more round: the average goes back
to the sites, and each answers with two numbers a component and two more. Both are made of what
is private already, so nobody pays. Derivation: ``docs/algorithms/self-assessment.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import BoolArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.site import NoisySite
from dpcore.spectra import Spectrum

# How a group of eigenvectors of a noisy matrix answers to the noise: sums over eigenvalue gaps; and
# where the spectrum of pure noise ends.

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


# How good a release is, told by the release: the energy its components capture, with an interval.

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


# How good a release is whose sites cut what they sent: each answers from the whole of its own.

# Singular values of F, of so little of the largest, that are left out: ten are about all it has.
_NEGLIGIBLE = 1e-5


@dataclass(frozen=True, eq=False)
class Answer:
    """What one site says of the components, as its part of the whole.

    energies, choices: shape (n_components,). Energy along each, and its squared error by their
        having been chosen.
    choice: The same of all components together.
    total: Energy of all directions.
    variance: Of its noise, in the average; public.
    """

    energies: FloatArray
    choices: FloatArray
    choice: float
    total: float
    variance: float


def answer(
    noisy: NoisySite,
    weight: float,
    *,
    intermediate_dim: int,
    vectors: FloatArray,
    inverse: FloatArray,
) -> Answer:
    """What a site says that sent its leading directions by value, its noise being isometric.

    weight: n_s / N.
    intermediate_dim: R.
    vectors: shape (n_features, n_features). Eigenvectors of the average of what was sent, as rows,
        the components first.
    inverse: shape (n_components, n_features). 1 / (c_i - c_j) of its eigenvalues.
    """
    n_components = len(inverse)
    components = vectors[:n_components].astype(noisy.noisy.dtype)
    moved = _moved(noisy, intermediate_dim, vectors, n_components)
    variance = float((weight * noisy.sigma) ** 2)
    squares = (inverse * moved) ** 2
    along = np.einsum("kd,kd->k", components @ noisy.noisy, components)
    return Answer(
        energies=weight * along - variance * (inverse * moved).sum(axis=1),
        choices=variance * squares.sum(axis=1),
        choice=variance * float(squares[:, n_components:].sum()),
        total=weight * float(noisy.noisy.trace()),
        variance=variance,
    )


def _moved(
    noisy: NoisySite, intermediate_dim: int, vectors: FloatArray, n_components: int
) -> FloatArray:
    """phi of shape (n_components, n_features): how far what the site sent goes with its noise."""
    values, own = noisy.spectrum.leading(len(vectors))
    n_kept = min(intermediate_dim, int((values > 0).sum()))
    # F is 1 between kept eigenvalues, 0 between cut ones.
    inverse = inverse_gaps(values, off_diagonal_sigma(noisy.sigma, "isometric"))
    slopes = values[:n_kept, None] * inverse[:n_kept, n_kept:]
    overlap = vectors.astype(own.dtype) @ own.T
    kept, cut = overlap[:, :n_kept], overlap[:, n_kept:]
    of_kept, of_cut = kept[:n_components], cut[:n_components]
    moved = np.outer((of_kept**2).sum(axis=1), (kept**2).sum(axis=1)) + (of_kept @ kept.T) ** 2
    moved += of_kept**2 @ slopes @ (cut**2).T + of_cut**2 @ slopes.T @ (kept**2).T
    for left, size, right in zip(*_leading_singular(slopes), strict=True):
        moved += 2 * size * ((of_kept * left) @ kept.T) * ((of_cut * right) @ cut.T)
    return moved.astype(np.float64)


def _leading_singular(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int((sizes > _NEGLIGIBLE * sizes.max(initial=0)).sum())
    return left.T[:rank], sizes[:rank], right[:rank]


def assess_cut(
    average: Spectrum,
    n_components: int,
    sites: Iterable[tuple[NoisySite, float]],
    *,
    intermediate_dim: int,
    sigma_left: float,
) -> Assessment:
    """What the leading directions of the average of cut messages capture of the exact average.

    average: Of what the sites sent.
    sites: iterable of (NoisySite, weight). Asked one after the other.
    sigma_left: Of the noise in an entry of the average, had nothing been cut.
    The answer says neither how many components stand out nor what the best subspace holds.
    """
    n_features = len(average.matrix)
    values, vectors = average.leading(n_features)
    values = np.maximum(values.astype(np.float64), 0)
    gaps = inverse_gaps(values, off_diagonal_sigma(sigma_left, "isometric"))[:n_components]
    answers = [
        answer(site, weight, intermediate_dim=intermediate_dim, vectors=vectors, inverse=gaps)
        for site, weight in sites
    ]
    variance = sum(each.variance for each in answers)
    energies = np.sum([each.energies for each in answers], axis=0)
    # The square of a sum over the sites, by Cauchy and Schwarz: equal where sites are alike.
    choices = variance * np.sum([each.choices for each in answers], axis=0)
    choice = variance * sum(each.choice for each in answers)
    return assessment_of(
        [_group(*each) for each in zip(energies, [variance] * n_components, choices, strict=True)],
        _group(energies.sum(), n_components * variance, choice),
        _group(sum(each.total for each in answers), n_features * variance, 0.0),
    )


def _group(energy: float, linear: float, choice: float) -> OfGroup:
    return OfGroup(float(energy), linear, float(choice), shared=linear)
