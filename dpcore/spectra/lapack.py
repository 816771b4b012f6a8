"""Symmetric eigensolvers straight from LAPACK, with the interpreter lock released.

`scipy.linalg.eigh` holds the lock for the whole decomposition and finds both ends of a spectrum
only by decomposing twice. SciPy publishes the routines themselves as C function pointers
(`scipy.linalg.cython_lapack`, made for calls from other compiled code); called through ctypes
they run without the lock, so that sites are decomposed side by side in threads, and one
tridiagonal form serves both ends. Nothing is kept between calls.

LAPACK stores matrices by columns and NumPy by rows. A symmetric matrix is its own transpose, so
LAPACK's upper triangle is the lower one here, as in `numpy.linalg.eigh`; and n eigenvectors that
LAPACK writes as columns are n rows here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.linalg import cython_lapack

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
# Columns a blocked reduction or back-transformation handles at once: LAPACK's own is 32.
_BLOCK = 64


def selected_eigenpairs(
    matrix: np.ndarray, select: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Some eigenpairs of a symmetric matrix, chosen after seeing all its eigenvalues.

    Reduction to tridiagonal form, all eigenvalues by the square-root-free QL iteration, inverse
    iteration for the chosen vectors, one Newton-Schulz step towards orthonormality, and the
    reduction undone (LAPACK sytrd, sterf, stein, ormtr).

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric, float32 or float64
        Finite.
    select : callable
        From all eigenvalues, ascending, to the positions wanted, ascending.

    Returns
    -------
    eigenvalues : ndarray of shape (n_selected,), ascending
    vectors : ndarray of shape (n_selected, n_features), orthonormal rows

    Raises
    ------
    numpy.linalg.LinAlgError
        If the tridiagonal form falls apart into blocks (inverse iteration would then need to know
        which block each eigenvalue came from), as for zero rows or entries too small or too large
        to be squared; if an iteration does not converge; or if the vectors found are not close to
        orthonormal.
    """
    size, dtype = len(matrix), matrix.dtype
    reflectors = np.array(matrix, order="C")
    diagonal, beside, scales = np.empty(size, dtype), np.empty(size, dtype), np.empty(size, dtype)
    work = np.empty(_BLOCK * size, dtype)
    _call("sytrd", dtype, b"U", size, reflectors, size, diagonal, beside, scales, work, work.size)

    if _splits(diagonal, beside[:-1]):
        raise np.linalg.LinAlgError("the tridiagonal form splits into blocks")

    spectrum = diagonal.copy()
    _call("sterf", dtype, size, spectrum, beside.copy())
    values = spectrum[select(spectrum)]
    n_selected = len(values)

    vectors = np.empty((n_selected, size), dtype)
    block_of = np.ones(n_selected, dtype=np.intc)
    block_ends = np.array([size], dtype=np.intc)
    integers, failures = np.empty(size, dtype=np.intc), np.empty(n_selected, dtype=np.intc)
    _call(
        "stein", dtype, size, diagonal, beside, n_selected, values, block_of, block_ends,
        vectors, size, work, integers, failures,
    )  # fmt: skip
    vectors = _orthonormalised(vectors)
    _call(
        "ormtr", dtype, b"L", b"U", b"N", size, n_selected, reflectors, size, scales,
        vectors, size, work, work.size,
    )  # fmt: skip
    return values, vectors


def all_eigenpairs(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All eigenpairs of a symmetric matrix by divide and conquer (LAPACK syevd).

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features), symmetric, finite, float32 or float64

    Returns
    -------
    eigenvalues : ndarray of shape (n_features,), ascending
    vectors : ndarray of shape (n_features, n_features), orthonormal rows

    Raises
    ------
    numpy.linalg.LinAlgError
        If an iteration does not converge.
    """
    size, dtype = len(matrix), matrix.dtype
    vectors, values = np.array(matrix, order="C"), np.empty(size, dtype)
    work = np.empty(1 + 6 * size + 2 * size**2, dtype)
    integers = np.empty(3 + 5 * size, dtype=np.intc)
    _call(
        "syevd", dtype, b"V", b"U", size, vectors, size, values,
        work, work.size, integers, integers.size,
    )  # fmt: skip
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
    # time of the reduction; a departure too large to be squared away means that a cluster of
    # eigenvalues was not separated.
    departure = vectors @ vectors.T
    departure[np.diag_indices(len(vectors))] -= 1
    if not np.abs(departure).max() <= np.sqrt(np.finfo(vectors.dtype).eps):
        raise np.linalg.LinAlgError("inverse iteration lost orthogonality")
    return vectors - departure @ vectors / 2


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
    capsule = cython_lapack.__pyx_capi__[name]
    signature = _capsule_name(capsule)
    # A build with 64-bit integers would need c_int64 wherever c_int and intc stand here.
    if b"int *" not in signature:
        raise ImportError(f"LAPACK {name} does not take C int, but {signature.decode()}")
    n_arguments = signature.count(b",") + 1
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)
    return prototype(_capsule_pointer(capsule, signature))


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
