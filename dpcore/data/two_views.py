"""Data sets with two views of the same people, for canonical correlation analysis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.data.dataset import Dataset
from dpcore.errors import ParameterError

HALVES = ("halves-top-bottom", "halves-left-right")

# UCI's description of mfeat: "240 pixel averages in 2 x 3 windows", a picture of 16 rows by 15.
_PICTURE_VIEWS = {("mfeat", "pix"): (16, 15)}
# Range of an entry, where the source states one, in the units of the data set. Pixels of digits are
# counts up to 16 in 4 x 4 bitmaps; pixels of mfeat are counts up to 6 in 2 x 3 windows, divided by
# 66.
_RANGES = {("digits", None): (0.0, 16.0), ("mfeat", "pix"): (0.0, 6.0 / 66.0)}


@dataclass(frozen=True, eq=False)
class TwoViewDataset:
    """Two views of N people.

    Attributes
    ----------
    name, title : str
    X : ndarray of shape (n_samples, n_x), read-only
    Y : ndarray of shape (n_samples, n_y), read-only
        Row i of X and row i of Y belong to one person.
    labels : ndarray of int, shape (n_samples,), or None
        Positions in `label_names`.
    label_names : tuple of str or None
    x_name, y_name : str
        Displayed names of the views.
    x_feature_names, y_feature_names : tuple of str
    x_image_shape, y_image_shape : (height, width) or None
    picture_shape : (height, width) or None
        Shape of the pictures whose halves are the views.
        Set where a row of that view is a picture.
    x_centre, y_centre : float
        Public centre of the entries of each view: the middle of their range, or 0.
    x_norm_bound, y_norm_bound : float
        Public bounds on the norm of a row of each view about its centre, from the domain and not
        from the rows.
    provenance : str
        One sentence about the origin of the rows.
    is_part : bool
        See `Dataset`.
    correlations : ndarray of shape (n_shared,) or None
        Canonical correlations of the distribution, if the rows were drawn from a known one.
    """

    name: str
    title: str
    X: FloatArray
    Y: FloatArray
    labels: IntArray | None
    label_names: tuple[str, ...] | None
    x_name: str
    y_name: str
    x_feature_names: tuple[str, ...]
    y_feature_names: tuple[str, ...]
    x_image_shape: tuple[int, int] | None
    y_image_shape: tuple[int, int] | None
    x_norm_bound: float
    y_norm_bound: float
    provenance: str
    is_part: bool = False
    correlations: FloatArray | None = None
    x_centre: float = 0.0
    y_centre: float = 0.0
    picture_shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for array in (self.X, self.Y, self.labels):
            if array is not None:
                array.flags.writeable = False

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_x(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_y(self) -> int:
        return int(self.Y.shape[1])


def two_views(
    dataset: Dataset,
    views: str | tuple[str, str] | tuple[Sequence[int], Sequence[int]] = "halves-top-bottom",
) -> TwoViewDataset:
    """Cut a data set into two views.

    Parameters
    ----------
    dataset : Dataset
    views : {"halves-top-bottom", "halves-left-right"} or pair
        Halves of a picture (the first half is the smaller one where a side is odd), a pair of
        names out of `dataset.views`, or two disjoint groups of column numbers.

    Returns
    -------
    TwoViewDataset
        If entries have a public range, each view is bounded around the middle of the range.
        Otherwise the squared bound of the data set is divided among the views: by their numbers of
        columns, or equally for named views, which are scaled.

    Raises
    ------
    ParameterError
        If the data set has no pictures or no such views, or the groups are empty, overlap or lie
        outside the columns.
    """
    if isinstance(views, str):
        return _halves(dataset, views)
    if len(views) != 2:
        raise ParameterError("views", "a pair of views", views)
    if isinstance(views[0], str):
        return _named_views(dataset, *views)
    groups = [np.asarray(group, dtype=np.intp) for group in views]
    for group in groups:
        if group.ndim != 1 or len(group) == 0:
            raise ParameterError("views", "two groups of at least one column each", views)
    both = np.concatenate(groups)
    if len(np.unique(both)) < len(both) or both.min() < 0 or both.max() >= dataset.n_features:
        raise ParameterError(
            "views", f"two disjoint groups of columns below {dataset.n_features}", views
        )
    first, second = (
        f"{which} view ({len(group)} columns)"
        for which, group in zip(("first", "second"), groups, strict=True)
    )
    return _views_of_columns(
        dataset, *groups, names=(first, second), title=f"{dataset.title}: {first} and {second}"
    )


def _halves(dataset: Dataset, views: str) -> TwoViewDataset:
    if views not in HALVES:
        raise ParameterError("views", f"one of {', '.join(HALVES)} or a pair", views)
    if dataset.image_shape is None:
        raise ParameterError("views", f"a pair: rows of {dataset.name} are no pictures", views)
    height, width = dataset.image_shape
    pixels = np.arange(height * width).reshape(height, width)
    if views == "halves-top-bottom":
        names, parts = ("top half", "bottom half"), (pixels[: height // 2], pixels[height // 2 :])
    else:
        names = ("left half", "right half")
        parts = (pixels[:, : width // 2], pixels[:, width // 2 :])
    if min(part.size for part in parts) == 0:
        raise ParameterError(
            "views", "halves of a picture at least two pixels long that way", views
        )
    return _views_of_columns(
        dataset,
        *(part.ravel() for part in parts),
        names=names,
        title=f"{dataset.title}: {names[0]} and {names[1]}",
        shapes=(parts[0].shape, parts[1].shape),
        picture_shape=(height, width),
    )


def _named_views(dataset: Dataset, x_name: str, y_name: str) -> TwoViewDataset:
    columns_of = dataset.views or {}
    if x_name == y_name or not {x_name, y_name} <= set(columns_of):
        available = ", ".join(columns_of) or "none: this data set has no views"
        raise ParameterError("views", f"two different views out of {available}", (x_name, y_name))
    columns = np.arange(dataset.n_features)
    return _views_of_columns(
        dataset,
        columns[columns_of[x_name]],
        columns[columns_of[y_name]],
        names=(x_name, y_name),
        title=f"{dataset.title}: {x_name} and {y_name}",
        shapes=tuple(_PICTURE_VIEWS.get((dataset.name, view)) for view in (x_name, y_name)),
        bound=dataset.public_norm_bound / math.sqrt(len(columns_of)),
    )


def _views_of_columns(
    dataset: Dataset,
    x_columns: IntArray,
    y_columns: IntArray,
    *,
    names: tuple[str, str],
    title: str,
    shapes: tuple[tuple[int, int] | None, ...] = (None, None),
    bound: float | None = None,
    picture_shape: tuple[int, int] | None = None,
) -> TwoViewDataset:
    balls = []
    for name, columns in zip(names, (x_columns, y_columns), strict=True):
        share = math.sqrt(len(columns) / dataset.n_features)
        around_zero = 0.0, bound or dataset.public_norm_bound * share
        balls.append(_public_ball(dataset.name, name, len(columns)) or around_zero)
    return TwoViewDataset(
        name=dataset.name,
        title=title,
        X=dataset.X[:, x_columns],
        Y=dataset.X[:, y_columns],
        labels=dataset.labels,
        label_names=dataset.label_names,
        x_name=names[0],
        y_name=names[1],
        x_feature_names=tuple(dataset.feature_names[j] for j in x_columns),
        y_feature_names=tuple(dataset.feature_names[j] for j in y_columns),
        x_image_shape=shapes[0],
        y_image_shape=shapes[1],
        picture_shape=picture_shape,
        x_norm_bound=balls[0][1],
        y_norm_bound=balls[1][1],
        x_centre=balls[0][0],
        y_centre=balls[1][0],
        provenance=f"{dataset.provenance} Cut into two views: {names[0]} and {names[1]}.",
        is_part=dataset.is_part,
    )


def _public_ball(dataset: str, view: str, n_columns: int) -> tuple[float, float] | None:
    """Return the public centre of an entry and the norm bound of a row, if the range is known."""
    limits = _RANGES.get((dataset, view)) or _RANGES.get((dataset, None))
    if limits is None:
        return None
    low, high = limits
    return (low + high) / 2, (high - low) / 2 * math.sqrt(n_columns)
