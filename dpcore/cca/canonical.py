"""Canonical pairs of a joint second moment, and how good given pairs are.

Everything here is a function of second-moment blocks; none of it adds noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.noise_field import noise_edge


@dataclass(frozen=True, eq=False)
class MeasuredCorrelations:
    """What given directions are worth on true data.

    Attributes
    ----------
    pairs : ndarray of shape (n_components,)
        |correlation| of the k-th x score with the k-th y score.
    spans : ndarray of shape (n_components,)
        Canonical correlations between the two projected views, descending. They depend on the
        spans of the directions only, and the k-th is never above the k-th exact one.
    """

    pairs: FloatArray
    spans: FloatArray

    @property
    def total(self) -> float:
        """Total correlation the two subspaces capture, the sum of `spans`."""
        return float(self.spans.sum())


def noise_floor(noisy_moment: FloatArray, sigma: float, *, noise: str) -> float:
    """The automatic eigenvalue floor of a joint moment with Gaussian noise in every entry.

    Noise turns the small eigenvalues, whose true values lie close together, into a bulk that
    reaches one noise edge e to either side of them (`dpcore.pca.noise_field`). The smallest noisy
    eigenvalue m is the lower end of that bulk, so its centre is near m + e, and directions in it
    cannot be told from each other. The floor is m + 1.25 e (at least e / 4): two thirds of the
    bulk become one variance, and with that most of its noise leaves the cross block too. Where
    the true eigenvalues decay to zero this is e / 4; where both views carry private noise of
    variance v it is v + e / 4. A lower floor whitens noise into correlations near 1; a higher one
    gives up on whitening. As the noise goes to 0 what the floor changes goes to 0 like it.

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
        In units of the second moment; 0 without noise.
    """
    edge = noise_edge(np.array([sigma]), np.ones(1), len(noisy_moment), noise=noise)
    if edge == 0:
        return 0.0
    smallest = float(np.linalg.eigvalsh(noisy_moment)[0])
    return max(smallest + 1.25 * edge, edge / 4)


def canonical_pairs(
    joint_moment: FloatArray, n_x: int, n_components: int, *, floor: float = 0.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The K most correlated pairs of directions of two views.

    The poster (Imtiaz & Sarwate) takes the leading eigenvectors of C_xx^-1 C_xy C_yy^-1 C_yx.
    The same pairs come from the SVD of the whitened cross block C_xx^-1/2 C_xy C_yy^-1/2, which
    stays symmetric in the two views and needs no inverse of a product.

    A noisy joint moment is indefinite: its blocks may be nearly singular or negative, and the
    "correlations" it implies exceed 1. So eigenvalues of the *joint* matrix below `floor` are
    raised to it first. That is one repair for the three blocks together: the result is the
    nearest matrix (in Frobenius norm) with eigenvalues of at least `floor`, its blocks are at
    least `floor` as well, and all its canonical correlations are below 1 whenever floor > 0.
    Flooring the two diagonal blocks alone keeps all of the noise in the cross block, and
    measures worse (`noise_floor` says how the floor is chosen).

    Parameters
    ----------
    joint_moment : ndarray of shape (n_x + n_y, n_x + n_y), symmetric
        Second moment of rows [x y]; centred if correlations about the mean are meant.
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
        Of the repaired matrix, descending, in [0, 1].

    Raises
    ------
    ParameterError
        If the matrix is not square or not finite, or a number is outside its range.
    """
    joint = _checked(joint_moment, n_x)
    n_y = len(joint) - n_x
    if not 1 <= n_components <= min(n_x, n_y):
        raise ParameterError("n_components", f"in [1, min(n_x, n_y)={min(n_x, n_y)}]", n_components)
    if not (floor >= 0 and math.isfinite(floor)):
        raise ParameterError("floor", "finite and at least 0", floor)
    # Without a floor the answer does not depend on the columns' units; in units of their own
    # deviation it keeps its digits. A floor is in the units of the matrix.
    scale = _inverse_deviations(joint) if floor == 0 else np.ones(len(joint))
    joint = _with_eigenvalue_floor(joint * np.outer(scale, scale), floor)
    whiten_x = _whitening(joint[:n_x, :n_x])
    whiten_y = _whitening(joint[n_x:, n_x:])
    left, singular_values, right = np.linalg.svd(
        whiten_x.T @ joint[:n_x, n_x:] @ whiten_y, full_matrices=False
    )
    found = min(n_components, len(singular_values))
    x_rotations = np.zeros((n_x, n_components))
    y_rotations = np.zeros((n_y, n_components))
    correlations = np.zeros(n_components)
    x_rotations[:, :found] = scale[:n_x, None] * (whiten_x @ left[:, :found])
    y_rotations[:, :found] = scale[n_x:, None] * (whiten_y @ right[:found].T)
    correlations[:found] = np.minimum(singular_values[:found], 1.0)
    peak = np.take_along_axis(x_rotations, np.abs(x_rotations).argmax(axis=0)[None], axis=0)
    signs = np.where(peak < 0, -1.0, 1.0)
    return x_rotations * signs, y_rotations * signs, correlations


def measured_correlations(
    x_rotations: FloatArray, y_rotations: FloatArray, joint_moment: FloatArray
) -> MeasuredCorrelations:
    """Correlations that given directions really capture, on a joint moment without noise.

    Parameters
    ----------
    x_rotations : ndarray of shape (n_x, n_components)
    y_rotations : ndarray of shape (n_y, n_components)
        Any scale; a direction without variance on the true data counts as correlation 0.
    joint_moment : ndarray of shape (n_x + n_y, n_x + n_y), symmetric
        The true one, centred the way the directions are judged.

    Returns
    -------
    MeasuredCorrelations
        Not private: it reads the true data.
    """
    n_x, n_components = x_rotations.shape
    joint = _checked(joint_moment, n_x)
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
    scale = _inverse_deviations(projected)
    correlation_matrix = projected * np.outer(scale, scale)
    _, _, spans = canonical_pairs(correlation_matrix, n_components, n_components)
    pairs = np.minimum(np.abs(correlation_matrix.diagonal(n_components)), 1.0)
    return MeasuredCorrelations(pairs, spans)


def _checked(joint_moment: FloatArray, n_x: int) -> FloatArray:
    joint = np.asarray(joint_moment, dtype=np.float64)
    if joint.ndim != 2 or joint.shape[0] != joint.shape[1]:
        raise ParameterError("joint_moment", "square", joint.shape)
    if not 1 <= n_x < len(joint):
        raise ParameterError("n_x", f"in [1, {len(joint) - 1}]", n_x)
    if not np.isfinite(joint).all():
        raise ParameterError("joint_moment", "finite in every entry", "NaN or infinity")
    return joint


def _inverse_deviations(moment: FloatArray) -> FloatArray:
    """1 / sqrt of the diagonal; 0 where it is nothing but rounding."""
    variances = moment.diagonal()
    varies = variances > len(moment) * np.finfo(float).eps * max(variances.max(), 0.0)
    return np.where(varies, 1 / np.sqrt(np.where(varies, variances, 1.0)), 0.0)


def _with_eigenvalue_floor(matrix: FloatArray, floor: float) -> FloatArray:
    eigenvalues, vectors = np.linalg.eigh(matrix)
    low = eigenvalues < floor
    # Adding what is missing, rather than recomposing, leaves a sound matrix as it is to the bit.
    lift = vectors[:, low] * np.sqrt(floor - eigenvalues[low])
    raised: FloatArray = matrix + lift @ lift.T
    return raised


def _whitening(block: FloatArray) -> FloatArray:
    """W of shape (n, rank) with W^T block W = I."""
    eigenvalues, vectors = np.linalg.eigh(block)
    kept = eigenvalues > len(block) * np.finfo(float).eps * eigenvalues[-1]
    whitening: FloatArray = vectors[:, kept] / np.sqrt(eigenvalues[kept])
    return whitening
