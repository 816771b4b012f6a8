"""Base class of the private PCA estimators: rows, draw of the noise, subspace and projections."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from dpcore.arrays import FloatArray, IntArray
from dpcore.data.row_bounds import LONGEST_ON_SPHERE, in_units_of_bound
from dpcore.errors import ParameterError
from dpcore.pca.aggregator import Subspace
from dpcore.pca.assessment import Assessment
from dpcore.pca.centre_rule import ACCURATE_MEAN, DIFFERENCES, centre_rule
from dpcore.pca.draw import Draw
from dpcore.pca.estimators.fitted_steps import warn_of_fitted_steps
from dpcore.pca.estimators.private_estimator import PrivateEstimator
from dpcore.pca.estimators.rows import bounded_rows, check_preparation
from dpcore.pca.settings import ReleaseSettings, bases_to_denoise_in, noise_of
from dpcore.picture_kinds import FULL
from dpcore.privacy import Guarantee
from dpcore.spectra import PublicBasis, SiteMoments, SiteRows, site_moments
from dpcore.spectra.site_rows import directions
from dpcore.statistics import PrivateScores, private_scores, score_limits
from dpcore.streams import Purpose, Repetition, stream

Denoising: TypeAlias = str | PublicBasis | Sequence[PublicBasis]


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    """Base class of the private PCA estimators.

    A subclass names its parameters in `__init__` and implements `fit`; it has at least
    `n_components`, `preparation`, `row_norm_bound`, `on_long_rows` and `random_state`.
    """

    calibration: str
    noise: str
    truncation: str
    mean_share: float | None
    n_components: int
    denoise: Denoising
    row_norm_bound: float

    components_: FloatArray
    eigenvalues_: FloatArray
    guarantee_: Guarantee
    noise_scale_: FloatArray
    mean_: FloatArray
    centre_choice_: str
    assessment_: Assessment | None
    # Reason for a missing assessment, as half a sentence.
    _no_assessment_because: str = ""

    @property
    def explained_variance_(self) -> FloatArray:
        """Return an unbiased estimate of v_i^T A v_i per component, shape (n_components,)."""
        return self._assessment().explained_variance.value

    @property
    def explained_variance_interval_(self) -> FloatArray:
        """Return the ends of 90 % intervals, shape (2, n_components)."""
        return self._assessment().explained_variance.interval

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Return the share of tr A per component, shape (n_components,); NaN if tr A may be 0."""
        return self._assessment().explained_variance_ratio.value

    @property
    def explained_variance_ratio_interval_(self) -> FloatArray:
        """Return the ends of 90 % intervals, shape (2, n_components)."""
        return self._assessment().explained_variance_ratio.interval

    @property
    def suggested_n_components_(self) -> int:
        """Return the number of components that exceed the noise (`n_above_noise`)."""
        n_above_noise = self._assessment().n_above_noise
        if n_above_noise is None:
            raise AttributeError("n_above_noise is unknown for cut messages")
        return n_above_noise

    def _assessment(self) -> Assessment:
        check_is_fitted(self)
        if self.assessment_ is None:
            # AttributeError makes `hasattr` return False.
            raise AttributeError(f"this release has no assessment: {self._no_assessment_because}")
        return self.assessment_

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return coordinates within the subspace, (X - mean_) V^T, (n_samples, n_components).

        Only the subspace and the released mean are protected: the coordinates of a person's row are
        as private as the row.
        """
        check_is_fitted(self)
        return (self._validate(X, reset=False) - self.mean_) @ self.components_.T

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Return the rows with these coordinates, shape (n_samples, n_features)."""
        check_is_fitted(self)
        rows: FloatArray = np.asarray(X)
        return rows @ self.components_ + self.mean_

    def private_scores(
        self,
        X: ArrayLike,
        *,
        epsilon: float,
        delta: float = 0.0,
        mechanism: str = "gaussian",
        bins: int | None = None,
        groups: ArrayLike | None = None,
        labels: Sequence[Hashable] | None = None,
        sites: ArrayLike | None = None,
        combine: str = "noisy",
        honest_sites: int | None = None,
    ) -> PrivateScores:
        """Release where people lie on the first two private components.

        Rows are prepared as for the fit: no longer than the bound, on the sphere at length 1 around
        `mean_`. The limits of the plot follow from `eigenvalues_` (`score_limits`). This is a query
        of its own: its budget adds to that of the components. Every call draws new noise from
        `random_state`, and an int gives the same noise again for the same arguments.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        epsilon, delta, mechanism, bins, groups, labels, sites, combine, honest_sites
            See `dpcore.statistics.private_scores`.

        Returns
        -------
        dpcore.statistics.PrivateScores

        Raises
        ------
        ParameterError
            If there are fewer than two components, or an argument is outside its range.
        """
        check_is_fitted(self)
        if len(self.components_) < 2:
            raise ParameterError("n_components", "at least 2 for a score plot", 1)
        rows = self._prepared_rows(X)
        is_on_sphere = self.preparation == "sphere"
        bound = 1.0 if is_on_sphere else self.row_norm_bound
        is_of_differences = self.centre_choice_ == DIFFERENCES
        eigenvalues = getattr(self, "eigenvalues_", None)
        root = self._root_of_release(
            "scores", len(rows), epsilon, delta, mechanism, bins, groups is not None, combine
        )
        return private_scores(
            rows @ self.components_[:2].T,
            limits=score_limits(None if is_of_differences else eigenvalues, bound),
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            bins=bins,
            groups=groups,
            labels=labels,
            sites=sites,
            combine=combine,
            honest_sites=honest_sites,
            rng=stream(root, Purpose.STATISTIC),
        )

    def _prepared_rows(self, X: ArrayLike) -> FloatArray:
        """Return rows around the released centre, as the fit prepares them; not private."""
        rows = self._validate(X, reset=False).astype(np.float64)
        if self.preparation != "sphere":
            bounded, _ = bounded_rows(rows, self.row_norm_bound, on_long_rows="clip")
            return bounded - self.mean_
        out = np.empty_like(rows)
        in_units_of_bound(rows, self.row_norm_bound, LONGEST_ON_SPHERE, out)
        return directions(out, self.mean_ / self.row_norm_bound)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate(self, X: ArrayLike, *, reset: bool) -> FloatArray:
        rows: FloatArray = validate_data(
            self,
            X,
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_min_samples=2 if reset else 1,
        )
        return rows

    def _bound_rows(self, X: ArrayLike) -> FloatArray:
        """Return rows no longer than the bound; on the sphere, rows in units of the bound."""
        warn_of_fitted_steps(self)
        check_preparation(self.preparation)
        rows = self._validate(X, reset=True)
        bounded, _ = bounded_rows(rows, self.row_norm_bound, on_long_rows=self.on_long_rows)
        if self.preparation != "sphere":
            return bounded
        out = np.empty_like(rows)
        return in_units_of_bound(rows, self.row_norm_bound, LONGEST_ON_SPHERE, out)[0]

    def _preparation_settings(self, mean_share: float | None) -> dict[str, Any]:
        """Return the fields of `ReleaseSettings` that K and the preparation decide."""
        on_sphere = self.preparation == "sphere"
        shape, picture = getattr(self, "image_shape", None), getattr(self, "picture", FULL)
        rule = centre_rule(shape, picture) if on_sphere else ACCURATE_MEAN
        return {
            "n_components": self.n_components,
            "intermediate_dim": self.n_components,
            "row_norm_bound": 1.0 if on_sphere else self.row_norm_bound,
            "mean_share": 0.0 if self.preparation == "none" else mean_share,
            "on_sphere": on_sphere,
            "centred_by": rule,
        }

    def _noise_settings(self) -> dict[str, Any]:
        """Return the fields of `ReleaseSettings` for the noise, the ranking and the denoising."""
        chosen = {name: getattr(self, name) for name in ("calibration", "noise", "truncation")}
        if isinstance(self.denoise, str):
            shape, picture = getattr(self, "image_shape", None), getattr(self, "picture", FULL)
            return chosen | {"bases": bases_to_denoise_in(self.denoise, shape, picture, **chosen)}
        bases = (self.denoise,) if isinstance(self.denoise, PublicBasis) else tuple(self.denoise)
        return chosen | {"bases": bases}

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
        """Return one draw over these sites, or over a single site with all rows.

        noise: Identity of the noise, part of its root. K, R and truncation are not part of the root
            if they only affect how the same noisy matrices are read. If the noise itself depends on
            one of them, include it here.
        """
        all_rows = [np.arange(len(rows))]
        moments_of = SiteRows.of if settings.on_sphere else site_moments
        moments = moments_of(rows, all_rows if members is None else members)
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
            # On the sphere, `settings` are in units of the bound, so that it is not part of them.
            *((self.row_norm_bound,) if settings.on_sphere else ()),
        )
        return Draw(moments, settings, Repetition(root), proxies=proxies, average=average)

    def _store(
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
        self.centre_choice_ = subspace.centre_choice
        self._store_mean(subspace, dtype)

    def _store_mean(self, subspace: Subspace, dtype: np.dtype[np.floating[Any]]) -> None:
        units = self.row_norm_bound if self.preparation == "sphere" else 1.0
        centre = np.zeros(self.n_features_in_) if subspace.centre is None else subspace.centre
        self.mean_ = (units * centre).astype(dtype)
