"""scikit-learn estimators, and many fits of one of them at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from dpcore.classification.features import BoundedFeatures, gaussian_frequencies
from dpcore.classification.losses import LOGISTIC, Loss, huber_hinge
from dpcore.classification.perturbation import METHODS
from dpcore.classification.training import PrivateFits, train, winners
from dpcore.errors import ParameterError
from dpcore.privacy import PrivacyBudget
from dpcore.streams import Purpose, stream

KERNELS = ("linear", "gaussian")


class _PrivateLinearClassifier(ClassifierMixin, BaseEstimator):
    """What both classifiers share; the loss and the features are theirs to name."""

    def fit(self, X: ArrayLike, y: ArrayLike):
        """Train on rows X (n_samples, n_features) and labels y (n_samples,).

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint, or y holds fewer than two classes.
        NotConverged
            If the minimiser cannot be certified to `tol`.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        feature_rng, noise_rng = _generators(self.random_state)
        fits = _train(self, X, y, [self.epsilon], feature_rng, [noise_rng])
        weights = fits.weights[0, 0]
        self._features = fits.features
        self.coef_ = weights[:, :-1].copy() if self.fit_intercept else weights
        self.intercept_ = fits.features.constant * weights[:, -1]
        self.classes_ = fits.classes
        self.n_iter_ = fits.n_iter[0, 0]
        self.n_clipped_ = fits.n_clipped
        self.perturbation_ = fits.perturbations[0]
        self.guarantee_ = fits.guarantees[0]
        return self

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Scores (n_samples,) for two classes, (n_samples, n_classes) for more."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Labels (n_samples,). Rows longer than the bound are shortened, as in `fit`."""
        scores = self._scores(X)
        return self.classes_[winners(scores)]

    def _scores(self, X: ArrayLike) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        features, _ = self._features.of(X)
        return features[:, : self.coef_.shape[1]] @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Noise made for thousands of people drowns the dozens in scikit-learn's accuracy checks.
        tags.classifier_tags.poor_score = self.epsilon != math.inf
        return tags

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _bounded_features(self, n_columns: int, rng: np.random.Generator) -> BoundedFeatures:
        return BoundedFeatures(float(self.row_norm_bound), bool(self.fit_intercept))


class PrivateLogisticRegression(_PrivateLinearClassifier):
    """epsilon-differentially private logistic regression.

    Minimises mean log(1 + exp(-y x . w)) + regularization / 2 |w|^2 with noise, by output or
    objective perturbation (Chaudhuri, Monteleoni & Sarwate 2011, algorithms 1 and 2, theorems 6
    and 9, c = 1/4). Pure epsilon-DP under replace-one neighbours, for any data: rows longer than
    `row_norm_bound` are shortened to it. More than two classes are trained one against the rest
    at epsilon / n_classes each. What is assumed is listed in ``guarantee_.assumptions``.

    Parameters
    ----------
    epsilon : float
        Asked budget of the whole fit; ``inf`` turns the noise off.
    method : {"objective", "output"}
    regularization : float
        Lambda, positive; scikit-learn's C is 1 / (n_samples * regularization). Public.
    fit_intercept : bool
        The intercept is a feature constant at `row_norm_bound`, regularised like the others.
    row_norm_bound : float
        Public bound on the Euclidean norm of a row, in units of X.
    tol : float
        Distance within which the exact minimiser is certified to lie, relative to the norm of
        the weights where that exceeds 1.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Whoever knows it can take the noise away.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    guarantee_ : dpcore.privacy.Guarantee
    perturbation_ : Perturbation
        Of each task: its epsilon, noise rate beta and extra regularization.
    n_clipped_ : int
        Rows that were shortened. Exact, for whoever holds the data: not covered by the guarantee.
    n_iter_ : ndarray of shape (1,) or (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, size=(5000, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = PrivateLogisticRegression(epsilon=1.0, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.guarantee_.epsilon, model.n_clipped_
    (True, 1.0, 0)
    """

    def __init__(
        self,
        *,
        epsilon=1.0,
        method="objective",
        regularization=1e-4,
        fit_intercept=True,
        row_norm_bound=1.0,
        tol=1e-6,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.method = method
        self.regularization = regularization
        self.fit_intercept = fit_intercept
        self.row_norm_bound = row_norm_bound
        self.tol = tol
        self.random_state = random_state

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities (n_samples, n_classes): the softmax of the scores for three or more.

        Noise can make scores so large that the usual normalised one-against-the-rest chances all
        round to 1; the softmax keeps their order.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Natural logarithms of `predict_proba`."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return log_expit(np.hstack([-scores, scores]))
        return log_softmax(scores, axis=1)

    def _loss(self) -> Loss:
        return LOGISTIC


class PrivateSVM(_PrivateLinearClassifier):
    """epsilon-differentially private support vector machine, with a Huber hinge loss.

    As `PrivateLogisticRegression`, whose parameters and attributes it shares, with c = 1 / 2h for
    the hinge loss rounded over [1 - h, 1 + h]. The Gaussian kernel goes through random Fourier
    features, drawn without looking at the data (their algorithm 3; Rahimi & Recht 2007).

    Parameters
    ----------
    kernel : {"linear", "gaussian"}
    gamma : float
        Of the Gaussian kernel exp(-gamma |x - x'|^2), in units of X to the power -2. Public.
    n_random_features : int
        Even. Features of the Gaussian kernel; `coef_` has as many columns. Their norm is 1 by
        construction, so `row_norm_bound` is not used.
    huber_width : float
        h, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = np.hypot(X[:, 0], X[:, 1]) > 0.75
    >>> ring = PrivateSVM(kernel="gaussian", gamma=3.0, n_random_features=40, random_state=0)
    >>> bool(ring.fit(X, y).score(X, y) > 0.9), ring.coef_.shape
    (True, (1, 40))
    """

    def __init__(
        self,
        *,
        epsilon=1.0,
        method="objective",
        regularization=1e-4,
        kernel="linear",
        gamma=1.0,
        n_random_features=100,
        huber_width=0.5,
        fit_intercept=True,
        row_norm_bound=1.0,
        tol=1e-6,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.method = method
        self.regularization = regularization
        self.kernel = kernel
        self.gamma = gamma
        self.n_random_features = n_random_features
        self.huber_width = huber_width
        self.fit_intercept = fit_intercept
        self.row_norm_bound = row_norm_bound
        self.tol = tol
        self.random_state = random_state

    def _loss(self) -> Loss:
        if not (isinstance(self.huber_width, Real) and 0 < self.huber_width <= 1):
            raise ParameterError("huber_width", "in (0, 1]", self.huber_width)
        return huber_hinge(float(self.huber_width))

    def _bounded_features(self, n_columns: int, rng: np.random.Generator) -> BoundedFeatures:
        if self.kernel not in KERNELS:
            raise ParameterError("kernel", f"one of {', '.join(KERNELS)}", self.kernel)
        if self.kernel == "linear":
            return super()._bounded_features(n_columns, rng)
        _check_positive("gamma", self.gamma)
        count = self.n_random_features
        if not isinstance(count, Integral) or count < 2 or count % 2:
            raise ParameterError("n_random_features", "a positive even integer", count)
        frequencies = gaussian_frequencies(n_columns, count, self.gamma, rng)
        return BoundedFeatures(1.0, bool(self.fit_intercept), frequencies)


def fit_many(
    estimator: PrivateLogisticRegression | PrivateSVM,
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
        Its `random_state` draws the random Fourier features, if any, shared by all fits.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    epsilons : sequence of float
    rngs : sequence of numpy.random.Generator
        One a draw; a draw uses the same unit noise at every epsilon.

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
    >>> fits = fit_many(PrivateLogisticRegression(), X, y, epsilons=[0.1, 1, 10], rngs=[rng] * 4)
    >>> fits.score(X, y).shape
    (3, 4)
    """
    X, y = check_X_y(X, y, dtype=np.float64)
    feature_rng, _ = _generators(estimator.random_state)
    return _train(estimator, X, y, epsilons, feature_rng, rngs)


def _train(
    estimator: _PrivateLinearClassifier,
    X: np.ndarray,
    y: np.ndarray,
    epsilons: Sequence[float],
    feature_rng: np.random.Generator,
    rngs: Sequence[np.random.Generator],
) -> PrivateFits:
    for epsilon in epsilons:
        PrivacyBudget(epsilon)
    if estimator.method not in METHODS:
        raise ParameterError("method", f"one of {', '.join(METHODS)}", estimator.method)
    for name in ("regularization", "row_norm_bound", "tol"):
        _check_positive(name, getattr(estimator, name))
    check_classification_targets(y)
    classes, indices = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ParameterError("y", "labels of two classes or more", f"{len(classes)} class")
    return train(
        X,
        indices,
        classes,
        estimator._bounded_features(X.shape[1], feature_rng),
        estimator._loss(),
        method=estimator.method,
        regularization=float(estimator.regularization),
        epsilons=[float(epsilon) for epsilon in epsilons],
        rngs=rngs,
        tol=float(estimator.tol),
    )


def _check_positive(name: str, value: object) -> None:
    if not isinstance(value, Real) or not 0 < value < math.inf:
        raise ParameterError(name, "a positive number", value)


def _generators(random_state) -> list[np.random.Generator]:
    """Independent generators for the features and for the noise."""
    if isinstance(random_state, Integral) and random_state >= 0:
        return [stream(int(random_state), Purpose.TRAINING, part) for part in range(2)]
    if isinstance(random_state, np.random.RandomState):
        words = [int(word) for word in random_state.randint(2**32, size=4, dtype=np.uint64)]
        return np.random.default_rng(words).spawn(2)
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(2)
    if random_state is None:
        return np.random.default_rng().spawn(2)
    raise ParameterError(
        "random_state", "a non-negative integer, a generator or None", random_state
    )
