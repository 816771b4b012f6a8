"""Canonical pairs of a joint second moment, and their measured correlations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.assessment import noise_edge


@dataclass(frozen=True, eq=False)
class MeasuredCorrelations:
    """Correlations of given directions on the true data.

    Attributes
    ----------
    pairs : ndarray of shape (n_components,)
        |correlation| of the k-th x score with the k-th y score.
    spans : ndarray of shape (n_components,)
        Canonical correlations between the two projected views, descending. They depend only on the
        spans of the directions. The k-th is at most the k-th exact one.
    """

    pairs: FloatArray
    spans: FloatArray

    @property
    def total(self) -> float:
        """Return the total correlation captured by the two subspaces, the sum of `spans`."""
        return float(self.spans.sum())


def noise_floor(noisy_moment: FloatArray, sigma: float, *, noise: str) -> float:
    """Compute the automatic eigenvalue floor of a joint moment with Gaussian noise in every entry.

    Noise spreads the small eigenvalues into a bulk that reaches one noise edge e to either side of
    their true values (`dpcore.pca.assessment`). The smallest noisy eigenvalue m is the lower end of
    this bulk, so its centre is near m + e, and its directions are indistinguishable. The floor is m
    + 1.25 e (at least e / 4): two thirds of the bulk become one variance, which removes most of its
    noise from the cross block too. If the true eigenvalues decay to zero, the floor is e / 4; if
    both views contain independent noise of variance v, it is v + e / 4. A lower floor whitens noise
    into correlations near 1; a higher floor prevents whitening. The effect of the floor vanishes
    with the noise.

    Both m and sigma are public, so this is post-processing.

    Parameters
    ----------
    noisy_moment : ndarray of shape (n_features, n_features), symmetric
    sigma : float
        Noise standard deviation of one of its entries.
    noise : {"triangle", "isometric"}

    Returns
    -------
    float
        Floor in units of the second moment; 0 without noise.
    """
    edge = noise_edge(np.array([sigma]), np.ones(1), len(noisy_moment), noise=noise)
    if edge == 0:
        return 0.0
    smallest = float(np.linalg.eigvalsh(noisy_moment)[0])
    return max(smallest + 1.25 * edge, edge / 4)


def canonical_pairs(
    joint_moment: FloatArray, n_x: int, n_components: int, *, floor: float = 0.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute the K most correlated pairs of directions of two views.

    The poster (Imtiaz & Sarwate) takes the leading eigenvectors of C_xx^-1 C_xy C_yy^-1 C_yx.
    The same pairs come from the SVD of the whitened cross block C_xx^-1/2 C_xy C_yy^-1/2, which
    stays symmetric in the two views and needs no inverse of a product.

    A noisy joint moment is indefinite: its blocks may be nearly singular or negative, and the
    "correlations" it implies exceed 1. So eigenvalues of the *joint* matrix below `floor` are
    raised to it first. That is one repair for the three blocks together: the result is the
    nearest matrix (in Frobenius norm) with eigenvalues of at least `floor`, its blocks are at
    least `floor` as well, and all its canonical correlations are below 1 whenever floor > 0.
    Flooring only the two diagonal blocks keeps all of the noise in the cross block, and gives worse
    results. `noise_floor` chooses the floor.

    Parameters
    ----------
    joint_moment : ndarray of shape (n_x + n_y, n_x + n_y), symmetric
        Second moment of rows [x y]; centred for correlations about the mean.
    n_x : int
        Number of columns of the first view.
    n_components : int
        K, from 1 to min(n_x, n_y).
    floor : float
        Smallest eigenvalue, in units of the second moment. With 0 negative eigenvalues become 0,
        and directions in which a view does not vary (to rounding) are left out.

    Returns
    -------
    x_rotations : ndarray of shape (n_x, n_components)
        Columns with unit second moment under the repaired matrix; the entry of largest
        magnitude in each is positive. A column is zero when the views have fewer pairs.
    y_rotations : ndarray of shape (n_y, n_components)
    correlations : ndarray of shape (n_components,)
        Correlations of the repaired matrix, descending, in [0, 1].

    Raises
    ------
    ParameterError
        If the matrix is not square or not finite, or a number is outside its range.
    """
    joint = _check_moment(joint_moment, n_x)
    n_y = len(joint) - n_x
    if not 1 <= n_components <= min(n_x, n_y):
        raise ParameterError("n_components", f"in [1, min(n_x, n_y)={min(n_x, n_y)}]", n_components)
    if not (floor >= 0 and math.isfinite(floor)):
        raise ParameterError("floor", "finite and at least 0", floor)
    # Without a floor the answer does not depend on the columns' units; in units of their own
    # deviation it keeps its digits. A floor is in the units of the matrix.
    scale = _inverse_standard_deviations(joint) if floor == 0 else np.ones(len(joint))
    joint = _with_eigenvalue_floor(joint * np.outer(scale, scale), floor)
    whiten_x = _whitening(joint[:n_x, :n_x])
    whiten_y = _whitening(joint[n_x:, n_x:])
    x_vectors, singular_values, y_vectors = np.linalg.svd(
        whiten_x.T @ joint[:n_x, n_x:] @ whiten_y, full_matrices=False
    )
    n_pairs = min(n_components, len(singular_values))
    x_rotations = np.zeros((n_x, n_components))
    y_rotations = np.zeros((n_y, n_components))
    correlations = np.zeros(n_components)
    x_rotations[:, :n_pairs] = scale[:n_x, None] * (whiten_x @ x_vectors[:, :n_pairs])
    y_rotations[:, :n_pairs] = scale[n_x:, None] * (whiten_y @ y_vectors[:n_pairs].T)
    correlations[:n_pairs] = np.minimum(singular_values[:n_pairs], 1.0)
    peak = np.take_along_axis(x_rotations, np.abs(x_rotations).argmax(axis=0)[None], axis=0)
    signs = np.where(peak < 0, -1.0, 1.0)
    return x_rotations * signs, y_rotations * signs, correlations


def measured_correlations(
    x_rotations: FloatArray, y_rotations: FloatArray, joint_moment: FloatArray
) -> MeasuredCorrelations:
    """Compute the correlations of given directions on a joint moment without noise.

    Parameters
    ----------
    x_rotations : ndarray of shape (n_x, n_components)
    y_rotations : ndarray of shape (n_y, n_components)
        Directions of any length; a direction without variance on the true data has correlation 0.
    joint_moment : ndarray of shape (n_x + n_y, n_x + n_y), symmetric
        True joint moment, centred like the moment of the directions.

    Returns
    -------
    MeasuredCorrelations
        Correlations on the true data, which are not private.
    """
    n_x, n_components = x_rotations.shape
    joint = _check_moment(joint_moment, n_x)
    if y_rotations.shape != (len(joint) - n_x, n_components):
        raise ParameterError(
            "y_rotations", f"of shape {(len(joint) - n_x, n_components)}", y_rotations.shape
        )
    rotation = np.zeros((len(joint), 2 * n_components))
    rotation[:n_x, :n_components] = x_rotations
    rotation[n_x:, n_components:] = y_rotations
    lengths = np.linalg.norm(rotation, axis=0)
    rotation /= np.where(lengths > 0, lengths, 1.0)
    projected = rotation.T @ joint @ rotation
    scale = _inverse_standard_deviations(projected)
    correlation_matrix = projected * np.outer(scale, scale)
    _, _, spans = canonical_pairs(correlation_matrix, n_components, n_components)
    pairs = np.minimum(np.abs(correlation_matrix.diagonal(n_components)), 1.0)
    return MeasuredCorrelations(pairs, spans)


def _check_moment(joint_moment: FloatArray, n_x: int) -> FloatArray:
    joint = np.asarray(joint_moment, dtype=np.float64)
    if joint.ndim != 2 or joint.shape[0] != joint.shape[1]:
        raise ParameterError("joint_moment", "square", joint.shape)
    if not 1 <= n_x < len(joint):
        raise ParameterError("n_x", f"in [1, {len(joint) - 1}]", n_x)
    if not np.isfinite(joint).all():
        raise ParameterError("joint_moment", "finite in every entry", "NaN or infinity")
    return joint


def _inverse_standard_deviations(moment: FloatArray) -> FloatArray:
    """Return 1 / sqrt of the diagonal, and 0 for entries at rounding level."""
    variances = moment.diagonal()
    varies = variances > len(moment) * np.finfo(float).eps * max(variances.max(), 0.0)
    return np.where(varies, 1 / np.sqrt(np.where(varies, variances, 1.0)), 0.0)


def _with_eigenvalue_floor(matrix: FloatArray, floor: float) -> FloatArray:
    eigenvalues, vectors = np.linalg.eigh(matrix)
    low = eigenvalues < floor
    # Adding the difference, instead of recomposing, keeps a valid matrix unchanged to the bit.
    lift = vectors[:, low] * np.sqrt(floor - eigenvalues[low])
    raised: FloatArray = matrix + lift @ lift.T
    return raised


def _whitening(block: FloatArray) -> FloatArray:
    """Return W of shape (n, rank) with W^T block W = I."""
    eigenvalues, vectors = np.linalg.eigh(block)
    is_positive = eigenvalues > len(block) * np.finfo(float).eps * eigenvalues[-1]
    whitening: FloatArray = vectors[:, is_positive] / np.sqrt(eigenvalues[is_positive])
    return whitening
