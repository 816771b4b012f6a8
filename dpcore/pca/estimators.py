"""Private PCA as scikit-learn estimators.

Every estimator has the keyword parameters `epsilon`, `delta` if its guarantee has one,
`row_norm_bound`, `on_long_rows` and `random_state`; published variants with a weaker guarantee have
parameters of their own. A fitted estimator has `guarantee_` and `noise_scale_`: an array with the
scale of each site's noise, of shape (1,) if noise is added once.

The result together with the source of the noise reveals the result without noise. Copies, clones
and saved estimators therefore do not contain `random_state`.

`DistributedPCA` is for rows spread over sites; the other estimators are for rows in one place. Rows
are centred by a private mean, which `transform` subtracts, or taken as centred around a public
point.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.data.row_bounds import LONGEST_ON_SPHERE, check_norm_bound, in_units_of_bound, shorten
from dpcore.errors import ParameterError, PreparationWarning, require_one_of
from dpcore.pca.aggregator import Subspace
from dpcore.pca.assessment import Assessment
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.holder import noisy_pool
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.protocols.trusted_holder import modsulq_average, ppca, sulq_average
from dpcore.pca.settings import ReleaseSettings, bases_to_denoise_in, noise_of
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.spectra import PublicBasis, RunningMoments, SiteMoments, SiteRows, site_moments
from dpcore.streams import Purpose, Repetition, root_of_release, secret_root

RandomState = int | np.random.Generator | np.random.RandomState | None

ON_LONG_ROWS = ("clip", "refuse")

_PARTS = ("steps", "transformers", "transformer_list")


def check_long_rows(on_long_rows: str, n_long: int, bound: str) -> None:
    """Refuse long rows, where that was asked for.

    Refusing reads the rows: whoever learns that a release was refused learns that somebody's row
    is long, which no guarantee covers. It is for holders who check their table before they
    release anything.

    on_long_rows: {"clip", "refuse"}
    n_long: How many rows are longer than the bound.
    bound: As it is to be read.
    Raises `ParameterError` if `on_long_rows` is unknown, or there are long rows and they are to be
        refused.
    """
    require_one_of("on_long_rows", on_long_rows, ON_LONG_ROWS)
    if n_long and on_long_rows == "refuse":
        raise ParameterError(
            "X", f"of row norms at most row_norm_bound={bound}", f"{n_long} longer rows"
        )


def root_seed(random_state: RandomState) -> int:
    """Return the seed of one fit.

    An int is the seed itself. None reads 256 bits from the operating system, which are not stored
    and whose streams are cryptographic. A generator gives 128 bits and advances; its state can be
    reversed to them. With an int or a generator the noise is PCG64's, whose state can be computed
    from known noise.

    Raises `ParameterError` if it is none of these.
    """
    if random_state is None:
        return secret_root()
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return int.from_bytes(random_state.bytes(16), "little")
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    # What is wrong is named, and not shown: a seed sequence prints its entropy.
    given = random_state if isinstance(random_state, int | str) else type(random_state).__name__
    raise ParameterError("random_state", "an int of at least 0, a NumPy generator or None", given)


class UnprintedSeed(int):
    """An integer seed that is not printed.

    Estimators are printed to logs, into notebooks, and into joblib's cache of a pipeline.
    """

    def __repr__(self) -> str:
        return "<not printed>"


class PrivateEstimator(BaseEstimator):
    """An estimator whose noise is its own: for one release, not to be saved, and not printed.

    `random_state` is None in everything that pickle, joblib or copy make of it, fitted or not,
    alone or within other estimators: a copy draws from fresh entropy, in another process too. On
    the live object it stays what it was, for `get_params`, where an int does not show when it is
    printed. Clones share a generator instead of taking its state, so that no two of them draw the
    same.
    """

    epsilon: float
    delta: float
    calibration: str
    noise: str
    truncation: str
    preparation: str
    mean_share: float | None
    on_long_rows: str
    random_state: RandomState

    def _set_parameters(self, given: dict[str, Any]) -> None:
        """Attributes as `__init__` was given them, from its `locals()`: none is checked or changed,
        as scikit-learn asks."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        # What has been wrapped stays the object it is: cloning compares by identity.
        if name == "random_state" and not isinstance(value, UnprintedSeed):
            value = UnprintedSeed(value) if isinstance(value, int | np.integer) else value
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = super().__getstate__() | {"random_state": None}
        return state

    def __sklearn_clone__(self) -> Self:
        twin: Self = super().__sklearn_clone__()
        twin.random_state = self.random_state
        return twin

    def _root_of_release(self, *released_with: object) -> int:
        return root_of_release(root_seed(self.random_state), *released_with)

    def _warn_of_fitted_preparation(self) -> None:
        """Warn where a pipeline around this fit has fitted something to the rows before it."""
        learnt = fitted_before(self)
        if learnt:
            warnings.warn(
                f"{', '.join(learnt)} was fitted to everybody's rows before any noise was added. "
                "What a row becomes then depends on other people's rows, and the guarantee is "
                "about rows that depend on their own person alone.",
                PreparationWarning,
                stacklevel=3,
            )


def fitted_before(estimator: BaseEstimator) -> list[str]:
    """Names of the steps that pipelines around the running `fit` have fitted to the rows.

    Read off the call stack, since a pipeline does not tell a step what came before it. Private
    steps and those scikit-learn calls stateless (``requires_fit`` false) are left out. It cannot
    see what was done by hand before `fit` was called, nor inside of a FunctionTransformer.
    """
    found: dict[int, list[str]] = {}
    inside: list[object] = [estimator]
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Pipeline) and id(caller) not in found:
            found[id(caller)] = [
                name for step in _steps_before(caller, inside) for name in _learners(*step)
            ]
        if isinstance(caller, BaseEstimator):
            inside.append(caller)
        frame = frame.f_back
    return [name for names in reversed(found.values()) for name in names]


def _steps_before(pipeline: Pipeline, inside: list[object]) -> list[tuple[str, object]]:
    # A pipeline with a memory fits clones of its steps; those are known by their type.
    steps: list[tuple[str, object]] = pipeline.steps
    for same in (operator.is_, lambda step, own: type(step) is type(own)):
        for position, (_, step) in enumerate(steps):
            if any(same(step, own) for own in inside):
                return steps[:position]
    return steps[:-1]


def _learners(name: str, step: object) -> Iterator[str]:
    parts = next((getattr(step, each) for each in _PARTS if hasattr(step, each)), None)
    if parts is not None:
        for part_name, part, *_ in parts:
            yield from _learners(part_name, part)
    elif isinstance(step, PrivateEstimator) or not isinstance(step, BaseEstimator):
        return
    elif get_tags(step).requires_fit:
        yield name


PREPARATIONS = ("sphere", "bounded", "none")
Denoising: TypeAlias = str | PublicBasis | Sequence[PublicBasis]


def check_preparation(preparation: str) -> None:
    """Raise `ParameterError` if a preparation is unknown."""
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


def features_and_sites(X: Any, name: str) -> tuple[Any, AnyArray]:
    """Features of a table in memory, and the label of the site of each row.

    name: Of a DataFrame's column with labels; "parts" of a Dask array or DataFrame, a site a part.
    Raises `ParameterError` if the table has neither.
    """
    is_dask = type(X).__module__.partition(".")[0] in {"dask", "dask_expr"}
    if name in getattr(X, "columns", ()):
        whole = X.compute() if is_dask else X
        return whole.drop(columns=[name]), np.asarray(whole[name])
    if name != "parts" or not is_dask:
        wish = "labels, a column of X, or 'parts' of a Dask array or DataFrame"
        raise ParameterError("sites", wish, name)
    if hasattr(X, "columns"):
        lengths, whole = X.map_partitions(len).compute(), X.compute()
    else:
        whole, lengths = X.compute(), X.chunks[0]
    return whole, np.repeat(np.arange(len(lengths)), lengths)


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
    """Base class of the private PCA estimators: validated rows, a stored subspace and projections.

    A subclass names its parameters in `__init__` and implements `fit`; it has at least
    `n_components`, `preparation`, `row_norm_bound`, `on_long_rows` and `random_state`.
    """

    n_components: int
    denoise: Denoising
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
        """Return the unbiased v_i^T A v_i of each component, shape (n_components,)."""
        return self._assessed().explained_variance.value

    @property
    def explained_variance_interval_(self) -> FloatArray:
        """Return the ends of a 90 % interval for each, shape (2, n_components)."""
        return self._assessed().explained_variance.interval

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Return the share of tr A per component, shape (n_components,); NaN if tr A may be 0."""
        return self._assessed().explained_variance_ratio.value

    @property
    def explained_variance_ratio_interval_(self) -> FloatArray:
        """Return the ends of a 90 % interval for each, shape (2, n_components)."""
        return self._assessed().explained_variance_ratio.interval

    @property
    def suggested_n_components_(self) -> int:
        """Return the number of components that exceed the noise (`n_above_noise`)."""
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
            shape = getattr(self, "image_shape", None)
            return chosen | {"bases": bases_to_denoise_in(self.denoise, shape, **chosen)}
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

        `noise` identifies the noise. K, R and truncation only read the same noisy matrices
        differently and are not part of its root; if the draw itself depends on one of them, it
        belongs into the name.
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


# Private PCA of rows held in one place, as scikit-learn estimators.


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
    denoise : {"auto", "columns", "cosines", "none"}, PublicBasis or sequence of PublicBasis
        Basis choice as in `DistributedPCA`.
    image_shape : (height, width) or None
        Shape of pictures whose pixels are the columns, row by row.
    preparation : {"sphere", "bounded", "none"}
        "sphere": every row is brought to length 1 around a private mean, released first; rows
        count only by their direction. "bounded": rows keep their length, up to the bound, and a
        private mean's outer product is subtracted. "none": the same, taken as centred.
    mean_share : float or None
        Share of the budget, in mu squared, for that mean; None leaves it to a rule that reads
        public numbers alone (`dpcore.pca.settings`), 0 takes rows as centred.
    row_norm_bound : float
        c, public; see `on_long_rows`.
    on_long_rows : {"clip", "refuse"}
        Treatment of rows longer than the bound. Refusing reads the rows, which no guarantee
        covers: for holders who check their table before they release anything.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        None is fresh entropy from the operating system; see the warning.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), orthonormal rows
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues in units of the second moment, on the sphere that of rows of length 1.
    mean_ : ndarray of shape (n_features,)
        Released mean by which rows are centred and which `transform` subtracts; zero where
        nothing was.
    noise_scale_ : ndarray of shape (1,)
        Noise standard deviation in one second-moment entry.
    guarantee_ : Guarantee
    assessment_ : Assessment
        Self-assessment of the release, without cost (`dpcore.pca.assessment`,
        `dpcore.pca.assessment`), and so
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        and 90 % intervals, `explained_variance[_ratio]_interval_` of shape (2, n_components);
    suggested_n_components_ : int
        how many stand out of the noise: too many in one release of 100 at most.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names of X, if it has names.

    Warnings
    --------
    Anyone with `random_state` can take the noise off again. Leave it None for anything that leaves
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
        denoise: Denoising = "auto",
        image_shape: tuple[int, int] | None = None,
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
        self._set_parameters(locals())

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release a subspace for these rows; as `AnalyzeGaussPCA.fit`."""
        rows = self._bounded(X)
        settings = ReleaseSettings.published(
            budget=PrivacyBudget(self.epsilon, self.delta),
            truncation=self.truncation,
            **self._prepared_for(0.0),
        )
        draw = self._draw(rows, settings, noise=(self._noise,))
        average, rng = self._average(draw), draw.repetition.rng(Purpose.ASSESSMENT)
        self._keep(average.subspace(settings), rows.dtype, average.assessment(settings, rng=rng))
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
    Anyone with `random_state` can take the noise off again, and it is not saved; as for
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
        Same as in `SulqPCA`.

    Warnings
    --------
    Anyone with `random_state` can take the noise off again, and it is not saved; as for
    `AnalyzeGaussPCA`.

    References
    ----------
    Chaudhuri, Sarwate & Sinha (2012), Algorithm 1.
    """

    _noise, _average = "modsulq", staticmethod(modsulq_average)


# PPCA as a scikit-learn estimator.


class ExponentialPCA(PrivatePCA):
    """PPCA: a random subspace, exponentially likelier the more energy it captures.

    Promise: `guarantee_`, pure epsilon for every person under replace-one neighbours, as far as
    the draw is exact. One component is drawn exactly; several by Markov chains, whose
    convergence is diagnosed and not proven. Where the diagnostics fail, nothing is promised; that
    verdict is itself worked out from the rows, and epsilon does not cover it.

    A chain returns a subspace alone: nothing in it says how good it is, and an estimate would take
    a budget of its own. So there is no `explained_variance_`, and asking for it says this.

    Within the subspace the order and direction of the components mean nothing, and no
    eigenvalues are released. Nor is what the diagnostics measured kept, which depends on the
    rows; `ppca` returns it to whoever holds them.

    Parameters
    ----------
    n_components : int
        K.
    epsilon : float
        Positive and finite. There is no delta.
    preparation : {"sphere", "bounded", "none"}
        Same as in `SulqPCA`.
    row_norm_bound, on_long_rows, random_state
        As in `AnalyzeGaussPCA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), orthonormal rows
    guarantee_ : Guarantee
    noise_scale_ : ndarray of shape (1,)
        In units of captured energy, 2 c^2 / (n epsilon), c = 1 on the sphere: a subspace that
        captures so much less than another is e times less likely to be drawn.
    mean_, n_features_in_, feature_names_in_
        As in `AnalyzeGaussPCA`.

    Warnings
    --------
    Anyone with `random_state` can take the noise off again, and it is not saved; as for
    `AnalyzeGaussPCA`.

    References
    ----------
    Chaudhuri, Sarwate & Sinha (2012), Algorithm 2 and theorem 2.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        preparation: str = "sphere",
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Draw a subspace for these rows; `y` is ignored.

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint.

        Warns
        -----
        ConvergenceWarning
            If the chains did not converge, so that nothing is promised. The warning depends on
            the rows: it is for their holder, as what the diagnostics measured is.
        """
        rows = self._bounded(X)
        settings = ReleaseSettings.published(
            budget=PrivacyBudget(self.epsilon),
            **self._prepared_for(0.0),
        )
        # Draws of different dimension are no two readings of one noisy matrix.
        subspace = ppca(self._draw(rows, settings, noise=("ppca", self.n_components)))
        if not subspace.diagnostics["converged"]:
            warnings.warn(
                "The chains did not converge: this release promises nothing. This warning depends "
                "on the rows; keep it to yourself.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep_centre(subspace, rows.dtype)
        self.assessment_, self._why_silent = None, PROTOCOLS["ppca"].why_silent(settings)
        self.components_ = subspace.components.astype(rows.dtype, copy=False)
        self.guarantee_ = subspace.guarantee
        bound = settings.row_norm_bound
        self.noise_scale_ = np.array([2 * bound**2 / (len(rows) * self.epsilon)])
        return self


# Private PCA of rows spread over sites, as a scikit-learn estimator.


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
    protocol : str
        A key of the register that starts from sites (`python -m dpcore run --help` lists them):
        each entry says who adds noise and what is sent (`dpcore.pca.protocols`).
    calibration : {"analytic", "classic", "published"}
    noise : {"isometric", "triangle"}
    truncation : {"psd", "svd"}
        Rank eigenvalues of noisy matrices by value, or by magnitude as published.
    denoise : {"auto", "columns", "cosines", "none"}, PublicBasis or sequence of PublicBasis
        Public bases in which noise is told from signal before a noisy matrix is decomposed
        (`dpcore.spectra.denoise`). "auto" fits a prior mean if `image_shape` is given, and
        otherwise denoises columns if they differ in variance. It is "none" with published
        calibration, triangle noise or svd.
    image_shape : (height, width) or None
        Shape of pictures whose pixels are the columns, row by row.
    preparation : {"sphere", "bounded", "none"}
        "sphere": every row is brought to length 1 around a private mean, released first; rows
        count only by their direction. "bounded": rows keep their length, up to the bound, and a
        private mean's outer product is subtracted. "none": the same, taken as centred. Sites
        share one mean, released by all; "local" uses its own.
    mean_share : float or None
        Share of the budget, in mu squared, for that mean; None leaves it to a rule that reads
        public numbers alone (`dpcore.pca.settings`), 0 takes rows as centred.
    row_norm_bound : float
        c, public; see `on_long_rows`.
    on_long_rows : {"clip", "refuse"}
        Treatment of rows longer than the bound. Refusing reads the rows, which no guarantee
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
        Eigenvalues in units of the second moment, on the sphere that of rows of length 1.
    mean_ : ndarray of shape (n_features,)
        Released mean by which rows are centred and which `transform` subtracts; zero where
        nothing was.
    noise_scale_ : ndarray of shape (n_sites,)
        Noise standard deviation in one second-moment entry at each site that adds noise: the
        first alone under "local", the aggregator under "pooled"; without the masks of "cape",
        which cancel.
    guarantee_ : Guarantee
    assessment_ : Assessment or None
        Self-assessment of the release, without cost (`dpcore.pca.assessment`,
        `dpcore.pca.assessment`); None under "sequential", whose sites cut away what would be
        needed, where noise is not Gaussian, and under "dpdis" but for isometric noise ranked by
        value with no mean subtracted. Then there is none of the following, and asking for it says
        why.
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
        Column names of X, if it has names.

    Warnings
    --------
    Anyone with `random_state` can take the noise off again. Leave it None for anything that leaves
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
        preparation: str = "sphere",
        mean_share: float | None = None,
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        masks: str = "published",
        honest_sites: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: ArrayLike, y: object = None, *, sites: ArrayLike | str | None = None) -> Self:
        """Release a subspace for these rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows are people; nobody appears twice. A Dask array or DataFrame is computed, and then
            in memory whole.
        y : ignored
        sites : array of shape (n_samples,) or str, optional
            Label of the site that holds each row; one site holds everybody without it. A name is
            that of the column of a DataFrame with the labels, which is no feature; "parts" of a
            Dask array or DataFrame makes each of its parts a site.

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint, or a site holds fewer than 2 people.
        """
        offered = {key: entry for key, entry in PROTOCOLS.items() if entry.has_sites}
        require_one_of("protocol", self.protocol, offered)
        protocol = offered[self.protocol]
        if isinstance(sites, str):
            X, sites = features_and_sites(X, sites)
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
