"""Two views with rows of bounded length.

On the sphere, x gets the length sqrt(w) around its mean and y the length sqrt(1 - w), where w is
the share of the first view. Every joined row has length 1, so the sensitivities are those of PCA on
the sphere. The sensitivity sqrt(2) / N of the joint moment is attained at w = 1/2 by a person whose
x changes its sign while y does not change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data.row_bounds import (
    LONGEST_ON_SPHERE,
    MODES,
    check_norm_bound,
    in_units_of_bound,
    rounding,
    row_norms,
    shorten,
)
from dpcore.errors import ParameterError, require_one_of
from dpcore.spectra.site_rows import Parts


@dataclass(frozen=True, eq=False)
class BoundedViews:
    """Two views whose joined rows [x y] have Euclidean norm at most 1, except in mode "sphere".

    Attributes
    ----------
    joined : ndarray of shape (n_samples, n_x + n_y)
        Rows [x y]; in mode "sphere" of any length, in units of the bound.
    parts : Parts
        The two views, each with the length it gets on the sphere.
    x_mean, y_mean : ndarray of shape (n_x,) and (n_y,)
        Subtracted centres in original units; public ones, except in mode "published".
    x_scale, y_scale : float
        A row that is not clipped is (x - x_mean) * x_scale.
    n_clipped : int
        Number of people whose joined row was longer than the bound and was shortened. It is
        computed from the data and not part of a private release.
    is_private : bool
        Whether this step reads no row before a guarantee applies.
    statement : str
        Sentence that describes this step and whether it is private.
    """

    joined: FloatArray
    parts: Parts
    x_mean: FloatArray
    y_mean: FloatArray
    x_scale: float
    y_scale: float
    n_clipped: int
    is_private: bool
    statement: str

    @property
    def X(self) -> FloatArray:
        """First view, of shape (n_samples, n_x)."""
        return self.joined[:, self.parts[0][0]]

    @property
    def Y(self) -> FloatArray:
        """Second view, of shape (n_samples, n_y)."""
        return self.joined[:, self.parts[1][0]]


def bound_views(
    X: FloatArray,
    Y: FloatArray,
    *,
    x_share: float = 0.5,
    mode: str = "bounded",
    x_norm_bound: float = 1.0,
    y_norm_bound: float = 1.0,
    x_centre: float = 0.0,
    y_centre: float = 0.0,
) -> BoundedViews:
    """Scale two views so that ||[x y]|| <= 1 for every person.

    Each view is divided by its own norm bound and weighted, by sqrt(x_share) and
    sqrt(1 - x_share). The weights do not change the canonical correlations. They change the effect
    of the noise, which is the same in every entry of the joint second moment.

    Parameters
    ----------
    X : array of shape (n_samples, n_x)
    Y : array of shape (n_samples, n_y)
    x_share : float
        Share of the first view in the squared norm bound, in (0, 1).
    mode : {"sphere", "bounded", "none", "published"}
        Mode of `dpcore.data.prepare`. "bounded" and "none" use the two public norm bounds and
        shorten joined rows longer than 1, both views by the same factor, which preserves the
        relation of x and y. "sphere" shortens no row: each view of a person is scaled around a
        private mean that is drawn later (`SiteRows`). "published" subtracts the mean and divides
        by the largest norm in the data, which is not private.
    x_norm_bound, y_norm_bound : float
        Public bounds on ||x - x_centre|| and ||y - y_centre||, chosen without the data. Not read
        in mode "published".
    x_centre, y_centre : float
        Public centres, subtracted from every entry of a view: the middle of the range where
        entries have one, which allows the smallest bound. Not read in mode "published".

    Raises
    ------
    ParameterError
        If the views differ in their number of people, an entry is not finite, or a parameter is
        outside its range.
    """
    X, Y = _check_views(X, Y)
    if not 0 < x_share < 1:
        raise ParameterError("x_share", "in (0, 1)", x_share)
    weights = math.sqrt(x_share), math.sqrt(1 - x_share)
    n_x = X.shape[1]
    parts = (slice(n_x), weights[0]), (slice(n_x, None), weights[1])
    if mode == "published":
        return _bound_as_published(X, Y, parts)
    require_one_of("mode", mode, MODES)
    for name, bound in (("x_norm_bound", x_norm_bound), ("y_norm_bound", y_norm_bound)):
        check_norm_bound(name, bound)
    for name, centre in (("x_centre", x_centre), ("y_centre", y_centre)):
        if not abs(centre) <= 1e15:
            raise ParameterError(name, "in [-1e15, 1e15]", centre)
    x_scale, y_scale = weights[0] / x_norm_bound, weights[1] / y_norm_bound
    rows = np.hstack([_rescale(X, x_centre, x_scale), _rescale(Y, y_centre, y_scale)])
    bounded, n_clipped = shorten(rows, 1.0)
    treatment = "longer joined rows are clipped"
    if mode == "sphere":
        treatment = "each view of a person is brought to its length around a private mean"
    return BoundedViews(
        rows if mode == "sphere" else bounded,
        parts,
        np.full(n_x, float(x_centre)),
        np.full(Y.shape[1], float(y_centre)),
        x_scale,
        y_scale,
        n_clipped,
        is_private=True,
        statement=(
            f"Views centred at the public {x_centre:.3g} and {y_centre:.3g} and divided by the "
            f"public bounds {x_norm_bound:.6g} and {y_norm_bound:.6g}; {treatment}: this step is "
            "private."
        ),
    )


def _rescale(view: FloatArray, centre: float, scale: float) -> FloatArray:
    about = view - view.dtype.type(centre)
    return in_units_of_bound(about, 1 / scale, LONGEST_ON_SPHERE, about)[0]


def _bound_as_published(X: FloatArray, Y: FloatArray, parts: Parts) -> BoundedViews:
    means = X.mean(axis=0, dtype=np.float64), Y.mean(axis=0, dtype=np.float64)
    views = [view - mean.astype(view.dtype) for view, mean in zip((X, Y), means, strict=True)]
    scales = []
    for name, view, (_, weight) in zip("XY", views, parts, strict=True):
        largest = row_norms(view).max()
        if largest == 0:
            raise ParameterError(name, "a view with at least two different rows", "equal rows")
        scales.append(weight / largest)
    joined = np.hypot(row_norms(views[0]) * scales[0], row_norms(views[1]) * scales[1])
    limit = 1 - rounding(views[0]) - rounding(views[1])
    scales = [scale * limit / joined.max() for scale in scales]
    scaled = [view * view.dtype.type(scale) for view, scale in zip(views, scales, strict=True)]
    return BoundedViews(
        np.hstack(scaled),
        parts,
        means[0],
        means[1],
        scales[0],
        scales[1],
        n_clipped=0,
        is_private=False,
        statement=(
            f"Centred with the mean of all {len(X):,} rows and divided by the largest norms, as "
            "published: both are read from the data, so this step is not private."
        ),
    )


def _check_views(X: FloatArray, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    views = []
    for name, matrix in (("X", X), ("Y", Y)):
        view = np.asarray(matrix)
        if view.ndim != 2 or 0 in view.shape:
            raise ParameterError(name, "a matrix with people in rows", view.shape)
        is_float = view.dtype in (np.float32, np.float64)
        views.append(view if is_float else view.astype(np.float64))
        if not np.isfinite(views[-1]).all():
            raise ParameterError(name, "finite in every entry", "NaN or infinity")
    if len(views[0]) != len(views[1]):
        raise ParameterError(
            "Y", f"a view of the same {len(views[0])} people", f"{len(views[1])} rows"
        )
    return views[0], views[1]
