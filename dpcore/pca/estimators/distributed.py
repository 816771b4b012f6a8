"""Private PCA of rows spread over sites, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray
from dpcore.errors import require_one_of
from dpcore.pca.estimators.private_estimator import RandomState
from dpcore.pca.estimators.private_pca import Denoising, PrivatePCA
from dpcore.pca.estimators.rows import features_and_sites, rows_of_sites
from dpcore.pca.estimators.shared_descriptions import insert_shared_descriptions
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import ReleaseSettings, check_count
from dpcore.picture_kinds import FULL
from dpcore.privacy import PrivacyBudget


@insert_shared_descriptions
class DistributedPCA(PrivatePCA):
    """Differentially private PCA of rows that are spread over sites.

    Guarantee: `guarantee_`, the exact (epsilon, delta) for every person under replace-one
    neighbours (l2-sensitivity sqrt(2) c^2 / n_s of a site's second moment, c = 1 on the sphere), if
    the row norm bound was chosen without the data. With the default calibration it equals the
    requested one; with "published" calibration it differs.

    Parameters
    ----------
    {n_components}
    {epsilon_delta}
    intermediate_dim : int or None
        R, the number of directions that a site sends under "dpdis"; None is min(2 K, n_features).
    protocol : str
        Key of a registered protocol that starts from sites (`dpcore.pca.protocols`);
        `python -m dpcore run --help` lists them.
    {matrix_noise}
    {preparation}
        Sites use the average of their noisy means; "local" uses its own.
    {mean_share}
    {row_bound}
    masks : {"published", "wide"}
        Scale of the masks of "cape".
    honest_sites : int or None
        Number of sites that the guarantee of "cape" assumes to keep their masks and noise secret;
        None is all but one.
    {random_state}

    Attributes
    ----------
    {subspace_}
    noise_scale_ : ndarray of shape (n_sites,)
        Noise standard deviation in one second-moment entry, for each site that adds noise: only
        the first under "local", the aggregator under "pooled". The masks of "cape" cancel and are
        not included.
    {guarantee_}
    assessment_ : Assessment or None
        Assessment from the noisy matrices, at no cost in budget (`dpcore.pca.assessment`). None
        under "sequential", with noise that is not Gaussian, and under "dpdis" unless the noise is
        isometric, components are ranked by value and no mean was subtracted. The following
        attributes are taken from it; their error gives the reason if it is None.
    {explained_variance_}
    suggested_n_components_ : int
        Number of components that exceed the noise, too large in at most 1 % of releases. Not
        available under "dpdis".
    bytes_sent_ : int
        Bytes sent by all sites together.
    sites_ : ndarray of shape (n_sites,)
        Labels of the sites, sorted.
    {input_}

    Warnings
    --------
    Anyone who has `random_state` can remove the noise. Leave it None for every release of real
    rows. Do not use an int for two data sets, or for the same rows at other sites: with the same
    settings both get the same noise, and their difference has none. Fits that differ only in K, R
    or truncation read the same noise, as do "dpdis", "full" and, except on the sphere, "local";
    every other setting draws its own. It is never saved: copies made by pickle, joblib or copy have
    None.

    References
    ----------
    Imtiaz & Sarwate (2018), "Differentially private distributed principal component analysis",
    Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.pca import DistributedPCA
    >>> X = np.random.default_rng(0).standard_normal((300, 8)) / 10
    >>> pca = DistributedPCA(2, epsilon=1.0, random_state=0).fit(X, sites=np.arange(300) % 3)
    >>> pca.components_.shape
    (2, 8)
    """

    intermediate_dim: int | None
    protocol: str
    masks: str
    honest_sites: int | None

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        intermediate_dim: int | None = None,
        protocol: str = "dpdis",
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
        masks: str = "published",
        honest_sites: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def fit_transform(
        self, X: ArrayLike, y: object = None, *, sites: ArrayLike | str | None = None
    ) -> FloatArray:
        """Release a subspace for these rows and return their coordinates.

        Parameters are those of `fit`; coordinates are those of `transform`.
        """
        if isinstance(sites, str):
            X, sites = features_and_sites(X, sites)
        return self.fit(X, y, sites=sites).transform(X)

    def fit(self, X: ArrayLike, y: object = None, *, sites: ArrayLike | str | None = None) -> Self:
        """Release a subspace for these rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Each row is a different person. A Dask array or DataFrame is computed into memory.
        y : ignored
        sites : array of shape (n_samples,) or str, optional
            Label of the site that holds each row, or the name of the column of a DataFrame with
            the labels, which is then no feature. "parts" makes each partition of a Dask array or
            DataFrame a site. Default: a single site.

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint, or a site holds fewer than 2 people.
        """
        from_sites = {key: entry for key, entry in PROTOCOLS.items() if entry.has_sites}
        require_one_of("protocol", self.protocol, from_sites)
        protocol = from_sites[self.protocol]
        if isinstance(sites, str):
            X, sites = features_and_sites(X, sites)
        rows = self._bound_rows(X)
        intermediate_dim = self.intermediate_dim
        if intermediate_dim is None:
            check_count("n_components", self.n_components)
            intermediate_dim = min(2 * self.n_components, rows.shape[1])
        settings = ReleaseSettings(
            budget=PrivacyBudget(self.epsilon, self.delta),
            **self._noise_settings(),
            **self._preparation_settings(self.mean_share) | {"intermediate_dim": intermediate_dim},
            masks=self.masks,
            honest_sites=self.honest_sites,
        )
        settings.check_features(rows.shape[1])
        self.sites_, members = rows_of_sites(sites, len(rows))
        draw = self._draw(
            rows,
            settings,
            members,
            # Protocols that read the same noise have the same root.
            noise=(protocol.reads(on_sphere=settings.on_sphere).name,),
            proxies=protocol.wants_proxies,
            average=protocol.wants_average,
        )
        subspace = protocol.release(draw)
        self._store(subspace, rows.dtype, protocol.assess(draw))
        self._no_assessment_because = protocol.why_silent(settings)
        self.bytes_sent_ = int(subspace.bytes_sent.sum())
        return self
