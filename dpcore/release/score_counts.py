"""Exact counts of rows in the cells of a score plot. Not for publication."""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.release.dictionary import Dictionary
from dpcore.release.integer_rows import GRID
from dpcore.release.scales import squared_norm_bound

# Rows shorter than this are at the centre.
_SHORTEST = 1e-15


def count_scores(
    rows: FloatArray, components: FloatArray, mean: FloatArray, edges: FloatArray, shortest: float
) -> IntArray:
    """Return the numbers of rows in each cell, shape (n_bins, n_bins).

    A row leaves a cell and enters another if it changes. Rows beyond the edges are in the outermost
    cells.

    rows: shape (n_rows, n_features). Rows on the grid.
    components, mean: shape (2, n_features) and (n_features,). Released.
    edges: shape (2, n_bins + 1)
    shortest: Result of `shortest_of`.
    """
    centred = rows / GRID - mean
    lengths = np.sqrt(np.einsum("nd,nd->n", centred, centred))
    points = centred / np.maximum(lengths, shortest)[:, None] @ components.T
    first, second = np.clip(points, edges[:, 0], edges[:, -1]).T
    counts: IntArray = np.histogram2d(first, second, bins=(edges[0], edges[1]))[0].astype(np.int64)
    return counts


def count_groups(
    rows: FloatArray,
    components: FloatArray,
    mean: FloatArray,
    edges: FloatArray,
    shortest: float,
    columns: slice | None,
) -> IntArray:
    """Return `count_scores` of each group, shape (n_groups, n_bins, n_bins).

    columns: Features with the levels of the column of groups; None for one group.
    """
    masks: list[BoolArray] = [np.ones(len(rows), dtype=bool)]
    if columns is not None:
        masks = [level > 0 for level in rows[:, columns].T]
    return np.array([count_scores(rows[mask], components, mean, edges, shortest) for mask in masks])


def shortest_of(dictionary: Dictionary, *, on_sphere: bool) -> float:
    """Return the length from which rows are scaled to length 1: any on the sphere."""
    return _SHORTEST if on_sphere else math.sqrt(squared_norm_bound(dictionary)) / GRID
