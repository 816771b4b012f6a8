"""LAPACK's symmetric eigensolvers, called through ctypes with the interpreter lock released.

`scipy.linalg.eigh` holds the interpreter lock for the whole decomposition, and
`numpy.linalg.eigh` releases it but computes all eigenpairs in double precision. SciPy publishes
the LAPACK routines as C function pointers (`scipy.linalg.cython_lapack`). Called through ctypes,
they run without the lock, so the matrices of several sites are decomposed in parallel threads,
and one tridiagonal form serves both ends of a spectrum.

Measured with tests/benchmarks/bench_live.py on two cores (MNIST, S = 10, K = 50, R = 100),
milliseconds of one live run and seconds of one published panel:

    solver                                  psd    svd   panel
    this module                             192    199     1.8
    scipy.linalg.eigh(subset_by_index)      348    624     5.8
    numpy.linalg.eigh                       481    468     4.3

LAPACK stores matrices by columns and NumPy by rows. A symmetric matrix is its own transpose, so
LAPACK's upper triangle is NumPy's lower one, as in `numpy.linalg.eigh`, and the n eigenvectors
that LAPACK writes as columns are n rows in NumPy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np
import scipy.linalg

from dpcore.arrays import FloatArray, IntArray

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
# Columns per block of a reduction or back-transformation. LAPACK's own default is 32.
_BLOCK = 64


class UnpublishedRoutine(np.linalg.LinAlgError):
    """Error: this SciPy has no pointer to a LAPACK routine, or one for another integer type."""


class TridiagonalForm:
    """Tridiagonal form of a symmetric matrix, with all its eigenvalues.

    The reduction uses blocked reflections, the eigenvalues the square-root-free QL iteration,
    and the vectors inverse iteration (LAPACK sytrd, sterf, stein, ormtr).

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric, finite
        float32 or float64.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_features,), ascending

    Raises
    ------
    LinAlgError
        If the routines are missing (`UnpublishedRoutine`), the iteration does not converge, or
        the form splits into blocks, as for zero rows or for entries whose square under- or
        overflows. Inverse iteration would need to know the block of each eigenvalue.
    """

    def __init__(self, matrix: FloatArray):
        size, dtype = len(matrix), matrix.dtype
        self._reflectors = np.array(matrix, order="C")
        self._diagonal, self._off_diagonal = np.empty(size, dtype), np.empty(size, dtype)
        self._scales = np.empty(size, dtype)
        work = np.empty(_BLOCK * size, dtype)
        _call(
            "sytrd", dtype, b"U", size, self._reflectors, size, self._diagonal,
            self._off_diagonal, self._scales, work, work.size,
        )  # fmt: skip
        if _splits(self._diagonal, self._off_diagonal[:-1]):
            raise np.linalg.LinAlgError("the tridiagonal form splits into blocks")
        self.eigenvalues = self._diagonal.copy()
        _call("sterf", dtype, size, self.eigenvalues, self._off_diagonal.copy())

    def eigenvectors(self, positions: IntArray, previous: FloatArray) -> FloatArray:
        """Compute eigenvectors of the tridiagonal form, orthogonal to the previous ones.

        Parameters
        ----------
        positions : ndarray of int, shape (n_selected,), ascending
            Indices of the eigenvalues.
        previous : ndarray of shape (n_previous, n_features)
            Vectors of other eigenvalues, from earlier calls.

        Returns
        -------
        ndarray of shape (n_selected, n_features), orthonormal rows

        Raises
        ------
        LinAlgError
            If an iteration does not converge or the vectors are not close to orthonormal.
        """
        size, dtype = len(self._diagonal), self._diagonal.dtype
        n_selected = len(positions)
        vectors = np.empty((n_selected, size), dtype)
        block_of = np.ones(n_selected, dtype=np.intc)
        block_ends = np.array([size], dtype=np.intc)
        work = np.empty(5 * size, dtype)
        integers, failures = np.empty(size, dtype=np.intc), np.empty(n_selected, dtype=np.intc)
        _call(
            "stein", dtype, size, self._diagonal, self._off_diagonal, n_selected,
            self.eigenvalues[positions], block_of, block_ends, vectors, size, work, integers,
            failures,
        )  # fmt: skip
        if len(previous):
            overlap = vectors @ previous.T
            _require_small(overlap)
            vectors -= overlap @ previous
        return _orthonormalize(vectors)

    def transform_back(self, vectors: FloatArray) -> FloatArray:
        """Return the eigenvectors of the matrix for those of the form."""
        size, dtype = len(self._diagonal), self._diagonal.dtype
        result, work = vectors.copy(), np.empty(_BLOCK * size, dtype)
        _call(
            "ormtr", dtype, b"L", b"U", b"N", size, len(result), self._reflectors, size,
            self._scales, result, size, work, work.size,
        )  # fmt: skip
        return result


def all_eigenpairs(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute all eigenpairs by divide and conquer (LAPACK syevd).

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric, finite
        float32 or float64.

    Returns
    -------
    eigenvalues : ndarray of shape (n_features,), ascending
    vectors : ndarray of shape (n_features, n_features), orthonormal rows

    Raises
    ------
    LinAlgError
        If an iteration does not converge.
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


def _splits(diagonal: FloatArray, off_diagonal: FloatArray) -> bool:
    # Criterion of LAPACK's stebz for a negligible entry. An overflow gives an infinity or a NaN,
    # for which the comparison is false, so the form counts as split.
    limits = np.finfo(diagonal.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        negligible = limits.eps**2 * np.abs(diagonal[1:] * diagonal[:-1]) + limits.tiny
        return not (off_diagonal**2 > negligible).all()


def _orthonormalize(vectors: FloatArray) -> FloatArray:
    # Vectors from inverse iteration deviate from orthonormality by about 50 rounding errors
    # (5e-6 in float32). One Newton-Schulz step squares the deviation and costs a hundredth of
    # the reduction.
    deviation = vectors @ vectors.T
    deviation[np.diag_indices(len(vectors))] -= 1
    _require_small(deviation)
    result: FloatArray = vectors - deviation @ vectors / 2
    return result


def _require_small(deviation: FloatArray) -> None:
    # A larger deviation means that a cluster of eigenvalues was not separated.
    if not np.abs(deviation).max() <= np.sqrt(np.finfo(deviation.dtype).eps):
        raise np.linalg.LinAlgError("inverse iteration lost orthogonality")


def _call(name: str, dtype: np.dtype, *arguments: bytes | int | np.ndarray) -> None:
    """Call a LAPACK routine with all arguments by address, and check its `info` argument."""
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
    # A build with 64-bit integers would need c_int64 in place of c_int and intc.
    if b"int *" not in signature:
        raise UnpublishedRoutine(f"LAPACK {name} must take C int, got {signature.decode()}")
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
