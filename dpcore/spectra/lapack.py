"""Symmetric eigensolvers straight from LAPACK, with the interpreter lock released.

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
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np
import scipy.linalg

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
# Columns a blocked reduction or back-transformation handles at once: LAPACK's own is 32.
_BLOCK = 64


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


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
