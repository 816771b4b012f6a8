"""Private PCA of rows spread over sites, as a scikit-learn estimator.

A thin class over `Draw` and the protocols: rows are validated and bounded, labels become sites,
and what a protocol returns becomes attributes. Every decision about privacy is taken in the
functions underneath.
"""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from dpcore.errors import require_one_of
from dpcore.pca.estimators.private_estimator import RandomState
from dpcore.pca.estimators.private_pca import Denoising, PrivatePCA, rows_of_sites
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import PrivacyBudget


class DistributedPCA(PrivatePCA):
    """Differentially private PCA of rows that are spread over sites.

    Promise: `guarantee_`, an exact (epsilon, delta) for every person under replace-one neighbours
    (l2-sensitivity sqrt(2) c^2 / n_s of a site's second moment, c = 1 on the sphere), provided the
    row norm bound was chosen without the data. With the default calibration it is what was asked;
    "published" noise promises something else, which `guarantee_` says.

    Parameters
    ----------
    n_components : int
        K.
    epsilon, delta : float
        Asked of the release. ``epsilon=inf`` adds no noise.
    intermediate_dim : int or None
        R, directions a site sends under "dpdis"; None takes min(2 K, n_features).
    protocol : {"dpdis", "full", "local", "pooled", "cape", "sequential", "wishart"}
        Sites send their leading directions; whole matrices; nothing (the first site is on its
        own); raw rows to a trusted aggregator; whole matrices under masks that cancel; a proxy
        from one to the next; raw rows, for a release without a delta.
    calibration : {"analytic", "classic", "published"}
    noise : {"isometric", "triangle"}
    truncation : {"psd", "svd"}
        Rank eigenvalues of noisy matrices by value, or by magnitude as published.
    denoise : {"auto", "columns", "none"}, PublicBasis or sequence of PublicBasis
        Public bases in which noise is told from signal before a noisy matrix is decomposed
        (`dpcore.spectra.denoise`): for pictures ``[cosine_basis((height, width)), COLUMNS]``.
        "auto" is "columns", and "none" beside published calibration, triangle noise or svd.
    preparation : {"sphere", "bounded", "none"}
        "sphere": every row is brought to length 1 around a private mean, released first; rows
        count by their direction alone. "bounded": rows keep their length, up to the bound, and a
        private mean's outer product is subtracted. "none": the same, taken as centred. Sites
        share one mean, released by all; "local" uses its own.
    mean_share : float or None
        Share of the budget, in mu squared, for that mean; None leaves it to a rule that reads
        public numbers alone (`dpcore.pca.mean_share`), 0 takes rows as centred.
    row_norm_bound : float
        c, public; see `on_long_rows`.
    on_long_rows : {"clip", "refuse"}
        What happens to rows longer than the bound. Refusing reads the rows, which no guarantee
        covers: for holders who check their table before they release anything.
    masks : {"published", "wide"}
        Of "cape".
    honest_sites : int or None
        How many sites the guarantee of "cape" counts on to keep their masks and noises to
        themselves; None is all but one.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        None is fresh entropy from the operating system; see the warning.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), orthonormal rows
    eigenvalues_ : ndarray of shape (n_components,)
        In units of the second moment, on the sphere that of rows of length 1.
    mean_ : ndarray of shape (n_features,)
        What was released for the rows to be centred by, and `transform` subtracts; zero where
        nothing was.
    noise_scale_ : ndarray of shape (n_sites,)
        Noise standard deviation in one second-moment entry at each site that adds noise: the
        first alone under "local", the aggregator under "pooled"; without the masks of "cape",
        which cancel.
    guarantee_ : Guarantee
    assessment_ : Assessment or None
        What the release says of itself, at no cost (`dpcore.pca.self_assessment`);
        None under "sequential", whose sites cut away what would be needed, "wishart", whose noise
        is not Gaussian, denoised components, and "dpdis" but for isometric noise ranked by value
        with no mean subtracted. Then there is none of the following, and asking for it says why.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Energy of each without the noise, and its share of all; ends of 90 % intervals are in
        `explained_variance_interval_`, `explained_variance_ratio_interval_`, (2, n_components).
    suggested_n_components_ : int
        How many components stand out of the noise; too many in one release of 100 at most. Not
        told under "dpdis".
    bytes_sent_ : int
        By all sites together.
    sites_ : ndarray of shape (n_sites,)
        Labels, in the order of the sites.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X had names.

    Warnings
    --------
    Whoever has `random_state` can take the noise off again. Leave it None for anything that leaves
    the laboratory. An int is for one data set: other rows under the same int and settings get the
    same noise, which drops out of the difference; so do the same rows at other sites. K, R,
    truncation, and "dpdis" beside "full" (and "local", but for the sphere) read one noise; every
    other setting draws its own. Whatever it is, it is not saved: what pickle, joblib or copy make
    has None.

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
        denoise: Denoising = "none",
        preparation: str = "sphere",
        mean_share: float | None = None,
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        masks: str = "published",
        honest_sites: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.intermediate_dim = intermediate_dim
        self.protocol = protocol
        self.calibration = calibration
        self.noise = noise
        self.truncation = truncation
        self.denoise = denoise
        self.preparation = preparation
        self.mean_share = mean_share
        self.row_norm_bound = row_norm_bound
        self.on_long_rows = on_long_rows
        self.masks = masks
        self.honest_sites = honest_sites
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, *, sites: ArrayLike | None = None) -> Self:
        """Release a subspace for these rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows are people; nobody appears twice.
        y : ignored
        sites : array of shape (n_samples,), optional
            Label of the site that holds each row; one site holds everybody without it.

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint, or a site holds fewer than 2 people.
        """
        offered = {key: entry for key, entry in PROTOCOLS.items() if entry.has_sites}
        require_one_of("protocol", self.protocol, offered)
        protocol = offered[self.protocol]
        rows = self._bounded(X)
        intermediate_dim = self.intermediate_dim
        if intermediate_dim is None:
            intermediate_dim = min(2 * self.n_components, rows.shape[1])
        settings = ReleaseSettings(
            budget=PrivacyBudget(self.epsilon, self.delta),
            **self._noise_choices(),
            **self._prepared_for(self.mean_share) | {"intermediate_dim": intermediate_dim},
            masks=self.masks,
            honest_sites=self.honest_sites,
        )
        settings.check_features(rows.shape[1])
        self.sites_, members = rows_of_sites(sites, len(rows))
        draw = self._draw(
            rows,
            settings,
            members,
            # Protocols that read one noise are one release with one seed.
            noise=(protocol.reads(on_sphere=settings.on_sphere).name,),
            proxies=protocol.wants_proxies,
            average=protocol.wants_average,
        )
        subspace = protocol.release(draw)
        self._keep(subspace, rows.dtype, protocol.assess(draw))
        self._why_silent = protocol.why_silent(settings)
        self.bytes_sent_ = int(subspace.bytes_sent.sum())
        return self
