"""Pairs of rows: normalised differences, and votes of the pairs on the centre of the rows.

The rows of a site are put on a ring in an order that depends on their number only. Each row forms a
pair with either neighbour, so that n rows form n pairs and each row is in two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray

# Seed of the public order of rows. Any constant is safe; rows of one class are often adjacent.
_ORDER_SEED = 20261127

Pairs = tuple[IntArray, IntArray]


def pair_blocks(members: IntArray, block_pairs: int) -> Iterator[Pairs]:
    """Yield the row numbers of both sides of all pairs, in blocks."""
    ring = members[np.random.default_rng(_ORDER_SEED).permutation(len(members))]
    following = np.roll(ring, -1)
    for start in range(0, len(ring), block_pairs):
        block = slice(start, start + block_pairs)
        yield ring[block], following[block]


@dataclass(frozen=True, eq=False)
class PairDistances:
    """Half squared distances of pairs, which decide their votes. Exact, not for publication.

    near: Sorted distances of pairs that are closer to each other than to the public middle.
    far: Sorted distances of the other pairs.
    """

    near: FloatArray
    far: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, members: IntArray, block_pairs: int) -> PairDistances:
        """Return the distances of the pairs of the rows `members`."""
        near, far = [], []
        for first, second in pair_blocks(members, block_pairs):
            left, right = rows[first].astype(np.float64), rows[second].astype(np.float64)
            half = np.square(left - right).sum(axis=1) / 2
            from_middle = (np.square(left).sum(axis=1) + np.square(right).sum(axis=1)) / 4
            is_near = half < from_middle
            near.append(half[is_near])
            far.append(half[~is_near])
        return cls(np.sort(np.concatenate(near)), np.sort(np.concatenate(far)))

    def votes(self, smallest_spread: float) -> FloatArray:
        """Return the shares of the pairs that vote for a mean, for differences and for no centre.

        A pair votes for the mean from a half squared distance of `smallest_spread` on, which tells
        that the error of the mean does no harm. Other pairs vote for differences if they are near.
        """
        short = [np.searchsorted(each, smallest_spread) for each in (self.near, self.far)]
        total = len(self.near) + len(self.far)
        return np.array([total - sum(short), *short]) / total
