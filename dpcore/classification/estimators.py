"""The scikit-learn estimators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax

from dpcore.arrays import FloatArray
from dpcore.classification.fitting import NUMBERS, PrivateLinearClassifier, check_positive
from dpcore.classification.losses import LOGISTIC, Loss, huber_hinge
from dpcore.classification.training import BoundedFeatures, gaussian_frequencies
from dpcore.errors import ParameterError, require_one_of
from dpcore.pca.estimators.private_estimator import RandomState

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
        self.epsilon = epsilon
        self.method = method
        self.regularization = regularization
        self.fit_intercept = fit_intercept
        self.preparation = preparation
        self.row_norm_bound = row_norm_bound
        self.on_long_rows = on_long_rows
        self.tol = tol
        self.random_state = random_state

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
        self.epsilon = epsilon
        self.method = method
        self.regularization = regularization
        self.kernel = kernel
        self.gamma = gamma
        self.n_random_features = n_random_features
        self.huber_width = huber_width
        self.fit_intercept = fit_intercept
        self.preparation = preparation
        self.row_norm_bound = row_norm_bound
        self.on_long_rows = on_long_rows
        self.tol = tol
        self.random_state = random_state

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
