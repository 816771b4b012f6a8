"""Private classifiers as scikit-learn estimators."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from dpcore.arrays import AnyArray, FloatArray
from dpcore.classification.minimization import LOGISTIC, Loss, huber_hinge
from dpcore.classification.perturbation import METHODS
from dpcore.classification.training import (
    BoundedFeatures,
    PrivateFits,
    predicted_classes,
    train,
)
from dpcore.data.row_bounds import check_norm_bound, shorten
from dpcore.errors import ParameterError, require_one_of
from dpcore.pca.estimators import (
    PrivateEstimator,
    RandomState,
    check_long_rows,
    check_preparation,
    root_seed,
    warn_of_fitted_steps,
)
from dpcore.privacy import PrivacyBudget
from dpcore.streams import Purpose, root_of_release, stream

NUMBERS = (int, float, np.integer, np.floating)
# Parameters that do not change the released values, so they are no part of the noise stream's key:
# a fit that `on_long_rows` does not refuse equals the clipped one.
_NOT_IN_NOISE_KEY = ("random_state", "on_long_rows")


class PrivateLinearClassifier(ClassifierMixin, PrivateEstimator):
    """Base class of the private linear classifiers; subclasses define the loss."""

    method: str
    regularization: float
    fit_intercept: bool
    row_norm_bound: float
    tol: float

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on rows and their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Raises
        ------
        ParameterError
            If a parameter violates its constraint, y has fewer than two classes, or `tol` is
            below the value that float64 can certify for this number of rows.
        NotConverged
            If the solver cannot certify `tol` in 1000 Newton steps. No rows are known that cause
            this error. The guarantee does not cover the information that it occurred.
        ValueError
            If X contains NaN or infinity. The check precedes the release, and no finite row
            causes an error.
        """
        warn_of_fitted_steps(self)
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        noise_rng = self._noise_stream(root_seed(self.random_state), rows.shape, labels)
        return self._train(rows, labels, noise_rng)

    def fit_with_noise(self, X: ArrayLike, y: ArrayLike, *, rng: np.random.Generator) -> Self:
        """Train with noise from the given generator instead of `random_state`.

        Intended for simulations. Two fits with generators in the same state share their noise,
        so their difference is not private.
        """
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        return self._train(rows, labels, rng)

    def _noise_stream(self, seed: int, shape: tuple[int, ...], y: AnyArray) -> np.random.Generator:
        settings = sorted(self.get_params(deep=False).items())
        key = [pair for pair in settings if pair[0] not in _NOT_IN_NOISE_KEY]
        name, n_classes = type(self).__name__, len(np.unique(y))
        return stream(root_of_release(seed, name, key, shape, n_classes), Purpose.TRAINING)

    def _train(self, X: FloatArray, y: AnyArray, rng: np.random.Generator) -> Self:
        fits = fit_settings(self, X, y, [self.epsilon], [rng])
        weights = fits.weights[0, 0]
        self._features = fits.features
        self.coef_: FloatArray = weights[:, :-1].copy() if self.fit_intercept else weights
        self.intercept_: FloatArray = fits.features.constant * weights[:, -1]
        self.classes_ = fits.classes
        self.perturbation_ = fits.perturbations[0]
        self.noise_scale_ = np.array([1 / self.perturbation_.beta])
        self.guarantee_ = fits.guarantees[0]
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return scores (n_samples,) for two classes, (n_samples, n_classes) for more."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return labels (n_samples,). Rows longer than the bound are shortened."""
        scores = self._scores(X)
        labels: AnyArray = self.classes_[predicted_classes(scores)]
        return labels

    def _scores(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        features = self._features.transform(validate_data(self, X, reset=False, dtype=np.float64))
        return features[:, : self.coef_.shape[1]] @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        # The noise is too large for the accuracy checks of scikit-learn, which fit few rows.
        tags.classifier_tags.poor_score = self.epsilon != math.inf
        return tags

    @abstractmethod
    def loss(self) -> Loss:
        """Return the loss that training minimises."""

    def bounded_features(self) -> BoundedFeatures:
        """Return the map from rows to features of bounded norm."""
        return BoundedFeatures(
            float(self.row_norm_bound),
            bool(self.fit_intercept),
            on_sphere=self.preparation == "sphere",
        )


def fit_many(
    estimator: PrivateLinearClassifier,
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilons: Sequence[float],
    rngs: Sequence[np.random.Generator],
) -> PrivateFits:
    """Fit one estimator's settings at every epsilon, for every generator.

    The results have the same distribution as separate fits. One batched minimisation computes all
    of them, so a hundred fits take little longer than a few. The estimator's own epsilon is
    ignored, and the estimator is not fitted.

    Parameters
    ----------
    estimator : PrivateLogisticRegression or PrivateSVM
        Settings. `random_state` is ignored: the noise is drawn from `rngs`.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    epsilons : sequence of float
    rngs : sequence of numpy.random.Generator
        One generator per draw. Every epsilon draws new noise from it.

    Raises
    ------
    ParameterError, NotConverged
        See `fit`.

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
    return fit_settings(estimator, rows, labels, epsilons, rngs)


def fit_settings(
    estimator: PrivateLinearClassifier,
    X: FloatArray,
    y: AnyArray,
    epsilons: Sequence[float],
    rngs: Sequence[np.random.Generator],
) -> PrivateFits:
    """Check the settings and the labels, and train at every epsilon for every generator."""
    for epsilon in epsilons:
        PrivacyBudget(epsilon)
    require_one_of("method", estimator.method, METHODS)
    check_preparation(estimator.preparation)
    for name in ("regularization", "row_norm_bound", "tol"):
        check_positive(name, getattr(estimator, name))
    check_norm_bound("row_norm_bound", estimator.row_norm_bound)
    check_classification_targets(y)
    classes, indices = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ParameterError("y", "labels of two classes or more", f"{len(classes)} class")
    features = estimator.bounded_features()
    reads_lengths = estimator.on_long_rows == "refuse"
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


class PrivateLogisticRegression(PrivateLinearClassifier):
    """Logistic regression with pure epsilon-differential privacy.

    Minimises mean log(1 + exp(-y x . w)) + regularization / 2 |w|^2 with noise, by output or
    objective perturbation (Chaudhuri, Monteleoni & Sarwate 2011, algorithms 1 and 2, theorems 6
    and 9, c = 1/4; `dpcore.classification.perturbation` has the proofs). Pure epsilon-DP for
    replace-one neighbours and any data: rows longer than `row_norm_bound` are shortened to it.
    More than two classes are trained one against the rest at epsilon / n_classes each. The
    assumptions are listed in ``guarantee_.assumptions``.

    Parameters
    ----------
    epsilon : float
        Budget of the whole fit; ``inf`` disables the noise.
    method : {"objective", "output"}
    regularization : float
        Lambda, positive; scikit-learn's C is 1 / (n_samples * regularization). Public.
    fit_intercept : bool
        The intercept is a feature constant at `row_norm_bound`, regularised like the others.
    preparation : {"bounded", "sphere", "none"}
        "sphere": every row is scaled to the length `row_norm_bound`, so only its direction from
        zero matters. "bounded" and "none" are equal here: rows keep their length up to the bound.
        No private mean is subtracted, because its noise under pure epsilon-DP grows with D and
        the epsilon is better spent on training. Subtract a public centre if there is one.
    row_norm_bound : float
        Public bound on the Euclidean norm of a row, in units of X.
    on_long_rows : {"clip", "refuse"}
        Treatment of longer rows. "refuse" reads the rows, which no guarantee covers; it is meant
        for a check before the first release.
    tol : float
        Gradient norm at which the solver may stop, in units of the largest contribution of one
        row, `row_norm_bound` (the constant of the intercept included) over n_samples. The
        guarantee includes the remaining distance to the minimiser: output perturbation increases
        its noise by this share, and objective perturbation hides the distance at 1 % of epsilon.
        Public.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        None: entropy from the operating system. See the warning.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    guarantee_ : Guarantee
    noise_scale_ : ndarray of shape (1,)
        Scale of a task's noise vector b, with density proportional to exp(-|b| / scale), in units
        of the weights under output perturbation and of the sum of rows under objective
        perturbation.
    perturbation_ : Perturbation
        Epsilon, noise rates, extra regularization and certified gradient of each task.
    n_features_in_ : int

    Warnings
    --------
    Knowledge of `random_state` allows the noise to be subtracted. Use None for every real release.
    Use an int for one fit to one data set only: other rows or labels with the same int and
    settings get the same noise, which cancels in the difference. This includes folds of equal
    size and the tasks of a OneVsRestClassifier. The value is not saved: copies made by pickle,
    joblib or copy have None; `get_params` returns it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, size=(5000, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = PrivateLogisticRegression(epsilon=1.0, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.guarantee_.epsilon
    (True, 1.0)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        method: str = "objective",
        regularization: float = 1e-4,
        fit_intercept: bool = True,
        preparation: str = "bounded",
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        tol: float = 1e-4,
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return probabilities (n_samples, n_classes).

        Three or more classes get the softmax of the scores.

        Noise can make scores so large that normalised one-against-the-rest probabilities all
        round to 1; the softmax preserves their order.
        """
        scores = self._scores(X)
        probabilities: FloatArray = (
            expit(np.hstack([-scores, scores])) if scores.shape[1] == 1 else softmax(scores, axis=1)
        )
        return probabilities

    def loss(self) -> Loss:
        """Return the logistic loss."""
        return LOGISTIC


class PrivateSVM(PrivateLinearClassifier):
    """Linear support vector machine with pure epsilon-differential privacy.

    Shares the parameters, attributes and guarantee of `PrivateLogisticRegression`. The loss is the
    hinge loss rounded over [1 - h, 1 + h], with c = 1 / 2h.

    Parameters
    ----------
    epsilon, method, regularization, fit_intercept, preparation, row_norm_bound, on_long_rows, tol
    random_state
        See `PrivateLogisticRegression`.
    huber_width : float
        h, in (0, 1].

    Warnings
    --------
    Knowledge of `random_state` allows the noise to be subtracted; see `PrivateLogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, size=(5000, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = PrivateSVM(epsilon=1.0, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.coef_.shape
    (True, (1, 2))
    """

    huber_width: float

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        method: str = "objective",
        regularization: float = 1e-4,
        huber_width: float = 0.5,
        fit_intercept: bool = True,
        preparation: str = "bounded",
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        tol: float = 1e-4,
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def loss(self) -> Loss:
        """Return the Huber hinge loss."""
        if not (isinstance(self.huber_width, NUMBERS) and 0 < self.huber_width <= 1):
            raise ParameterError("huber_width", "in (0, 1]", self.huber_width)
        return huber_hinge(float(self.huber_width))
