"""Many regularised margin-loss minimisations over the same rows, at once.

Task t minimises, over w,

    J_t(w) = mean_i loss(y_it x_i . w) + tilt_t . w + strength_t / 2 |w|^2.

The draws of a sweep differ in tilt and strength only, and the tasks of one-against-the-rest in
their signs, so all margins are one matrix product: that is what makes a sweep fast. L-BFGS
(Nocedal & Wright 2006, algorithm 7.4) runs on every task, started from the inverse of the bound
c X^T X / n + strength I on the Hessian; the rare task that it does not finish gets Newton steps.

J_t is strength-strongly convex, so a gradient of norm g certifies that w is within g / strength
of the exact minimiser. That distance is the stopping rule, because the privacy theorems speak of
the exact minimiser.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from dpcore.classification.losses import Loss

_MEMORY = 12
_LBFGS_ITERATIONS = 120
_MAX_ITERATIONS = 400
# Margins held at once: they should stay in a core's cache between the two products.
_BLOCK_ELEMENTS = 1 << 17


class NotConverged(ArithmeticError):
    """The minimiser could not be certified, so what the theorems promise would not hold."""


@dataclass(frozen=True)
class Minimum:
    """Certified minimisers.

    Parameters
    ----------
    weights : ndarray of shape (n_tasks, n_features)
    n_iter : ndarray of shape (n_tasks,)
        Evaluations of value and gradient.
    """

    weights: np.ndarray
    n_iter: np.ndarray


def minimise(
    features: np.ndarray,
    signs: np.ndarray,
    loss: Loss,
    *,
    strength: np.ndarray,
    tilt: np.ndarray,
    start: np.ndarray,
    tol: float,
) -> Minimum:
    """Minimise every J_t to within `tol` of its minimiser.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
    signs : ndarray of shape (n_samples, n_label_columns), -1.0 or 1.0
        Task t uses column t modulo n_label_columns.
    loss : Loss
    strength : ndarray of shape (n_tasks,), positive
    tilt, start : ndarray of shape (n_tasks, n_features)
    tol : float
        Euclidean distance in weight space, relative to the norm of the weights where that
        exceeds 1.

    Raises
    ------
    NotConverged
        If rounding, or 400 iterations, came first.
    """
    n_tasks = len(tilt)
    column = np.arange(n_tasks) % signs.shape[1]
    metric = _BoundMetric(features, loss.curvature)
    history = _History(n_tasks, features.shape[1])
    weights = start.copy()
    n_iter = np.ones(n_tasks, dtype=int)

    def evaluate(points, tasks):
        value, slope = _data_term(features, signs, column[tasks], loss, points)
        value += _dots(tilt[tasks], points) + strength[tasks] / 2 * _dots(points, points)
        return value, slope + tilt[tasks] + strength[tasks, None] * points

    def certified(points, gradients, tasks):
        distance = np.linalg.norm(gradients, axis=1) / strength[tasks]
        return distance <= tol * np.maximum(1.0, np.linalg.norm(points, axis=1))

    value, gradient = evaluate(weights, np.arange(n_tasks))
    direction, step = np.empty_like(weights), np.ones(n_tasks)
    active = np.flatnonzero(~certified(weights, gradient, slice(None)))
    turn = active
    while active.size:
        if n_iter[active].max() >= _MAX_ITERATIONS:
            raise NotConverged(
                f"{active.size} of {n_tasks} fits are not within {tol} of their minimiser; "
                "a larger regularization or a larger tol is needed"
            )
        direction[turn] = -history.times_inverse(turn, gradient[turn], metric, strength[turn])
        for task in turn[n_iter[turn] > _LBFGS_ITERATIONS]:
            hessian = _hessian(
                features, signs[:, column[task]], loss, weights[task], strength[task]
            )
            direction[task] = -linalg.solve(hessian, gradient[task], assume_a="pos")
        step[turn] = 1.0

        trial = weights[active] + step[active, None] * direction[active]
        new_value, new_gradient = evaluate(trial, active)
        n_iter[active] += 1
        descent = _dots(gradient[active], direction[active])
        slope = _dots(new_gradient, direction[active])
        done = certified(trial, new_gradient, active)
        change = new_value - value[active]
        enough = change <= 1e-4 * step[active] * descent
        # Near the minimum changes of value drown in rounding; the slope still tells (Hager &
        # Zhang 2005, approximate Wolfe conditions).
        rounding = 1e-14 * np.maximum(1.0, np.abs(value[active]))
        enough |= (change <= rounding) & (slope <= -0.9 * descent)
        accepted = enough | done

        turn = active[accepted]
        history.push(turn, trial[accepted] - weights[turn], new_gradient[accepted] - gradient[turn])
        weights[turn], value[turn] = trial[accepted], new_value[accepted]
        gradient[turn] = new_gradient[accepted]
        # A refused step goes back to where a straight line through the two slopes is zero.
        rise = (slope - descent)[~accepted]
        secant = np.divide(-descent[~accepted], rise, out=np.ones_like(rise), where=rise > 0)
        step[active[~accepted]] *= np.clip(secant, 0.1, 0.5)
        turn, active = turn[~done[accepted]], active[~done]
    return Minimum(weights, n_iter)


def _dots(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("td,td->t", left, right)


def _data_term(features, signs, column, loss, points) -> tuple[np.ndarray, np.ndarray]:
    """Mean losses (n_tasks,) and their gradients (n_tasks, n_features) at `points`."""
    n_samples = len(features)
    value, gradient = np.zeros(len(points)), np.zeros_like(points)
    rows = max(64, _BLOCK_ELEMENTS // len(points))
    for first in range(0, n_samples, rows):
        block = features[first : first + rows]
        sign = signs[first : first + rows]
        if signs.shape[1] > 1:
            sign = sign[:, column]
        margins = block @ points.T
        margins *= sign
        losses, slopes = loss.value_and_slope(margins)
        slopes *= sign
        value += losses.sum(axis=0)
        gradient += slopes.T @ block
    return value / n_samples, gradient / n_samples


def _hessian(features, sign, loss, weights, strength) -> np.ndarray:
    curvatures = loss.curvature_at(sign * (features @ weights)) / len(features)
    hessian = (features * curvatures[:, None]).T @ features
    hessian[np.diag_indices_from(hessian)] += strength
    return hessian


class _BoundMetric:
    """(c X^T X / n + strength I)^-1 for every strength, from one eigendecomposition."""

    def __init__(self, features: np.ndarray, curvature: float):
        second_moment = features.T @ features / len(features)
        eigenvalues, self._basis = np.linalg.eigh(second_moment)
        self._curvatures = curvature * np.maximum(eigenvalues, 0.0)

    def apply(self, vectors: np.ndarray, strength: np.ndarray) -> np.ndarray:
        return (vectors @ self._basis / (self._curvatures + strength[:, None])) @ self._basis.T


class _History:
    """The last moves of every task and the changes of gradient they made."""

    def __init__(self, n_tasks: int, n_features: int):
        # Unused places have weight 0 and drop out of the recursion by themselves.
        self._moves = np.zeros((_MEMORY, n_tasks, n_features))
        self._changes = np.zeros((_MEMORY, n_tasks, n_features))
        self._weights = np.zeros((_MEMORY, n_tasks))

    def push(self, tasks: np.ndarray, moves: np.ndarray, changes: np.ndarray) -> None:
        curvature = _dots(moves, changes)
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
        self, tasks: np.ndarray, gradient: np.ndarray, metric: _BoundMetric, strength: np.ndarray
    ) -> np.ndarray:
        """Approximate inverse Hessian times gradient, by the two-loop recursion."""
        moves, changes = self._moves[:, tasks], self._changes[:, tasks]
        weights = self._weights[:, tasks]
        out = gradient.copy()
        shares = np.empty_like(weights)
        for k in reversed(range(_MEMORY)):
            shares[k] = weights[k] * _dots(moves[k], out)
            out -= shares[k][:, None] * changes[k]
        out = metric.apply(out, strength)
        seen = weights[-1] > 0
        length = _dots(changes[-1], metric.apply(changes[-1], strength))
        scale = np.ones(len(tasks))
        scale[seen] = 1.0 / (weights[-1, seen] * length[seen])
        out *= scale[:, None]
        for k in range(_MEMORY):
            share = weights[k] * _dots(changes[k], out)
            out += (shares[k] - share)[:, None] * moves[k]
        return out
