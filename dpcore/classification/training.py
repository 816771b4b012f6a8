"""Private training: features, tasks, noise, minimisation. One fit or a whole sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.classification.features import BoundedFeatures
from dpcore.classification.losses import Loss
from dpcore.classification.minimise import minimise
from dpcore.classification.perturbation import Perturbation, calibrate, promise, unit_noise
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
    n_clipped : int
        Rows longer than the bound. Exact: not covered by the guarantee.
    n_iter : ndarray of shape (n_epsilons, n_draws, n_tasks)
    """

    epsilons: np.ndarray
    weights: np.ndarray
    classes: np.ndarray
    features: BoundedFeatures
    perturbations: tuple[Perturbation, ...]
    guarantees: tuple[Guarantee, ...]
    n_clipped: int
    n_iter: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels of shape (n_epsilons, n_draws, n_samples)."""
        features, _ = self.features.of(np.asarray(X, dtype=float))
        labels = np.empty((*self.weights.shape[:2], len(features)), dtype=self.classes.dtype)
        for cell in np.ndindex(*labels.shape[:2]):
            labels[cell] = self.classes[winners(features @ self.weights[cell].T)]
        return labels

    def score(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Accuracies of shape (n_epsilons, n_draws)."""
        return (self.predict(X) == np.asarray(y)).mean(axis=2)


def winners(scores: np.ndarray) -> np.ndarray:
    """Class indices (n_samples,) from scores (n_samples, n_tasks)."""
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


def train(
    X: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
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

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns), float64
    y : ndarray of int of shape (n_samples,)
        Indices into `classes`.
    classes : ndarray of shape (n_classes,), two or more
    features : BoundedFeatures
    loss : Loss
    method : {"output", "objective"}
    regularization : float
    epsilons : sequence of float
    rngs : sequence of numpy.random.Generator
        One a draw, and drawn on at every epsilon: no two fits share their noise.
    tol : float
        Distance to the exact minimiser, in weight space.
    """
    rows, n_clipped = features.of(X)
    wanted = np.arange(len(classes)) if len(classes) > 2 else np.array([1])
    signs = np.where(y[:, None] == wanted, 1.0, -1.0)
    n_samples, n_features = rows.shape
    shape = (len(epsilons), len(rngs), len(wanted), n_features)

    perturbations = tuple(
        calibrate(
            method,
            epsilon / len(wanted),
            n_samples=n_samples,
            regularization=regularization,
            curvature=loss.curvature,
            norm_bound=features.norm_bound,
        )
        for epsilon in epsilons
    )
    beta = np.array([perturbation.beta for perturbation in perturbations])
    noise = np.stack([[unit_noise(len(wanted), n_features, rng) for rng in rngs] for _ in epsilons])
    noise /= beta[:, None, None, None]

    def solve(strength, tilt, start):
        return minimise(rows, signs, loss, strength=strength, tilt=tilt, start=start, tol=tol)

    start = np.zeros((len(wanted), n_features))
    n_iter = 0
    if method == "output" or len(epsilons) * len(rngs) > 1:
        exact = solve(np.full(len(wanted), regularization), np.zeros_like(start), start)
        start, n_iter = exact.weights, exact.n_iter
    if method == "output":
        weights, n_iter = start + noise, np.broadcast_to(n_iter, shape[:3])
    else:
        extra = np.array([perturbation.extra_regularization for perturbation in perturbations])
        fits = solve(
            np.repeat(regularization + extra, len(rngs) * len(wanted)),
            noise.reshape(-1, n_features) / n_samples,
            np.tile(start, (len(epsilons) * len(rngs), 1)),
        )
        weights = fits.weights.reshape(shape)
        n_iter = n_iter + fits.n_iter.reshape(shape[:3])
    guarantees = tuple(
        promise(
            perturbation,
            epsilon,
            n_tasks=len(wanted),
            n_samples=n_samples,
            regularization=regularization,
            norm_bound=features.norm_bound,
        )
        for perturbation, epsilon in zip(perturbations, epsilons, strict=True)
    )
    return PrivateFits(
        np.asarray(epsilons, dtype=float),
        weights,
        classes,
        features,
        perturbations,
        guarantees,
        n_clipped,
        n_iter,
    )
