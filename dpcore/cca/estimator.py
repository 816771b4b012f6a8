"""Private CCA as a scikit-learn estimator, and cluster scores of its projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.metrics import calinski_harabasz_score, normalized_mutual_info_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from dpcore.arrays import FloatArray
from dpcore.cca.bounded_views import bound_views
from dpcore.cca.distributed import distributed_cca
from dpcore.data.row_bounds import check_norm_bound
from dpcore.errors import ParameterError
from dpcore.pca import ReleaseSettings
from dpcore.pca.estimators import (
    PrivateEstimator,
    RandomState,
    check_long_rows,
    check_preparation,
    warn_of_fitted_steps,
)
from dpcore.pca.settings import noise_of
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import SiteRows, site_moments
from dpcore.streams import Repetition


@dataclass(frozen=True, eq=False)
class ClusterScores:
    """Agreement of k-means clusters of projected rows with the labels.

    Attributes
    ----------
    nmi : float
        Normalised mutual information of clusters and labels, in [0, 1].
    calinski_harabasz : float
        Calinski-Harabasz index of the clusters: a ratio of variances, independent of the scale.
    calinski_harabasz_of_labels : float
        Calinski-Harabasz index of the true groups in this projection.
    clusters : ndarray of int, shape (n_samples,)
    """

    nmi: float
    calinski_harabasz: float
    calinski_harabasz_of_labels: float
    clusters: np.ndarray


def cluster_scores(
    scores: np.ndarray,
    labels: np.ndarray,
    *,
    n_clusters: int | None = None,
    rng: np.random.Generator,
) -> ClusterScores:
    """Cluster people by k-means in a projected space and compare with their labels.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_dimensions)
        Scores of one view, or of both side by side.
    labels : ndarray of int, shape (n_samples,)
        Labels with two or more different values.
    n_clusters : int, optional
        Number of clusters. Default: the number of different labels.
    rng : numpy.random.Generator
        Generator of the starts of k-means.

    Raises
    ------
    ParameterError
        If there are fewer than two labels, or fewer different rows than clusters.
    """
    n_labels = len(np.unique(labels))
    if n_labels < 2:
        raise ParameterError("labels", "of at least two groups", n_labels)
    n_clusters = n_labels if n_clusters is None else n_clusters
    n_rows = len(np.unique(scores, axis=0))
    if not 2 <= n_clusters < n_rows:
        raise ParameterError("n_clusters", f"in [2, {n_rows - 1}] for these rows", n_clusters)
    kmeans = KMeans(n_clusters, n_init=4, random_state=int(rng.integers(2**31)))
    # Few rows are finished before a second thread starts; on a busy machine the threads
    # wait for each other up to fifty times as long as the work takes.
    with threadpool_limits(1, user_api="openmp"):
        clusters = kmeans.fit_predict(scores)
    return ClusterScores(
        nmi=float(normalized_mutual_info_score(labels, clusters)),
        calinski_harabasz=float(calinski_harabasz_score(scores, clusters)),
        calinski_harabasz_of_labels=float(calinski_harabasz_score(scores, labels)),
        clusters=clusters,
    )


class PrivateCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    """Canonical correlation analysis with (epsilon, delta)-differential privacy.

    Releases the joint second moment of the rows [x y] with Gaussian noise (Imtiaz & Sarwate,
    "Differentially-private canonical correlation analysis"). The canonical pairs are computed from
    it by post-processing.

    The guarantee (`guarantee_`) covers all values that `fit` stores: the rotations, correlations,
    means and the noisy joint moment, for each row of [X Y] and replace-one neighbours. It assumes
    norm bounds that were chosen without the data and a public number of rows. `transform` uses raw
    rows, so scores and clusters of scores are not private. NaN and infinite entries raise an error
    before the release; no other row can make a release fail.

    Names follow scikit-learn's CCA. In contrast to it, `fit_transform(X, y)` returns only the x
    scores, like `fit(X, y).transform(X)`, so the estimator can be used in a pipeline.

    Parameters
    ----------
    n_components : int
        K, from 1 to min(n_x, n_y).
    epsilon : float
        Positive; infinity disables the noise and the guarantee.
    delta : float
        Value in (0, 1).
    calibration : {"analytic", "classic", "published"}
        "published": the poster's calibration, the classic formula at every epsilon; `guarantee_`
        has its exact epsilon. "classic": the same formula, refused above epsilon 1.
    noise : {"isometric", "triangle"}
        Noise shape with the same guarantee. "triangle" is the published shape, with more noise
        off the diagonal.
    floor : "auto" or float
        Smallest eigenvalue of the noisy joint moment after regularisation, in units of the
        bounded rows; "auto" derives it from the noise (`noise_floor`).
    preparation : {"sphere", "bounded", "none"}
        "sphere": each view of a person is scaled to a fixed length around a private mean that is
        released first; only the directions of views matter. "bounded": rows keep their length up
        to the bounds, and the outer product of a private mean is subtracted. "none": X and Y are
        assumed to be centred, as in the poster.
    mean_share : float or None
        Share of mu squared for the private mean. None: a rule that uses only public numbers
        (`dpcore.pca.settings`); no pairs vote. 0: X and Y are assumed to be centred.
    row_norm_bound : float or (float, float)
        Public bounds on the Euclidean norm of a row of X and of Y; one number for both.
    on_long_rows : {"clip", "refuse"}
        Treatment of joined rows [x y] that are longer than both bounds together allow. "refuse"
        reads the rows, which no guarantee covers; it is meant for a check before the first
        release.
    x_share : float
        Share of X in the squared length of [x y], in (0, 1).
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None

    Attributes
    ----------
    x_rotations_ : ndarray of shape (n_features, n_components)
    y_rotations_ : ndarray of shape (n_targets, n_components)
        Rotations in the units of X and Y. Scores have unit variance under the private estimate;
        on the sphere this refers to the scaled rows.
    correlations_ : ndarray of shape (n_components,)
        Private estimates, descending, in [0, 1].
    x_mean_, y_mean_ : ndarray of shape (n_features,) and (n_targets,)
        Private means, or zeros without a private mean.
    joint_moment_ : ndarray of shape (n_features + n_targets, n_features + n_targets)
        Noisy joint moment of the bounded and centred rows; on the sphere, of the scaled rows.
    floor_ : float
    guarantee_ : Guarantee
    noise_scale_ : ndarray of shape (1,)
        Standard deviation of the noise in an entry of the joint moment.
    n_features_in_ : int
        Number of columns of X.

    Warnings
    --------
    Knowledge of `random_state` allows the noise to be subtracted. Use None for every real release.
    Use an int for one data set only: other rows with the same int and settings get the same noise,
    which cancels in the difference. The value is not saved: copies made by pickle, joblib or copy
    have None.
    """

    n_components: int
    floor: float | str
    x_share: float
    row_norm_bound: float | tuple[float, float]

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        calibration: str = "analytic",
        noise: str = "isometric",
        floor: float | str = "auto",
        preparation: str = "sphere",
        mean_share: float | None = None,
        x_share: float = 0.5,
        row_norm_bound: float | tuple[float, float] = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Release the joint second moment of [X y] and compute its canonical pairs.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples, n_targets) or (n_samples,)
            The second view.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is outside its range, before any noise is drawn.
        """
        warn_of_fitted_steps(self)
        check_preparation(self.preparation)
        x_rows, y_rows = validate_data(
            self,
            X,
            y,
            dtype=(np.float64, np.float32),
            ensure_min_samples=2,
            multi_output=True,
            y_numeric=True,
        )
        y_rows = _as_columns(y_rows)
        x_bound, y_bound = self._norm_bounds()
        views = bound_views(
            x_rows,
            y_rows,
            x_share=self.x_share,
            mode=self.preparation,
            x_norm_bound=x_bound,
            y_norm_bound=y_bound,
        )
        check_long_rows(self.on_long_rows, views.n_clipped, f"({x_bound:g}, {y_bound:g})")
        n_x = x_rows.shape[1]
        settings = self._settings()
        one_site = (np.arange(len(x_rows)),)
        root = self._root_of_release(
            "joint moment",
            noise_of(settings),
            (self.x_share, x_bound, y_bound),
            (x_rows.shape, y_rows.shape[1]),
            views.joined.dtype.name,
        )
        pairs = distributed_cca(
            SiteRows.of(views.joined, one_site, parts=views.parts)
            if settings.on_sphere
            else site_moments(views.joined, one_site),
            n_x,
            settings,
            protocol="pooled",
            floor=self.floor,
            repetition=Repetition(root),
        )
        self.x_rotations_ = pairs.x_rotations * views.x_scale
        self.y_rotations_ = pairs.y_rotations * views.y_scale
        self.correlations_ = pairs.correlations
        self.x_mean_ = pairs.mean[:n_x] / views.x_scale
        self.y_mean_ = pairs.mean[n_x:] / views.y_scale
        self.joint_moment_ = pairs.joint_moment
        self.floor_ = pairs.floor
        self.guarantee_ = pairs.guarantee
        self.noise_scale_ = pairs.sigma
        return self

    def _settings(self) -> ReleaseSettings:
        return ReleaseSettings(
            PrivacyBudget(self.epsilon, self.delta),
            n_components=self.n_components,
            intermediate_dim=self.n_components,
            calibration=self.calibration,
            noise=self.noise,
            mean_share=0.0 if self.preparation == "none" else self.mean_share,
            on_sphere=self.preparation == "sphere",
        )

    def _norm_bounds(self) -> tuple[float, float]:
        both = self.row_norm_bound
        if not isinstance(both, tuple | list):
            both = (both, both)
        if len(both) != 2:
            raise ParameterError("row_norm_bound", "one number or two, for X and for Y", both)
        for bound in both:
            check_norm_bound("row_norm_bound", bound)
        return both[0], both[1]

    def transform(
        self, X: ArrayLike, y: ArrayLike | None = None
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Compute scores of people along the private directions. They are not private.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples, n_targets) or (n_samples,), optional

        Returns
        -------
        x_scores : ndarray of shape (n_samples, n_components)
        y_scores : ndarray of shape (n_samples, n_components)
            Second scores, only with `y`.
        """
        check_is_fitted(self)
        x_rows: FloatArray = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        x_scores: FloatArray = (x_rows - self.x_mean_) @ self.x_rotations_
        if y is None:
            return x_scores
        y_rows = _as_columns(check_array(y, dtype=(np.float64, np.float32), ensure_2d=False))
        expected = len(x_rows), len(self.y_mean_)
        if y_rows.shape != expected:
            raise ParameterError("y", f"of shape {expected}", y_rows.shape)
        y_scores: FloatArray = (y_rows - self.y_mean_) @ self.y_rotations_
        return x_scores, y_scores

    @property
    def _n_features_out(self) -> int:
        return len(self.x_rotations_.T)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _as_columns(view: FloatArray) -> FloatArray:
    return view[:, None] if view.ndim == 1 else view
