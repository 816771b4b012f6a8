"""How good a release is whose sites cut what they sent: each answers from the whole of its own.

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

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.pca.noise_field import OfGroup, inverse_gaps, off_diagonal_sigma
from dpcore.pca.self_assessment import Assessment, assessment_of
from dpcore.pca.site import NoisySite
from dpcore.spectra import Spectrum

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
