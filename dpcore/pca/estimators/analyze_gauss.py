"""Analyze Gauss as a scikit-learn estimator, also for rows that come in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.draw import Draw
from dpcore.pca.estimators.private_estimator import RandomState
from dpcore.pca.estimators.private_pca import Denoising, PrivatePCA
from dpcore.pca.estimators.rows import bounded_rows
from dpcore.pca.estimators.shared_descriptions import insert_shared_descriptions
from dpcore.pca.protocols.holder import noisy_pool
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import ReleaseSettings
from dpcore.picture_kinds import FULL
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import RunningMoments


@insert_shared_descriptions
class AnalyzeGaussPCA(PrivatePCA):
    """Leading eigenvectors of a second moment with Gaussian noise.

    Guarantee: `guarantee_`, (epsilon, delta) for every person under replace-one neighbours
    (l2-sensitivity sqrt(2) c^2 / n, c = 1 on the sphere), if the row norm bound was chosen without
    the data. Rows may come in blocks: `partial_fit`, then `release`. Between the two calls the
    object holds the exact moments of all rows so far, which are as private as the rows. Copies made
    by pickle, joblib or copy do not contain them.

    Parameters
    ----------
    {n_components}
    {epsilon_delta}
    {matrix_noise}
    {preparation}
    {mean_share}
    {row_bound}
    {random_state}

    {sections_of_matrix}

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
