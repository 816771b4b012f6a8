"""Exact sums and second moments of integer rows, and the noise that is added to them.

A row influences a release only through `noisy_sum` and `noisy_second_moment`. Proofs:
`docs/algorithms/exact-release.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.release.integer_rows import LENGTH
from dpcore.release.normal_sampler import rounded_normal

# Below this number of rows, n LENGTH^2 plus noise stays below 2^63.
MOST_ROWS = 1 << 27
# Sums of products of this number of rows stay below 2^53: doubles are exact in any order.
_ROWS_AT_ONCE = (1 << 53) // LENGTH**2
# Columns of a panel of a matrix that is too large to be copied.
_PANEL = 1 << 10


def exact_sum(blocks: Iterable[FloatArray], n_features: int) -> tuple[IntArray, int]:
    """Return the sum of all rows, and their number.

    blocks: iterable of ndarray of whole float64, shape (some rows, n_features). Entries up to 2^25.
    Returns total: ndarray of int64, shape (n_features,)
    Raises `ParameterError` if there are more than `MOST_ROWS`.
    """
    total, n_rows = np.zeros(n_features, dtype=np.int64), 0
    for rows in blocks:
        n_rows = add_row_counts(len(rows), n_rows)
        total += rows.sum(axis=0).astype(np.int64)
    return total, n_rows


def exact_second_moment(blocks: Iterable[FloatArray], n_features: int) -> IntArray:
    """Return the exact X^T X of integer rows of length at most LENGTH.

    Products of two entries of a row are at most LENGTH^2, so partial sums over 2^19 rows are at
    most 2^53 in any order.

    blocks: iterable of ndarray of whole float64, shape (some rows, n_features)
    Returns: ndarray of int64, shape (n_features, n_features), symmetric
    Raises `ParameterError` if there are more than `MOST_ROWS`, or a row is longer.
    """
    moment, n_rows = np.zeros((n_features, n_features), dtype=np.int64), 0
    # Small moments are accumulated in doubles, and added to integers before doubles get inexact.
    doubles, n_in_doubles = np.zeros(moment.shape if n_features <= _PANEL else (0, 0)), 0
    for rows in _limit_rows(blocks):
        n_rows = add_row_counts(len(rows), n_rows)
        if np.vecdot(rows, rows).max() > LENGTH**2:
            raise ParameterError("rows", f"of length at most {LENGTH}", "a longer one")
        if not doubles.size:
            _add_upper(moment, rows)
            continue
        if n_in_doubles + len(rows) > _ROWS_AT_ONCE:
            moment += doubles.astype(np.int64)
            doubles[:], n_in_doubles = 0, 0
        doubles += rows.T @ rows
        n_in_doubles += len(rows)
    if doubles.size:
        return moment + doubles.astype(np.int64)
    _mirror(moment)
    return moment


def _limit_rows(blocks: Iterable[FloatArray]) -> Iterator[FloatArray]:
    for block in blocks:
        for start in range(0, len(block), _ROWS_AT_ONCE):
            yield block[start : start + _ROWS_AT_ONCE]


def _add_upper(moment: IntArray, rows: FloatArray) -> None:
    """Add X^T X to the blocks on and above the diagonal."""
    for panel in _panels(len(moment)):
        in_panel, after_panel = rows[:, panel], slice(panel.stop, None)
        # NumPy multiplies an array by its own transpose in half the time.
        for columns in (panel, after_panel):
            part = moment[panel, columns]
            np.add(part, in_panel.T @ rows[:, columns], out=part, dtype=np.int64, casting="unsafe")


def _mirror(moment: IntArray) -> None:
    """Copy the entries above the diagonal below it."""
    for panel in _panels(len(moment)):
        above = np.triu(moment[panel, panel])
        moment[panel, panel] = above + np.triu(above, 1).T
        moment[panel.stop :, panel] = moment[panel, panel.stop :].T


def _panels(n_features: int) -> Iterator[slice]:
    for start in range(0, n_features, _PANEL):
        yield slice(start, min(start + _PANEL, n_features))


def noisy_sum(total: IntArray, sigma: int) -> IntArray:
    """Return the sum with round(N(0, sigma^2)) added to every entry.

    With an integer total that is round(total + N(0, sigma^2)), a post-processing of the Gaussian
    mechanism.

    total: ndarray of int64, shape (n,)
    """
    return total + rounded_normal(total.size, sigma)


def noisy_second_moment(moment: IntArray, sigma: int, *, in_place: bool = False) -> IntArray:
    """Return the moment with symmetric Gaussian noise, rounded to integers.

    Entries above the diagonal get round(N(0, sigma^2)), the diagonal has twice that variance.

    For a symmetric change of the moment, divide the entries above the diagonal by sigma and the
    diagonal by sqrt(2) sigma. The norm of these is at most ||change||_F / (sqrt(2) sigma).

    moment: ndarray of int64, shape (n_features, n_features), symmetric
    in_place: Add the noise to `moment` itself, to save memory.
    """
    size, noisy = len(moment), moment if in_place else moment.copy()
    noisy[np.diag_indices(size)] += rounded_normal(size, diagonal_sigma(sigma))
    for panel in _panels(size):
        right_of = [size - 1 - row for row in range(panel.start, panel.stop)]
        noise, start = rounded_normal(sum(right_of), sigma), 0
        for row, n_right in enumerate(right_of, panel.start):
            noisy[row, row + 1 :] += noise[start : start + n_right]
            start += n_right
    _mirror(noisy)
    return noisy


def diagonal_sigma(sigma: int) -> int:
    """Return the smallest integer above sqrt(2) sigma."""
    return math.isqrt(2 * sigma**2) + 1


def add_row_counts(n_more: int, n_rows: int) -> int:
    """Return n_rows + n_more.

    Raises `ParameterError` if that is more than `MOST_ROWS`.
    """
    if n_rows + n_more > MOST_ROWS:
        raise ParameterError("data", f"at most {MOST_ROWS:,} rows", "more")
    return n_rows + n_more
