"""Validation of the rows, sites and preparation of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.data.row_bounds import check_norm_bound, shorten
from dpcore.errors import ParameterError, require_one_of

ON_LONG_ROWS = ("clip", "refuse")
PREPARATIONS = ("sphere", "bounded", "none")


def check_preparation(preparation: str) -> None:
    """Raise `ParameterError` if a preparation is unknown."""
    require_one_of("preparation", preparation, PREPARATIONS)


def check_long_rows(on_long_rows: str, n_long: int, bound: str) -> None:
    """Raise an error if there are long rows and `on_long_rows` is "refuse".

    The error reveals that a row is long, which no guarantee covers. The option is for holders who
    check their table before they release anything.

    on_long_rows: {"clip", "refuse"}
    n_long: Number of rows longer than the bound.
    bound: Text of the bound in the message.
    Raises `ParameterError` if `on_long_rows` is unknown or long rows are refused.
    """
    require_one_of("on_long_rows", on_long_rows, ON_LONG_ROWS)
    if n_long and on_long_rows == "refuse":
        raise ParameterError(
            "X", f"of row norms at most row_norm_bound={bound}", f"{n_long} longer rows"
        )


def bounded_rows(X: FloatArray, bound: float, *, on_long_rows: str) -> tuple[FloatArray, int]:
    """Return rows with Euclidean norm at most `bound`, and the number of longer rows in X.

    X: shape (n_samples, n_features), float32 or float64
    bound: Public row norm bound, chosen without looking at the rows.
    on_long_rows: {"clip", "refuse"}. Shrink longer rows to the bound, or raise an error
        (`check_long_rows`).
    Returns rows: shape (n_samples, n_features). X itself if no row is close to the bound.
    Returns n_clipped: Number of rows longer than the bound by more than the rounding error of a
        normalised row. This is an exact count, only for the holder of the rows.
    Raises `ParameterError` if `on_long_rows` is unknown, the bound is not in [1e-15, 1e15], or a
        long row is refused.
    """
    check_norm_bound("row_norm_bound", bound)
    rows, n_clipped = shorten(X, bound)
    check_long_rows(on_long_rows, n_clipped, f"{bound:g}")
    return rows, n_clipped


def features_and_sites(X: Any, name: str) -> tuple[Any, AnyArray]:
    """Return the features of a table, in memory, and the label of the site of each row.

    name: Name of a DataFrame's column with labels, or "parts" for a Dask array or DataFrame each of
        whose partitions is a site.
    Raises `ParameterError` if X has no such column or partitions.
    """
    is_dask = type(X).__module__.partition(".")[0] in {"dask", "dask_expr"}
    if name in getattr(X, "columns", ()):
        whole = X.compute() if is_dask else X
        return whole.drop(columns=[name]), np.asarray(whole[name])
    if name != "parts" or not is_dask:
        expected = "labels, a column of X, or 'parts' of a Dask array or DataFrame"
        raise ParameterError("sites", expected, name)
    if hasattr(X, "columns"):
        lengths, whole = X.map_partitions(len).compute(), X.compute()
    else:
        whole, lengths = X.compute(), X.chunks[0]
    return whole, np.repeat(np.arange(len(lengths)), lengths)


def rows_of_sites(sites: ArrayLike | None, n_samples: int) -> tuple[AnyArray, list[IntArray]]:
    """Return the sorted labels of the sites, and the row numbers of each site.

    Raises `ParameterError` unless every row has a label and every site has at least 2 rows.
    """
    if sites is None:
        return np.zeros(1, dtype=int), [np.arange(n_samples)]
    labels = column_or_1d(np.asarray(sites))
    if len(labels) != n_samples:
        raise ParameterError("sites", f"one label for each of the {n_samples} rows", len(labels))
    n_missing = sum(map(_is_missing, labels.tolist() if labels.dtype.kind in "Of" else labels))
    if n_missing:
        raise ParameterError("sites", "a label for each row", f"{n_missing} missing labels")
    try:
        names, site_of_row, counts = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ParameterError("sites", "labels of one type", kinds) from error
    smallest = int(counts.argmin())
    if counts[smallest] < 2:
        raise ParameterError(
            "sites", f"at least 2 people each (site {names[smallest]})", int(counts[smallest])
        )
    order = np.argsort(site_of_row, kind="stable")
    return names, np.split(order, np.cumsum(counts)[:-1])


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, NaT or NA, none of which equals itself."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # the NA of pandas
        return True
