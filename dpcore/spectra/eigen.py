"""Leading eigenpairs of symmetric matrices, reproducible for every number of pairs.

The first n pairs are equal to the last bit whether n, more or fewer pairs are computed first, so
a single run agrees exactly with a sweep over R or K that shares the decomposition. LAPACK does
not guarantee that: inverse iteration starts each vector from the state of a random number
generator that the previous vector left, and products of different sizes are summed in different
orders. `Spectrum` therefore computes pairs in blocks with fixed ends; each block depends only on
the matrix and the blocks before it.

All matrices are symmetric, so no function here needs an SVD. An SVD returns the same subspaces
as `by="magnitude"`, takes four times as long and loses the signs of the eigenvalues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.spectra.denoising import denoise
from dpcore.spectra.lapack import TridiagonalForm, all_eigenpairs
from dpcore.spectra.prior_mean import in_public_order
from dpcore.spectra.public_bases import PublicBasis

CRITERIA = ("value", "magnitude")

# Milliseconds per noisy matrix, one BLAS thread (tests/benchmarks/bench_eigen.py):
#
#    n of D, data type       selected   all   scipy.linalg.eigh(subset)   numpy eigh   numpy svd
#    100 of 784, float32           25    41                          31           80         160
#    100 of 784, float64           39    71                          51           72         160
#
# "selected" is inverse iteration (`TridiagonalForm`), "all" divide and conquer (`all_eigenpairs`).
# They break even at a third to a half of the spectrum. The overhead of the calls exceeds the
# arithmetic below about 100 features.
_MIN_LAPACK_SIZE = 96  # features; NumPy's solver is faster below
_MAX_SELECTED_SHARE = 0.35  # of the spectrum; divide and conquer is faster above
_FIRST_BLOCKS, _LATER_BLOCKS = 25, 50  # pairs per block: the first two, all others
_RANKS_PER_BLOCK = 50
_MIN_LANCZOS_BASIS = 100


class Spectrum:
    """Eigenpairs of one symmetric matrix, computed on demand in the matrix's data type.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric
        float32; every other type is converted to float64. Only the lower triangle is read. The
        matrix is referenced, not copied.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_features)

    Raises
    ------
    ParameterError
        If the matrix is not square or not finite.
    """

    def __init__(self, matrix: FloatArray):
        matrix = np.asarray(matrix)
        if matrix.dtype != np.float32:
            matrix = matrix.astype(np.float64, copy=False)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ParameterError("matrix", "square", matrix.shape)
        if not np.isfinite(matrix).all():
            worst = float(matrix[~np.isfinite(matrix)][0])
            raise ParameterError("matrix", "finite in every entry", worst)
        self.matrix = matrix
        # Not a cached_property: in Python 3.11 its lock is shared by all instances, so threads
        # that decompose different matrices would wait for each other.
        self._lock = Lock()
        self._form: tuple[TridiagonalForm, IntArray] | None = None
        self._all: tuple[FloatArray, FloatArray] | None = None
        self._blocks: dict[str, _Blocks | None] = {}
        self._sorted: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._denoised_spectra: dict[tuple[object, ...], Spectrum] = {}

    def leading(self, n_components: int, *, by: str = "value") -> tuple[FloatArray, FloatArray]:
        """Return the n leading eigenpairs.

        Parameters
        ----------
        n_components : int
            Number of pairs, from 1 to n_features.
        by : {"value", "magnitude"}
            Order: largest eigenvalue first, or largest absolute eigenvalue first (the order of
            singular values).

        Returns
        -------
        eigenvalues : ndarray of shape (n_components,), read-only
            Eigenvalues with their sign, descending by the criterion.
        vectors : ndarray of shape (n_components, n_features), read-only
            Orthonormal rows. The sign of a row is arbitrary but the same in every call.

        Raises
        ------
        ParameterError
            If n_components is out of range or the criterion is unknown.
        """
        n_features = len(self.matrix)
        if not 1 <= n_components <= n_features:
            raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
        require_one_of("by", by, CRITERIA)
        with self._lock:
            if n_features >= _MIN_LAPACK_SIZE and n_components <= _MAX_SELECTED_SHARE * n_features:
                blocks = self._blocks_by(by)
                if blocks is not None and blocks.extend_to(n_components):
                    return _read_only(blocks.values[:n_components], blocks.vectors[:n_components])
            values, vectors = self._sorted_eigenpairs(by)
        return _read_only(values[:n_components], vectors[:n_components])

    def denoised(
        self,
        sigma: float,
        *,
        bases: Sequence[PublicBasis],
        noise: str,
        sigma_of_average: float | None = None,
        diagonal_of_average: FloatArray | None = None,
    ) -> Spectrum:
        """Return the spectrum of the denoised matrix (`dpcore.spectra.denoise`).

        Parameters
        ----------
        sigma : float
            Standard deviation of the noise in the matrix.
        bases : sequence of PublicBasis
            Public bases to denoise in. Without a basis or without noise, the result is self.
        noise : {"isometric", "triangle"}
        sigma_of_average : float, optional
            Noise of the average of all sites, see `dpcore.spectra.denoise`.
        diagonal_of_average : ndarray of shape (n_features,), optional
            Noisy diagonal of that average, see `dpcore.spectra.denoise`.

        Returns
        -------
        Spectrum
            The same object in every call.
        """
        if not bases or sigma == 0:
            return self
        profile = None if diagonal_of_average is None else diagonal_of_average.tobytes()
        key = (sigma, noise, sigma_of_average, profile, *bases)
        with self._lock:
            if key not in self._denoised_spectra:
                answer = denoise(
                    self.matrix,
                    sigma,
                    bases=bases,
                    noise=noise,
                    sigma_of_average=sigma_of_average,
                    diagonal_of_average=diagonal_of_average,
                )
                self._denoised_spectra[key] = Spectrum(answer)
            return self._denoised_spectra[key]

    def in_public_order(self, variance: float, basis: PublicBasis) -> Spectrum:
        """Return the spectrum of `dpcore.spectra.prior_mean.in_public_order`.

        variance: Variance of an entry of the average. Without noise, the result is self.
        basis: Cosines of pictures.

        Returns: The same object in every call.
        """
        if variance == 0:
            return self
        with self._lock:
            if (variance, basis) not in self._denoised_spectra:
                ordered = Spectrum(in_public_order(self.matrix, variance, basis))
                self._denoised_spectra[variance, basis] = ordered
            return self._denoised_spectra[variance, basis]

    def _blocks_by(self, by: str) -> _Blocks | None:
        if by not in self._blocks:
            try:
                self._form = self._form or _form_of_nonzero_rows(self.matrix)
                self._blocks[by] = _Blocks(*self._form, len(self.matrix), by)
            except np.linalg.LinAlgError:
                self._blocks[by] = None
        return self._blocks[by]

    def _sorted_eigenpairs(self, by: str) -> tuple[FloatArray, FloatArray]:
        if self._all is None:
            if len(self.matrix) < _MIN_LAPACK_SIZE:
                spectrum, columns = np.linalg.eigh(self.matrix)
                self._all = spectrum, columns.T
            else:
                self._all = all_eigenpairs(self.matrix)
        if by not in self._sorted:
            spectrum, vectors = self._all
            order = _leading_order(spectrum, by)
            self._sorted[by] = spectrum[order], vectors[order]
        return self._sorted[by]


def _form_of_nonzero_rows(matrix: FloatArray) -> tuple[TridiagonalForm, IntArray]:
    """Return the tridiagonal form of the nonzero rows and columns, and their indices.

    Zero rows occur for pixels that are always black. Each has the eigenvalue 0 and would split
    the tridiagonal form.
    """
    nonzero = np.flatnonzero(np.diagonal(matrix))
    if len(nonzero) < len(matrix):
        nonzero = np.flatnonzero(matrix.any(axis=1))
    if len(nonzero) == len(matrix):
        return TridiagonalForm(matrix), nonzero
    if len(nonzero) < _MIN_LAPACK_SIZE:
        raise np.linalg.LinAlgError("too few nonzero rows for inverse iteration")
    return TridiagonalForm(matrix[np.ix_(nonzero, nonzero)]), nonzero


class _Blocks:
    """Leading eigenpairs by inverse iteration, computed in blocks as far as required.

    form: Tridiagonal form of the nonzero rows.
    nonzero: Indices of the nonzero rows of the matrix.
    """

    def __init__(self, form: TridiagonalForm, nonzero: IntArray, n_features: int, by: str):
        size, dtype = len(form.eigenvalues), form.eigenvalues.dtype
        self._form, self._nonzero = form, nonzero
        self._order = _leading_order(form.eigenvalues, by)
        self._ends = _block_ends(size)
        self._n_computed = 0
        self._failed = False
        capacity = self._ends[-1]
        self._form_vectors = np.empty((capacity, size), dtype)
        self.values = form.eigenvalues[self._order[:capacity]]
        self.vectors = np.zeros((capacity, n_features), dtype)
        # Sorted by value, the eigenvalues 0 of the zero rows precede the negative ones.
        self._n_available = capacity
        if by == "value" and size < n_features:
            self._n_available = int((self.values > 0).sum())

    def extend_to(self, n_components: int) -> bool:
        """Compute the missing blocks; return False if inverse iteration fails before n pairs."""
        if n_components > self._n_available:
            return False
        while self._n_computed < n_components and not self._failed:
            end = next(end for end in self._ends if end > self._n_computed)
            try:
                self._compute_block(self._n_computed, end)
                self._n_computed = end
            except np.linalg.LinAlgError:
                # A tight cluster of eigenvalues. Earlier blocks stay valid; the caller uses
                # divide and conquer for more pairs.
                self._failed = True
        return n_components <= self._n_computed

    def _compute_block(self, start: int, end: int) -> None:
        positions = self._order[start:end]
        rank = np.argsort(positions)  # LAPACK requires ascending eigenvalues
        block = self._form.eigenvectors(positions[rank], self._form_vectors[:start])
        self._form_vectors[start:end] = block
        self.vectors[np.ix_(start + rank, self._nonzero)] = self._form.transform_back(block)


def _block_ends(size: int) -> list[int]:
    ends = [_FIRST_BLOCKS]
    while ends[-1] < _MAX_SELECTED_SHARE * size:
        ends.append(ends[-1] + (_FIRST_BLOCKS if len(ends) < 2 else _LATER_BLOCKS))
    return [min(end, size) for end in ends]


def _leading_order(spectrum: FloatArray, by: str) -> IntArray:
    """Return the positions of the eigenvalues, leading one first."""
    key = -np.abs(spectrum) if by == "magnitude" else -spectrum
    return np.argsort(key, kind="stable")


def _read_only(values: FloatArray, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    for view in (values, vectors):
        view.flags.writeable = False
    return values, vectors


def leading_eigenpairs(
    matrix: FloatArray, n_components: int, *, by: str = "value"
) -> tuple[FloatArray, FloatArray]:
    """Compute the n leading eigenpairs of a symmetric matrix, in the matrix's data type.

    Errors in float32 on MNIST's second moment at all noise levels, relative to the largest absolute
    eigenvalue, are up to 5e-6 in eigenvalues and residuals, 1e-6 in orthonormality and 2e-7 in
    captured energy; in float64 1e-14, 2e-15 and 1e-15. The error of one vector is its residual
    divided by the distance to the next eigenvalue, so single vectors inside a noisy bulk are not
    reliable.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric
        Only the lower triangle is read.
    n_components : int
        Number of pairs, from 1 to n_features.
    by : {"value", "magnitude"}
        Order: largest eigenvalue first, or largest absolute eigenvalue first (the order of
        singular values).

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        Eigenvalues with their sign, descending by the criterion.
    vectors : ndarray of shape (n_components, n_features)
        Orthonormal rows. The sign of a row is arbitrary but the same in every call.

    Raises
    ------
    ParameterError
        If the matrix is not square or not finite, n_components is out of range, or the criterion
        is unknown.
    """
    values, vectors = Spectrum(matrix).leading(n_components, by=by)
    return values.copy(), vectors.copy()


def few_of_many(matrix: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """Compute the largest eigenpairs of a matrix too large to be copied in memory.

    Lanczos iteration (ARPACK) to full precision. Slower than `leading_eigenpairs`; needs memory
    for about a hundred vectors in addition to the matrix.

    Parameters
    ----------
    matrix : ndarray of float64, shape (n_features, n_features), symmetric
    n_components : int
        Number of pairs, far below n_features.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,), descending
    vectors : ndarray of shape (n_components, n_features), orthonormal rows
    """
    from scipy.sparse.linalg import eigsh

    # A fixed start vector makes the result reproducible. It must not be an eigenvector.
    start = np.random.default_rng(0).standard_normal(len(matrix))
    basis_size = min(len(matrix), max(_MIN_LANCZOS_BASIS, 2 * n_components + 1))
    values, columns = eigsh(matrix, n_components, which="LA", ncv=basis_size, v0=start)
    order = np.argsort(-values)
    return values[order], np.ascontiguousarray(columns.T[order])


def proxy_aggregates(
    proxies: Sequence[FloatArray], weights: FloatArray, ranks: Sequence[int]
) -> Iterator[FloatArray]:
    """Yield the aggregate sum_s w_s P_s^T P_s of the first R rows of the proxies, for each R.

    The sum for a larger R starts from the sums for smaller ones. The result for one R is equal
    to the last bit whether or not other values of R are computed.

    Parameters
    ----------
    proxies : sequence of ndarray of shape (intermediate_dim, n_features)
        One proxy per site: eigenvectors in rows, each multiplied by the root of its eigenvalue
        (the transpose of the paper's P_s). The intermediate dimension may differ between sites.
    weights : ndarray of shape (n_sites,)
        Nonnegative weights of the sites.
    ranks : sequence of int
        Ascending values of R. A site contributes at most its own intermediate dimension.

    Yields
    ------
    ndarray of shape (n_features, n_features), symmetric

    Raises
    ------
    ParameterError
        If a weight is negative or their number differs from the number of sites.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(proxies),) or not (weights >= 0).all():
        raise ParameterError("weights", f"{len(proxies)} numbers of at least 0", weights.tolist())
    roots = [proxy.dtype.type(root) for proxy, root in zip(proxies, weights**0.5, strict=True)]

    def aggregate_rows(start: int, stop: int) -> FloatArray:
        pairs = zip(proxies, roots, strict=True)
        stack = np.concatenate([proxy[start:stop] * root for proxy, root in pairs])
        aggregate: FloatArray = stack.T @ stack
        return aggregate

    total, n_summed = aggregate_rows(0, 0), 0
    for rank in ranks:
        while n_summed + _RANKS_PER_BLOCK <= rank:
            total = total + aggregate_rows(n_summed, n_summed + _RANKS_PER_BLOCK)
            n_summed += _RANKS_PER_BLOCK
        yield total + aggregate_rows(n_summed, rank) if rank > n_summed else total
