"""Leading eigenpairs of symmetric matrices, by the solver measured to be the fastest.

Everything is symmetric here, so nothing needs an SVD: of a symmetric matrix it gives the same
subspaces as "magnitude" for four times the time, and loses the signs of the eigenvalues.

Milliseconds for one noisy matrix, one BLAS thread (tests/benchmarks/bench_eigen.py):

    n of D, data type       selected   all   scipy.linalg.eigh(subset)   numpy eigh   numpy svd
    100 of 784, float32           25    41                          31           80         160
    100 of 784, float64           39    71                          51           72         160

`lapack.selected_eigenpairs` pays for the reduction and then by the vector, `all_eigenpairs` for
everything; they break even at a third to a half of the spectrum. Below some hundred features the
overhead of the calls outweighs the arithmetic, and NumPy's batched solver wins.

Error in float32 on MNIST's second moment with noise from none to nothing but noise, relative to
the largest absolute eigenvalue: up to 5e-6 in eigenvalues and residuals, 1e-6 in orthonormality,
and 2e-7 in captured energy; in float64 1e-14, 2e-15 and 1e-15. A vector turns by its residual
over its distance to the rest of the spectrum: one vector out of a noisy bulk is never reliable,
what a subspace above a gap captures is.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dpcore.errors import ParameterError
from dpcore.spectra.lapack import all_eigenpairs, selected_eigenpairs

CRITERIA = ("value", "magnitude")

_BATCHED_BELOW = 96  # features
_ALL_ABOVE = 0.35  # share of the spectrum


def leading_eigenpairs(
    matrix: np.ndarray, n_components: int, *, by: str = "value"
) -> tuple[np.ndarray, np.ndarray]:
    """The n leading eigenpairs of a symmetric matrix, in the data type of the matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric
        Only its lower triangle is read.
    n_components : int
        From 1 to n_features.
    by : {"value", "magnitude"}
        What leads: the largest eigenvalue, or the largest absolute eigenvalue (the order of
        singular values).

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        With their sign, descending by the criterion.
    vectors : ndarray of shape (n_components, n_features)
        Orthonormal rows; the sign of a row is arbitrary but the same at every call.

    Raises
    ------
    ParameterError
        If the matrix is not square or not finite, n_components out of range, or the criterion
        unknown.
    """
    values, vectors = leading_eigenpairs_of_many(np.asarray(matrix)[None], n_components, by=by)
    return values[0], vectors[0]


def leading_eigenpairs_of_many(
    matrices: np.ndarray, n_components: int, *, by: str = "value", threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """`leading_eigenpairs` of each of S symmetric matrices.

    Parameters
    ----------
    matrices : ndarray of shape (n_sites, n_features, n_features), each symmetric
    n_components : int
        From 1 to n_features.
    by : {"value", "magnitude"}
    threads : int
        Matrices decomposed at the same time, where they are large enough to gain by it: twice as
        fast with two threads on two idle cores at 784 features, given one BLAS thread. The result
        does not depend on it.

    Returns
    -------
    eigenvalues : ndarray of shape (n_sites, n_components)
    vectors : ndarray of shape (n_sites, n_components, n_features)

    Raises
    ------
    ParameterError
        As `leading_eigenpairs`.
    """
    matrices = np.asarray(matrices)
    _check(matrices, n_components, by)
    dtype = matrices.dtype if matrices.dtype == np.float32 else np.dtype(np.float64)
    n_sites, n_features = matrices.shape[:2]
    values = np.empty((n_sites, n_components), dtype)
    vectors = np.empty((n_sites, n_components, n_features), dtype)

    def keep(site: int, spectrum: np.ndarray, rows: np.ndarray) -> None:
        order = _leading(spectrum, n_components, by)
        values[site], vectors[site] = spectrum[order], rows[order]

    if n_features < _BATCHED_BELOW:
        spectra, columns = np.linalg.eigh(matrices)
        for site in range(n_sites):
            keep(site, spectra[site], columns[site].T)
        return values, vectors

    def decompose(site: int) -> None:
        matrix = matrices[site].astype(dtype, copy=False)
        keep(site, *_leading_unordered(matrix, n_components, by))

    workers = min(threads, n_sites)
    if workers <= 1:
        for site in range(n_sites):
            decompose(site)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(decompose, range(n_sites)))
    return values, vectors


def leading_eigenpairs_from_proxies(
    proxies: Sequence[np.ndarray], weights: np.ndarray, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenpairs of the aggregate sum_s w_s P_s^T P_s, given the sites' proxies P_s.

    With fewer proxy rows than features the Gram matrix of the rows has the same non-zero
    eigenvalues and is the smaller problem; otherwise the aggregate is formed.

    Parameters
    ----------
    proxies : sequence of ndarray of shape (intermediate_dim, n_features)
        One a site: eigenvectors in rows, each times the root of its eigenvalue (DESIGN 4; the
        transpose of the paper's P_s). The intermediate dimension may differ between sites.
    weights : ndarray of shape (n_sites,)
        At least 0.
    n_components : int
        From 1 to n_features.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        Descending, at least 0.
    vectors : ndarray of shape (n_components, n_features)
        Orthonormal rows; beyond the rank of the aggregate they are arbitrary.

    Raises
    ------
    ParameterError
        If a weight is negative or there is not one a site, and as `leading_eigenpairs`.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(proxies),) or not (weights >= 0).all():
        raise ParameterError("weights", f"{len(proxies)} numbers of at least 0", weights.tolist())
    scaled = zip(proxies, np.sqrt(weights), strict=True)
    stack = np.concatenate([proxy * proxy.dtype.type(scale) for proxy, scale in scaled])
    n_rows, n_features = stack.shape
    if not n_components <= n_rows < n_features:
        values, vectors = leading_eigenpairs(stack.T @ stack, n_components)
        return np.maximum(values, 0), vectors
    values, combinations = leading_eigenpairs(stack @ stack.T, n_components)
    # Rows of `combinations @ stack` are orthogonal up to the rounding of the Gram matrix, which
    # the smallest eigenvalues may not exceed. A Householder QR leaves the leading directions as
    # they are and completes the others to an orthonormal set, whatever the rank.
    vectors = np.linalg.qr((combinations @ stack).T)[0].T
    return np.maximum(values, 0), vectors


def _check(matrices: np.ndarray, n_components: int, by: str) -> None:
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ParameterError("matrix", "square", matrices.shape[1:])
    n_features = matrices.shape[1]
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
    if by not in CRITERIA:
        raise ParameterError("by", f"one of {', '.join(CRITERIA)}", by)
    if not np.isfinite(matrices).all():
        worst = float(matrices[~np.isfinite(matrices)][0])
        raise ParameterError("matrix", "finite in every entry", worst)


def _leading_unordered(
    matrix: np.ndarray, n_components: int, by: str
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs that hold the leading ones, by the faster of the two LAPACK routes."""
    if n_components <= _ALL_ABOVE * len(matrix):
        try:
            return selected_eigenpairs(
                matrix, lambda spectrum: np.sort(_leading(spectrum, n_components, by))
            )
        except np.linalg.LinAlgError:
            # Blocks or tight clusters, in which inverse iteration is not safe: noise-free
            # matrices with empty features, say. Divide and conquer copes with all of them.
            pass
    return all_eigenpairs(matrix)


def _leading(spectrum: np.ndarray, n_components: int, by: str) -> np.ndarray:
    """Positions of the leading eigenvalues, best first."""
    size = -np.abs(spectrum) if by == "magnitude" else -spectrum
    return np.argsort(size, kind="stable")[:n_components]
