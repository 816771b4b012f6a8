"""A data set in memory, the public limits of its columns, and tables that a visitor holds.

They come from a data set's documentation or from the domain (a scale's ends, degrees, a pixel),
never from values. As text, in an address or on the command line: ``Aspect=0:360; Slope=0:90``.

Data sets that somebody holds in memory, under a name that nobody can guess.

One lives as long as its holder keeps the `HeldTable`, a visitor's session say. What is computed
from its rows is kept by it as well (`kept`), and by nothing that outlives it: caches ask
`holder_of` whose a key is, and whoever writes files asks `is_held`.
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
from dpcore.errors import ParameterError
from dpcore.streams import Purpose, stream

# Public limits of columns: between which values theirs lie, whoever is in the rows.

# So that no square or product of them overflows, and no width is lost in rounding.
_FARTHEST, _NARROWEST = 1e12, 1e-12


@dataclass(frozen=True)
class ColumnRange:
    """Consecutive columns of a data set that share their limits.

    name: Of the column, or of all of them.
    lower, upper: In the units of the rows. Infinite where nobody has written any down.
    """

    name: str
    n_columns: int = 1
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self.lower)

    def __str__(self) -> str:
        ends = f"{self.lower:.15g}:{self.upper:.15g}" if self.is_limited else ""
        return f"{self.name}={ends}"


def limits_of(ranges: Sequence[ColumnRange]) -> FloatArray | None:
    """Lowest and highest value of each column, (n_features, 2); None unless all have some."""
    if not all(each.is_limited for each in ranges):
        return None
    return np.repeat(
        [[each.lower, each.upper] for each in ranges], [each.n_columns for each in ranges], axis=0
    )


def half_diagonal(limits: FloatArray) -> float:
    """How far from the middle between them limits of shape (n_features, 2) let a row be."""
    return float(np.linalg.norm(np.ptp(limits, axis=1))) / 2


def read_limits(text: str, ranges: Sequence[ColumnRange]) -> tuple[ColumnRange, ...]:
    """The ranges, with the limits that a text gives in place of their own.

    text: "name=lower:upper", several of them parted by semicolons; empty changes nothing. A name
        without limits ("name=") has none any more.
    Raises `ParameterError` if a name is unknown, an end missing, infinite or no number, the upper
        end before the lower, or every column limited to a single value.
    """
    found = {each.name: each for each in ranges}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, _, ends = part.rpartition("=")
        if name not in found:
            raise ParameterError("limits", "of columns that there are, as in name=0:1", part)
        lower, upper = _ends(part, ends)
        found[name] = replace(found[name], lower=lower, upper=upper)
    changed = tuple(found.values())
    widths = [each.upper - each.lower for each in changed]
    if text and max(widths, default=0.0) < _NARROWEST:
        raise ParameterError("limits", "apart in one column at least", text)
    return changed


def written_limits(ranges: Sequence[ColumnRange], usual: Sequence[ColumnRange]) -> str:
    """The text that makes `ranges` of the usual ones."""
    pairs = zip(ranges, usual, strict=True)
    return "; ".join(str(each) for each, before in pairs if each != before)


def _ends(part: str, ends: str) -> tuple[float, float]:
    if not ends:
        return -math.inf, math.inf
    lower, _, upper = ends.partition(":")
    try:
        low, high = float(lower), float(upper)
    except ValueError:
        raise ParameterError("limits", "two numbers, a lower and an upper", part) from None
    if not (abs(low) <= _FARTHEST and abs(high) <= _FARTHEST):
        raise ParameterError("limits", f"finite, up to {_FARTHEST:g}", part)
    if low > high:
        raise ParameterError("limits", "the lower one first", part)
    return low, high


# What a data set is, once it is in memory, and what is known of one before it is read.

# One root for every draw that makes a data set, so that a name means the same rows everywhere.
DATA_SEED = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Rows that belong to people, and what one needs to know to show them honestly.

    Attributes
    ----------
    name, title : str
        The key in the catalogue and the name for a reader. What the catalogue says of a data set,
        these, `image_shape` and `default_components`, is filled in by `load_dataset`.
    X : ndarray of shape (n_samples, n_features), float32 or float64, read-only
        One row a person. May be a memory map.
    labels : ndarray of int, shape (n_samples,), or None
        Positions in `label_names`.
    label_names, feature_names : tuple of str
    sites : ndarray of int, shape (n_samples,), or None
        Where each person is, from 0, if the table says so.
    image_shape : (height, width) or None
        Set where a row is a picture.
    default_components : int or None
        The K the sources use; None where the data set is for something other than PCA.
    provenance : str
        One sentence: what the rows really are, and how many of how many.
    is_part : bool
        True where the file holds fewer rows than the data set the sources used.
    public_norm_bound : float
        A row norm bound somebody can choose from the domain alone (units, ranges of a sensor,
        how a picture is encoded), before any row is seen. Longer rows exist; they are clipped.
    column_limits : ndarray of shape (n_features, 2), read-only, or None
        Lowest and highest value of each column as the domain has them, whoever is in the rows;
        None where somebody's may be any number.
    views : mapping of str to slice, or None
        Columns of each view where people were measured in several ways (for CCA).
    label_columns : slice or None
        Columns of X that spell out the label, where the source's dimension leaves no doubt that
        they were among its features. A classifier that reads them is told the answer.
    """

    name: str = ""
    title: str = ""
    X: FloatArray
    labels: IntArray | None = None
    label_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...]
    sites: IntArray | None = None
    image_shape: tuple[int, int] | None = None
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
        for name in ("labels", "sites"):
            given = getattr(self, name)
            if given is None:
                continue
            if given.shape != self.X.shape[:1]:
                raise ParameterError(name, f"one for each of {len(self.X)} rows", given.shape)
            object.__setattr__(self, name, _read_only(given))
        if self.column_limits is not None:
            limits = checked_limits(self.column_limits, self.feature_names)
            object.__setattr__(self, "column_limits", _read_only(limits))
        # Caches hand one Dataset to many sessions: nobody may write into it. A view, because the
        # caller's own array is the caller's.
        object.__setattr__(self, "X", _read_only(self.X))

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def public_ball(self) -> tuple[FloatArray, float]:
        """Centre (n_features,) and radius of a ball for the rows that takes no look at them.

        Around the middle of the columns' limits, where half the diagonal between them is shorter
        than the bound around zero; no row within its limits leaves that one.
        """
        if self.limits_in_use is None:
            return np.zeros(self.n_features), self.public_norm_bound
        low, high = self.limits_in_use.T
        return (low + high) / 2, half_diagonal(self.limits_in_use)

    @property
    def limits_in_use(self) -> FloatArray | None:
        """The columns' limits where they make the smaller ball, of shape (n_features, 2)."""
        limits = self.column_limits
        if limits is None or half_diagonal(limits) >= self.public_norm_bound:
            return None
        return limits


def checked_limits(limits: FloatArray, feature_names: tuple[str, ...]) -> FloatArray:
    """Limits of columns, lower before upper; a column of one value may stand among others.

    Raises `ParameterError` if there is not one finite pair a column, a pair is in the wrong order,
        or all columns hold one value only.
    """
    found = np.array(limits, dtype=np.float64)
    shape = len(feature_names), 2
    if found.shape != shape or not np.isfinite(found).all():
        raise ParameterError(
            "column_limits", f"finite, of shape {shape}", f"an array of shape {found.shape}"
        )
    wrong = np.flatnonzero(found[:, 0] > found[:, 1])
    if wrong.size:
        low, high = found[wrong[0]].tolist()
        raise ParameterError(
            "column_limits",
            "the lower one first",
            f"{low:g} before {high:g} ({feature_names[wrong[0]]})",
        )
    if not (found[:, 0] < found[:, 1]).any():
        raise ParameterError("column_limits", "apart in one column at least", "none apart")
    return found


@dataclass(frozen=True)
class RowUnit:
    """What one row of a data set is, and several."""

    one: str
    many: str

    def of(self, n: int) -> str:
        """So many, in words."""
        return f"{n:,} {self.one if n == 1 else self.many}"

    def name_in(self, text: str) -> str:
        """A text with this in place of "row" and "rows"."""
        return _ROW.sub(self._like, text)

    def _like(self, found: re.Match[str]) -> str:
        word = self.many if found[2] else self.one
        return word[0].upper() + word[1:] if found[1] == "R" else word


_ROW = re.compile(r"\b([Rr])ow(s?)\b")
ROWS = RowUnit("row", "rows")
PEOPLE = RowUnit("person", "people")
PATIENTS = RowUnit("patient", "patients")
PICTURES = RowUnit("picture", "pictures")


@dataclass(frozen=True)
class DatasetStatus:
    """What `list_datasets` knows of a data set without reading it.

    Attributes
    ----------
    name, title : str
    n_samples, n_features : int
        As `load_dataset` gives them by default from whole files.
    default_components : int or None
    image_shape : tuple of int or None
    ranges : tuple of ColumnRange
        All columns, with the limits that their documentation gives.
    site_sizes : tuple of int
        People at each site, if the table says who is where.
    unit : RowUnit
        What one row is: a person, or a picture.
    ready : bool
        True if `load_dataset` needs no network.
    is_part : bool
        True if only a part of the rows is there.
    download_bytes : int or None
        How much `load_dataset` would fetch; 0 if ready, None if unknown.
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
    """A data set of `n_samples` rows drawn without replacement with a fixed seed; None: all."""
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


# Data sets that somebody holds in memory, under a name that nobody can guess.

PREFIX = "your-table-"


class HeldTable:
    """A data set in its holder's hands.

    dataset: Its rows; it gets a name of its own.
    ending: Of that name, where nobody else is in this process; else it cannot be guessed.
    name: By which `load_dataset` knows it while it is held, in this process.
    kept: What was computed from it, by whatever computed it.
    """

    def __init__(self, dataset: Dataset, *, ending: str = "") -> None:
        self.name = PREFIX + (ending or token_hex(16))
        self.dataset = replace(dataset, name=self.name)
        self.kept: dict[Any, Any] = {}
        _held[self.name] = self
        _ever.add(True)


_held: WeakValueDictionary[str, HeldTable] = WeakValueDictionary()
# Whether anybody ever held one: most servers never look through a key.
_ever: set[bool] = set()


def is_held(name: str | None) -> bool:
    """Whether a data set of this name is, or was, in somebody's hands."""
    return name is not None and name.startswith(PREFIX)


def held_table(name: str) -> HeldTable:
    """The table of this name.

    Raises `ParameterError` if nobody holds it any more.
    """
    table = _held.get(name)
    if table is None:
        raise ParameterError("dataset", "a table that its session still holds", "one that is gone")
    return table


def holder_of(key: object) -> HeldTable | None:
    """The table that a cache's key names somewhere in its tuples and specs; None if it names none.

    Raises `ParameterError` if nobody holds it any more: what is left of it must not go to where
        others look.
    """
    name = held_name(key)
    return None if name is None else held_table(name)


def names_one_gone(key: object) -> bool:
    """Whether a key names a table that nobody holds any more."""
    name = held_name(key)
    return name is not None and name not in _held


def held_name(key: object) -> str | None:
    """The name in a key, held or not; None if there is none."""
    waiting = [key] if _ever else []
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if part.startswith(PREFIX):
                return part
        elif isinstance(part, tuple | list):
            waiting += part
        elif is_dataclass(part):
            waiting += vars(part).values()
    return None
