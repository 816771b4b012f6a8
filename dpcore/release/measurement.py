"""Encode a table's rows as integers, calibrate their noise, and measure them.

**Relation.** Two tables are neighbours if one arises from the other by replacing, adding or
removing all rows of one person, of which at most m are kept. m = 1 and replacing is the
replace-one of the rest of this package.

**Sensitivities,** integers or roots of integers (proofs: `docs/algorithms/exact-release.md`):

- the sum of rows with squared norms up to R^2, beside a count weighted by at most sqrt(3) R:
  2 m R. The count costs nothing;
- the second moment of rows up to L long: sqrt(2) m L^2, attained by orthogonal rows.

**Delta.** What is drawn is within a total variation tau of the ideal, under both neighbours; an
(epsilon, delta)-DP ideal is then (epsilon, delta + (1 + e^epsilon) tau)-DP. A millionth of delta is
kept for that, of a release as of a project's cap: so a release fits a cap of the same numbers.

Cells of a table to whole numbers on the grid, each cell by itself.

No cell can make a release fail: what is missing or no number stands in the middle, what is beyond
a limit at the limit, an unknown level nowhere. How often that happened is for the holder alone. Of
a person with too many rows the first are kept; a row without a person belongs to nobody and is
left out.
"""

from __future__ import annotations

import math
import os
import secrets
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

import dpcore
from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.pca.assessment import (
    Assessment,
    Estimate,
    NoisyPart,
    assess,
    assess_by_probes,
    bases_worth,
)
from dpcore.privacy import PrivacyBudget, delta_of_distance, gaussian_epsilon, gaussian_mu
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.exact import (
    DISTANCE,
    GRID,
    LENGTH,
    MOST_SIGMA_BITS,
    are_within,
    counted,
    diagonal_sigma,
    exact_second_moment,
    exact_sum,
    grid_norm,
    noisy_second_moment,
    noisy_sum,
    of_length,
    on_grid,
)
from dpcore.release.tables import (
    PLAIN,
    Block,
    Cells,
    Marks,
    Table,
    name_of_text,
    names_as_written,
    names_of,
    numbers_of,
    without_missing,
)
from dpcore.spectra import COLUMNS_WHERE_BETTER, PublicBasis, Spectrum, few_of_many

if TYPE_CHECKING:
    import pyarrow as pa
    from dask.distributed import Client
    from dask.distributed import Future as DaskFuture

# How much noise a release takes, and what it then promises: public numbers in, whole sigmas out.

# Of a release's delta, and of a cap's, what is kept for the distance of the samplers.
SAMPLER_SHARE = 1e-6


@dataclass(frozen=True)
class Scales:
    """Integers from which everything that a release promises follows.

    Parameters
    ----------
    n_features : int
        D.
    rows_per_person : int
        m.
    squared_norm : int
        R^2, of a row that is summed, in units of the grid.
    length : int
        L, of a row of the second moment.
    sum_sigma, moment_sigma : int
        Noise of a sum's entry, and of a moment's above the diagonal.
    """

    n_features: int
    rows_per_person: int
    squared_norm: int
    length: int
    sum_sigma: int
    moment_sigma: int

    @property
    def count_weight(self) -> int:
        """What the count is multiplied by: the largest integer up to sqrt(3) R."""
        return math.isqrt(3 * self.squared_norm)

    @property
    def diagonal_sigma(self) -> int:
        """Noise of the moment's diagonal."""
        return diagonal_sigma(self.moment_sigma)

    @property
    def squared_mu(self) -> Fraction:
        """mu^2 of the sum and the moment together, exactly."""
        m = self.rows_per_person
        of_sum = Fraction(4 * m**2 * self.squared_norm, self.sum_sigma**2)
        return of_sum + Fraction(m**2 * self.length**4, self.moment_sigma**2)

    @property
    def mu(self) -> float:
        """Of the Gaussian mechanism that the ideal release is, rounded up."""
        return math.nextafter(math.sqrt(self.squared_mu), math.inf) * (1 + 2.0**-50)

    @property
    def n_draws(self) -> int:
        """How many numbers are drawn: D + 1 for the sum and D (D + 1) / 2 for the moment."""
        return self.n_features + 1 + self.n_features * (self.n_features + 1) // 2

    @property
    def distance(self) -> float:
        """Total variation between what is drawn and the ideal: tau."""
        return self.n_draws * DISTANCE

    def epsilon(self, delta: float, at_most: float, *, distance: float | None = None) -> float:
        """What holds at this delta, the sampler's distance included.

        Parameters
        ----------
        delta : float
        at_most : float
            An epsilon known to be at least the result, at which the distance is counted.
        distance : float, optional
            Of another sampler than the one there is now.
        """
        distance = self.distance if distance is None else distance
        left = delta - delta_of_distance(distance, at_most)
        return gaussian_epsilon(left, 1.0, self.mu) if left > 0 else math.inf


def for_gaussian(budget: PrivacyBudget) -> PrivacyBudget:
    """What the ideal noise of a release has to keep, so that the sampler's part is left."""
    return PrivacyBudget(budget.epsilon, (1 - SAMPLER_SHARE) * budget.delta)


def calibrated(
    dictionary: Dictionary, *, epsilon: float, delta: float, mean_share: float = 0.1
) -> Scales:
    """The least noise with which a release keeps (epsilon, delta), in whole numbers.

    Parameters
    ----------
    dictionary : Dictionary
    epsilon, delta : float
        Both positive, epsilon finite.
    mean_share : float
        Part of mu^2 that the sum and the count take, in (0, 1).

    Returns
    -------
    Scales

    Raises
    ------
    ParameterError
        If a value is out of range, or so small that it would take more noise than there are bits,
        or the sampler's distance takes more than a millionth of delta.
    """
    budget = PrivacyBudget(epsilon, delta)
    if budget.is_noiseless or not budget.delta > 0:
        raise ParameterError("epsilon and delta", "finite and above 0", (epsilon, delta))
    if not 0 < mean_share < 1:
        raise ParameterError("mean_share", "above 0 and below 1", mean_share)
    m, squared_norm = dictionary.at_most, bound_of(dictionary)
    unit = Scales(dictionary.n_features, m, squared_norm, LENGTH, 1, 1)
    for_sampler = delta_of_distance(unit.distance, epsilon)
    if not for_sampler <= SAMPLER_SHARE * delta:
        raise ParameterError(
            "delta",
            f"above {for_sampler / SAMPLER_SHARE:.2g} at this epsilon and number of features",
            delta,
        )
    squared_mu = Fraction(gaussian_mu(for_gaussian(budget))) ** 2
    share = Fraction(mean_share)
    sum_sigma = _above_root(4 * m**2 * squared_norm / (squared_mu * share))
    moment_sigma = _above_root(m**2 * LENGTH**4 / (squared_mu * (1 - share)))
    if max(sum_sigma, diagonal_sigma(moment_sigma)).bit_length() > MOST_SIGMA_BITS:
        raise ParameterError(
            "epsilon", "large enough for noise of 57 bits with this many rows a person", epsilon
        )
    return Scales(dictionary.n_features, m, squared_norm, LENGTH, sum_sigma, moment_sigma)


def bound_of(dictionary: Dictionary) -> int:
    """R^2 of rows on the grid: no column exceeds GRID, nor do its levels, of which one is on."""
    if dictionary.norm_bound is not None:
        return min(grid_norm(dictionary.norm_bound) ** 2, len(dictionary.columns) * GRID**2)
    return len(dictionary.columns) * GRID**2


def _above_root(value: Fraction) -> int:
    return math.isqrt(math.floor(value)) + 1


# Cells of a table to whole numbers on the grid, each cell by itself.

T = TypeVar("T")
Then: TypeAlias = Callable[[FloatArray], FloatArray]

# What is worked on together stays in a processor's cache.
_CELLS_IN_CACHE = 1 << 16
# Each has a block of its own, of 16 MB.
_MOST_THREADS = 4


@dataclass
class Reading:
    """What was met in the table: for the holder's eyes, and not for publication.

    Attributes
    ----------
    n_rows : int
        Rows read.
    n_left_out : int
        Rows without a person, or beyond the most that a person may have.
    missing, clipped : Counter of str
        Cells of each column: without a number or a known level, and beyond a limit.
    """

    n_rows: int = 0
    n_left_out: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    clipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Reading) -> None:
        """Count what was met in another part of the table, too."""
        self.n_rows += other.n_rows
        self.n_left_out += other.n_left_out
        self.missing.update(other.missing)
        self.clipped.update(other.clipped)

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """Columns without a number, or a known level, in any row."""
        return tuple(name for name, n in self.missing.items() if 0 < n == self.n_rows)


def grid_blocks(
    table: Table,
    dictionary: Dictionary,
    reading: Reading | None = None,
    *,
    then: Then = lambda rows: rows,
) -> Iterator[FloatArray]:
    """The rows of a table on the grid, in blocks; some are made while one is worked with.

    Parameters
    ----------
    table : Table
    dictionary : Dictionary
    reading : Reading, optional
        Counts what is met.
    then : callable
        What becomes of some rows on the grid, each by itself, while they are in the processor's
        cache; it may write over them.
    Yields: ndarray of whole float64, shape (some rows, n_features), from -GRID to GRID but for
        `then`
    Raises `ParameterError` if a column is of a type that is neither number nor text.
    """
    limits = _limits(dictionary)

    def prepared(values: AnyArray) -> FloatArray:
        rows = np.empty(values.shape)
        deque(_pieces(values, limits, then, rows), maxlen=0)
        return rows

    values = _kept_values(table, dictionary, reading, limits)
    yield from _side_by_side(prepared, values, table.n_threads)


def grid_sums(
    table: Table, dictionary: Dictionary, reading: Reading, *, then: Then
) -> Iterator[tuple[IntArray, int]]:
    """The exact sum of each of the blocks that `grid_blocks` gives, and its number of rows."""
    limits = _limits(dictionary)

    def summed(values: AnyArray) -> tuple[IntArray, int]:
        return exact_sum(_pieces(values, limits, then), dictionary.n_features)

    values = _kept_values(table, dictionary, reading, limits)
    yield from _side_by_side(summed, values, table.n_threads)


def _kept_values(
    table: Table, dictionary: Dictionary, reading: Reading | None, limits: FloatArray
) -> Iterator[AnyArray]:
    """Features of the rows that count, in blocks."""
    rows_of = Counter[str]()
    for block in table.blocks():
        require_decimal_mark(block, dictionary)
        values = _values(block, dictionary)
        kept = np.ones(len(values), dtype=bool)
        if dictionary.person is not None:
            people = people_of(block, dictionary.person, dictionary.marks_of(None))
            kept = _kept(people, rows_of, dictionary.at_most)
        if reading is not None and len(values):
            _count(reading, values, kept, dictionary, limits)
        if len(values := values if kept.all() else values[kept]):
            yield values


def require_decimal_mark(block: Block, dictionary: Dictionary) -> None:
    """Where a file may have either, it is asked for: a guess from the rows would depend on them."""
    are_numbers = [not (each.levels or each.days_since) for each in dictionary.columns]
    are_open = [each.decimal is None for each in dictionary.columns]
    if (
        block.is_decimal_open
        and dictionary.decimal is None
        and any(
            is_number and is_open for is_number, is_open in zip(are_numbers, are_open, strict=True)
        )
    ):
        raise ParameterError(
            "decimal", "said, as a point or a comma: cells are not separated by commas", "neither"
        )


def _side_by_side(
    work: Callable[[AnyArray], T], blocks: Iterator[AnyArray], n_threads: int | None = None
) -> Iterator[T]:
    """What comes of each block, in their order, a few of them at once."""
    if n_threads == 1:
        yield from map(work, blocks)
        return
    n_threads = n_threads or min(os.cpu_count() or 1, _MOST_THREADS)
    with ThreadPoolExecutor(n_threads) as pool:
        coming: deque[Future[T]] = deque()
        for block in blocks:
            coming.append(pool.submit(work, block))
            if len(coming) >= n_threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def _pieces(
    values: AnyArray, limits: FloatArray, then: Then, rows: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Rows on the grid, so few at a time that whoever takes them finds them in the cache."""
    step = max(1, _CELLS_IN_CACHE // values.shape[1])
    buffer, (lower, upper, middle) = np.empty((step, values.shape[1])), limits
    for start in range(0, len(values), step):
        some = values[start : start + step]
        out = buffer[: len(some)] if rows is None else rows[start : start + step]
        done = then(on_grid(some, lower, upper, middle, out))
        if done is not out:
            out[:] = done
        yield out


def _limits(dictionary: Dictionary) -> FloatArray:
    """Lower and upper limit and middle of every feature; levels go from 0, their middle, to 1."""
    of_columns = [
        [(0.0, 1.0, 0.0)] * len(column.levels) or [(column.lower, column.upper, column.middle)]
        for column in dictionary.columns
    ]
    return np.array(list(chain(*of_columns)), dtype=np.float64).T


def _values(block: Block, dictionary: Dictionary) -> AnyArray:
    """Features as numbers: not a number where there is none, and 0 or 1 for levels."""
    matrix = block.matrix
    has_levels = dictionary.n_features > len(dictionary.columns)
    marks = [
        dictionary.marks_of(column, block.decimal, block.thousands) for column in dictionary.columns
    ]
    is_plain = not has_levels and not any(each.missing for each in marks)
    if matrix is not None and matrix.dtype.kind in "fiub" and is_plain:
        return matrix[:, : dictionary.n_features]
    found = [
        _features(column, block[column.name], each)
        for column, each in zip(dictionary.columns, marks, strict=True)
    ]
    # A column's cells lie side by side, as they come, and as narrow as they come.
    kinds = {each.dtype for each in found}
    kind = kinds.pop() if len(kinds) == 1 else np.dtype(np.float64)
    values, start = np.empty((len(found[0]), dictionary.n_features), kind, order="F"), 0
    for each in found:
        stop = start + each.shape[1]
        values[:, start:stop] = each
        start = stop
    return values


def _features(column: Column, cells: Cells, marks: Marks) -> AnyArray:
    """A column's features side by side, of shape (rows, 1) or (rows, levels)."""
    if not column.levels:
        return numbers_of(cells, column.name, marks)[:, None]
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = pa.array(map(name_of_text, column.levels), pa.string())
    level = pc.index_in(names_of(cells, column.name, marks), value_set=levels, skip_nulls=True)
    position = pc.fill_null(level, -1).to_numpy(zero_copy_only=False)
    on: AnyArray = position[:, None] == np.arange(len(column.levels))
    return on


def _count(
    reading: Reading,
    values: AnyArray,
    kept: BoolArray,
    dictionary: Dictionary,
    limits: FloatArray,
) -> None:
    reading.n_rows += len(values)
    reading.n_left_out += int(np.count_nonzero(~kept))
    lower, upper, _ = limits
    within, start = are_within(values, lower, upper), 0
    if within.all() and len(within) == len(dictionary.columns):
        return
    for column in dictionary.columns:
        cells = values[:, start : start + len(column.features)]
        if column.levels:
            reading.missing[column.name] += int((~cells.any(axis=1)).sum())
        elif not within[start]:
            clipped = (cells < lower[start]) | (cells > upper[start])
            reading.clipped[column.name] += int(clipped.sum())
            reading.missing[column.name] += int(np.isnan(cells).sum())
        start += len(column.features)


def people_of(block: Block, person: str, marks: Marks = PLAIN) -> pa.Array:
    """The name of each row's person, null where there is none.

    marks: Say which cells name nobody.
    """
    cells = block[person]
    if block.are_texts and not isinstance(cells, np.ndarray):
        return without_missing(names_as_written(cells), marks)
    return names_of(cells, person, marks)


def _kept(people: pa.Array, rows_of: Counter[str], at_most: int) -> BoolArray:
    kept = np.zeros(len(people), dtype=bool)
    for row, person in enumerate(people.to_pylist()):
        if person is not None and rows_of[person] < at_most:
            rows_of[person] += 1
            kept[row] = True
    return kept


# What a release measures: a noisy sum and count, a centre made of them, a noisy second moment.

Watch = Callable[[float], None]


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
    eigenvalues: shape (n_components,). Of the noisy moment, denoised where it was, where a row has
        length 1: sums over rows.
    trace: Of the noisy moment as it was drawn, alike.
    told: What the noisy moment says of the exact one; None beyond `MOST_ASSESSED` features.
    bases: In which the noisy moment was denoised.
    """

    centre: FloatArray
    n_rows: float
    components: FloatArray
    eigenvalues: FloatArray
    trace: float
    told: Assessment | None
    bases: tuple[PublicBasis, ...] = ()


def unwatched(share: float) -> None:
    """Nobody wants to know how far the reading has come."""


def sum_and_count(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    reading: Reading,
    watch: Watch = unwatched,
    *,
    scheduler: str | None = None,
) -> IntArray:
    """The exact sum of rows on the grid and, last, their weighted count. Not for publication.

    reading: Counts what is met.
    watch: Told what share of the table is read, now and then.
    scheduler: Of a Dask cluster whose workers sum the table's parts. Sums of integers do not
        depend on their order: the result is the same, to the bit.
    Raises `ParameterError` if the table has no row, or the scheduler is lost.
    """
    total, n_rows = np.zeros(dictionary.n_features, dtype=np.int64), 0
    if scheduler is None:
        sums = grid_sums(table, dictionary, reading, then=_bounded(dictionary, scales))
        for of_block, n_more in _watched(sums, table, watch):
            n_rows = counted(n_more, n_rows)
            total += of_block
    else:
        parts = parts_of(table, dictionary)
        for _, (of_part, n_more, met) in _on_workers(
            _sum_of_part, parts, watch, scheduler, dictionary, scales
        ):
            n_rows = counted(n_more, n_rows)
            total += of_part
            reading.add(met)
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
    on_sphere: bool,
    bases: tuple[PublicBasis, ...] = (),
    watch: Watch = unwatched,
    scheduler: str | None = None,
) -> Measured:
    """Draw the noise of a release that has been charged, in this process.

    total: ndarray of int64, shape (n_features + 1,). From `sum_and_count`.
    on_sphere: Rows get one length around the private centre; else longer ones are shortened.
    bases: Of the columns or none, from `bases_of`.
    watch, scheduler: As in `sum_and_count`.
    """
    centre, n_rows = noisy_centre(total, scales)
    exact = moment_around(
        table, dictionary, scales, centre, watch, on_sphere=on_sphere, scheduler=scheduler
    )
    noisy = noisy_second_moment(exact, scales.moment_sigma, in_place=True)
    sigma = scales.diagonal_sigma / LENGTH**2
    return leading_of(_of_unit_rows(noisy), n_components, centre, n_rows, sigma, bases)


def _of_unit_rows(moment: IntArray) -> FloatArray:
    """A moment where a row has length 1, in the memory of the one it is made from."""
    scaled: FloatArray = moment.view(np.float64)
    step = max(1, _CELLS_AT_ONCE // len(moment))
    for start in range(0, len(moment), step):
        scaled[start : start + step] = moment[start : start + step] / LENGTH**2
    return scaled


def bases_of(choice: str, n_features: int, n_components: int) -> tuple[PublicBasis, ...]:
    """The public bases in which a release's noisy moment may be denoised: its columns, or none.

    choice: {"auto", "none"}. With "auto" none where the matrix is held once: few components of
        very many features.
    """
    if choice == "none" or is_held_once(n_features, n_components):
        return ()
    return (COLUMNS_WHERE_BETTER,)


def leading_of(
    moment: FloatArray,
    n_components: int,
    centre: FloatArray,
    n_rows: float,
    sigma: float | None,
    bases: tuple[PublicBasis, ...] = (),
) -> Measured:
    """What a noisy second moment gives away of itself.

    moment: shape (n_features, n_features). Where a row has length 1.
    centre: shape (n_features,)
    sigma: Of the noise on its diagonal, where nothing was cut from it since.
    bases: In which noise is taken out first (`dpcore.spectra.denoising`), if they are
        worth it: none unless sigma is known.
    """
    trace = float(np.trace(moment))
    if is_held_once(len(moment), n_components):
        eigenvalues, components = few_of_many(moment, n_components)
        return Measured(centre, n_rows, components, eigenvalues, trace, None)
    spectrum, told = Spectrum(moment), None
    if sigma is not None:
        before = spectrum
        bases = bases_worth(before, n_components, sigma=sigma, bases=bases)
        spectrum = before.denoised(sigma, bases=bases, noise="isometric")
        if len(moment) <= MOST_ASSESSED:
            told = _assessed(before, spectrum, n_components, sigma, bases)
    eigenvalues, components = spectrum.leading(n_components)
    return Measured(centre, n_rows, components, eigenvalues, trace, told, bases)


def _assessed(
    noisy: Spectrum,
    denoised: Spectrum,
    n_components: int,
    sigma: float,
    bases: Sequence[PublicBasis],
) -> Assessment:
    if not bases:
        return assess(noisy, n_components, sigma=sigma, noise="isometric")
    # Probes are as good with any seed: they read what is released already.
    part = NoisyPart(noisy.matrix, sigma), np.random.default_rng(secrets.randbits(128))
    return assess_by_probes(denoised, n_components, [part], sigma=sigma, bases=bases)


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
    watch: Watch = unwatched,
    *,
    on_sphere: bool,
    scheduler: str | None = None,
) -> IntArray:
    """The exact second moment of the prepared rows around a centre. Not for publication.

    centre: ndarray of whole float64, shape (n_features,)
    on_sphere: As in `measure`.
    watch: As in `sum_and_count`.
    scheduler: As in `sum_and_count`; but where it is lost this process sums the parts that are
        left. The release is charged by then, and would be charged again.
    """
    if scheduler is not None:
        return _moment_of_parts(
            table, dictionary, scales, centre, watch, on_sphere=on_sphere, scheduler=scheduler
        )
    reach = 0 if on_sphere else math.isqrt(scales.squared_norm)
    bounded = _bounded(dictionary, scales)

    def then(rows: FloatArray) -> FloatArray:
        around = bounded(rows)
        around -= centre
        return of_length(around, LENGTH, reach, out=around)

    rows = grid_blocks(table, dictionary, then=then)
    return exact_second_moment(_watched(rows, table, watch), dictionary.n_features)


# Sums of a table's parts where the parts are. Public numbers and the private centre go to a worker,
# and exact sums come back, so workers are the holder's own, as the table is.


def parts_of(table: Table, dictionary: Dictionary) -> list[tuple[Any, int]]:
    """The parts of a table, as `Table.parts`.

    Raises `ParameterError` if people have several rows: which are kept is decided in one place.
    """
    if dictionary.person is not None:
        raise ParameterError(
            "scheduler", "left out where a column says whose a row is: rows are counted in order",
            dictionary.person,
        )  # fmt: skip
    return table.parts()


def _sum_of_part(
    part: Any, dictionary: Dictionary, scales: Scales
) -> tuple[IntArray, int, Reading]:
    reading, table = Reading(), _table_of_part(part, dictionary)
    total: IntArray = np.zeros(dictionary.n_features, dtype=np.int64)
    n_rows = 0
    sums = grid_sums(table, dictionary, reading, then=_bounded(dictionary, scales))
    for of_block, n_more in sums:
        n_rows = counted(n_more, n_rows)
        total += of_block
    return total, n_rows, reading


def _moment_of_part(
    part: Any, dictionary: Dictionary, scales: Scales, centre: FloatArray, on_sphere: bool
) -> IntArray:
    table = _table_of_part(part, dictionary)
    return moment_around(table, dictionary, scales, centre, on_sphere=on_sphere)


def _table_of_part(part: Any, dictionary: Dictionary) -> Table:
    table = Table(part, dictionary.keys, dictionary.n_features)
    # A worker has as many threads as tasks.
    table.n_threads = 1
    return table


def _moment_of_parts(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    centre: FloatArray,
    watch: Watch,
    *,
    on_sphere: bool,
    scheduler: str,
) -> IntArray:
    moment = np.zeros((dictionary.n_features, dictionary.n_features), dtype=np.int64)
    parts, given = parts_of(table, dictionary), (dictionary, scales, centre, on_sphere)
    left = dict(enumerate(parts))
    try:
        for number, of_part in _on_workers(_moment_of_part, parts, watch, scheduler, *given):
            moment += of_part
            del left[number]
    except ParameterError as error:
        if error.parameter != "scheduler":
            raise
        warnings.warn(
            f"{error}. What is charged is charged once: the other {len(left)} of {len(parts)} "
            "parts are read by this process",
            RuntimeWarning,
            stacklevel=2,
        )
    n_all = sum(n for _, n in parts)
    for number in sorted(left):
        part, _ = left.pop(number)
        moment += _moment_of_part(part.compute() if hasattr(part, "compute") else part, *given)
        watch(1 - sum(n for _, n in left.values()) / max(1, n_all))
    return moment


def _on_workers(
    task: Callable[..., T],
    parts: Sequence[tuple[Any, int]],
    watch: Watch,
    scheduler: str,
    *given: Any,
) -> Iterator[tuple[int, T]]:
    """The numbers of parts, and what a task makes of each, as they are finished."""
    from dpcore.cluster import results_on_cluster

    # Of no other release: what a worker has kept of one must not be taken for another's.
    name, n_all, n_done = secrets.token_hex(8), max(1, sum(n for _, n in parts)), 0

    def submit(client: Client, number: int) -> DaskFuture[Any]:
        part, key = parts[number][0], f"dpcore-{task.__name__}-{name}-{number}"
        if not hasattr(part, "dask"):
            return client.submit(
                _of_version, dpcore.__version__, task, part, *given, key=key, pure=False
            )
        from dask.delayed import delayed

        whole = delayed(_of_version, pure=False)(
            dpcore.__version__, task, part, *given, dask_key_name=key
        )
        future: DaskFuture[Any] = client.compute(whole)
        return future

    for number, result in results_on_cluster(range(len(parts)), submit, scheduler=scheduler):
        n_done += parts[number][1]
        yield number, result
        watch(n_done / n_all)


def _of_version(version: str, task: Callable[..., T], *given: Any) -> T:
    if version != dpcore.__version__:
        raise ParameterError(
            "scheduler", f"one whose workers have dpcore {version}", dpcore.__version__
        )
    return task(*given)


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
