"""What a release measures: a noisy sum and count, a centre made of them, a noisy second moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.pca.assessment import Assessment, Estimate, assess
from dpcore.releases.calibration import Scales
from dpcore.releases.dictionary import Dictionary
from dpcore.releases.encoding import Reading, Then, grid_blocks, grid_sums
from dpcore.releases.exact.integer_moments import (
    counted,
    exact_second_moment,
    noisy_second_moment,
    noisy_sum,
)
from dpcore.releases.exact.integer_rows import GRID, LENGTH, of_length
from dpcore.releases.tables import Table
from dpcore.spectra import Spectrum, few_of_many

Watch = Callable[[float], None]
T = TypeVar("T")

PREPARATIONS = ("sphere", "bounded")
TOLD = ("explained_variance", "explained_variance_ratio")
# Beyond so many features all eigenpairs, which an assessment needs, take longer than all the rest.
MOST_ASSESSED = 4096
# So few of them that Lanczos' basis is small beside the matrix.
_FEW = 50
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Measured:
    """What came out of the noise: everything a release is made of.

    centre: ndarray of whole float64, shape (n_features,). Around which rows were taken, on the
        grid.
    n_rows: Noisy.
    components: shape (n_components, n_features), orthonormal rows
    eigenvalues: shape (n_components,). Of the noisy moment, where a row has length 1: sums over
        rows.
    trace: Of the noisy moment, alike.
    told: What the noisy moment says of the exact one; None beyond `MOST_ASSESSED` features.
    """

    centre: FloatArray
    n_rows: float
    components: FloatArray
    eigenvalues: FloatArray
    trace: float
    told: Assessment | None


def unwatched(share: float) -> None:
    """Nobody wants to know how far the reading has come."""


def sum_and_count(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    reading: Reading,
    watch: Watch = unwatched,
) -> IntArray:
    """The exact sum of rows on the grid and, last, their weighted count. Not for publication.

    reading: Counts what is met.
    watch: Told what share of the table is read, now and then.
    Raises `ParameterError` if the table has no row.
    """
    then = _bounded(dictionary, scales)
    total, n_rows = np.zeros(dictionary.n_features, dtype=np.int64), 0
    for of_block, n_more in _watched(
        grid_sums(table, dictionary, reading, then=then), table, watch
    ):
        n_rows = counted(n_more, n_rows)
        total += of_block
    if reading.n_rows == 0:
        raise ParameterError("data", "a table with rows", "none")
    return np.append(total, n_rows * scales.count_weight)


def measure(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    total: IntArray,
    *,
    n_components: int,
    preparation: str,
    watch: Watch = unwatched,
) -> Measured:
    """Draw the noise of a release that has been charged.

    total: ndarray of int64, shape (n_features + 1,). From `sum_and_count`.
    preparation: {"sphere", "bounded"}
    watch: As in `sum_and_count`.
    """
    centre, n_rows = noisy_centre(total, scales)
    exact = moment_around(table, dictionary, scales, centre, preparation, watch)
    noisy = noisy_second_moment(exact, scales.moment_sigma, in_place=True)
    return leading_of(
        _of_unit_rows(noisy), n_components, centre, n_rows, scales.diagonal_sigma / LENGTH**2
    )


def _of_unit_rows(moment: IntArray) -> FloatArray:
    """A moment where a row has length 1, in the memory of the one it is made from."""
    scaled: FloatArray = moment.view(np.float64)
    step = max(1, _CELLS_AT_ONCE // len(moment))
    for start in range(0, len(moment), step):
        scaled[start : start + step] = moment[start : start + step] / LENGTH**2
    return scaled


def leading_of(
    moment: FloatArray, n_components: int, centre: FloatArray, n_rows: float, sigma: float | None
) -> Measured:
    """What a noisy second moment gives away of itself.

    moment: shape (n_features, n_features). Where a row has length 1.
    centre: shape (n_features,)
    sigma: Of the noise on its diagonal, where nothing was cut from it since.
    """
    told = None
    if is_held_once(len(moment), n_components):
        eigenvalues, components = few_of_many(moment, n_components)
    else:
        spectrum = Spectrum(moment)
        if sigma is not None and len(moment) <= MOST_ASSESSED:
            told = assess(spectrum, n_components, sigma=sigma, noise="isometric")
        eigenvalues, components = spectrum.leading(n_components)
    return Measured(centre, n_rows, components, eigenvalues, float(np.trace(moment)), told)


def is_held_once(n_features: int, n_components: int) -> bool:
    """Whether components are found without a second matrix: few of very many."""
    return n_features > MOST_ASSESSED and n_components <= n_features // _FEW


def told_of(measured: Measured, name: str) -> FloatArray:
    """An estimate and both ends of its interval, shape (3, n_components); NaN where unknown.

    name: One of `TOLD`.
    """
    if measured.told is None:
        return np.full((3, len(measured.components)), np.nan)
    estimate: Estimate = getattr(measured.told, name)
    together = np.vstack([estimate.value[None], estimate.interval])
    return np.where(np.isnan(estimate.value), np.nan, together)


def noisy_centre(total: IntArray, scales: Scales) -> tuple[FloatArray, float]:
    """The centre on the grid, and the number of rows, from their noisy sum and count.

    total: ndarray of int64, shape (n_features + 1,)
    """
    noisy = noisy_sum(total, scales.sum_sigma)
    n_rows = float(noisy[-1]) / scales.count_weight
    return centre_of(noisy[:-1], n_rows, scales.sum_sigma), n_rows


def moment_around(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    centre: FloatArray,
    preparation: str,
    watch: Watch = unwatched,
) -> IntArray:
    """The exact second moment of the prepared rows around a centre. Not for publication.

    centre: ndarray of whole float64, shape (n_features,)
    preparation: {"sphere", "bounded"}
    watch: As in `sum_and_count`.
    """
    reach = 0 if preparation == "sphere" else math.isqrt(scales.squared_norm)
    bounded = _bounded(dictionary, scales)

    def then(rows: FloatArray) -> FloatArray:
        around = bounded(rows)
        around -= centre
        return of_length(around, LENGTH, reach, out=around)

    rows = grid_blocks(table, dictionary, then=then)
    return exact_second_moment(_watched(rows, table, watch), dictionary.n_features)


def _watched(blocks: Iterator[T], table: Table, watch: Watch) -> Iterator[T]:
    told = 0.0
    for block in blocks:
        yield block
        if table.share_read > told:
            told = table.share_read
            watch(told)


def _bounded(dictionary: Dictionary, scales: Scales) -> Then:
    """Makes rows on the grid no longer than the bound that the sum's sensitivity rests on."""
    bound = math.isqrt(scales.squared_norm)
    if scales.squared_norm == len(dictionary.columns) * GRID**2:
        return lambda rows: rows
    return lambda rows: of_length(rows, bound, bound, out=rows)


def centre_of(noisy: IntArray, n_rows: float, sigma: float) -> FloatArray:
    """The noisy mean on the grid, drawn to the middle by as much as noise has lengthened it.

    The positive part of James & Stein (1961): of less mean squared error than the mean itself,
    and the public middle where there is nothing but noise.
    """
    if n_rows < 1:
        return np.zeros(len(noisy))
    mean = noisy / n_rows
    noise = max(0, len(noisy) - 2) * (sigma / n_rows) ** 2
    shrunk = mean * max(0.0, 1 - noise / max(float(mean @ mean), noise, 1.0))
    return np.clip(np.rint(shrunk), -GRID, GRID)
