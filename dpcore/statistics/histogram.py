"""Private histogram of a column, or of each column."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcore.errors import ParameterError
from dpcore.privacy import PrivacyBudget
from dpcore.statistics.bounds import clip_to_bounds
from dpcore.statistics.noisy_release import TWO_BINS, PrivateStatistic, release


def private_histogram(
    values: ArrayLike,
    *,
    edges: ArrayLike,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "laplace",
    non_negative: bool = False,
    rng: np.random.Generator,
) -> PrivateStatistic:
    """Release differentially private counts of values in public bins.

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        Values beyond the outermost edges are counted in the outermost bins.
    edges : array-like of shape (n_bins + 1,) or (n_columns, n_bins + 1)
        Public and increasing. Edges read from the data break the guarantee. Bins are half open, the
        last one closed, as in `numpy.histogram`.
    epsilon, delta, mechanism, rng
        See `private_mean`.
    non_negative : bool
        Raise negative counts to 0. Post-processing, which biases empty bins upwards.

    Raises
    ------
    ParameterError
        If the edges are not increasing or do not fit the columns, or as in `private_mean`.
    """
    try:
        edges = np.asarray(edges, dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterError("edges", "numbers, as many in each row", edges) from error
    if edges.ndim not in (1, 2) or edges.shape[-1] < 2 or not np.all(np.diff(edges) > 0):
        raise ParameterError("edges", "two or more increasing numbers a column", edges.tolist())
    values, _ = clip_to_bounds(
        values, (edges[..., 0], edges[..., -1]), minimum=1, parameter="edges"
    )
    if values.ndim == 1:
        counts = np.histogram(values, edges)[0].astype(float)
    else:
        per_column = np.broadcast_to(edges, (values.shape[1], edges.shape[-1]))
        counts = np.array(
            [
                np.histogram(column, bins)[0]
                for column, bins in zip(values.T, per_column, strict=True)
            ],
            dtype=float,
        )
    return release(
        "histogram",
        counts,
        np.ones(counts.shape[:-1]),
        TWO_BINS,
        PrivacyBudget(epsilon, delta),
        mechanism,
        n_samples=len(values),
        possible=(0.0, np.inf) if non_negative else None,
        rng=rng,
    )
