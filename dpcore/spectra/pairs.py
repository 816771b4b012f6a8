"""Pairs of rows: normalised differences, and votes of the pairs on the centre of the rows.

The rows of a site are put on a ring in an order that depends on their number only. Each row forms a
pair with either neighbour, so that n rows form n pairs and each row is in two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray

# Seed of the public order of rows. Any constant is safe; rows of one class are often adjacent.
_ORDER_SEED = 20261127

Pairs = tuple[IntArray, IntArray]


def pair_blocks(members: IntArray, block_pairs: int) -> Iterator[Pairs]:
    """Yield the row numbers of both sides of all pairs, in blocks."""
    ring = members[_public_order(len(members))]
    following = np.roll(ring, -1)
    for start in range(0, len(ring), block_pairs):
        block = slice(start, start + block_pairs)
        yield ring[block], following[block]


def _public_order(n_rows: int) -> IntArray:
    return np.random.default_rng(_ORDER_SEED).permutation(n_rows)


# Half squared distances and scalar products of pairs -> the position that each votes for.
Votes = Callable[[FloatArray, FloatArray], IntArray]


@dataclass(frozen=True, eq=False)
class PairProducts:
    """Numbers of each pair that decide its vote. Exact, not for publication.

    spread: Half of the squared distance.
    product: Scalar product.
    """

    spread: FloatArray
    product: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, members: IntArray, block_pairs: int) -> PairProducts:
        """Return the numbers of the pairs of the rows `members`."""
        spread, product = [], []
        for first, second in pair_blocks(members, block_pairs):
            left, right = rows[first].astype(np.float64), rows[second].astype(np.float64)
            spread.append(np.square(left - right).sum(axis=1) / 2)
            product.append((left * right).sum(axis=1))
        return cls(np.concatenate(spread), np.concatenate(product))

    def count(self, votes: Votes, n_counts: int) -> IntArray:
        """Return the number of votes for each position, shape (n_counts,)."""
        return np.bincount(votes(self.spread, self.product), minlength=n_counts)
