"""What L-BFGS knows of the inverse Hessians of many tasks (Nocedal & Wright 2006, section 7.2)."""

from __future__ import annotations

import numpy as np

from dpcore.arrays import FloatArray, IntArray

_MEMORY = 12


def dots(left: FloatArray, right: FloatArray) -> FloatArray:
    """Products of rows with rows, (n_tasks,)."""
    products: FloatArray = np.einsum("td,td->t", left, right)
    return products


class BoundMetric:
    """(c X^T X / n + strength I)^-1 for every strength, from one eigendecomposition."""

    def __init__(self, features: FloatArray, curvature: float):
        second_moment = features.T @ features / len(features)
        eigenvalues, self._basis = np.linalg.eigh(second_moment)
        self._curvatures = curvature * np.maximum(eigenvalues, 0.0)

    def apply(self, vectors: FloatArray, strength: FloatArray) -> FloatArray:
        shares = vectors @ self._basis / (self._curvatures + strength[:, None])
        applied: FloatArray = shares @ self._basis.T
        return applied


class History:
    """The last moves of every task and the changes of gradient they made."""

    def __init__(self, n_tasks: int, n_features: int):
        # Unused places have weight 0 and drop out of the recursion by themselves.
        self._moves = np.zeros((_MEMORY, n_tasks, n_features))
        self._changes = np.zeros((_MEMORY, n_tasks, n_features))
        self._weights = np.zeros((_MEMORY, n_tasks))

    def push(self, tasks: IntArray, moves: FloatArray, changes: FloatArray) -> None:
        curvature = dots(moves, changes)
        # Strong convexity makes it positive; only rounding can make it useless.
        useful = curvature > 1e-300
        tasks = tasks[useful]
        for store, new in (
            (self._moves, moves[useful]),
            (self._changes, changes[useful]),
            (self._weights, 1.0 / curvature[useful]),
        ):
            store[:-1, tasks] = store[1:, tasks]
            store[-1, tasks] = new

    def times_inverse(
        self, tasks: IntArray, gradient: FloatArray, metric: BoundMetric, strength: FloatArray
    ) -> FloatArray:
        """Approximate inverse Hessian times gradient, by the two-loop recursion."""
        moves, changes = self._moves[:, tasks], self._changes[:, tasks]
        weights = self._weights[:, tasks]
        out = gradient.copy()
        shares = np.empty_like(weights)
        for k in reversed(range(_MEMORY)):
            shares[k] = weights[k] * dots(moves[k], out)
            out -= shares[k][:, None] * changes[k]
        out = metric.apply(out, strength)
        seen = weights[-1] > 0
        length = dots(changes[-1], metric.apply(changes[-1], strength))
        scale = np.ones(len(tasks))
        scale[seen] = 1.0 / (weights[-1, seen] * length[seen])
        out *= scale[:, None]
        for k in range(_MEMORY):
            share = weights[k] * dots(changes[k], out)
            out += (shares[k] - share)[:, None] * moves[k]
        return out
