"""Private training of linear classifiers: perturbation, its noise and guarantee, features.

Chaudhuri, Monteleoni & Sarwate (2011), under replace-one neighbours, for

    J(w) = mean_i loss(y_i x_i . w) + Lambda / 2 |w|^2

with a convex loss, |loss'| <= 1 and loss'' <= c. The paper has |x| <= 1; here |x| <= B, which is
the same problem in the units x / B (c becomes c B^2, noise on a sum of gradients grows by B).

Their theorems speak of the exact minimiser w*. A solver stops at some w' nearby, where exactly
depends on everybody's rows, and the difference is covered here too. Whatever the solver does, it
certifies that the gradient at w' is no longer than g, a length fixed beforehand, so that
|w' - w*| <= g / (Lambda + extra) =: r by strong convexity.

Output perturbation. Neighbours' minimisers are at most 2 B / (n Lambda) apart, so what the solver
finds is at most 2 (B / n + g) / Lambda apart, and the noise is made for that.

Objective perturbation. Release w' + b', b' of density proportional to exp(-beta' |b'|) with
beta' = epsilon' / (2 r). This is epsilon-DP if releasing w* is (epsilon - epsilon')-DP:
approximate minima perturbation (Iyengar and others 2019, algorithm 1), with pure noise. Proof.
On data D the noise determines w* and, one to one, is determined by it, so that the solver's
answer is a function s_D(w*) with |s_D(w) - w| <= r for every w. Let p_D be the density of w*. At
any z, the release has the density

    integral of p_D(w) q(z - s_D(w)) dw,    q the density of b'.

For a neighbour D', p_D <= exp(epsilon - epsilon') p_D', and q(z - s_D(w)) <= exp(epsilon')
q(z - s_D'(w)) because s_D(w) and s_D'(w) are both within r of w. Multiply. Several tasks solved
together, each from what the others' noise made of the arithmetic, are one such w, with one r and
one q a task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

import numpy as np
from scipy import linalg, optimize
from scipy.special import expit

from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dpcore.data.row_bounds import LONGEST_ON_SPHERE, in_units_of_bound, rounding, shorten
from dpcore.errors import ParameterError
from dpcore.privacy import Assumption, Guarantee, PrivacyBudget
from dpcore.spectra.moments import directions

# How much noise a private minimiser takes, and what it promises.

METHODS = ("output", "objective")
# Of epsilon, under objective perturbation: what hides where the solver stopped.
_SOLVER_SHARE = 0.01


@dataclass(frozen=True)
class Perturbation:
    """Calibrated noise for one minimisation.

    The noise vector b has density proportional to exp(-beta |b|). Output perturbation adds it to
    what the solver found; objective perturbation adds b . w / n + extra / 2 |w|^2 to J before
    minimising, and a little noise of rate `distance_beta` to what the solver found.

    Parameters
    ----------
    method : {"output", "objective"}
    epsilon : float
        What this one minimisation promises, pure.
    beta : float
        Rate of the noise; ``inf`` means none.
    extra_regularization : float
        What objective perturbation adds to Lambda; 0 unless epsilon is small for n Lambda.
    gradient_norm : float
        What the solver has to certify, or there is no promise.
    distance_beta : float
        Rate of the noise that hides where the solver stopped; ``inf`` means none of its own.
    """

    method: str
    epsilon: float
    beta: float
    extra_regularization: float
    gradient_norm: float
    distance_beta: float


def minimiser_sensitivity(
    n_samples: int, regularization: float, norm_bound: float, gradient_norm: float = 0.0
) -> float:
    """How far one person can move what the solver finds: 2 (B / n + g) / Lambda.

    With g = 0 it is the exact minimiser (their corollary 8).
    """
    return 2.0 * (norm_bound / n_samples + gradient_norm) / regularization


def calibrate(
    method: str,
    epsilon: float,
    *,
    n_samples: int,
    regularization: float,
    curvature: float,
    norm_bound: float,
    tol: float,
) -> Perturbation:
    """The noise that makes one minimisation epsilon-DP.

    Parameters
    ----------
    method : {"output", "objective"}
        Their algorithm 1 (theorem 6) or algorithm 2 (theorem 9).
    epsilon : float
        Positive; ``inf`` for no noise.
    n_samples : int
    regularization : float
        Lambda.
    curvature : float
        c, the largest second derivative of the loss.
    norm_bound : float
        B, on every row of features, the constant included.
    tol : float
        Length of the gradient at which the solver may stop, in units of B / n, the most that one
        row adds to it. Public.
    """
    gradient_norm = tol * norm_bound / n_samples
    if method == "output":
        sensitivity = minimiser_sensitivity(n_samples, regularization, norm_bound, gradient_norm)
        return Perturbation(method, epsilon, epsilon / sensitivity, 0.0, gradient_norm, math.inf)
    for_solver = _SOLVER_SHARE * epsilon
    for_minimiser = epsilon - for_solver if epsilon < math.inf else epsilon
    curvature = curvature * norm_bound**2
    # Algorithm 2 step 1, whose 1 + 2c / (n Lambda) + c^2 / (n Lambda)^2 is a square. It adds
    # regularization only once that logarithm has used up all of epsilon, so that the noise grows
    # without bound just before. Here it is added as soon as half is used up: the same Delta, for
    # which the same proof holds, and noise that is continuous in every parameter.
    extra = max(0.0, curvature / (n_samples * _expm1(for_minimiser / 4)) - regularization)
    strength = regularization + extra
    share = for_minimiser - 2.0 * math.log1p(curvature / (n_samples * strength))
    # Replacing a person moves the sum of gradients, and so b, by at most 2 B.
    beta = share / (2.0 * norm_bound)
    distance_beta = for_solver * strength / (2.0 * gradient_norm)
    return Perturbation(method, epsilon, beta, extra, gradient_norm, distance_beta)


def _expm1(x: float) -> float:
    # exp overflows at 710; any epsilon that large asks for the same.
    return math.expm1(min(x, 700.0))


def unit_noise(n_tasks: int, n_features: int, rng: np.random.Generator) -> FloatArray:
    """Vectors (n_tasks, n_features) of density proportional to exp(-|b|).

    The direction is uniform and the norm Gamma(n_features, 1); divided by beta they have the law
    of `Perturbation`. Each release needs a draw of its own: two that share one, at different
    beta, can be solved for what the noise should hide.
    """
    directions = rng.standard_normal((n_tasks, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * rng.standard_gamma(n_features, size=(n_tasks, 1))


def longest_unit_noise(n_features: int) -> float:
    """A length that `unit_noise` exceeds with a chance below e^-100 (Chernoff, Gamma law)."""
    return 2.0 * n_features + 200.0


def promise(
    perturbation: Perturbation,
    epsilon: float,
    *,
    n_tasks: int,
    n_samples: int,
    regularization: float,
    norm_bound: float,
) -> Guarantee:
    """What `n_tasks` such minimisations over the same people promise together."""
    asked = PrivacyBudget(epsilon)
    if asked.is_noiseless:
        return Guarantee(asked, math.inf, 0.0, "none", "nobody")
    output = perturbation.method == "output"
    where = (
        "to the minimiser, as near as the solver certifies"
        if output
        else "to the objective, before it is minimised, and a little to the weights found"
    )
    if n_tasks > 1:
        where += (
            f", in each of {n_tasks} one-against-the-rest tasks at epsilon / {n_tasks} ="
            f" {perturbation.epsilon:.4g}, which add up"
        )
    return Guarantee(
        asked,
        epsilon,
        0.0,
        f"{perturbation.method} perturbation",
        f"the curator, {where}",
        l2_sensitivity=(
            minimiser_sensitivity(n_samples, regularization, norm_bound, perturbation.gradient_norm)
            if output
            else None
        ),
        assumptions=(
            Assumption.ONE_ROW_A_PERSON,
            Assumption.ROW_OF_ONE_PERSON,
            Assumption.PUBLIC_COUNTS,
            Assumption.PUBLIC_LABELS,
            Assumption.PUBLIC_BOUND,
            Assumption.TRUSTED_HOLDER,
            Assumption.SECRET_SEED,
            Assumption.FLOAT_ARITHMETIC,
        ),
    )


# Private training: features of bounded norm, tasks, noise, minimisation. One fit or a sweep.


@dataclass(frozen=True, eq=False)
class BoundedFeatures:
    """A map from rows to features whose norm is at most `norm_bound`, whatever the rows.

    The bound holds in exact arithmetic, for every finite row. Linear features are the row itself,
    shortened to `row_norm_bound` where it is longer. With `frequencies` they are random Fourier
    features of the Gaussian kernel (Rahimi & Recht 2007), the cosines and sines of M / 2
    projections over sqrt(M / 2), of norm 1. An intercept is one more feature, constant at the
    bound of the others, so that the bound grows by sqrt(2) and the intercept is regularised like
    every other weight. Dividing rows and constant by sqrt(2), to be back inside the unit ball, is
    the same problem in other units. On the sphere every row is brought to `row_norm_bound` before
    any of that; a row of zeros stays one.

    frequencies: shape (n_columns, M / 2) or None. Drawn without looking at the data.
    """

    row_norm_bound: float
    fit_intercept: bool
    frequencies: FloatArray | None = None
    on_sphere: bool = False

    @property
    def constant(self) -> float:
        """Value of the intercept's feature; 0 without an intercept."""
        return (1.0 if self.frequencies is not None else self.row_norm_bound) * self.fit_intercept

    @property
    def norm_bound(self) -> float:
        bound = math.hypot(
            1.0 if self.frequencies is not None else self.row_norm_bound, self.constant
        )
        return math.nextafter(bound, math.inf) if self.fit_intercept else bound

    def of(self, X: FloatArray) -> FloatArray:
        """Features (n_samples, n_features [+ 1]) of finite rows, float64."""
        if self.on_sphere:
            rows, _ = in_units_of_bound(X, self.row_norm_bound, LONGEST_ON_SPHERE, np.empty_like(X))
            X = self.row_norm_bound * directions(rows, np.zeros(X.shape[1]))
        if self.frequencies is None:
            features, _ = shorten(X, self.row_norm_bound)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                phases = X @ self.frequencies
            # A phase too large for a number is any angle: 0 serves, and keeps the norm.
            phases[~np.isfinite(phases)] = 0.0
            features = np.hstack([np.cos(phases), np.sin(phases)])
            features *= (1 - rounding(features)) / math.sqrt(self.frequencies.shape[1])
        if self.fit_intercept:
            features = np.column_stack([features, np.full(len(X), self.constant)])
        return features


def gaussian_frequencies(
    n_columns: int, n_random_features: int, gamma: float, rng: np.random.Generator
) -> FloatArray:
    """Frequencies (n_columns, M / 2) of the kernel exp(-gamma |x - x'|^2)."""
    return math.sqrt(2.0 * gamma) * rng.standard_normal((n_columns, n_random_features // 2))


@dataclass(frozen=True, eq=False)
class PrivateFits:
    """Classifiers of one data set at several epsilons, over several draws of the noise.

    Every (epsilon, draw) is a release of its own: publishing several adds up.

    Parameters
    ----------
    epsilons : ndarray of shape (n_epsilons,)
    weights : ndarray of shape (n_epsilons, n_draws, n_tasks, n_features [+ 1])
        One task for two classes, one a class for more; an intercept's weight comes last.
    classes : ndarray of shape (n_classes,)
    features : BoundedFeatures
    perturbations : tuple of Perturbation, one an epsilon
    guarantees : tuple of Guarantee, one an epsilon
    """

    epsilons: FloatArray
    weights: FloatArray
    classes: AnyArray
    features: BoundedFeatures
    perturbations: tuple[Perturbation, ...]
    guarantees: tuple[Guarantee, ...]

    def predict(self, X: FloatArray) -> AnyArray:
        """Labels of shape (n_epsilons, n_draws, n_samples)."""
        features = self.features.of(np.asarray(X, dtype=float))
        labels = np.empty((*self.weights.shape[:2], len(features)), dtype=self.classes.dtype)
        for cell in np.ndindex(*labels.shape[:2]):
            labels[cell] = self.classes[winners(features @ self.weights[cell].T)]
        return labels

    def score(self, X: FloatArray, y: AnyArray) -> FloatArray:
        """Accuracies of shape (n_epsilons, n_draws)."""
        accuracies: FloatArray = np.mean(self.predict(X) == np.asarray(y), axis=2)
        return accuracies


def winners(scores: FloatArray) -> IntArray:
    """Class indices (n_samples,) from scores (n_samples, n_tasks)."""
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else np.argmax(scores, axis=1)


def train(
    X: FloatArray,
    y: IntArray,
    classes: AnyArray,
    features: BoundedFeatures,
    loss: Loss,
    *,
    method: str,
    regularization: float,
    epsilons: Sequence[float],
    rngs: Sequence[np.random.Generator],
    tol: float,
) -> PrivateFits:
    """Fit every (epsilon, draw), all in one minimisation.

    X: shape (n_samples, n_columns), float64
    y: ndarray of int of shape (n_samples,). Indices into `classes`.
    classes: shape (n_classes,), two or more
    method: {"output", "objective"}
    rngs: One a draw, and drawn on at every epsilon: no two fits share their noise.
    tol: As in `calibrate`.
    """
    rows = features.of(X)
    wanted = np.arange(len(classes)) if len(classes) > 2 else np.array([1])
    signs = np.where(y[:, None] == wanted, 1.0, -1.0)
    n_samples, n_features = rows.shape
    shape = (len(epsilons), len(rngs), len(wanted), n_features)

    settings = _Settings(
        n_samples=n_samples, regularization=regularization, norm_bound=features.norm_bound
    )
    perturbations = tuple(
        calibrate(method, epsilon / len(wanted), curvature=loss.curvature, tol=tol, **settings)
        for epsilon in epsilons
    )
    for perturbation in perturbations:
        _check_reachable(perturbation, loss, n_features, tol, settings)
    beta = np.array([perturbation.beta for perturbation in perturbations])
    n_vectors = 1 if method == "output" else 2
    drawn = _unit_noises(len(epsilons), n_vectors, rngs, len(wanted), n_features)
    noise = drawn[:, :, 0] / beta[:, None, None, None]

    solve = partial(
        minimise,
        rows,
        signs,
        loss,
        gradient_norm=perturbations[0].gradient_norm,
        norm_bound=features.norm_bound,
    )
    start: FloatArray = np.zeros((len(wanted), n_features))
    if method == "output" or len(epsilons) * len(rngs) > 1:
        strength = np.full(len(wanted), regularization)
        start = solve(strength=strength, tilt=np.zeros_like(start), start=start)
    if method == "output":
        weights = start + noise
    else:
        extra = np.array([perturbation.extra_regularization for perturbation in perturbations])
        found = solve(
            strength=np.repeat(regularization + extra, len(rngs) * len(wanted)),
            tilt=noise.reshape(-1, n_features) / n_samples,
            start=np.tile(start, (len(epsilons) * len(rngs), 1)),
        )
        rate = np.array([perturbation.distance_beta for perturbation in perturbations])
        weights = found.reshape(shape) + drawn[:, :, 1] / rate[:, None, None, None]
    promises = (
        promise(perturbation, epsilon, n_tasks=len(wanted), **settings)
        for perturbation, epsilon in zip(perturbations, epsilons, strict=True)
    )
    at = np.asarray(epsilons, dtype=float)
    return PrivateFits(at, weights, classes, features, perturbations, tuple(promises))


def _unit_noises(
    n_epsilons: int,
    n_vectors: int,
    rngs: Sequence[np.random.Generator],
    n_tasks: int,
    n_features: int,
) -> FloatArray:
    """Cell by cell, noise for before and after the minimisation: (cells, 1 or 2, tasks, D)."""
    return np.stack(
        [
            [[unit_noise(n_tasks, n_features, rng) for _ in range(n_vectors)] for rng in rngs]
            for _ in range(n_epsilons)
        ]
    )


class _Settings(TypedDict):
    """What calibration and promise both depend on."""

    n_samples: int
    regularization: float
    norm_bound: float


def _check_reachable(
    perturbation: Perturbation,
    loss: Loss,
    n_features: int,
    tol: float,
    settings: _Settings,
) -> None:
    """Refuse a tolerance that float64 cannot certify, before a row or any noise is looked at."""
    n_samples, norm_bound = settings["n_samples"], settings["norm_bound"]
    strength = settings["regularization"] + perturbation.extra_regularization
    tilt = 0.0
    if perturbation.method == "objective":
        tilt = longest_unit_noise(n_features) / perturbation.beta / n_samples
    # J(w) <= J(0) <= 1 at the minimiser.
    length = (tilt + math.sqrt(tilt**2 + 2 * strength)) / strength
    lost = gradient_rounding(
        loss,
        norm_bound,
        n_samples=n_samples,
        n_features=n_features,
        length=length,
        strength=strength,
        tilt_length=tilt,
    )
    least = 2 * lost * n_samples / norm_bound
    if tol < least:
        raise ParameterError(
            "tol", f"at least {least:.1e}, what float64 can certify for these settings", tol
        )


# Minimise many regularised margin losses over the same rows at once.
#
# Many regularised margin-loss minimisations over the same rows, at once.
#
# Task t minimises, over w,
#
#     J_t(w) = mean_i loss(y_it x_i . w) + tilt_t . w + strength_t / 2 |w|^2.
#
# The draws of a sweep differ in tilt and strength only, and the tasks of one-against-the-rest in
# their signs, so all margins are one matrix product: that is what makes a sweep fast. L-BFGS
# (Nocedal & Wright 2006, algorithm 7.4) runs on every task, started from the inverse of the bound c
# X^T X / n + strength I on the Hessian; the rare task that it does not finish gets Newton's method.
#
# J_t is strength-strongly convex, so a gradient of norm g certifies that w is within g / strength
# of the exact minimiser. The gradient's norm is the stopping rule, and what rounding may have done
# to it is added before it is compared, so that the certificate is about real numbers.
#
# Newton's method with exact line searches descends on a strongly convex function and in exact
# arithmetic reaches every gradient norm. A limit on steps stands against endless loops; no rows are
# known that meet it. A fit that did would be refused for what its rows are, which no guarantee
# covers.


@dataclass(frozen=True)
class Loss:
    """A loss of the margin z = y f(x), with what privacy and the solver need to know of it.

    curvature: c, the largest second derivative.
    value_and_slope: Margins -> (losses, derivatives), both of the shape of the margins. Derivatives
        are in [-1, 0].
    curvature_at: Margins -> second derivatives, in [0, c].
    """

    name: str
    curvature: float
    value_and_slope: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    curvature_at: Callable[[FloatArray], FloatArray]


def _logistic(margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    # Buffers are reused because these arrays are the whole cost of a sweep.
    tail = np.abs(margins)
    np.negative(tail, out=tail)
    np.exp(tail, out=tail)
    one_plus = 1.0 + tail
    slope = np.where(margins > 0, tail, 1.0)
    slope /= one_plus
    np.negative(slope, out=slope)
    # The argument is in (1, 2], where log is as good as log1p in absolute terms, and faster.
    value = np.log(one_plus, out=one_plus)
    value -= np.minimum(margins, 0.0, out=tail)
    return value, slope


def _logistic_curvature(margins: FloatArray) -> FloatArray:
    chance: FloatArray = expit(margins)
    return chance * (1.0 - chance)


LOGISTIC = Loss("logistic", 0.25, _logistic, _logistic_curvature)


def huber_hinge(width: float) -> Loss:
    """The hinge loss with its corner rounded over [1 - width, 1 + width].

    Chaudhuri, Monteleoni & Sarwate (2011), equation 7: 0 above 1 + h, 1 - z below 1 - h, and
    (1 + h - z)^2 / 4h between; c = 1 / 2h. Its second derivative jumps at two points, which
    their theorem allows for (section 3.4.2).
    """

    def value_and_slope(margins: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Depth into the rounded stretch, 0 where the loss is flat and 2h where it is straight.
        depth = np.clip(1.0 + width - margins, 0.0, 2.0 * width)
        slope = depth / (-2.0 * width)
        value = np.maximum(1.0 - width - margins, 0.0)
        value -= 0.5 * slope * depth
        return value, slope

    def curvature_at(margins: FloatArray) -> FloatArray:
        return np.where(np.abs(1.0 - margins) < width, 1.0 / (2.0 * width), 0.0)

    return Loss("huber", 1.0 / (2.0 * width), value_and_slope, curvature_at)


# What L-BFGS knows of the inverse Hessians of many tasks (Nocedal & Wright 2006, section 7.2).

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


# Many regularised margin-loss minimisations over the same rows, at once.

_LBFGS_ITERATIONS = 120
_NEWTON_ITERATIONS = 1000
# Margins held at once: they should stay in a core's cache between the two products.
_BLOCK_ELEMENTS = 1 << 17
# A sum over the rows of a block is in error by as many roundings as there are rows.
_FEWEST_ROWS, _MOST_ROWS = 64, 2048
_UNIT = float(np.finfo(np.float64).eps) / 2


class NotConverged(ArithmeticError):
    """The gradient could not be certified, so what is promised would not hold."""


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
    """How far a gradient computed at such weights may be from the exact one, in norm.

    A sum of k products is off by at most k roundings of the sum of their magnitudes, in whatever
    order (Higham 2002, section 3.1). Margins sum n_features products, and their error reaches the
    slopes through the curvature; slopes take a handful of roundings themselves. Blocks of rows
    are summed plainly and added up with compensation, tilt and strength last.

    norm_bound: On every row of features.
    length: float or shape (n_tasks,). |w|.
    strength, tilt_length: float or shape (n_tasks,)
    """
    margins = 4 + (n_features + 4) * norm_bound * length
    slopes = 16 + loss.curvature * margins
    sums = min(n_samples, _MOST_ROWS) + 4
    return _UNIT * (norm_bound * (slopes + sums) + 4 * (strength * length + tilt_length))


def minimise(
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
    """Weights (n_tasks, n_features) at which no gradient of J_t is longer than `gradient_norm`.

    features: shape (n_samples, n_features)
    signs: shape (n_samples, n_label_columns), -1.0 or 1.0. Task t uses column t modulo
        n_label_columns.
    strength: shape (n_tasks,), positive
    tilt, start: shape (n_tasks, n_features)
    gradient_norm: float or shape (n_tasks,). Above twice the `gradient_rounding` at the minimisers,
        or it is out of reach.
    norm_bound: On every row of features.
    Raises `NotConverged` if rounding, or 1000 Newton steps, came first.
    """
    n_tasks = len(tilt)
    wanted = np.broadcast_to(gradient_norm, n_tasks)
    tasks = _Tasks(features, signs, loss, strength, tilt, wanted, norm_bound)
    metric = BoundMetric(features, loss.curvature)
    history = History(n_tasks, features.shape[1])
    weights = start.copy()
    value, gradient = tasks.evaluate(weights, np.arange(n_tasks))
    direction, step = np.empty_like(weights), np.ones(n_tasks)
    active = np.flatnonzero(~tasks.certified(weights, gradient, np.arange(n_tasks)))
    turn = active
    for _ in range(_LBFGS_ITERATIONS):
        if not active.size:
            break
        direction[turn] = -history.times_inverse(turn, gradient[turn], metric, strength[turn])
        step[turn] = 1.0

        trial = weights[active] + step[active, None] * direction[active]
        new_value, new_gradient = tasks.evaluate(trial, active)
        descent = dots(gradient[active], direction[active])
        slope = dots(new_gradient, direction[active])
        done = tasks.certified(trial, new_gradient, active)
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
    for task in active:
        weights[task] = tasks.newton(int(task), weights[task])
    return weights


@dataclass(frozen=True, eq=False)
class _Tasks:
    """All tasks, any of which can be looked at together; arguments as of `minimise`."""

    features: FloatArray
    signs: FloatArray
    loss: Loss
    strength: FloatArray
    tilt: FloatArray
    gradient_norm: FloatArray
    norm_bound: float

    def evaluate(self, points: FloatArray, tasks: IntArray) -> tuple[FloatArray, FloatArray]:
        """J of each of these tasks at its point, and the gradient."""
        column, strength, tilt = tasks % self.signs.shape[1], self.strength[tasks], self.tilt[tasks]
        value, slope = _data_term(self.features, self.signs, column, self.loss, points)
        value += dots(tilt, points) + strength / 2 * dots(points, points)
        return value, slope + tilt + strength[:, None] * points

    def certified(self, points: FloatArray, gradients: FloatArray, tasks: IntArray) -> BoolArray:
        """Whether the exact gradients there are as short as wanted, too."""
        rounding = gradient_rounding(
            self.loss,
            self.norm_bound,
            n_samples=len(self.features),
            n_features=self.features.shape[1],
            length=np.linalg.norm(points, axis=1),
            strength=self.strength[tasks],
            tilt_length=np.linalg.norm(self.tilt[tasks], axis=1),
        )
        # The norm is itself rounded, by less than 1e-9 of it.
        length = np.linalg.norm(gradients, axis=1) * (1 + 1e-9) + rounding
        short: BoolArray = length <= self.gradient_norm[tasks]
        return short

    def newton(self, task: int, w: FloatArray) -> FloatArray:
        """Newton's method with exact line searches, which descends from wherever it starts."""
        one, sign = np.array([task]), self.signs[:, task % self.signs.shape[1]]
        for _ in range(_NEWTON_ITERATIONS):
            gradient = self.evaluate(w[None], one)[1]
            hessian = self._hessian(sign, w, self.strength[task])
            direction = -linalg.solve(hessian, gradient[0], assume_a="pos")
            # Near the minimum rounding drowns the slopes that a line search reads; try without.
            whole: FloatArray = w + direction
            if self.certified(whole[None], self.evaluate(whole[None], one)[1], one)[0]:
                return whole
            w = w + self._exact_step(task, sign, w, direction) * direction
        raise NotConverged(
            "a fit did not come near enough to its minimiser; a larger regularization, "
            "huber_width or tol is needed"
        )

    def _exact_step(
        self, task: int, sign: FloatArray, w: FloatArray, direction: FloatArray
    ) -> float:
        """Where J is least along a descent direction: the root of its increasing slope."""
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
    """Mean losses (n_tasks,) and their gradients (n_tasks, n_features) at `points`."""
    n_samples = len(features)
    value = np.zeros(len(points))
    gradient, lost = np.zeros_like(points), np.zeros_like(points)
    rows = min(max(_FEWEST_ROWS, _BLOCK_ELEMENTS // len(points)), _MOST_ROWS)
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
        # What the addition has rounded away (Knuth 1998, section 4.2.2, theorem B).
        kept = total - gradient
        lost += (gradient - (total - kept)) + (part - kept)
        gradient = total
    return value / n_samples, (gradient + lost) / n_samples
