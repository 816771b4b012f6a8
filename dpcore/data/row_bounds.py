"""Centring and norm bounds of rows, with a statement of whether this step is private.

Sensitivities are proven for rows within the bound, so no row may exceed it even by rounding, and no
row may cause an overflow: an exception that one person can cause reveals something about that
person. Every row is treated separately. NaN and infinite entries raise an error before the release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray, map_blocks
from dpcore.data.dataset import Dataset, half_diagonal
from dpcore.errors import ParameterError, require_one_of
from dpcore.picture_kinds import FULL

# Range of bounds for which no later product, float32 second moments included, overflows or loses
# digits to subnormal numbers.
_SMALLEST_BOUND, _LARGEST_BOUND = 1e-15, 1e15
# Norm above which rows are scaled down before any entry is squared or multiplied.
EXTREME = 1e20


def check_norm_bound(parameter: str, bound: float) -> None:
    """Raise a ParameterError unless the bound is a number in [1e-15, 1e15]."""
    if not _SMALLEST_BOUND <= bound <= _LARGEST_BOUND:
        raise ParameterError(
            parameter,
            f"positive and finite, in [{_SMALLEST_BOUND:g}, {_LARGEST_BOUND:g}]",
            bound,
        )


def rounding(X: FloatArray) -> float:
    """Return the relative slack that covers rounding errors of a row's norm.

    Summing D squares in float64 is off by at most D + 1 roundings, in whatever order; scaling a
    row takes up to three more, and three in the data type of X.
    """
    unit = float(np.finfo(np.float64).eps) / 2
    return float((X.shape[1] + 4) * unit + 2 * float(np.finfo(X.dtype).eps))


def row_norms(X: FloatArray) -> FloatArray:
    """Return Euclidean norms in float64 of shape (n_samples,); inf where a square overflows."""
    with np.errstate(over="ignore"):
        norms: FloatArray = np.sqrt(np.einsum("nd,nd->n", X, X, dtype=np.float64))
    return norms


def scale_down_huge_rows(X: FloatArray, norms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rows and norms, with rows of norm above 1e20 scaled to a largest entry of 1e20.

    Such rows are longer than any bound and are clipped next, so only their direction matters. X and
    norms themselves are returned if there are no such rows.
    """
    extreme = np.flatnonzero(~(norms <= EXTREME))
    if not extreme.size:
        return X, norms
    X, norms = X.copy(), norms.copy()
    rows = X[extreme].astype(np.float64)
    rows /= np.abs(rows).max(axis=1, keepdims=True)
    X[extreme] = EXTREME * rows
    norms[extreme] = row_norms(X[extreme])
    return X, norms


def shorten(X: FloatArray, bound: float) -> tuple[FloatArray, int]:
    """Return rows of norm at most `bound` in exact arithmetic, and the number of longer rows.

    X: Finite rows, shape (n_samples, n_features), float32 or float64.
    bound: Public bound, chosen without looking at the rows.

    Returns rows of shape (n_samples, n_features); X itself if no row comes near the bound. Rows
    that could exceed the bound by rounding errors of their normalisation are shortened, too.
    Returns n_long, the number of rows longer than the bound by more than that rounding. This number
    is exact and not for publication.
    """
    slack = rounding(X)
    X, norms = scale_down_huge_rows(X, row_norms(X))
    limit = (1 - slack) * bound
    if norms.max() <= limit:
        return X, 0
    rows, long = X.copy(), norms > limit
    rows[long] = X[long] * (limit / norms[long])[:, None]
    return rows, int(np.count_nonzero(norms > (1 + slack) * bound))


MODES = ("sphere", "bounded", "none", "published")
# Limit of the length of a row on the sphere, in units of the bound, so that its square is finite.
LONGEST_ON_SPHERE = 1e15

# Length below which squares lose digits and the inverse of the length overflows.
_TINY = 1e-30
_BLOCK_BYTES = 1 << 24

# Attributes that a prepared data set copies.
_COPIED_ATTRIBUTES = (
    *("name", "title", "labels", "label_names", "sites", "feature_names", "image_shape"),
    *("picture", "default_components", "provenance", "is_part", "views", "label_columns"),
)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data set with prepared rows.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), read-only
        Row norms at most 1, unless `mode` is "none" or "sphere".
    mode : {"sphere", "bounded", "none", "published"}
    is_private : bool
        Whether the step used only a public bound, so that a guarantee of a release from X is a
        guarantee for the people.
    scale : float
        Divisor of the rows.
    mean : ndarray of float64, shape (n_features,)
        Centre that was subtracted first: the mean of the rows for "published", a public centre
        for "bounded" and "sphere".
    half_widths : ndarray of float64, shape (n_features,), or None
        Bounds on the absolute entries of X, if the limits of columns give the bound. On the
        sphere, `dpcore.spectra.SiteRows` clips rows to them.
    n_clipped : int
        Number of rows longer than the bound or outside their columns' limits. Exact, not for
        publication.
    statement : str
        One sentence for a page.
    name, title, labels, label_names, sites, feature_names, image_shape, picture
    default_components, provenance, is_part, views, label_columns
        As in `Dataset`.
    """

    name: str
    title: str
    X: FloatArray
    labels: IntArray | None
    label_names: tuple[str, ...] | None
    sites: IntArray | None
    feature_names: tuple[str, ...]
    image_shape: tuple[int, int] | None
    default_components: int | None
    provenance: str
    is_part: bool
    mode: str
    is_private: bool
    scale: float
    mean: FloatArray
    n_clipped: int
    statement: str
    half_widths: FloatArray | None = None
    picture: str = FULL
    views: Mapping[str, slice] | None = None
    label_columns: slice | None = None

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])


def prepare(
    dataset: Dataset,
    *,
    mode: str = "published",
    norm_bound: float | None = None,
    in_place: bool = False,
) -> Prepared:
    """Bound the row norms of a data set by 1.

    Parameters
    ----------
    dataset : Dataset
    mode : {"sphere", "bounded", "none", "published"}
        "published": subtract the mean of all rows, divide by the largest row norm (Imtiaz &
        Sarwate 2018, section 4). Both are read from the people's rows: not private.
        "bounded": clip values to their columns' limits, subtract the centre of
        `dataset.public_ball`, divide by a public bound and clip longer rows. No row influences
        another: replacing one person changes one row of X. A private mean is released with the
        second moment, and its outer product is subtracted afterwards.
        "sphere": the same without shortening. Every row is later scaled to length 1 around a
        private mean of the rows clipped to the bound (`dpcore.spectra.SiteRows`).
        "none": rows as they are, without any bound.
    norm_bound : float, optional
        Bound on the norm of a row relative to that centre for "sphere" and "bounded", in the units
        of the data, chosen without the rows. Default: the radius of `dataset.public_ball`.
    in_place : bool
        Overwrite the rows of `dataset` if they are writable, to save memory. The data set must
        not be used afterwards.

    Raises
    ------
    ParameterError
        If the rows hold NaN or infinite entries, or `norm_bound` is not in [1e-15, 1e15]. Such
        entries are refused before anything is released; no other content of a row can make "sphere"
        or "bounded" fail.
    """
    require_one_of("mode", mode, MODES)
    X = dataset.X
    _refuse_non_finite(X)
    mean: FloatArray = np.zeros(X.shape[1])
    limits, n_clipped = None, 0
    if mode == "published":
        out, mean, scale = _centre_and_scale(X, _room_for(X, in_place))
        statement = _state_published(len(X), scale)
        scale = scale or 1.0
    elif mode in ("sphere", "bounded"):
        mean, scale = dataset.public_ball
        scale = scale if norm_bound is None else norm_bound
        check_norm_bound("norm_bound", scale)
        longest = 1.0 if mode == "bounded" else LONGEST_ON_SPHERE
        limits = dataset.limits_in_use
        room = _room_for(X, in_place)
        out, n_clipped = in_units_of_bound(X, scale, longest, room, limits=limits)
        statement = _state_bound(scale, mode, about_middle=limits is not None)
    else:
        out, scale = X, 1.0
        statement = "Rows as they are, without a bound on their norm: no guarantee can be given."
    out.flags.writeable = False
    return Prepared(
        X=out,
        mode=mode,
        is_private=mode in ("sphere", "bounded"),
        scale=float(scale),
        mean=mean,
        n_clipped=n_clipped,
        statement=statement,
        half_widths=None if limits is None else _half_widths(limits, scale),
        **{name: getattr(dataset, name) for name in _COPIED_ATTRIBUTES},
    )


def _half_widths(limits: FloatArray, scale: float) -> FloatArray | None:
    """Return the half widths of the box; None if the requested ball does not contain the box."""
    if scale < half_diagonal(limits):
        return None
    widths: FloatArray = np.ptp(limits, axis=1) / (2 * scale)
    return widths


def _state_published(n_samples: int, largest_norm: float) -> str:
    if largest_norm == 0.0:
        return (
            "All rows are equal, so that nothing is left once their mean is subtracted; "
            "this step is not private."
        )
    return (
        f"Centred with the mean of all {n_samples:,} rows and divided by the largest row norm, "
        f"{largest_norm:.6g}, as published: both are read from the data, so this step is not "
        "private."
    )


def _state_bound(bound: float, mode: str, *, about_middle: bool) -> str:
    about = "Rows are taken about the middle of their columns' public limits. "
    if mode == "bounded":
        step = f"Divided by the public bound {bound:.6g}; longer rows are clipped to it"
    else:
        step = (
            "Every row, or difference of two rows, is brought to length 1. A private mean, if it "
            f"is used, reads rows up to the public bound {bound:.6g}"
        )
    return f"{about if about_middle else ''}{step}: this step is private."


def _room_for(X: FloatArray, in_place: bool) -> FloatArray:
    if in_place:
        try:
            X.flags.writeable = True
        except ValueError:  # over a file or a read-only buffer
            in_place = False
    return X if in_place else np.empty_like(X)


def _blocks(X: FloatArray) -> Iterator[slice]:
    # Blocks limit the memory of float64 intermediates; X may be a memory map.
    rows = max(1, _BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(X), rows):
        yield slice(start, start + rows)


def _refuse_non_finite(X: FloatArray) -> None:
    def count_non_finite(rows: slice) -> int:
        return int(X[rows].size - np.count_nonzero(np.isfinite(X[rows])))

    if n_bad := sum(map_blocks(count_non_finite, _blocks(X))):
        raise ParameterError("X", "free of NaN and infinite entries", f"{n_bad:,} of them")


def _centre_and_scale(X: FloatArray, out: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    # Deviations from any one row average more exactly than the rows do; equal rows give zeros.
    pilot = X[0].astype(np.float64)
    mean = pilot + sum((X[rows] - pilot).sum(axis=0) for rows in _blocks(X)) / len(X)
    for rows in _blocks(X):
        np.subtract(X[rows], mean, out=out[rows], casting="same_kind")
    longest, exponent = _largest_norm(out), 0
    if not math.isfinite(longest):
        raise ParameterError("X", "of rows whose squares are numbers, below 1e154", "a longer one")
    if longest < _TINY and out.any():
        # Changing only the exponent is exact.
        exponent = int(np.frexp(np.abs(out).max())[1])
        np.ldexp(out, -exponent, out=out)
        longest = _largest_norm(out)
    if longest > 0.0:
        out *= X.dtype.type((1 - rounding(X)) / longest)
    return out, mean, math.ldexp(longest, exponent)


def _largest_norm(X: FloatArray) -> float:
    return max(float(row_norms(X[rows]).max()) for rows in _blocks(X))


def in_units_of_bound(
    X: FloatArray,
    bound: float,
    longest: float,
    out: FloatArray,
    *,
    limits: FloatArray | None = None,
) -> tuple[FloatArray, int]:
    """Return rows in units of the bound, and the number of rows beyond the bound.

    Rows are at most `longest` bounds long. With limits, of shape (n_features, 2), values are
    clipped to them and their middle is subtracted; rows with a clipped value count as beyond the
    bound.
    """
    # Up to rounding, the distance of a corner of the limits from their middle is the bound.
    slack = 0.0 if limits is None else 1e-6

    def n_clipped_of(rows: slice) -> int:
        block, is_outside = (
            (X[rows], False) if limits is None else _clip_about_middle(X[rows], limits)
        )
        block, norms = scale_down_huge_rows(block, row_norms(block))
        factor = (1 - rounding(X)) / np.maximum(norms / longest, bound)
        np.multiply(block, factor[:, None], out=out[rows], casting="same_kind")
        return int(np.count_nonzero((norms > bound * (1 + slack)) | is_outside))

    return out, sum(map_blocks(n_clipped_of, _blocks(X)))


def _clip_about_middle(X: FloatArray, limits: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return rows relative to the centre of the limits, clipped, and the mask of clipped rows."""
    low, high = limits.T
    is_outside: BoolArray = ((low > X) | (high < X)).any(axis=1)
    # Clipping after the subtraction guarantees the limits despite rounding.
    reach = (high - low) / 2
    about: FloatArray = np.clip(X - (low + high) / 2, -reach, reach)
    return about.astype(X.dtype), is_outside
