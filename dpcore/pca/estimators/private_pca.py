"""What the private PCA estimators share: bounded rows, labels of sites, seeds, projections.

The mean of the rows is as private as the rows. What they are centred by is released under the same
guarantee, and that is what `transform` subtracts; or they are taken as centred around a point known
without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.data.preparation import LONGEST_ON_SPHERE, check_norm_bound, in_units_of_bound, shorten
from dpcore.errors import ParameterError, require_one_of
from dpcore.pca.aggregator import Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.estimators.private_estimator import PrivateEstimator, check_long_rows
from dpcore.pca.self_assessment import Assessment
from dpcore.pca.settings import ReleaseSettings, bases_to_denoise_in, noise_of
from dpcore.privacy import Guarantee
from dpcore.spectra import PublicBasis, SiteMoments, SiteRows, site_moments
from dpcore.streams import Repetition

PREPARATIONS = ("sphere", "bounded", "none")
Denoising: TypeAlias = str | PublicBasis | Sequence[PublicBasis]


def check_preparation(preparation: str) -> None:
    """Refuse one that no estimator has."""
    require_one_of("preparation", preparation, PREPARATIONS)


def bounded_rows(X: FloatArray, bound: float, *, on_long_rows: str) -> tuple[FloatArray, int]:
    """Rows with Euclidean norm at most `bound`, and how many were longer.

    X: shape (n_samples, n_features), float32 or float64
    bound: Public: chosen without looking at the rows.
    on_long_rows: {"clip", "refuse"}. Shrink longer rows to the bound, or raise (see
        `check_long_rows`).
    Returns rows: shape (n_samples, n_features). X itself if no row comes near the bound.
    Returns n_clipped: Rows longer than the bound by more than the rounding of their own
        normalisation. Exact, for whoever holds the rows.
    Raises `ParameterError` if `on_long_rows` is unknown, the bound not in [1e-15, 1e15], or a row
        is longer and to be refused.
    """
    check_norm_bound("row_norm_bound", bound)
    rows, n_clipped = shorten(X, bound)
    check_long_rows(on_long_rows, n_clipped, f"{bound:g}")
    return rows, n_clipped


def rows_of_sites(sites: ArrayLike | None, n_samples: int) -> tuple[AnyArray, list[IntArray]]:
    """Labels in sorted order, and the row numbers that carry each.

    Raises `ParameterError` if there is not one label a row, or fewer than 2 rows carry a label.
    """
    if sites is None:
        return np.zeros(1, dtype=int), [np.arange(n_samples)]
    labels = column_or_1d(np.asarray(sites))
    if len(labels) != n_samples:
        raise ParameterError("sites", f"one label for each of the {n_samples} rows", len(labels))
    names, site_of_row, counts = np.unique(labels, return_inverse=True, return_counts=True)
    smallest = int(counts.argmin())
    if counts[smallest] < 2:
        raise ParameterError(
            "sites", f"at least 2 people each (site {names[smallest]})", int(counts[smallest])
        )
    order = np.argsort(site_of_row, kind="stable")
    return names, np.split(order, np.cumsum(counts)[:-1])


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    """What the private PCA estimators have in common: rows in, a subspace kept, projections out.

    A subclass names its parameters in `__init__` and gives `fit`; it has at least
    `n_components`, `preparation`, `row_norm_bound`, `on_long_rows` and `random_state`.
    """

    n_components: int
    denoise: Denoising
    preparation: str
    row_norm_bound: float

    components_: FloatArray
    eigenvalues_: FloatArray
    guarantee_: Guarantee
    noise_scale_: FloatArray
    mean_: FloatArray
    assessment_: Assessment | None
    # Half a sentence, for where there is none.
    _why_silent: str = ""

    @property
    def explained_variance_(self) -> FloatArray:
        """v_i^T A v_i of each component, of shape (n_components,), without bias."""
        return self._assessed().explained_variance.value

    @property
    def explained_variance_interval_(self) -> FloatArray:
        """Ends of a 90 % interval for each, of shape (2, n_components)."""
        return self._assessed().explained_variance.interval

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Of tr A, of shape (n_components,); NaN where that is lost in the noise."""
        return self._assessed().explained_variance_ratio.value

    @property
    def explained_variance_ratio_interval_(self) -> FloatArray:
        """Ends of a 90 % interval for each, of shape (2, n_components)."""
        return self._assessed().explained_variance_ratio.interval

    @property
    def suggested_n_components_(self) -> int:
        """How many of the components noise alone would not have given (`n_above_noise`)."""
        n_above_noise = self._assessed().n_above_noise
        if n_above_noise is None:
            raise AttributeError("of cut messages nobody can tell how many components stand out")
        return n_above_noise

    def _assessed(self) -> Assessment:
        check_is_fitted(self)
        if self.assessment_ is None:
            # An AttributeError, so that `hasattr` says that there is none.
            raise AttributeError(f"this release cannot tell how good it is: {self._why_silent}")
        return self.assessment_

    def transform(self, X: ArrayLike) -> FloatArray:
        """Coordinates within the subspace, (X - m) V^T, of shape (n_samples, n_components).

        m is `mean_`, the released one; zero where none was. Coordinates of a person's row are as
        private as the row; only the subspace and m are protected.
        """
        check_is_fitted(self)
        return (self._validated(X, reset=False) - self.mean_) @ self.components_.T

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Rows of the subspace, of shape (n_samples, n_features), from their coordinates."""
        check_is_fitted(self)
        rows: FloatArray = np.asarray(X)
        return rows @ self.components_ + self.mean_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validated(self, X: ArrayLike, *, reset: bool) -> FloatArray:
        rows: FloatArray = validate_data(
            self,
            X,
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_min_samples=2 if reset else 1,
        )
        return rows

    def _bounded(self, X: ArrayLike) -> FloatArray:
        """Rows as long as the bound at most; in its units, and of any length, for the sphere."""
        self._warn_of_fitted_preparation()
        check_preparation(self.preparation)
        rows = self._validated(X, reset=True)
        bounded, _ = bounded_rows(rows, self.row_norm_bound, on_long_rows=self.on_long_rows)
        if self.preparation != "sphere":
            return bounded
        room = np.empty_like(rows)
        return in_units_of_bound(rows, self.row_norm_bound, LONGEST_ON_SPHERE, room)[0]

    def _prepared_for(self, mean_share: float | None) -> dict[str, Any]:
        """Fields of `ReleaseSettings` that K and the preparation decide."""
        on_sphere = self.preparation == "sphere"
        return {
            "n_components": self.n_components,
            "intermediate_dim": self.n_components,
            "row_norm_bound": 1.0 if on_sphere else self.row_norm_bound,
            "mean_share": 0.0 if self.preparation == "none" else mean_share,
            "on_sphere": on_sphere,
        }

    def _noise_choices(self) -> dict[str, Any]:
        """Fields of `ReleaseSettings` that say what is added, and what is made of it."""
        chosen = {name: getattr(self, name) for name in ("calibration", "noise", "truncation")}
        if isinstance(self.denoise, str):
            return chosen | {"denoise": bases_to_denoise_in(self.denoise, **chosen)}
        bases = (self.denoise,) if isinstance(self.denoise, PublicBasis) else tuple(self.denoise)
        return chosen | {"denoise": bases}

    def _draw(
        self,
        rows: FloatArray,
        settings: ReleaseSettings,
        members: Sequence[IntArray] | None = None,
        *,
        noise: tuple[object, ...],
        proxies: bool = False,
        average: bool = False,
    ) -> Draw:
        """One draw over these sites, or over a single one that holds everybody.

        `noise` names what is drawn. K, R and truncation only read the same noisy matrices
        differently and are not part of its root; where the draw itself depends on one of them,
        it belongs into the name.
        """
        everybody = [np.arange(len(rows))]
        held = SiteRows.of if settings.on_sphere else site_moments
        moments = held(rows, everybody if members is None else members)
        return self._draw_of(moments, settings, noise=noise, proxies=proxies, average=average)

    def _draw_of(
        self,
        moments: SiteMoments | SiteRows,
        settings: ReleaseSettings,
        *,
        noise: tuple[object, ...],
        proxies: bool = False,
        average: bool = False,
    ) -> Draw:
        root = self._root_of_release(
            *noise,
            noise_of(settings),
            moments.n_samples.tolist(),
            moments.n_features,
            moments.dtype.name,
            # Up to where the mean read the rows: `settings` are in units of it.
            *((self.row_norm_bound,) if settings.on_sphere else ()),
        )
        return Draw(moments, settings, Repetition(root), proxies=proxies, average=average)

    def _keep(
        self,
        subspace: Subspace,
        dtype: np.dtype[np.floating[Any]],
        assessment: Assessment | None,
    ) -> None:
        self.components_ = subspace.components.astype(dtype, copy=False)
        self.eigenvalues_ = subspace.eigenvalues
        self.guarantee_ = subspace.guarantee
        self.noise_scale_ = subspace.sigma
        self.assessment_ = assessment
        self._keep_centre(subspace, dtype)

    def _keep_centre(self, subspace: Subspace, dtype: np.dtype[np.floating[Any]]) -> None:
        units = self.row_norm_bound if self.preparation == "sphere" else 1.0
        centre = np.zeros(self.n_features_in_) if subspace.centre is None else subspace.centre
        self.mean_ = (units * centre).astype(dtype)
