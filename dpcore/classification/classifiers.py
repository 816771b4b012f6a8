"""Private classifiers as scikit-learn estimators."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from dpcore.arrays import AnyArray, FloatArray
from dpcore.classification.training import (
    LOGISTIC,
    METHODS,
    BoundedFeatures,
    Loss,
    PrivateFits,
    gaussian_frequencies,
    huber_hinge,
    train,
    winners,
)
from dpcore.data.row_bounds import check_norm_bound, shorten
from dpcore.errors import ParameterError, require_one_of
from dpcore.pca.estimators import (
    PrivateEstimator,
    RandomState,
    check_long_rows,
    check_preparation,
    root_seed,
)
from dpcore.privacy import PrivacyBudget
from dpcore.streams import Purpose, root_of_release, stream

# What the classifiers share: from settings to fits, one or a whole sweep of them at once.

NUMBERS = (int, float, np.integer, np.floating)
# A refused release is none, and one that is not refused is the same as a clipped one.
_NOT_OF_THE_NOISE = ("random_state", "on_long_rows")


class PrivateLinearClassifier(ClassifierMixin, PrivateEstimator):
    """What both classifiers share; the loss and the features are theirs to name."""

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
            If a parameter breaks its constraint, y holds fewer than two classes, or `tol` is
            below what float64 can certify for so many rows.
        NotConverged
            If the solver cannot certify `tol` in 1000 Newton steps. No rows are known for which
            that happens; the guarantee does not cover that it did.
        ValueError
            If X holds NaN or infinity, before anything is released. No finite row makes a fit
            fail.
        """
        self._warn_of_fitted_preparation()
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        noise_rng = self._noise_stream(root_seed(self.random_state), rows.shape, labels)
        return self._trained(rows, labels, feature_stream(), noise_rng)

    def fit_drawing(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        feature_rng: np.random.Generator,
        noise_rng: np.random.Generator,
    ) -> Self:
        """Train as `fit` does, on streams that the caller answers for; `random_state` is not read.

        Streams in the same state at two epsilons give two fits that hide nothing from each other:
        for a laboratory that holds the noise while something else moves.
        """
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        return self._trained(rows, labels, feature_rng, noise_rng)

    def _noise_stream(self, seed: int, shape: tuple[int, ...], y: AnyArray) -> np.random.Generator:
        settings = sorted(self.get_params(deep=False).items())
        released_with = [pair for pair in settings if pair[0] not in _NOT_OF_THE_NOISE]
        name, n_classes = type(self).__name__, len(np.unique(y))
        return stream(
            root_of_release(seed, name, released_with, shape, n_classes), Purpose.TRAINING
        )

    def _trained(
        self,
        X: FloatArray,
        y: AnyArray,
        feature_rng: np.random.Generator,
        noise_rng: np.random.Generator,
    ) -> Self:
        fits = fit_settings(self, X, y, [self.epsilon], feature_rng, [noise_rng])
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
        """Scores (n_samples,) for two classes, (n_samples, n_classes) for more."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> AnyArray:
        """Labels (n_samples,). Rows longer than the bound are shortened, whatever `fit` does."""
        scores = self._scores(X)
        labels: AnyArray = self.classes_[winners(scores)]
        return labels

    def _scores(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        features = self._features.of(validate_data(self, X, reset=False, dtype=np.float64))
        return features[:, : self.coef_.shape[1]] @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        # Noise made for thousands of people drowns the dozens in scikit-learn's accuracy checks.
        tags.classifier_tags.poor_score = self.epsilon != math.inf
        return tags

    @abstractmethod
    def loss(self) -> Loss:
        """What training minimises, on one row's margin."""

    def bounded_features(self, n_columns: int, rng: np.random.Generator) -> BoundedFeatures:
        """The map from rows of so many columns to features of bounded norm."""
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
    require_one_of("method", estimator.method, METHODS)
    check_preparation(estimator.preparation)
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


# The scikit-learn estimators.

KERNELS = ("linear", "gaussian")


class PrivateLogisticRegression(PrivateLinearClassifier):
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
    preparation : {"bounded", "sphere", "none"}
        "sphere": every row is brought to the length `row_norm_bound`, and counts by its direction
        from zero alone. "bounded" and "none" are one here: rows keep their length, up to the
        bound. No mean is bought: a pure promise would pay D times a number's noise for it, and
        the whole epsilon is better spent on training. Subtract a public middle where there is one.
    row_norm_bound : float
        Public bound on the Euclidean norm of a row, in units of X.
    on_long_rows : {"clip", "refuse"}
        What happens to longer rows. Refusing reads the rows, which no guarantee covers: for
        holders who check their table before they release anything.
    tol : float
        Length of the gradient at which the solver may stop, in units of what one row can add to
        it: `row_norm_bound` (the constant of the intercept included) over n_samples. What it
        leaves of the way to the minimiser is inside the guarantee: the noise is larger by this
        share under output perturbation, and hides it at 1 % of epsilon under objective
        perturbation. Public.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        None is fresh entropy from the operating system; see the warning.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    guarantee_ : Guarantee
    noise_scale_ : ndarray of shape (1,)
        Of a task's noise vector b, whose density is proportional to exp(-|b| / scale): in units
        of the weights under output perturbation, of the rows' sum under objective perturbation.
    perturbation_ : Perturbation
        Of each task: its epsilon, noise rates, extra regularization and certified gradient.
    n_features_in_ : int

    Warnings
    --------
    Whoever has `random_state` can take the noise off again. Leave it None for anything that leaves
    the laboratory. An int is for one fit to one data set: other rows or labels under the same int
    and settings get the same noise, which drops out of the difference, and so do folds of one size
    and the tasks of a OneVsRestClassifier. Whatever it is, it is not saved: what pickle, joblib or
    copy make has None; `get_params` gives it.

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
        """Probabilities (n_samples, n_classes): the softmax of the scores for three or more.

        Noise can make scores so large that the usual normalised one-against-the-rest chances all
        round to 1; the softmax keeps their order.
        """
        scores = self._scores(X)
        chances: FloatArray = (
            expit(np.hstack([-scores, scores])) if scores.shape[1] == 1 else softmax(scores, axis=1)
        )
        return chances

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Natural logarithms of `predict_proba`; -inf where that is 0."""
        with np.errstate(divide="ignore"):
            logarithms: FloatArray = np.log(self.predict_proba(X))
        return logarithms

    def loss(self) -> Loss:
        """The logistic loss."""
        return LOGISTIC


class PrivateSVM(PrivateLinearClassifier):
    """epsilon-differentially private support vector machine, with a Huber hinge loss.

    As `PrivateLogisticRegression`, whose parameters and attributes it shares, with c = 1 / 2h for
    the hinge loss rounded over [1 - h, 1 + h]. The Gaussian kernel goes through random Fourier
    features, drawn without looking at the data (their algorithm 3; Rahimi & Recht 2007).

    Parameters
    ----------
    epsilon, method, regularization, fit_intercept, preparation, row_norm_bound, on_long_rows, tol
    random_state
        As in `PrivateLogisticRegression`.
    kernel : {"linear", "gaussian"}
    gamma : float
        Of the Gaussian kernel exp(-gamma |x - x'|^2), in units of X to the power -2. Public.
    n_random_features : int
        Even. Features of the Gaussian kernel; `coef_` has as many columns. Their norm is 1 by
        construction, so no row is too long for `row_norm_bound`.
    huber_width : float
        h, in (0, 1].

    Warnings
    --------
    Whoever has `random_state` can take the noise off again, and it is not saved; as for
    `PrivateLogisticRegression`.

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

    kernel: str
    gamma: float
    n_random_features: int
    huber_width: float

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        method: str = "objective",
        regularization: float = 1e-4,
        kernel: str = "linear",
        gamma: float = 1.0,
        n_random_features: int = 100,
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
        """The Huber hinge loss."""
        if not (isinstance(self.huber_width, NUMBERS) and 0 < self.huber_width <= 1):
            raise ParameterError("huber_width", "in (0, 1]", self.huber_width)
        return huber_hinge(float(self.huber_width))

    def bounded_features(self, n_columns: int, rng: np.random.Generator) -> BoundedFeatures:
        """The rows, or random features of the Gaussian kernel."""
        require_one_of("kernel", self.kernel, KERNELS)
        if self.kernel == "linear":
            return super().bounded_features(n_columns, rng)
        check_positive("gamma", self.gamma)
        count = self.n_random_features
        if not isinstance(count, int | np.integer) or count < 2 or count % 2:
            raise ParameterError("n_random_features", "a positive even integer", count)
        frequencies = gaussian_frequencies(n_columns, count, self.gamma, rng)
        linear = super().bounded_features(n_columns, rng)
        # On the sphere directions have length 1, in which gamma counts.
        return replace(linear, row_norm_bound=1.0, frequencies=frequencies)
