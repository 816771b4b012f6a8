"""Private training of linear classifiers: bounded features, tasks, noise and minimisation.

`train` fits one estimator or a whole sweep over epsilons and draws. The noise, its proof and its
guarantee are in `dpcore.classification.perturbation`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

import numpy as np

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.classification.minimization import Loss, gradient_rounding, minimize
from dpcore.classification.perturbation import (
    Perturbation,
    calibrate,
    perturbation_guarantee,
    unit_noise,
    unit_noise_quantile,
)
from dpcore.data.row_bounds import LONGEST_ON_SPHERE, in_units_of_bound, shorten
from dpcore.errors import ParameterError
from dpcore.privacy import Guarantee
from dpcore.spectra.site_rows import directions


@dataclass(frozen=True, eq=False)
class BoundedFeatures:
    """Map from rows to features with a norm of at most `norm_bound`.

    The bound holds in exact arithmetic for every finite row. Features are the row itself,
    shortened to `row_norm_bound` where it is longer. An intercept is one more feature with the
    constant value `row_norm_bound`, so the bound grows by sqrt(2) and the intercept is
    regularised like every other weight. With `on_sphere`, every row except a zero row is first
    scaled to the length `row_norm_bound`.
    """

    row_norm_bound: float
    fit_intercept: bool
    on_sphere: bool = False

    @property
    def constant(self) -> float:
        """Value of the intercept's feature; 0 without an intercept."""
        return self.row_norm_bound * self.fit_intercept

    @property
    def norm_bound(self) -> float:
        """Bound on the norm of the features, the constant included."""
        bound = math.hypot(self.row_norm_bound, self.constant)
        return math.nextafter(bound, math.inf) if self.fit_intercept else bound

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the features of finite rows, shape (n_samples, n_features [+ 1]), float64."""
        if self.on_sphere:
            rows, _ = in_units_of_bound(X, self.row_norm_bound, LONGEST_ON_SPHERE, np.empty_like(X))
            X = self.row_norm_bound * directions(rows, np.zeros(X.shape[1]))
        features, _ = shorten(X, self.row_norm_bound)
        if self.fit_intercept:
            features = np.column_stack([features, np.full(len(X), self.constant)])
        return features


@dataclass(frozen=True, eq=False)
class PrivateFits:
    """Classifiers of one data set at several epsilons, for several draws of the noise.

    Every (epsilon, draw) is a separate release; publishing several of them composes.

    Parameters
    ----------
    epsilons : ndarray of shape (n_epsilons,)
    weights : ndarray of shape (n_epsilons, n_draws, n_tasks, n_features [+ 1])
        One task for two classes, else one task per class. The weight of an intercept comes last.
    classes : ndarray of shape (n_classes,)
    features : BoundedFeatures
    perturbations : tuple of Perturbation, one per epsilon
    guarantees : tuple of Guarantee, one per epsilon
    """

    epsilons: FloatArray
    weights: FloatArray
    classes: AnyArray
    features: BoundedFeatures
    perturbations: tuple[Perturbation, ...]
    guarantees: tuple[Guarantee, ...]

    def predict(self, X: FloatArray) -> AnyArray:
        """Return labels of shape (n_epsilons, n_draws, n_samples)."""
        features = self.features.transform(np.asarray(X, dtype=float))
        labels = np.empty((*self.weights.shape[:2], len(features)), dtype=self.classes.dtype)
        for cell in np.ndindex(*labels.shape[:2]):
            labels[cell] = self.classes[predicted_classes(features @ self.weights[cell].T)]
        return labels

    def score(self, X: FloatArray, y: AnyArray) -> FloatArray:
        """Return accuracies of shape (n_epsilons, n_draws)."""
        accuracies: FloatArray = np.mean(self.predict(X) == np.asarray(y), axis=2)
        return accuracies


def predicted_classes(scores: FloatArray) -> IntArray:
    """Return class indices (n_samples,) for scores (n_samples, n_tasks)."""
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
    """Fit every (epsilon, draw) in one batched minimisation.

    Parameters
    ----------
    X : ndarray of float64, shape (n_samples, n_columns)
    y : ndarray of int, shape (n_samples,)
        Indices into `classes`.
    classes : ndarray of shape (n_classes,)
        Two or more class labels.
    features : BoundedFeatures
    loss : Loss
    method : {"output", "objective"}
    regularization, tol : float
        See `calibrate`.
    epsilons : sequence of float
    rngs : sequence of numpy.random.Generator
        One generator per draw. Every epsilon draws new noise from it.
    """
    rows = features.transform(X)
    task_classes = np.arange(len(classes)) if len(classes) > 2 else np.array([1])
    signs = np.where(y[:, None] == task_classes, 1.0, -1.0)
    n_samples, n_features = rows.shape
    shape = (len(epsilons), len(rngs), len(task_classes), n_features)

    settings = _Settings(
        n_samples=n_samples, regularization=regularization, norm_bound=features.norm_bound
    )
    perturbations = tuple(
        calibrate(
            method, epsilon / len(task_classes), curvature=loss.curvature, tol=tol, **settings
        )
        for epsilon in epsilons
    )
    for perturbation in perturbations:
        _check_reachable(perturbation, loss, n_features, tol, settings)
    beta = np.array([perturbation.beta for perturbation in perturbations])
    n_vectors = 1 if method == "output" else 2
    drawn = _unit_noises(len(epsilons), n_vectors, rngs, len(task_classes), n_features)
    noise = drawn[:, :, 0] / beta[:, None, None, None]

    solve = partial(
        minimize,
        rows,
        signs,
        loss,
        gradient_norm=perturbations[0].gradient_norm,
        norm_bound=features.norm_bound,
    )
    start: FloatArray = np.zeros((len(task_classes), n_features))
    if method == "output" or len(epsilons) * len(rngs) > 1:
        strength = np.full(len(task_classes), regularization)
        start = solve(strength=strength, tilt=np.zeros_like(start), start=start)
    if method == "output":
        weights = start + noise
    else:
        extra = np.array([perturbation.extra_regularization for perturbation in perturbations])
        solved = solve(
            strength=np.repeat(regularization + extra, len(rngs) * len(task_classes)),
            tilt=noise.reshape(-1, n_features) / n_samples,
            start=np.tile(start, (len(epsilons) * len(rngs), 1)),
        )
        rate = np.array([perturbation.distance_beta for perturbation in perturbations])
        weights = solved.reshape(shape) + drawn[:, :, 1] / rate[:, None, None, None]
    guarantees = (
        perturbation_guarantee(perturbation, epsilon, n_tasks=len(task_classes), **settings)
        for perturbation, epsilon in zip(perturbations, epsilons, strict=True)
    )
    return PrivateFits(
        np.asarray(epsilons, dtype=float),
        weights,
        classes,
        features,
        perturbations,
        tuple(guarantees),
    )


def _unit_noises(
    n_epsilons: int,
    n_vectors: int,
    rngs: Sequence[np.random.Generator],
    n_tasks: int,
    n_features: int,
) -> FloatArray:
    """Draw the noise of every cell, shape (n_epsilons, n_draws, n_vectors, n_tasks, n_features)."""
    return np.stack(
        [
            [[unit_noise(n_tasks, n_features, rng) for _ in range(n_vectors)] for rng in rngs]
            for _ in range(n_epsilons)
        ]
    )


class _Settings(TypedDict):
    """Arguments that calibration and guarantee share."""

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
    """Raise a ParameterError if float64 cannot certify `tol`, from public numbers only."""
    n_samples, norm_bound = settings["n_samples"], settings["norm_bound"]
    strength = settings["regularization"] + perturbation.extra_regularization
    tilt = 0.0
    if perturbation.method == "objective":
        tilt = unit_noise_quantile(n_features) / perturbation.beta / n_samples
    # J(w) <= J(0) <= 1 holds at the minimiser and bounds its length.
    length = (tilt + math.sqrt(tilt**2 + 2 * strength)) / strength
    rounding_error = gradient_rounding(
        loss,
        norm_bound,
        n_samples=n_samples,
        n_features=n_features,
        length=length,
        strength=strength,
        tilt_length=tilt,
    )
    least = 2 * rounding_error * n_samples / norm_bound
    if tol < least:
        raise ParameterError(
            "tol", f"at least {least:.1e}, the smallest value that float64 can certify", tol
        )
