"""Private PCA of rows held in one place, as scikit-learn estimators.

The noise is added once. For rows spread over sites: `dpcore.pca.estimators.distributed_pca`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.draw import Draw
from dpcore.pca.estimators.private_estimator import RandomState
from dpcore.pca.estimators.private_pca import Denoising, PrivatePCA, bounded_rows
from dpcore.pca.protocols.distributed import noisy_pool
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.protocols.trusted import modsulq_average, sulq_average
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import RunningMoments


class AnalyzeGaussPCA(PrivatePCA):
    """Leading eigenvectors of a second moment with Gaussian noise.

    Promise: `guarantee_`, (epsilon, delta) for every person under replace-one neighbours
    (l2-sensitivity sqrt(2) c^2 / n, c = 1 on the sphere), provided the row norm bound was chosen
    without the data. Rows may come in blocks: `partial_fit`, then `release`. Between the two it
    holds the exact moments of all rows so far, which are as private as the rows; they are in
    nothing that pickle, joblib or copy make of it.

    Parameters
    ----------
    n_components : int
        K.
    epsilon, delta : float
        Asked of the release. ``epsilon=inf`` adds no noise.
    calibration : {"analytic", "classic", "published"}
    noise : {"isometric", "triangle"}
    truncation : {"psd", "svd"}
        Rank eigenvalues of the noisy matrix by value, or by magnitude.
    denoise : {"auto", "columns", "none"}, PublicBasis or sequence of PublicBasis
        As in `DistributedPCA`.
    preparation : {"sphere", "bounded", "none"}
        "sphere": every row is brought to length 1 around a private mean, released first; rows
        count by their direction alone. "bounded": rows keep their length, up to the bound, and a
        private mean's outer product is subtracted. "none": the same, taken as centred.
    mean_share : float or None
        Share of the budget, in mu squared, for that mean; None leaves it to a rule that reads
        public numbers alone (`dpcore.pca.mean_share`), 0 takes rows as centred.
    row_norm_bound : float
        c, public; see `on_long_rows`.
    on_long_rows : {"clip", "refuse"}
        What happens to rows longer than the bound. Refusing reads the rows, which no guarantee
        covers: for holders who check their table before they release anything.
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
    noise_scale_ : ndarray of shape (1,)
        Noise standard deviation in one second-moment entry.
    guarantee_ : Guarantee
    assessment_ : Assessment or None
        What the release says of itself, at no cost (`dpcore.pca.self_assessment`), and so, but for
        denoised components, of which there is none yet,
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        and 90 % intervals, `explained_variance[_ratio]_interval_` of shape (2, n_components);
    suggested_n_components_ : int
        how many stand out of the noise: too many in one release of 100 at most.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X had names.

    Warnings
    --------
    Whoever has `random_state` can take the noise off again. Leave it None for anything that leaves
    the laboratory. An int is for one data set: other rows under the same int and settings get the
    same noise, which drops out of the difference. Whatever it is, it is not saved: what pickle,
    joblib or copy make has None.

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
        denoise: Denoising = "none",
        preparation: str = "sphere",
        mean_share: float | None = None,
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.noise = noise
        self.truncation = truncation
        self.denoise = denoise
        self.preparation = preparation
        self.mean_share = mean_share
        self.row_norm_bound = row_norm_bound
        self.on_long_rows = on_long_rows
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release a subspace for these rows; `y` is ignored.

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint.
        """
        self._keep_release(self._draw(self._bounded(X), self._settings(), noise=("pooled",)))
        self.__dict__.pop("_running", None)
        return self

    @property
    def partial_fit(self) -> Callable[..., Self]:
        """Take in a block of rows, X of shape (n_samples, n_features): partial_fit(X, y=None).

        Nothing is drawn or released before `release`: one noise for all rows, each of another
        person. The mean is one of the moments, so that rows are read once.

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
        return self._take_in

    def _take_in(self, X: ArrayLike, y: object = None) -> Self:
        if "_running" not in vars(self):
            rows = self._bounded(X)
            self._running = RunningMoments(rows.shape[1], rows.dtype)
        else:
            # As the first block was: its bound counts the rounding of its data type.
            same: FloatArray = validate_data(self, X, dtype=[self._running.dtype], reset=False)
            rows, _ = bounded_rows(same, self.row_norm_bound, on_long_rows=self.on_long_rows)
        self._running.add(rows)
        return self

    def release(self) -> Self:
        """Release a subspace for all rows that `partial_fit` took in, and forget their moments.

        Raises
        ------
        ParameterError
            If there are none, or a parameter breaks its constraint.
        """
        if "_running" not in vars(self):
            raise ParameterError("rows", "taken in by partial_fit before they are released", "none")
        moments = self._running.as_site()
        self._keep_release(self._draw_of(moments, self._settings(), noise=("pooled",)))
        del self._running
        return self

    def _settings(self) -> ReleaseSettings:
        return ReleaseSettings(
            budget=PrivacyBudget(self.epsilon, self.delta),
            **self._noise_choices(),
            **self._prepared_for(self.mean_share),
        )

    def _keep_release(self, draw: Draw) -> None:
        average = noisy_pool(draw)
        settings, dtype = draw.settings, draw.moments.dtype
        protocol = PROTOCOLS["ag"]
        self._keep(average.subspace(settings), dtype, protocol.assess(draw))
        self._why_silent = protocol.why_silent(settings)

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self)

    def __getstate__(self) -> dict[str, object]:
        return {key: kept for key, kept in super().__getstate__().items() if key != "_running"}


class _SulqFamily(PrivatePCA):
    """What SuLQ and MOD-SuLQ share: everything but the noise."""

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        truncation: str = "psd",
        preparation: str = "sphere",
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.truncation = truncation
        self.preparation = preparation
        self.row_norm_bound = row_norm_bound
        self.on_long_rows = on_long_rows
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release a subspace for these rows; as `AnalyzeGaussPCA.fit`."""
        rows = self._bounded(X)
        settings = ReleaseSettings.published(
            budget=PrivacyBudget(self.epsilon, self.delta),
            truncation=self.truncation,
            **self._prepared_for(0.0),
        )
        average = self._average(self._draw(rows, settings, noise=(self._noise,)))
        self._keep(average.subspace(settings), rows.dtype, average.assessment(settings))
        return self


class SulqPCA(_SulqFamily):
    """SuLQ: noise on all D^2 entries of the second moment, then its symmetric part.

    Its scale comes from a bound that grows with the dimension: what holds, `guarantee_.epsilon`,
    is far below what was asked. For comparison with the 2012 paper; to get the most out of a
    budget use `AnalyzeGaussPCA`, whose attributes these are.

    Parameters
    ----------
    n_components, epsilon, delta, truncation, row_norm_bound, on_long_rows, random_state
        As in `AnalyzeGaussPCA`.
    preparation : {"sphere", "bounded", "none"}
        The same, around zero: no mean is released, and the last two are one.

    Warnings
    --------
    Whoever has `random_state` can take the noise off again, and it is not saved; as for
    `AnalyzeGaussPCA`.

    References
    ----------
    Blum, Dwork, McSherry & Nissim (2005), "Practical privacy: the SuLQ framework"; Chaudhuri,
    Sarwate & Sinha (2012), "Near-optimal differentially private principal components", section 3.
    """

    _noise, _average = "sulq", staticmethod(sulq_average)


class ModSulqPCA(_SulqFamily):
    """MOD-SuLQ: symmetric noise of scale beta on the second moment.

    As `SulqPCA`: its noise keeps far more than it promises. Attributes as in `AnalyzeGaussPCA`.

    Parameters
    ----------
    n_components, epsilon, delta, truncation, row_norm_bound, on_long_rows, random_state
        As in `AnalyzeGaussPCA`.
    preparation : {"sphere", "bounded", "none"}
        As in `SulqPCA`.

    Warnings
    --------
    Whoever has `random_state` can take the noise off again, and it is not saved; as for
    `AnalyzeGaussPCA`.

    References
    ----------
    Chaudhuri, Sarwate & Sinha (2012), Algorithm 1.
    """

    _noise, _average = "modsulq", staticmethod(modsulq_average)
