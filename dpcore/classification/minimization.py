"""Minimise many regularised margin losses over the same rows in one batch.

Task t minimises, over w,

    J_t(w) = mean_i loss(y_it x_i . w) + tilt_t . w + strength_t / 2 |w|^2.

The draws of a sweep differ only in tilt and strength, and one-against-the-rest tasks only in their
signs, so all margins are one matrix product. This makes a sweep fast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize
from scipy.special import expit

from dpcore.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Loss:
    """Convex loss of the margin z = y f(x).

    name: Name of the loss.
    curvature: c, the largest second derivative.
    value_and_slope: Function of the margins that returns (losses, derivatives), both in the shape
        of the margins. Derivatives are in [-1, 0].
    curvature_at: Function of the margins that returns second derivatives, in [0, c].
    """

    name: str
    curvature: float
    value_and_slope: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    curvature_at: Callable[[FloatArray], FloatArray]


def _logistic(margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    # Buffers are reused because a sweep spends nearly all its time on these arrays.
    tail = np.abs(margins)
    np.negative(tail, out=tail)
    np.exp(tail, out=tail)
    one_plus = 1.0 + tail
    slope = np.where(margins > 0, tail, 1.0)
    slope /= one_plus
    np.negative(slope, out=slope)
    # The argument is in (1, 2], where log has the absolute accuracy of log1p and is faster.
    value = np.log(one_plus, out=one_plus)
    value -= np.minimum(margins, 0.0, out=tail)
    return value, slope


def _logistic_curvature(margins: FloatArray) -> FloatArray:
    probability: FloatArray = expit(margins)
    return probability * (1.0 - probability)


LOGISTIC = Loss("logistic", 0.25, _logistic, _logistic_curvature)


def huber_hinge(width: float) -> Loss:
    """Return the hinge loss with its corner rounded over [1 - width, 1 + width].

    Chaudhuri, Monteleoni & Sarwate (2011), equation 7: 0 above 1 + h, 1 - z below 1 - h, and
    (1 + h - z)^2 / 4h between; c = 1 / 2h. Its second derivative jumps at two points, which
    the theorem permits (section 3.4.2).
    """

    def value_and_slope(margins: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Position within the rounded interval: 0 where the loss is flat, 2h where it is linear.
        depth = np.clip(1.0 + width - margins, 0.0, 2.0 * width)
        slope = depth / (-2.0 * width)
        value = np.maximum(1.0 - width - margins, 0.0)
        value -= 0.5 * slope * depth
        return value, slope

    def curvature_at(margins: FloatArray) -> FloatArray:
        return np.where(np.abs(1.0 - margins) < width, 1.0 / (2.0 * width), 0.0)

    return Loss("huber", 1.0 / (2.0 * width), value_and_slope, curvature_at)


# Number of past steps in the L-BFGS approximation (Nocedal & Wright 2006, section 7.2).
_MEMORY = 12


def row_products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the products of corresponding rows, shape (n_tasks,)."""
    products: FloatArray = np.einsum("td,td->t", a, b)
    return products


class BoundMetric:
    """Inverse of c X^T X / n + strength I for every strength, from one eigendecomposition."""

    def __init__(self, features: FloatArray, curvature: float):
        second_moment = features.T @ features / len(features)
        eigenvalues, self._basis = np.linalg.eigh(second_moment)
        self._curvatures = curvature * np.maximum(eigenvalues, 0.0)

    def apply(self, vectors: FloatArray, strength: FloatArray) -> FloatArray:
        """Multiply each row of `vectors` by the inverse for its entry of `strength`."""
        shares = vectors @ self._basis / (self._curvatures + strength[:, None])
        applied: FloatArray = shares @ self._basis.T
        return applied


class History:
    """Recent steps of every task, with the gradient changes that they caused."""

    def __init__(self, n_tasks: int, n_features: int):
        # Unused entries have weight 0 and do not contribute to the recursion.
        self._moves = np.zeros((_MEMORY, n_tasks, n_features))
        self._changes = np.zeros((_MEMORY, n_tasks, n_features))
        self._weights = np.zeros((_MEMORY, n_tasks))

    def push(self, tasks: IntArray, moves: FloatArray, changes: FloatArray) -> None:
        """Append one step for each of these tasks."""
        curvature = row_products(moves, changes)
        # Strong convexity makes the curvature positive; rounding can make it zero.
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
        """Multiply the gradients by the approximate inverse Hessians (two-loop recursion)."""
        moves, changes = self._moves[:, tasks], self._changes[:, tasks]
        weights = self._weights[:, tasks]
        out = gradient.copy()
        shares = np.empty_like(weights)
        for k in reversed(range(_MEMORY)):
            shares[k] = weights[k] * row_products(moves[k], out)
            out -= shares[k][:, None] * changes[k]
        out = metric.apply(out, strength)
        has_history = weights[-1] > 0
        length = row_products(changes[-1], metric.apply(changes[-1], strength))
        scale = np.ones(len(tasks))
        scale[has_history] = 1.0 / (weights[-1, has_history] * length[has_history])
        out *= scale[:, None]
        for k in range(_MEMORY):
            share = weights[k] * row_products(changes[k], out)
            out += (shares[k] - share)[:, None] * moves[k]
        return out


_LBFGS_ITERATIONS = 120
_NEWTON_ITERATIONS = 1000
# Margins per block. A block should stay in the processor's cache between its two products.
_BLOCK_ELEMENTS = 1 << 17
# The rounding error of a sum grows with the number of rows in a block.
_MIN_ROWS, _MAX_ROWS = 64, 2048
_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


class NotConverged(ArithmeticError):
    """Error: the solver could not certify the gradient norm that the guarantee needs."""


def gradient_rounding(
    loss: Loss,
    norm_bound: float,
    *,
    n_samples: int,
    n_features: int,
    length: FloatArray | float,
    strength: FloatArray | float,
    tilt_length: FloatArray | float,
) -> FloatArray | float:
    """Return a bound on the rounding error of a computed gradient, in norm.

    The error of a sum of k products is at most k rounding errors of the sum of their magnitudes,
    in any order (Higham 2002, section 3.1). Margins sum n_features products, and their error
    reaches the slopes through the curvature; slopes have a few rounding errors of their own.
    Blocks of rows are summed plainly and combined with compensation, tilt and strength last.

    norm_bound: Bound on every row of features.
    length: Norm of the weights, float or shape (n_tasks,).
    strength, tilt_length: Arguments of the objective, float or shape (n_tasks,).
    """
    margins = 4 + (n_features + 4) * norm_bound * length
    slopes = 16 + loss.curvature * margins
    sums = min(n_samples, _MAX_ROWS) + 4
    return _UNIT_ROUNDOFF * (norm_bound * (slopes + sums) + 4 * (strength * length + tilt_length))


def minimize(
    features: FloatArray,
    signs: FloatArray,
    loss: Loss,
    *,
    strength: FloatArray,
    tilt: FloatArray,
    start: FloatArray,
    gradient_norm: FloatArray | float,
    norm_bound: float,
) -> FloatArray:
    """Return weights (n_tasks, n_features) with gradients of J_t no longer than `gradient_norm`.

    J_t is strength-strongly convex, so a gradient of norm g certifies that w is within g / strength
    of the exact minimiser. The gradient norm is the stopping rule. A bound on its rounding error is
    added before the comparison, so the certificate holds in real arithmetic.

    L-BFGS (Nocedal & Wright 2006, algorithm 7.4) runs on every task, started from the inverse of
    c X^T X / n + strength I, a bound on the Hessian. Newton's method completes the rare task that
    L-BFGS does not finish.

    features: shape (n_samples, n_features)
    signs: shape (n_samples, n_label_columns), -1.0 or 1.0. Task t uses column t modulo
        n_label_columns.
    strength: shape (n_tasks,), positive
    tilt, start: shape (n_tasks, n_features)
    gradient_norm: float or shape (n_tasks,). Must exceed twice the `gradient_rounding` at the
        minimisers.
    norm_bound: Bound on every row of features.

    Raises `NotConverged` if rounding errors or 1000 Newton steps prevent the certificate.
    """
    n_tasks = len(tilt)
    limits = np.broadcast_to(gradient_norm, n_tasks)
    tasks = _Tasks(features, signs, loss, strength, tilt, limits, norm_bound)
    metric = BoundMetric(features, loss.curvature)
    history = History(n_tasks, features.shape[1])
    weights = start.copy()
    value, gradient = tasks.evaluate(weights, np.arange(n_tasks))
    direction, step = np.empty_like(weights), np.ones(n_tasks)
    active = np.flatnonzero(~tasks.are_certified(weights, gradient, np.arange(n_tasks)))
    turn = active
    for _ in range(_LBFGS_ITERATIONS):
        if not active.size:
            break
        direction[turn] = -history.times_inverse(turn, gradient[turn], metric, strength[turn])
        step[turn] = 1.0

        trial = weights[active] + step[active, None] * direction[active]
        new_value, new_gradient = tasks.evaluate(trial, active)
        descent = row_products(gradient[active], direction[active])
        slope = row_products(new_gradient, direction[active])
        done = tasks.are_certified(trial, new_gradient, active)
        change = new_value - value[active]
        enough = change <= 1e-4 * step[active] * descent
        # Near the minimum, rounding errors exceed the changes of value, so the slope decides
        # (approximate Wolfe conditions, Hager & Zhang 2005).
        rounding = 1e-14 * np.maximum(1.0, np.abs(value[active]))
        enough |= (change <= rounding) & (slope <= -0.9 * descent)
        accepted = enough | done

        turn = active[accepted]
        history.push(turn, trial[accepted] - weights[turn], new_gradient[accepted] - gradient[turn])
        weights[turn], value[turn] = trial[accepted], new_value[accepted]
        gradient[turn] = new_gradient[accepted]
        # A rejected step is shortened to the zero of the line through the two slopes.
        rise = (slope - descent)[~accepted]
        secant = np.divide(-descent[~accepted], rise, out=np.ones_like(rise), where=rise > 0)
        step[active[~accepted]] *= np.clip(secant, 0.1, 0.5)
        turn, active = turn[~done[accepted]], active[~done]
    for task in active:
        weights[task] = tasks.newton(int(task), weights[task])
    return weights


@dataclass(frozen=True, eq=False)
class _Tasks:
    """Objectives of all tasks, evaluated for any subset; arguments of `minimize`."""

    features: FloatArray
    signs: FloatArray
    loss: Loss
    strength: FloatArray
    tilt: FloatArray
    gradient_norm: FloatArray
    norm_bound: float

    def evaluate(self, points: FloatArray, tasks: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the value and the gradient of each task at its point."""
        column, strength, tilt = tasks % self.signs.shape[1], self.strength[tasks], self.tilt[tasks]
        value, slope = _data_term(self.features, self.signs, column, self.loss, points)
        value += row_products(tilt, points) + strength / 2 * row_products(points, points)
        return value, slope + tilt + strength[:, None] * points

    def are_certified(
        self, points: FloatArray, gradients: FloatArray, tasks: IntArray
    ) -> BoolArray:
        """Return which exact gradients are certainly within their limit."""
        rounding = gradient_rounding(
            self.loss,
            self.norm_bound,
            n_samples=len(self.features),
            n_features=self.features.shape[1],
            length=np.linalg.norm(points, axis=1),
            strength=self.strength[tasks],
            tilt_length=np.linalg.norm(self.tilt[tasks], axis=1),
        )
        # The relative rounding error of the norm is below 1e-9.
        length = np.linalg.norm(gradients, axis=1) * (1 + 1e-9) + rounding
        short: BoolArray = length <= self.gradient_norm[tasks]
        return short

    def newton(self, task: int, w: FloatArray) -> FloatArray:
        """Minimise one task by Newton's method with exact line searches.

        The method descends on a strongly convex function and, in exact arithmetic, reaches every
        gradient norm. A limit on the steps prevents endless loops. No known rows reach it; an error
        would reveal something about the rows that no guarantee covers.
        """
        tasks, sign = np.array([task]), self.signs[:, task % self.signs.shape[1]]
        for _ in range(_NEWTON_ITERATIONS):
            gradient = self.evaluate(w[None], tasks)[1]
            hessian = self._hessian(sign, w, self.strength[task])
            direction = -linalg.solve(hessian, gradient[0], assume_a="pos")
            # Near the minimum, rounding errors exceed the slopes of a line search: try a full step.
            full: FloatArray = w + direction
            if self.are_certified(full[None], self.evaluate(full[None], tasks)[1], tasks)[0]:
                return full
            w = w + self._exact_step(task, sign, w, direction) * direction
        raise NotConverged(
            "the solver could not certify tol; increase regularization, huber_width or tol"
        )

    def _exact_step(
        self, task: int, sign: FloatArray, w: FloatArray, direction: FloatArray
    ) -> float:
        """Return the step that minimises J along a descent direction."""
        margins, change = sign * (self.features @ w), sign * (self.features @ direction)
        strength = self.strength[task]
        linear = self.tilt[task] @ direction + strength * (w @ direction)
        square = strength * (direction @ direction)

        def slope(step: float) -> float:
            slopes = self.loss.value_and_slope(margins + step * change)[1]
            return float(slopes @ change / len(self.features) + linear + step * square)

        if slope(0.0) >= 0:
            return 1.0
        longest = 1.0
        while slope(longest) < 0:
            longest *= 2
        return float(optimize.brentq(slope, 0.0, longest))

    def _hessian(self, sign: FloatArray, w: FloatArray, strength: float) -> FloatArray:
        curvatures = self.loss.curvature_at(sign * (self.features @ w)) / len(self.features)
        hessian: FloatArray = (self.features * curvatures[:, None]).T @ self.features
        hessian[np.diag_indices_from(hessian)] += strength
        return hessian


def _data_term(
    features: FloatArray, signs: FloatArray, column: IntArray, loss: Loss, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean losses (n_tasks,) and their gradients (n_tasks, n_features) at `points`."""
    n_samples = len(features)
    value = np.zeros(len(points))
    gradient, correction = np.zeros_like(points), np.zeros_like(points)
    rows = min(max(_MIN_ROWS, _BLOCK_ELEMENTS // len(points)), _MAX_ROWS)
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
        part = slopes.T @ block
        total = gradient + part
        # Rounding error of the addition (Knuth 1998, section 4.2.2, theorem B).
        added = total - gradient
        correction += (gradient - (total - added)) + (part - added)
        gradient = total
    return value / n_samples, (gradient + correction) / n_samples
