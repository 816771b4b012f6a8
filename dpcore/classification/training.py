"""Private training: features, tasks, noise, minimisation. One fit or a whole sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

import numpy as np

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.classification.features import BoundedFeatures
from dpcore.classification.losses import Loss
from dpcore.classification.minimise import gradient_rounding, minimise
from dpcore.classification.perturbation import (
    Perturbation,
    calibrate,
    longest_unit_noise,
    promise,
    unit_noise,
)
from dpcore.errors import ParameterError
from dpcore.privacy import Guarantee


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
    rounding = gradient_rounding(
        loss,
        norm_bound,
        n_samples=n_samples,
        n_features=n_features,
        length=length,
        strength=strength,
        tilt_length=tilt,
    )
    least = 2 * rounding * n_samples / norm_bound
    if tol < least:
        raise ParameterError(
            "tol", f"at least {least:.1e}, what float64 can certify for these settings", tol
        )
