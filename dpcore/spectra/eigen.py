"""Leading eigenpairs of symmetric matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcore.errors import ParameterError

CRITERIA = ("value", "magnitude")


def leading_eigenpairs(
    matrix: np.ndarray, n_components: int, *, by: str = "value"
) -> tuple[np.ndarray, np.ndarray]:
    """The n leading eigenpairs of a symmetric matrix, in the data type of the matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric
    n_components : int
        From 1 to n_features.
    by : {"value", "magnitude"}
        What leads: the largest eigenvalue, or the largest absolute eigenvalue.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        Descending by the criterion, with their sign.
    vectors : ndarray of shape (n_components, n_features)
        Orthonormal rows.

    Raises
    ------
    ParameterError
        If the matrix is not square or not finite, or n_components out of range.
    """
    values, vectors = leading_eigenpairs_of_many(np.asarray(matrix)[None], n_components, by=by)
    return values[0], vectors[0]


def leading_eigenpairs_of_many(
    matrices: np.ndarray, n_components: int, *, by: str = "value", threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """`leading_eigenpairs` of each of S symmetric matrices.

    Parameters
    ----------
    matrices : ndarray of shape (n_sites, n_features, n_features)
    n_components : int
    by : {"value", "magnitude"}
    threads : int
        Matrices decomposed at the same time.

    Returns
    -------
    eigenvalues : ndarray of shape (n_sites, n_components)
    vectors : ndarray of shape (n_sites, n_components, n_features)
    """
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ParameterError("matrix", "square", matrices.shape[1:])
    n_features = matrices.shape[-1]
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
    if by not in CRITERIA:
        raise ParameterError("by", f"one of {', '.join(CRITERIA)}", by)
    if not np.isfinite(matrices).all():
        raise ParameterError("matrix", "finite in every entry", "NaN or infinity")
    values, columns = np.linalg.eigh(matrices)
    order = np.argsort(-(np.abs(values) if by == "magnitude" else values), axis=1, kind="stable")
    order = order[:, :n_components]
    vectors = np.take_along_axis(columns.swapaxes(1, 2), order[:, :, None], axis=1)
    return np.take_along_axis(values, order, axis=1), vectors


def leading_eigenpairs_from_proxies(
    proxies: Sequence[np.ndarray], weights: np.ndarray, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenpairs of sum_s w_s P_s^T P_s, given the proxies P_s.

    Parameters
    ----------
    proxies : sequence of ndarray of shape (intermediate_dim, n_features)
        One a site, rows scaled by the root of their eigenvalue.
    weights : ndarray of shape (n_sites,)
        At least 0.
    n_components : int
        From 1 to n_features.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        Descending, at least 0.
    vectors : ndarray of shape (n_components, n_features)
        Orthonormal rows.
    """
    stack = np.concatenate([np.sqrt(w) * p for w, p in zip(weights, proxies, strict=True)])
    values, vectors = leading_eigenpairs(stack.T @ stack, n_components)
    return np.maximum(values, 0), vectors
