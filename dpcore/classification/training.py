"""Private training: features of bounded norm, tasks, noise, minimisation. One fit or a sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

import numpy as np

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.classification.losses import Loss
from dpcore.classification.minimise import gradient_rounding, minimise
from dpcore.classification.perturbation import (
    Perturbation,
    calibrate,
    longest_unit_noise,
    promise,
    unit_noise,
)
from dpcore.data.preparation import LONGEST_ON_SPHERE, in_units_of_bound, rounding, shorten
from dpcore.errors import ParameterError
from dpcore.privacy import Guarantee
from dpcore.spectra.moments import directions


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
