"""Captured energy of a subspace, and the distance between two subspaces.

A subspace is given by components: a (K, D) array with orthonormal rows.
"""

from __future__ import annotations

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError

# Messages of sites may have 16-bit numbers; their rows are orthonormal to three digits.
_ORTHONORMAL_TOLERANCE = 1e-3


def captured_energy(components: FloatArray, second_moment: FloatArray) -> float:
    """Return tr(V^T A V), the energy of A within the subspace.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features), orthonormal rows
    second_moment : ndarray of shape (n_features, n_features), symmetric

    Returns
    -------
    float
        Energy in units of the second moment.

    Raises
    ------
    ParameterError
        If a row is not of length 1 or two rows are not orthogonal, within 0.001.
    """
    energy = float(cumulative_energy(components, second_moment)[-1])
    error = np.abs(components @ components.T - np.eye(len(components))).max()
    # NaN is refused too.
    if not error <= _ORTHONORMAL_TOLERANCE:
        raise ParameterError(
            "components", "made of orthonormal rows", f"rows that differ from that by {error:.2g}"
        )
    return energy


def cumulative_energy(components: FloatArray, second_moment: FloatArray) -> FloatArray:
    """Compute the captured energy of the first k components for k = 1, …, n_components.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features), orthonormal rows
    second_moment : ndarray of shape (n_features, n_features), symmetric

    Returns
    -------
    ndarray of shape (n_components,), float64
    """
    if components.ndim != 2 or second_moment.shape != (components.shape[1],) * 2:
        raise ParameterError(
            "components",
            f"of shape (n_components, {second_moment.shape[-1]})",
            components.shape,
        )
    captured = np.einsum("kd,kd->k", components @ second_moment, components, dtype=np.float64)
    return np.cumsum(captured)


def random_subspace_energy(second_moment: FloatArray, n_components: int) -> float:
    """Return the expected captured energy of a uniformly random subspace, (K / D) tr(A).

    Parameters
    ----------
    second_moment : ndarray of shape (n_features, n_features)
    n_components : int
    """
    n_features = len(second_moment)
    return n_components / n_features * float(np.trace(second_moment, dtype=np.float64))


def principal_angles(U: FloatArray, V: FloatArray) -> FloatArray:
    """Compute the principal angles between the row spaces of U and V, ascending.

    Small angles are computed from sines and large ones from cosines, which keeps the relative
    accuracy of both (Björck & Golub 1973).

    Parameters
    ----------
    U, V : ndarray of shape (n_components, n_features), linearly independent rows
        The numbers of components may differ.

    Returns
    -------
    ndarray of shape (min of the numbers of components,), float64
        Radians in [0, pi/2].
    """
    U, V = _orthonormal_bases(U, V)
    if len(U) < len(V):
        U, V = V, U
    overlap = V @ U.T
    cosines = np.linalg.svd(overlap, compute_uv=False)
    sines = np.linalg.svd(V - overlap @ U, compute_uv=False)[::-1]
    angles: FloatArray = np.where(
        cosines**2 >= 0.5,
        np.arcsin(np.minimum(sines, 1.0)),
        np.arccos(np.minimum(cosines, 1.0)),
    )
    return angles


def projector_distance(U: FloatArray, V: FloatArray) -> float:
    """Compute the Frobenius norm of the difference of the two orthogonal projectors.

    The distance is 0 for equal subspaces and sqrt(2 sum sin^2) of the principal angles for equal
    dimensions. The two residuals are used because K - ||U V^T||^2 loses half of the digits.

    Parameters
    ----------
    U, V : ndarray of shape (n_components, n_features), linearly independent rows
        The numbers of components may differ.
    """
    U, V = _orthonormal_bases(U, V)
    overlap = U @ V.T
    return float(np.hypot(np.linalg.norm(U - overlap @ V), np.linalg.norm(V - overlap.T @ U)))


def align_signs(components: FloatArray, reference: FloatArray) -> FloatArray:
    """Return the components, with the sign of each row chosen to agree with its reference row.

    Parameters
    ----------
    components, reference : ndarray of shape (n_components, n_features)

    Returns
    -------
    ndarray of shape (n_components, n_features)
    """
    if components.shape != reference.shape:
        raise ParameterError("reference", f"of shape {components.shape}", reference.shape)
    products = np.einsum("kd,kd->k", components, reference)
    return np.where(products < 0, -1, 1).astype(components.dtype)[:, None] * components


def _orthonormal_bases(U: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis of each of two row spaces in one space."""
    if U.ndim != 2 or V.ndim != 2 or U.shape[1] != V.shape[1]:
        raise ParameterError("V", f"of shape (n_components, {U.shape[-1]}), as U", V.shape)
    return _orthonormal_rows(U), _orthonormal_rows(V)


def _orthonormal_rows(components: FloatArray) -> FloatArray:
    # Components from a float32 solver are orthonormal to 1e-5 only, which would show as an angle.
    return np.linalg.qr(np.asarray(components, dtype=np.float64).T)[0].T
