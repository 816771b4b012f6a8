"""Leading eigenpairs of symmetric matrices, and the energy that a subspace captures.

`scipy.linalg.eigh` holds the lock for the whole decomposition and finds both ends of a spectrum
only by decomposing twice. SciPy publishes the routines themselves as C function pointers
(`scipy.linalg.cython_lapack`, made for calls from other compiled code); called through ctypes
they run without the lock, so that sites are decomposed side by side in threads, and one
tridiagonal form serves both ends. Nothing is kept between calls.

The top 100 of 784 in float32 take 28 ms of one core, by value or by magnitude; SciPy's
`subset_by_index` takes 31 ms for one end and 60 for both, during which no other thread of this
process moves. Where SciPy publishes no such pointers its `eigh` does the work.

LAPACK stores matrices by columns and NumPy by rows. A symmetric matrix is its own transpose, so
LAPACK's upper triangle is the lower one here, as in `numpy.linalg.eigh`; and n eigenvectors that
LAPACK writes as columns are n rows here.

One decomposition of a symmetric matrix that serves every number of leading eigenpairs.

The first n pairs are the same to the last digit whether n, more or fewer are asked for first,
so that a run on its own and a sweep over R or K that shares the work agree exactly. LAPACK does
not promise that: inverse iteration starts each vector from where the last one left its random
numbers, and products of other sizes are added up in other orders. Pairs are therefore computed
in blocks with fixed ends: each depends on the matrix and the blocks before it, and on nothing
else.

Leading eigenpairs of symmetric matrices, by the solver measured to be the fastest.

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

How good a subspace is, and how far two subspaces are apart.

A subspace is given by components: a (K, D) array with orthonormal rows.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from threading import Lock

import numpy as np
import scipy.linalg

from dpcore.arrays import FloatArray, IntArray, executor
from dpcore.errors import ParameterError, require_one_of
from dpcore.spectra.denoising import PublicBasis, denoise

# Symmetric eigensolvers straight from LAPACK, with the interpreter lock released.

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
# Columns a blocked reduction or back-transformation handles at once: LAPACK's own is 32.
_BLOCK = 64


# There a call through a pointer of another type traps, and LAPACK translated to C returns an int
# where SciPy's headers say void.
_IS_WEBASSEMBLY = sys.platform in ("emscripten", "wasi")


class UnpublishedRoutine(np.linalg.LinAlgError):
    """This SciPy has no pointer to a LAPACK routine, or one that takes other integers."""


class TridiagonalForm:
    """A symmetric matrix reduced to tridiagonal form, with all its eigenvalues.

    Reduction by blocked reflections, eigenvalues by the square-root-free QL iteration, vectors
    by inverse iteration (LAPACK sytrd, sterf, stein, ormtr).

    matrix: shape (n_features, n_features), symmetric, float32 or float64. Finite.
    eigenvalues: shape (n_features,), ascending
    Raises `LinAlgError` if the routines are not there (`UnpublishedRoutine`); if the form falls
        apart into blocks (inverse iteration would then need to know which block each eigenvalue
        came from), as for zero rows or entries too small or too large to be squared; or if the
        iteration does not converge.
    """

    def __init__(self, matrix: np.ndarray):
        size, dtype = len(matrix), matrix.dtype
        self._reflectors = np.array(matrix, order="C")
        self._diagonal, self._beside = np.empty(size, dtype), np.empty(size, dtype)
        self._scales = np.empty(size, dtype)
        work = np.empty(_BLOCK * size, dtype)
        _call(
            "sytrd", dtype, b"U", size, self._reflectors, size, self._diagonal, self._beside,
            self._scales, work, work.size,
        )  # fmt: skip
        if _splits(self._diagonal, self._beside[:-1]):
            raise np.linalg.LinAlgError("the tridiagonal form splits into blocks")
        self.eigenvalues = self._diagonal.copy()
        _call("sterf", dtype, size, self.eigenvalues, self._beside.copy())

    def vectors(self, positions: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Eigenvectors of the form itself, orthonormal also to those known already.

        positions: integer array of shape (n_selected,), ascending. Which eigenvalues.
        known: shape (n_known, n_features). Vectors of other eigenvalues, from earlier calls.
        Returns: shape (n_selected, n_features), orthonormal rows
        Raises `LinAlgError` if an iteration does not converge, or the vectors found are not close
            to orthonormal.
        """
        size, dtype = len(self._diagonal), self._diagonal.dtype
        n_selected = len(positions)
        vectors = np.empty((n_selected, size), dtype)
        block_of = np.ones(n_selected, dtype=np.intc)
        block_ends = np.array([size], dtype=np.intc)
        work = np.empty(5 * size, dtype)
        integers, failures = np.empty(size, dtype=np.intc), np.empty(n_selected, dtype=np.intc)
        _call(
            "stein", dtype, size, self._diagonal, self._beside, n_selected,
            self.eigenvalues[positions], block_of, block_ends, vectors, size, work, integers,
            failures,
        )  # fmt: skip
        if len(known):
            overlap = vectors @ known.T
            _check_small(overlap)
            vectors -= overlap @ known
        return _orthonormalised(vectors)

    def turned_back(self, vectors: np.ndarray) -> np.ndarray:
        """Eigenvectors of the matrix from those of the form, shape (n_selected, n_features)."""
        size, dtype = len(self._diagonal), self._diagonal.dtype
        turned, work = vectors.copy(), np.empty(_BLOCK * size, dtype)
        _call(
            "ormtr", dtype, b"L", b"U", b"N", size, len(turned), self._reflectors, size,
            self._scales, turned, size, work, work.size,
        )  # fmt: skip
        return turned


def all_eigenpairs(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All eigenpairs of a symmetric matrix by divide and conquer (LAPACK syevd).

    matrix: shape (n_features, n_features), symmetric, finite, float32 or float64
    Returns eigenvalues: shape (n_features,), ascending
    Returns vectors: shape (n_features, n_features), orthonormal rows
    Raises `LinAlgError` if an iteration does not converge.
    """
    size, dtype = len(matrix), matrix.dtype
    vectors, values = np.array(matrix, order="C"), np.empty(size, dtype)
    work = np.empty(1 + 6 * size + 2 * size**2, dtype)
    integers = np.empty(3 + 5 * size, dtype=np.intc)
    try:
        _call(
            "syevd", dtype, b"V", b"U", size, vectors, size, values,
            work, work.size, integers, integers.size,
        )  # fmt: skip
    except UnpublishedRoutine:
        values, columns = scipy.linalg.eigh(matrix, driver="evd")
        return values, columns.T
    return values, vectors


def _splits(diagonal: np.ndarray, beside: np.ndarray) -> bool:
    # The rule of LAPACK's stebz for an entry that may be taken as zero. Overflow shows as an
    # infinity or a NaN here, for which no entry counts as large enough.
    limits = np.finfo(diagonal.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        negligible = limits.eps**2 * np.abs(diagonal[1:] * diagonal[:-1]) + limits.tiny
        return not (beside**2 > negligible).all()


def _orthonormalised(vectors: np.ndarray) -> np.ndarray:
    # Inverse iteration leaves a departure from orthonormality of some 50 roundings (5e-6 in
    # float32). A Newton-Schulz step squares it, down to rounding level, for a hundredth of the
    # time of the reduction.
    departure = vectors @ vectors.T
    departure[np.diag_indices(len(vectors))] -= 1
    _check_small(departure)
    straightened: np.ndarray = vectors - departure @ vectors / 2
    return straightened


def _check_small(departure: np.ndarray) -> None:
    # Too large to be squared away: a cluster of eigenvalues was not separated.
    if not np.abs(departure).max() <= np.sqrt(np.finfo(departure.dtype).eps):
        raise np.linalg.LinAlgError("inverse iteration lost orthogonality")


def _call(name: str, dtype: np.dtype, *arguments: bytes | int | np.ndarray) -> None:
    """Call a LAPACK routine, passing everything by address and its final `info` argument."""
    if _IS_WEBASSEMBLY:
        raise UnpublishedRoutine("WebAssembly calls no LAPACK by address")
    info = ctypes.c_int(0)
    addresses = [
        argument.ctypes.data
        if isinstance(argument, np.ndarray)
        else ctypes.byref(ctypes.c_int(argument))
        if isinstance(argument, int)
        else argument
        for argument in arguments
    ]
    _routine(_PREFIX[dtype] + name)(*addresses, ctypes.byref(info))
    if info.value:
        raise np.linalg.LinAlgError(f"LAPACK {name} returned info = {info.value}")


@cache
def _routine(name: str) -> Callable[..., None]:
    try:
        capsule = import_module("scipy.linalg.cython_lapack").__pyx_capi__[name]
    except (ImportError, AttributeError, KeyError) as error:
        raise UnpublishedRoutine(f"SciPy publishes no LAPACK {name}") from error
    signature = _capsule_name(capsule)
    # A build with 64-bit integers would need c_int64 wherever c_int and intc stand here.
    if b"int *" not in signature:
        raise UnpublishedRoutine(f"LAPACK {name} does not take C int, but {signature.decode()}")
    n_arguments = signature.count(b",") + 1
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)
    return prototype(_capsule_pointer(capsule, signature))


def _capsule_name(capsule: object) -> bytes:
    call = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)
    name: bytes = call(("PyCapsule_GetName", ctypes.pythonapi))(capsule)
    return name


def _capsule_pointer(capsule: object, signature: bytes) -> int:
    call = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer: int = call(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, signature)
    return pointer


# One decomposition of a symmetric matrix that serves every number of leading eigenpairs.

CRITERIA = ("value", "magnitude")

_ALL_BELOW = 96  # features
_ALL_ABOVE = 0.35  # share of the spectrum
_NARROW, _WIDE = 25, 50  # pairs in a block: for the first two, for the others


class Spectrum:
    """Eigenpairs of a symmetric matrix, in the matrix's data type, computed when asked for.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric
        float32, or else taken as float64. Only its lower triangle is read; kept, not copied.

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
        # No cached_property here: in Python 3.11 its lock is one for all matrices, which would
        # have the threads that decompose them wait for each other.
        self._lock = Lock()
        self._form: tuple[TridiagonalForm, IntArray] | None = None
        self._all: tuple[FloatArray, FloatArray] | None = None
        self._blocks: dict[str, _Blocks | None] = {}
        self._ordered: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._denoised: dict[tuple[object, ...], Spectrum] = {}

    def leading(self, n_components: int, *, by: str = "value") -> tuple[FloatArray, FloatArray]:
        """The n leading eigenpairs.

        Parameters
        ----------
        n_components : int
            From 1 to n_features.
        by : {"value", "magnitude"}
            What leads: the largest eigenvalue, or the largest absolute eigenvalue (the order of
            singular values).

        Returns
        -------
        eigenvalues : ndarray of shape (n_components,), read-only
            With their sign, descending by the criterion.
        vectors : ndarray of shape (n_components, n_features), read-only
            Orthonormal rows; the sign of a row is arbitrary but the same at every call.

        Raises
        ------
        ParameterError
            If n_components is out of range or the criterion unknown.
        """
        n_features = len(self.matrix)
        if not 1 <= n_components <= n_features:
            raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
        require_one_of("by", by, CRITERIA)
        with self._lock:
            if n_features >= _ALL_BELOW and n_components <= _ALL_ABOVE * n_features:
                blocks = self._blocks_by(by)
                if blocks is not None and blocks.reaches(n_components):
                    return _read_only(blocks.values[:n_components], blocks.vectors[:n_components])
            values, vectors = self._ordered_by(by)
        return _read_only(values[:n_components], vectors[:n_components])

    def denoised(self, sigma: float, *, bases: Sequence[PublicBasis], noise: str) -> Spectrum:
        """Of the matrix without what is likely to be noise: `dpcore.spectra.denoise`.

        Parameters
        ----------
        sigma : float
            Of the noise in the matrix.
        bases : sequence of PublicBasis
            With none, or without noise, it is this one.
        noise : {"isometric", "triangle"}

        Returns
        -------
        Spectrum
            The same object at every call.
        """
        if not bases or sigma == 0:
            return self
        key = (sigma, noise, *bases)
        with self._lock:
            if key not in self._denoised:
                answer = denoise(self.matrix, sigma, bases=bases, noise=noise)
                self._denoised[key] = Spectrum(answer)
            return self._denoised[key]

    def _blocks_by(self, by: str) -> _Blocks | None:
        if by not in self._blocks:
            try:
                self._form = self._form or _form_of_live(self.matrix)
                self._blocks[by] = _Blocks(*self._form, len(self.matrix), by)
            except np.linalg.LinAlgError:
                self._blocks[by] = None
        return self._blocks[by]

    def _ordered_by(self, by: str) -> tuple[FloatArray, FloatArray]:
        if self._all is None:
            if len(self.matrix) < _ALL_BELOW:
                spectrum, columns = np.linalg.eigh(self.matrix)
                self._all = spectrum, columns.T
            else:
                self._all = all_eigenpairs(self.matrix)
        if by not in self._ordered:
            spectrum, vectors = self._all
            order = _leading(spectrum, by)
            self._ordered[by] = spectrum[order], vectors[order]
        return self._ordered[by]


def _form_of_live(matrix: FloatArray) -> tuple[TridiagonalForm, IntArray]:
    """Of the matrix without rows of zeros, as dead pixels leave them, and which rows are left.

    A row of zeros has the eigenvalue 0, and would have the tridiagonal form fall apart.
    """
    live = np.flatnonzero(np.diagonal(matrix))
    if len(live) < len(matrix):
        live = np.flatnonzero(matrix.any(axis=1))
    if len(live) == len(matrix):
        return TridiagonalForm(matrix), live
    if len(live) < _ALL_BELOW:
        raise np.linalg.LinAlgError("hardly a row is left")
    return TridiagonalForm(matrix[np.ix_(live, live)]), live


class _Blocks:
    """Leading eigenpairs by inverse iteration, block after block, as far as asked for.

    live: Rows of the matrix that the form is of; all others are zero.
    """

    def __init__(self, form: TridiagonalForm, live: IntArray, n_features: int, by: str):
        size, dtype = len(form.eigenvalues), form.eigenvalues.dtype
        self._form, self._live = form, live
        self._order = _leading(form.eigenvalues, by)
        self._ends = _block_ends(size)
        self._done = 0
        self._failed = False
        capacity = self._ends[-1]
        self._in_form = np.empty((capacity, size), dtype)
        self.values = form.eigenvalues[self._order[:capacity]]
        self.vectors = np.zeros((capacity, n_features), dtype)
        # By value the zeros of rows that are left out come before what is negative.
        self._reach = capacity
        if by == "value" and size < n_features:
            self._reach = int((self.values > 0).sum())

    def reaches(self, n_components: int) -> bool:
        """Compute what is missing; False if inverse iteration is not safe that far down."""
        if n_components > self._reach:
            return False
        while self._done < n_components and not self._failed:
            end = next(end for end in self._ends if end > self._done)
            try:
                self._add(self._done, end)
                self._done = end
            except np.linalg.LinAlgError:
                # Tight clusters. Blocks before this one stay good, and divide and conquer
                # copes with the rest.
                self._failed = True
        return n_components <= self._done

    def _add(self, start: int, end: int) -> None:
        positions = self._order[start:end]
        rank = np.argsort(positions)  # LAPACK wants ascending eigenvalues
        block = self._form.vectors(positions[rank], self._in_form[:start])
        self._in_form[start:end] = block
        self.vectors[np.ix_(start + rank, self._live)] = self._form.turned_back(block)


def _block_ends(size: int) -> list[int]:
    ends = [_NARROW]
    while ends[-1] < _ALL_ABOVE * size:
        ends.append(ends[-1] + (_NARROW if len(ends) < 2 else _WIDE))
    return [min(end, size) for end in ends]


def _leading(spectrum: FloatArray, by: str) -> IntArray:
    """Positions of the eigenvalues, leading one first."""
    size = -np.abs(spectrum) if by == "magnitude" else -spectrum
    return np.argsort(size, kind="stable")


def _read_only(values: FloatArray, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    for view in (values, vectors):
        view.flags.writeable = False
    return values, vectors


# Leading eigenpairs of symmetric matrices, by the solver measured to be the fastest.

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
        with executor(workers) as pool:
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


# How good a subspace is, and how far two subspaces are apart.


def captured_energy(components: FloatArray, second_moment: FloatArray) -> float:
    """tr(V^T A V), the energy of A within the subspace.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features), orthonormal rows
    second_moment : ndarray of shape (n_features, n_features), symmetric

    Returns
    -------
    float
        In units of the second moment.
    """
    return float(cumulative_energy(components, second_moment)[-1])


def cumulative_energy(components: FloatArray, second_moment: FloatArray) -> FloatArray:
    """Captured energy of the first k components, for every k at once.

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
    """Expected captured energy of a uniformly random subspace, (K / D) tr(A).

    Parameters
    ----------
    second_moment : ndarray of shape (n_features, n_features)
    n_components : int
    """
    n_features = len(second_moment)
    return n_components / n_features * float(np.trace(second_moment, dtype=np.float64))


def principal_angles(U: FloatArray, V: FloatArray) -> FloatArray:
    """Principal angles between the row spaces of U and V, ascending.

    Small angles come from their sines, large ones from their cosines, so that each keeps its
    digits (Björck & Golub 1973).

    Parameters
    ----------
    U, V : ndarray of shape (n_components, n_features), linearly independent rows
        The numbers of components may differ.

    Returns
    -------
    ndarray of shape (min of the numbers of components,), float64
        Radians in [0, pi/2].
    """
    U, V = _orthonormal_rows(U), _orthonormal_rows(V)
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
    """Frobenius norm of the difference of the two orthogonal projectors.

    0 for equal subspaces; sqrt(2 sum sin^2) of the principal angles for equal dimensions. It is
    computed from the two residuals and not from K - ||U V^T||^2, which loses half the digits.

    Parameters
    ----------
    U, V : ndarray of shape (n_components, n_features), linearly independent rows
        The numbers of components may differ.
    """
    U, V = _orthonormal_rows(U), _orthonormal_rows(V)
    overlap = U @ V.T
    return float(np.hypot(np.linalg.norm(U - overlap @ V), np.linalg.norm(V - overlap.T @ U)))


def align_signs(components: FloatArray, reference: FloatArray) -> FloatArray:
    """Components with each row's sign chosen to point along its reference row.

    Parameters
    ----------
    components, reference : ndarray of shape (n_components, n_features)

    Returns
    -------
    ndarray of shape (n_components, n_features)
    """
    if components.shape != reference.shape:
        raise ParameterError("reference", f"of shape {components.shape}", reference.shape)
    along = np.einsum("kd,kd->k", components, reference)
    return np.where(along < 0, -1, 1).astype(components.dtype)[:, None] * components


def _orthonormal_rows(components: FloatArray) -> FloatArray:
    # Components of a float32 solver are orthonormal to 1e-5 only, which would show as an angle.
    return np.linalg.qr(np.asarray(components, dtype=np.float64).T)[0].T
