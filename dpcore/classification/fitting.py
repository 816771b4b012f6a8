"""From an estimator's settings to fits: one, or a whole sweep of them at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from dpcore.arrays import AnyArray, FloatArray
from dpcore.classification.perturbation import METHODS
from dpcore.classification.training import PrivateFits, train
from dpcore.data.row_norms import check_norm_bound, shorten
from dpcore.errors import ParameterError
from dpcore.pca.estimators.private_estimator import check_long_rows
from dpcore.privacy import PrivacyBudget
from dpcore.streams import Purpose, root_of_release, stream

if TYPE_CHECKING:
    from dpcore.classification.estimators import PrivateLinearClassifier

NUMBERS = (int, float, np.integer, np.floating)


def fit_many(
    estimator: PrivateLinearClassifier,
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilons: Sequence[float],
    rngs: Sequence[np.random.Generator],
) -> PrivateFits:
    """Fit one estimator's settings at every epsilon, once for every generator.

    The same law as fitting one by one, in one batched minimisation: a hundred fits cost little
    more than a few. The estimator's own epsilon is not used, nor is it fitted.

    Parameters
    ----------
    estimator : PrivateLogisticRegression or PrivateSVM
        Its `random_state` is not read: the noise is drawn from `rngs`.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    epsilons : sequence of float
    rngs : sequence of numpy.random.Generator
        One a draw, and drawn on at every epsilon: no two fits share their noise.

    Raises
    ------
    ParameterError, NotConverged
        As `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, size=(2000, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> from dpcore.classification import PrivateLogisticRegression
    >>> fits = fit_many(PrivateLogisticRegression(), X, y, epsilons=[0.1, 1, 10], rngs=[rng] * 4)
    >>> fits.score(X, y).shape
    (3, 4)
    """
    rows, labels = check_X_y(X, y, dtype=np.float64)
    return fit_settings(estimator, rows, labels, epsilons, feature_stream(), rngs)


def fit_settings(
    estimator: PrivateLinearClassifier,
    X: FloatArray,
    y: AnyArray,
    epsilons: Sequence[float],
    feature_rng: np.random.Generator,
    rngs: Sequence[np.random.Generator],
) -> PrivateFits:
    """Check the settings and the labels, and train at every epsilon for every generator."""
    for epsilon in epsilons:
        PrivacyBudget(epsilon)
    if estimator.method not in METHODS:
        raise ParameterError("method", f"one of {', '.join(METHODS)}", estimator.method)
    for name in ("regularization", "row_norm_bound", "tol"):
        check_positive(name, getattr(estimator, name))
    check_norm_bound("row_norm_bound", estimator.row_norm_bound)
    check_classification_targets(y)
    classes, indices = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ParameterError("y", "labels of two classes or more", f"{len(classes)} class")
    features = estimator.bounded_features(X.shape[1], feature_rng)
    reads_lengths = estimator.on_long_rows == "refuse" and features.frequencies is None
    n_long = shorten(X, features.row_norm_bound)[1] if reads_lengths else 0
    check_long_rows(estimator.on_long_rows, n_long, f"{features.row_norm_bound:g}")
    return train(
        X,
        indices,
        classes,
        features,
        estimator.loss(),
        method=estimator.method,
        regularization=float(estimator.regularization),
        epsilons=[float(epsilon) for epsilon in epsilons],
        rngs=rngs,
        tol=float(estimator.tol),
    )


def check_positive(name: str, value: object) -> None:
    """Raise a ParameterError unless the value is a positive finite number."""
    if not isinstance(value, NUMBERS) or not 0 < value < math.inf:
        raise ParameterError(name, "a positive number", value)


def feature_stream() -> np.random.Generator:
    """Draws random features: the same for every fit, without rows and without a seed.

    They need no secret and are saved with a fit. Drawn from its seed they would be a fingerprint,
    by which whoever tries seeds finds the one that redraws the noise.
    """
    return stream(root_of_release(0, "random features"), Purpose.TRAINING)
