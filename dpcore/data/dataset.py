"""Data sets in memory, public limits of their columns, and tables of a visitor's session.

Public limits come from the documentation of a data set or from the domain (ends of a scale,
degrees, a pixel), never from values. Their text form, in an address or on the command line, is
``Aspect=0:360; Slope=0:90``.

A `HeldTable` lives as long as its owner, for example a visitor's session, references it. Results
that are computed from its rows are stored in its `results` and deleted with it: caches find the
table of a key by `holder_of`, and code that writes files checks `is_held`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from secrets import token_hex
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.picture_kinds import FULL, PICTURE_KINDS
from dpcore.streams import Purpose, stream

# Limits of the ends and the width, so that no square or product overflows and no width is lost in
# rounding.
_LARGEST_LIMIT, _SMALLEST_WIDTH = 1e12, 1e-12


@dataclass(frozen=True)
class ColumnRange:
    """Consecutive columns of a data set that share their limits.

    name: Name of the column or of the group.
    n_columns: Number of columns.
    lower, upper: Limits in the units of the rows; infinite without documented limits.
    """

    name: str
    n_columns: int = 1
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def is_limited(self) -> bool:
        """Return whether the columns have limits."""
        return math.isfinite(self.lower)

    def __str__(self) -> str:
        ends = f"{self.lower:.15g}:{self.upper:.15g}" if self.is_limited else ""
        return f"{self.name}={ends}"


def limits_of(ranges: Sequence[ColumnRange]) -> FloatArray | None:
    """Return the limits of all columns, (n_features, 2); None if a column has none."""
    if not all(column.is_limited for column in ranges):
        return None
    return np.repeat(
        [[column.lower, column.upper] for column in ranges],
        [column.n_columns for column in ranges],
        axis=0,
    )


def half_diagonal(limits: FloatArray) -> float:
    """Return the largest distance of a row within the limits (n_features, 2) from their centre."""
    return float(np.linalg.norm(np.ptp(limits, axis=1))) / 2


def read_limits(text: str, ranges: Sequence[ColumnRange]) -> tuple[ColumnRange, ...]:
    """Return the ranges with the limits that a text gives.

    text: Entries "name=lower:upper", separated by semicolons; empty for no change. An entry
        "name=" removes the limits.

    Raises `ParameterError` if a name is unknown, an end is missing, infinite or not a number, the
        upper end is below the lower one, or every column is limited to a single value.
    """
    by_name = {column.name: column for column in ranges}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, _, ends = part.rpartition("=")
        if name not in by_name:
            raise ParameterError("limits", "of columns that there are, as in name=0:1", part)
        lower, upper = _parse_ends(part, ends)
        by_name[name] = replace(by_name[name], lower=lower, upper=upper)
    changed = tuple(by_name.values())
    widths = [column.upper - column.lower for column in changed]
    if text and max(widths, default=0.0) < _SMALLEST_WIDTH:
        raise ParameterError("limits", "apart in one column at least", text)
    return changed


def written_limits(ranges: Sequence[ColumnRange], usual: Sequence[ColumnRange]) -> str:
    """Return the text that `read_limits` needs to change the usual ranges into `ranges`."""
    pairs = zip(ranges, usual, strict=True)
    return "; ".join(str(column) for column, before in pairs if column != before)


def _parse_ends(part: str, ends: str) -> tuple[float, float]:
    if not ends:
        return -math.inf, math.inf
    lower, _, upper = ends.partition(":")
    try:
        low, high = float(lower), float(upper)
    except ValueError:
        raise ParameterError("limits", "two numbers, a lower and an upper", part) from None
    if not (abs(low) <= _LARGEST_LIMIT and abs(high) <= _LARGEST_LIMIT):
        raise ParameterError("limits", f"finite, up to {_LARGEST_LIMIT:g}", part)
    if low > high:
        raise ParameterError("limits", "the lower one first", part)
    return low, high


# Root of all draws that make a data set, so that a name always gives the same rows.
DATA_SEED = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Rows of people, with labels, public limits and provenance.

    Attributes
    ----------
    name, title : str
        Key in the catalogue and displayed name. `load_dataset` sets these, `image_shape` and
        `default_components` from the catalogue.
    X : ndarray of shape (n_samples, n_features), float32 or float64, read-only
        One row per person; may be a memory map.
    labels : ndarray of int, shape (n_samples,), or None
        Positions in `label_names`.
    label_names, feature_names : tuple of str
    sites : ndarray of int, shape (n_samples,), or None
        Site of each person, from 0, if the table has one.
    image_shape : (height, width) or None
        Shape of a picture, if rows are pictures.
    picture : {"full", "centred"}
        Public knowledge about pictures: they fill the frame, or show an object in its middle.
    default_components : int or None
        K of the sources; None for a data set that is not for PCA.
    provenance : str
        One sentence about the origin and the number of the rows.
    is_part : bool
        Whether the file has fewer rows than the data set of the sources.
    public_norm_bound : float
        Row norm bound chosen from the domain (units, range of a sensor, encoding of a picture)
        without the rows. Longer rows exist and are clipped.
    column_limits : ndarray of shape (n_features, 2), read-only, or None
        Limits of each column from the domain; None if a column is unlimited.
    views : mapping of str to slice, or None
        Columns of each view, for CCA.
    label_columns : slice or None
        Columns of X that encode the label, if the dimension in the source shows that they were
        among its features. Classifiers must not use them.
    """

    name: str = ""
    title: str = ""
    X: FloatArray
    labels: IntArray | None = None
    label_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...]
    sites: IntArray | None = None
    image_shape: tuple[int, int] | None = None
    picture: str = FULL
    default_components: int | None = None
    provenance: str
    is_part: bool = False
    public_norm_bound: float
    column_limits: FloatArray | None = None
    views: Mapping[str, slice] | None = None
    label_columns: slice | None = None

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.dtype not in (np.float32, np.float64) or len(self.X) < 2:
            raise ParameterError(
                "X",
                "a float32 or float64 matrix of at least 2 rows",
                f"{self.X.dtype} of shape {self.X.shape}",
            )
        require_one_of("picture", self.picture, PICTURE_KINDS)
        for name in ("labels", "sites"):
            values = getattr(self, name)
            if values is None:
                continue
            if values.shape != self.X.shape[:1]:
                raise ParameterError(name, f"one for each of {len(self.X)} rows", values.shape)
            object.__setattr__(self, name, _read_only(values))
        if self.column_limits is not None:
            limits = checked_limits(self.column_limits, self.feature_names)
            object.__setattr__(self, "column_limits", _read_only(limits))
        # Caches share one Dataset between sessions, so its rows are read-only. The flag is set on a
        # view: the caller's own array stays writable.
        object.__setattr__(self, "X", _read_only(self.X))

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def public_ball(self) -> tuple[FloatArray, float]:
        """Return the centre (n_features,) and the radius of a public ball for the rows.

        If half the diagonal of the columns' limits is below the norm bound, the ball is the
        smallest one that contains all rows within the limits. Otherwise it is around zero.
        """
        if self.limits_in_use is None:
            return np.zeros(self.n_features), self.public_norm_bound
        low, high = self.limits_in_use.T
        return (low + high) / 2, half_diagonal(self.limits_in_use)

    @property
    def limits_in_use(self) -> FloatArray | None:
        """Return the columns' limits (n_features, 2) if they give the smaller ball, else None."""
        limits = self.column_limits
        if limits is None or half_diagonal(limits) >= self.public_norm_bound:
            return None
        return limits


def checked_limits(limits: FloatArray, feature_names: tuple[str, ...]) -> FloatArray:
    """Return the limits as an array after checks: lower before upper, finite.

    Some columns may be limited to a single value, but not all.

    Raises `ParameterError` if a column has no finite pair of limits, a pair is in the wrong order,
        or all columns are limited to a single value.
    """
    bounds = np.array(limits, dtype=np.float64)
    shape = len(feature_names), 2
    if bounds.shape != shape or not np.isfinite(bounds).all():
        raise ParameterError(
            "column_limits", f"finite, of shape {shape}", f"an array of shape {bounds.shape}"
        )
    wrong = np.flatnonzero(bounds[:, 0] > bounds[:, 1])
    if wrong.size:
        low, high = bounds[wrong[0]].tolist()
        raise ParameterError(
            "column_limits",
            "the lower one first",
            f"{low:g} before {high:g} ({feature_names[wrong[0]]})",
        )
    if not (bounds[:, 0] < bounds[:, 1]).any():
        raise ParameterError("column_limits", "apart in one column at least", "none apart")
    return bounds


@dataclass(frozen=True)
class RowUnit:
    """Noun for one row of a data set, in singular and plural."""

    one: str
    many: str

    def of(self, n: int) -> str:
        """Format a number of rows, for example "20 people"."""
        return f"{n:,} {self.one if n == 1 else self.many}"

    def name_in(self, text: str) -> str:
        """Replace "row" and "rows" in a text by this noun."""
        return _ROW.sub(self._replacement, text)

    def _replacement(self, match: re.Match[str]) -> str:
        word = self.many if match[2] else self.one
        return word[0].upper() + word[1:] if match[1] == "R" else word


_ROW = re.compile(r"\b([Rr])ow(s?)\b")
ROWS = RowUnit("row", "rows")
PEOPLE = RowUnit("person", "people")
PATIENTS = RowUnit("patient", "patients")
PICTURES = RowUnit("picture", "pictures")


@dataclass(frozen=True)
class DatasetStatus:
    """Entry of `list_datasets`, available without reading the data set.

    Attributes
    ----------
    name, title : str
    n_samples, n_features : int
        Shape that `load_dataset` returns by default for complete files.
    default_components : int or None
    image_shape : tuple of int or None
    ranges : tuple of ColumnRange
        All columns with their documented limits.
    site_sizes : tuple of int
        Number of people at each site, if the table has sites.
    unit : RowUnit
        Noun for one row, such as person or picture.
    ready : bool
        True if `load_dataset` needs no network.
    is_part : bool
        True if only a part of the rows is there.
    download_bytes : int or None
        Size of the files that are absent; 0 if all rows are there, None if unknown.
    how_to_get : str
        One sentence for a page.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    default_components: int | None
    image_shape: tuple[int, int] | None
    ranges: tuple[ColumnRange, ...]
    site_sizes: tuple[int, ...]
    unit: RowUnit
    ready: bool
    is_part: bool
    download_bytes: int | None
    how_to_get: str


def _read_only(array: AnyArray) -> AnyArray:
    view = array.view()
    view.flags.writeable = False
    return view


def draw_rows(dataset: Dataset, n_samples: int | None) -> Dataset:
    """Draw `n_samples` rows without replacement with a fixed seed; None for all rows."""
    if n_samples is None or n_samples == dataset.n_samples:
        return dataset
    if n_samples > dataset.n_samples:
        raise ParameterError(
            "n_samples", f"at most {dataset.n_samples}, the rows there are", n_samples
        )
    chosen = stream(DATA_SEED, Purpose.DATA).permutation(dataset.n_samples)[:n_samples]
    return replace(
        dataset,
        X=dataset.X[chosen],
        labels=None if dataset.labels is None else dataset.labels[chosen],
        sites=None if dataset.sites is None else dataset.sites[chosen],
        provenance=f"{n_samples:,} rows drawn with a fixed seed. From: {dataset.provenance}",
    )


PREFIX = "your-table-"


class HeldTable:
    """Data set of a session, registered in this process under a secret name.

    dataset: Rows; the data set gets the secret name.
    ending: End of the name, only for processes with one user; random by default.
    name: Name for `load_dataset` while the table exists.
    results: Results computed from the table, by key.
    """

    def __init__(self, dataset: Dataset, *, ending: str = "") -> None:
        self.name = PREFIX + (ending or token_hex(16))
        self.dataset = replace(dataset, name=self.name)
        self.results: dict[Any, Any] = {}
        _tables[self.name] = self
        _registrations.add(True)


_tables: WeakValueDictionary[str, HeldTable] = WeakValueDictionary()
# Not empty after the first registration: without tables, the search of keys is skipped.
_registrations: set[bool] = set()


def without_secret_name(text: str) -> str:
    """Return a text with "your-table" for the secret names of tables, for files and addresses."""
    return re.sub(f"{PREFIX}[0-9a-f]{{32}}", PREFIX.rstrip("-"), text)


def is_held(name: str | None) -> bool:
    """Return whether the name is that of a session's table, present or deleted."""
    return name is not None and name.startswith(PREFIX)


def held_table(name: str) -> HeldTable:
    """Return the table of this name.

    Raises `ParameterError` if it was deleted.
    """
    table = _tables.get(name)
    if table is None:
        raise ParameterError("dataset", "a table that its session still holds", "one that is gone")
    return table


def holder_of(key: object) -> HeldTable | None:
    """Return the table that a cache key names in its tuples and specs; None without a name.

    Raises `ParameterError` if the table was deleted, because its results must not be stored where
    other sessions read.
    """
    name = held_name(key)
    return None if name is None else held_table(name)


def held_name(key: object) -> str | None:
    """Return the name of a table in a key, present or deleted; None without one."""
    pending = [key] if _registrations else []
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            if part.startswith(PREFIX):
                return part.partition("/")[0]  # a statistic's source is "name/column"
        elif isinstance(part, tuple | list):
            pending += part
        elif is_dataclass(part):
            pending += vars(part).values()
    return None
