"""One decomposition of a symmetric matrix that serves every number of leading eigenpairs.

The first n pairs are the same to the last digit whether n, more or fewer are asked for first,
so that a run on its own and a sweep over R or K that shares the work agree exactly. LAPACK does
not promise that: inverse iteration starts each vector from where the last one left its random
numbers, and products of other sizes are added up in other orders. Pairs are therefore computed
in blocks with fixed ends: each depends on the matrix and the blocks before it, and on nothing
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.spectra.denoise import PublicBasis, denoise
from dpcore.spectra.lapack import TridiagonalForm, all_eigenpairs

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
        self._form: TridiagonalForm | None = None
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
        """Of the matrix without what is likely to be noise: `dpcore.spectra.denoise.denoise`.

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
                self._form = self._form or TridiagonalForm(self.matrix)
                self._blocks[by] = _Blocks(self._form, by)
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


class _Blocks:
    """Leading eigenpairs by inverse iteration, block after block, as far as asked for."""

    def __init__(self, form: TridiagonalForm, by: str):
        size, dtype = len(form.eigenvalues), form.eigenvalues.dtype
        self._form = form
        self._order = _leading(form.eigenvalues, by)
        self._ends = _block_ends(size)
        self._done = 0
        self._failed = False
        capacity = self._ends[-1]
        self._in_form = np.empty((capacity, size), dtype)
        self.values = form.eigenvalues[self._order[:capacity]]
        self.vectors = np.empty((capacity, size), dtype)

    def reaches(self, n_components: int) -> bool:
        """Compute what is missing; False if inverse iteration is not safe that far down."""
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
        self.vectors[start + rank] = self._form.turned_back(block)


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
