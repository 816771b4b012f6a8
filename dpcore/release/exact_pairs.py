"""Votes of pairs of integer rows on the centre, and the second moment of their differences.

Rows are put on a ring in a uniformly random order, and each forms a pair with either neighbour.
Rows of one person, at most m in either of two neighbouring tables, change at most 2 m pairs (proof:
`docs/algorithms/exact-release.md`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.pca.centre_rule import N_COUNTS, VoteRule
from dpcore.release.dictionary import Dictionary
from dpcore.release.exact_sums import Watch, bounded_blocks, ignore_progress
from dpcore.release.integer_moments import exact_second_moment
from dpcore.release.integer_rows import LENGTH, scale_to_length
from dpcore.release.scales import Scales
from dpcore.release.tables import Table
from dpcore.streams import SecretStream, secret_root

# Cells of a table that are held in memory, 4 bytes each. Larger tables get a private mean.
MOST_CELLS = 1 << 25
_BLOCK_ROWS = 1 << 12

Rows = NDArray[np.int32]


def read_ring(
    table: Table, dictionary: Dictionary, scales: Scales, watch: Watch = ignore_progress
) -> Rows:
    """Return all bounded rows on the grid in a random order, int32 of shape (n, n_features)."""
    blocks = [
        rows.astype(np.int32) for rows in bounded_blocks(table, dictionary, scales, watch)
    ] or [np.zeros((0, dictionary.n_features), np.int32)]
    rows = np.concatenate(blocks)
    return rows[np.argsort(SecretStream(secret_root()).words(len(rows)), kind="stable")]


def count_votes(ring: Rows, scales: Scales, rule: VoteRule) -> IntArray:
    """Return the numbers of pairs at each position of `VoteRule.votes`, shape (4,).

    A vote depends on its pair and on public numbers only. Squared distances and products are
    integers below 2^52, and exact.
    """
    votes = np.zeros(N_COUNTS, dtype=np.int64)
    for first, second in _pairs(ring):
        difference = first - second
        spread = np.vecdot(difference, difference) / (2 * scales.squared_norm)
        product = np.vecdot(first, second) / scales.squared_norm
        votes += np.bincount(rule.votes(spread, product), minlength=N_COUNTS)
    return votes


def moment_of_differences(ring: Rows) -> IntArray:
    """Return the exact sum of y y^T over all pairs, with y = x_i - x_j scaled to LENGTH."""
    differences = (scale_to_length(first - second, LENGTH) for first, second in _pairs(ring))
    return exact_second_moment(differences, ring.shape[1])


def moment_of_ring(ring: Rows, centre: FloatArray) -> IntArray:
    """Return the exact second moment of the rows at LENGTH around a centre."""
    blocks = (scale_to_length(first - centre, LENGTH) for first, _ in _pairs(ring))
    return exact_second_moment(blocks, ring.shape[1])


def _pairs(ring: Rows) -> Iterator[tuple[FloatArray, FloatArray]]:
    for start in range(0, len(ring), _BLOCK_ROWS):
        first = ring[start : start + _BLOCK_ROWS].astype(np.float64)
        following = np.arange(start + 1, start + 1 + len(first)) % len(ring)
        yield first, ring[following].astype(np.float64)
