"""Leading eigenpairs of symmetric matrices, by the solver measured to be the fastest.

Everything is symmetric here, so nothing needs an SVD: of a symmetric matrix it gives the same
subspaces as "magnitude" for four times the time, and loses the signs of the eigenvalues.

Milliseconds for one noisy matrix, one BLAS thread (tests/benchmarks/bench_eigen.py):

    n of D, data type       selected   all   scipy.linalg.eigh(subset)   numpy eigh   numpy svd
    100 of 784, float32           25    41                          31           80         160
    100 of 784, float64           39    71                          51           72         160

Inverse iteration (`lapack.TridiagonalForm`) pays for the reduction and then by the vector,
`lapack.all_eigenpairs` for everything; they break even at a third to a half of the spectrum.
Below some hundred features the overhead of the calls outweighs the arithmetic, and NumPy's own
solver wins. `Spectrum` chooses, and serves several n from one decomposition.

Error in float32 on MNIST's second moment with noise from none to nothing but noise, relative to
the largest absolute eigenvalue: up to 5e-6 in eigenvalues and residuals, 1e-6 in orthonormality,
and 2e-7 in captured energy; in float64 1e-14, 2e-15 and 1e-15. A vector turns by its residual
over its distance to the rest of the spectrum: one vector out of a noisy bulk is never reliable,
what a subspace above a gap captures is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.spectra.spectrum import Spectrum

_THREADED_FROM = 96  # features
_RANKS_AT_ONCE = 50
_LEAST_BASIS = 100


def leading_eigenpairs(
    matrix: FloatArray, n_components: int, *, by: str = "value"
) -> tuple[FloatArray, FloatArray]:
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
    matrices: FloatArray, n_components: int, *, by: str = "value", threads: int = 1
) -> tuple[FloatArray, FloatArray]:
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
    if matrices.ndim != 3:
        raise ParameterError("matrix", "square", matrices.shape[1:])
    workers = min(threads, len(matrices)) if matrices.shape[-1] >= _THREADED_FROM else 1

    def decompose(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
        return Spectrum(matrix).leading(n_components, by=by)

    if workers <= 1:
        pairs = [decompose(matrix) for matrix in matrices]
    else:
        with ThreadPoolExecutor(workers) as pool:
            pairs = list(pool.map(decompose, matrices))
    return np.stack([values for values, _ in pairs]), np.stack([vectors for _, vectors in pairs])


def few_of_many(matrix: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """The largest eigenpairs of a matrix that there is no room for twice, by its products alone.

    Lanczos' iteration (ARPACK) to the last digit: `leading_eigenpairs`, slower and in no more
    memory than some hundred vectors.

    Parameters
    ----------
    matrix : ndarray of float64, shape (n_features, n_features), symmetric
    n_components : int
        Far below n_features.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,), descending
    vectors : ndarray of shape (n_components, n_features), orthonormal rows
    """
    from scipy.sparse.linalg import eigsh

    # Anything but an eigenvector; the same at every call.
    start = np.random.default_rng(0).standard_normal(len(matrix))
    basis = min(len(matrix), max(_LEAST_BASIS, 2 * n_components + 1))
    values, columns = eigsh(matrix, n_components, which="LA", ncv=basis, v0=start)
    order = np.argsort(-values)
    return values[order], np.ascontiguousarray(columns.T[order])


def proxy_aggregates(
    proxies: Sequence[FloatArray], weights: FloatArray, ranks: Sequence[int]
) -> Iterator[FloatArray]:
    """The aggregate sum_s w_s P_s^T P_s of the first R rows of the sites' proxies, for several R.

    A larger R starts from what the smaller ones added up, and gives the same to the last digit
    as when it is asked for alone.

    Parameters
    ----------
    proxies : sequence of ndarray of shape (intermediate_dim, n_features)
        One a site: eigenvectors in rows, each times the root of its eigenvalue (the
        transpose of the paper's P_s). The intermediate dimension may differ between sites.
    weights : ndarray of shape (n_sites,)
        At least 0.
    ranks : sequence of int
        Ascending; beyond a site's intermediate dimension nothing is added for it.

    Yields
    ------
    ndarray of shape (n_features, n_features), symmetric

    Raises
    ------
    ParameterError
        If a weight is negative or there is not one a site.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(proxies),) or not (weights >= 0).all():
        raise ParameterError("weights", f"{len(proxies)} numbers of at least 0", weights.tolist())
    roots = [proxy.dtype.type(root) for proxy, root in zip(proxies, weights**0.5, strict=True)]

    def of_rows(start: int, stop: int) -> FloatArray:
        pairs = zip(proxies, roots, strict=True)
        stack = np.concatenate([proxy[start:stop] * root for proxy, root in pairs])
        aggregate: FloatArray = stack.T @ stack
        return aggregate

    total, done = of_rows(0, 0), 0
    for rank in ranks:
        while done + _RANKS_AT_ONCE <= rank:
            total = total + of_rows(done, done + _RANKS_AT_ONCE)
            done += _RANKS_AT_ONCE
        yield total + of_rows(done, rank) if rank > done else total
