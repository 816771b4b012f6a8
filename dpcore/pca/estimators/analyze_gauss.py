"""Analyze Gauss as a scikit-learn estimator, also for rows that come in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from dpcore.arrays import FloatArray
from dpcore.data.dataset import FULL
from dpcore.errors import ParameterError
from dpcore.pca.draw import Draw
from dpcore.pca.estimators.private_estimator import RandomState
from dpcore.pca.estimators.private_pca import Denoising, PrivatePCA
from dpcore.pca.estimators.rows import bounded_rows
from dpcore.pca.protocols.holder import noisy_pool
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import RunningMoments


class AnalyzeGaussPCA(PrivatePCA):
    """Leading eigenvectors of a second moment with Gaussian noise.

    Guarantee: `guarantee_`, (epsilon, delta) for every person under replace-one neighbours
    (l2-sensitivity sqrt(2) c^2 / n, c = 1 on the sphere), if the row norm bound was chosen without
    the data. Rows may come in blocks: `partial_fit`, then `release`. Between the two calls the
    object holds the exact moments of all rows so far, which are as private as the rows. Copies made
    by pickle, joblib or copy do not contain them.

    Parameters
    ----------
    n_components : int
        K.
    epsilon, delta : float
        Requested guarantee of the release. ``epsilon=inf`` adds no noise.
    calibration : {"analytic", "classic", "published"}
    noise : {"isometric", "triangle"}
    truncation : {"psd", "svd"}
        Rank eigenvalues of the noisy matrix by value, or by magnitude.
    denoise : {"auto", "columns", "cosines", "none"}, PublicBasis or sequence of PublicBasis
        Basis choice as in `DistributedPCA`.
    image_shape : (height, width) or None
        Shape of pictures whose pixels are the columns, row by row.
    picture : {"full", "centred"}
        Whether pictures fill the frame or show an object in its middle.
    preparation : {"sphere", "bounded", "none"}
        "sphere": a private mean is released first, and every row is scaled to length 1 around it,
        so that only its direction counts; if `mean_share` is None and rows are no pictures, noisy
        votes of pairs of rows, which the guarantee includes, choose that mean, no centre, or
        differences of pairs in place of rows (`dpcore.pca.centre_rule`). "bounded": rows keep their
        length, up to the bound, and the outer product of a private mean is subtracted. "none": the
        same for rows that are already centred.
    mean_share : float or None
        Share of the budget, in mu squared, for that mean. None computes it from public numbers
        (`dpcore.pca.settings`); with 0, rows are taken as centred.
    row_norm_bound : float
        c, public; see `on_long_rows`.
    on_long_rows : {"clip", "refuse"}
        Treatment of rows longer than the bound. The error of "refuse" depends on the rows, and no
        guarantee covers it: use it only to check a table before anything is released.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        None uses fresh entropy of the operating system; see the warning.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), orthonormal rows
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues in units of the second moment; on the sphere, of rows of length 1.
    mean_ : ndarray of shape (n_features,)
        Released mean, which `transform` subtracts; zero if none was released.
    centre_choice_ : {"mean", "differences", "none"}
        Centre of the rows; without a mean it is zero.
    noise_scale_ : ndarray of shape (1,)
        Noise standard deviation in one second-moment entry.
    guarantee_ : Guarantee
    assessment_ : Assessment
        Assessment from the noisy matrix, at no cost in budget (`dpcore.pca.assessment`). The
        following attributes are taken from it.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Energy of each component without the noise, and its share of the total; ends of 90 %
        intervals are in `explained_variance_interval_` and `explained_variance_ratio_interval_`,
        shape (2, n_components).
    suggested_n_components_ : int
        Number of components that exceed the noise, too large in at most 1 % of releases.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names of X, if it has names.

    Warnings
    --------
    Anyone who has `random_state` can remove the noise. Leave it None for every release of real
    rows. Do not use an int for two data sets: with the same settings both get the same noise, and
    their difference has none. It is never saved: copies made by pickle, joblib or copy have None.

    References
    ----------
    Dwork, Talwar, Thakurta & Zhang (2014), "Analyze Gauss: optimal bounds for privacy-preserving
    principal component analysis", Algorithm 1.
    """

    _running: RunningMoments

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        calibration: str = "analytic",
        noise: str = "isometric",
        truncation: str = "psd",
        denoise: Denoising = "auto",
        image_shape: tuple[int, int] | None = None,
        picture: str = FULL,
        preparation: str = "sphere",
        mean_share: float | None = None,
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release a subspace for these rows; `y` is ignored.

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint.
        """
        self._store_release(self._draw(self._bound_rows(X), self._settings(), noise=("pooled",)))
        self.__dict__.pop("_running", None)
        return self

    @property
    def partial_fit(self) -> Callable[..., Self]:
        """Add a block of rows, X of shape (n_samples, n_features): partial_fit(X, y=None).

        `release` draws the noise, once for all rows. Each row must be a different person.

        Raises
        ------
        AttributeError
            If the preparation is "sphere", which reads rows twice: for their mean, and around it.
        """
        if self.preparation == "sphere":
            raise AttributeError(
                'partial_fit reads rows once, and "sphere" reads them twice, for a private mean '
                'and around it: choose preparation "bounded" or "none", or fit all rows at once'
            )
        return self._add_block

    def _add_block(self, X: ArrayLike, y: object = None) -> Self:
        if "_running" not in vars(self):
            rows = self._bound_rows(X)
            self._running = RunningMoments(rows.shape[1], rows.dtype)
        else:
            # All blocks have the data type of the first, because the bound includes its rounding.
            block: FloatArray = validate_data(self, X, dtype=[self._running.dtype], reset=False)
            rows, _ = bounded_rows(block, self.row_norm_bound, on_long_rows=self.on_long_rows)
        self._running.add(rows)
        return self

    def release(self) -> Self:
        """Release a subspace for all rows passed to `partial_fit`, and delete their moments.

        Raises
        ------
        ParameterError
            If there are no rows, or a parameter breaks its constraint.
        """
        if "_running" not in vars(self):
            raise ParameterError("rows", "passed to partial_fit before release", "none")
        moments = self._running.as_site()
        self._store_release(self._draw_of(moments, self._settings(), noise=("pooled",)))
        del self._running
        return self

    def _settings(self) -> ReleaseSettings:
        return ReleaseSettings(
            budget=PrivacyBudget(self.epsilon, self.delta),
            **self._noise_settings(),
            **self._preparation_settings(self.mean_share),
        )

    def _store_release(self, draw: Draw) -> None:
        average = noisy_pool(draw)
        settings, dtype = draw.settings, draw.moments.dtype
        protocol = PROTOCOLS["ag"]
        self._store(average.subspace(settings), dtype, protocol.assess(draw))
        self._no_assessment_because = protocol.why_silent(settings)

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self)

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in super().__getstate__().items() if key != "_running"}
