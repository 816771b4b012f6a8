"""Rebuilding one person's row from the first k components."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.arrays import FloatArray


@dataclass(frozen=True)
class Rebuilt:
    """A row rebuilt from k components.

    row: shape (n_features,)
    error: Squared distance from the original, as a share of the original's squared length.
    """

    row: FloatArray
    error: float


def rebuild(row: FloatArray, components: FloatArray, k: int) -> Rebuilt:
    """Project a centred row on the first k components and back.

    row: shape (n_features,)
    components: shape (at least k, n_features), orthonormal rows
    """
    basis = components[:k]
    rebuilt = (row @ basis.T) @ basis
    length = float(row @ row)
    missed = row - rebuilt
    return Rebuilt(rebuilt, float(missed @ missed) / length if length > 0 else 0.0)
