"""Data side of a run: the rows at each site, and the exact result to compare with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.data import Prepared, prepare, split_sites
from dpcore.data.dataset import is_held
from dpcore.data.loading import load_dataset
from dpcore.data.row_bounds import shorten
from dpcore.errors import ParameterError
from dpcore.experiments.engine.blas_threads import one_blas_thread
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.fields import GIVEN, ProblemKey
from dpcore.experiments.engine.knowledge import NO_KNOWLEDGE, Knowledge, public_basis
from dpcore.pca import Subspace
from dpcore.spectra import (
    SiteMoments,
    SiteRows,
    cumulative_energy,
    leading_eigenpairs,
    site_moments,
)
from dpcore.streams import Purpose, stream

# Bytes of cached data sets and site moments: two of the larger data sets, or one with its moments
# at sixty sites.
_MOST_BYTES = 1024**3
# Seconds without use after which a server drops problems. Many visitors may each have a large one;
# it is computed again, or read from the folder of finished rows, in a tenth of a second.
_SECONDS_UNUSED = 15.0


@dataclass(frozen=True)
class DataDescription:
    """Public description of the rows; fields as in `Prepared`."""

    default_components: int | None
    feature_names: tuple[str, ...]
    statement: str
    n_clipped: int = 0

    @classmethod
    def of(cls, prepared: Prepared) -> DataDescription:
        return cls(**{field.name: getattr(prepared, field.name) for field in fields(cls)})


@dataclass(frozen=True, eq=False)
class SiteData:
    """Part of a problem that is computed from rows; attributes as in `Problem`."""

    moments: SiteMoments | SiteRows
    centre: FloatArray
    about: DataDescription


# Maps a key and a function that reads its rows to the site data, stored between two starts.
SiteDataSource = Callable[[ProblemKey, Callable[[], Prepared]], SiteData]


@dataclass(frozen=True, eq=False)
class Problem:
    """Site moments and the exact result; only rows take memory that grows with N.

    moments: Moments of the rows at the sites. Centred if the preparation is "published"; the rows
        themselves if it is "sphere", because they are scaled only after the centre is drawn.
    reference: shape (n_features, n_features), float64. The second moment that captured energy is
        measured on.
    exact_components: shape (n_features, n_features). All eigenvectors of the pooled second moment
        of the rows at the sites.
    exact_eigenvalues: shape (n_features,)
    optimum: shape (n_features,). Energy of `reference` captured by the first k exact components,
        for k = 1 to D.
    centre: shape (n_features,). Mean of the prepared rows at the sites.
    basis: shape (d, n_features), orthonormal rows, or None. Public subspace that the rows behind
        `moments` were projected onto. No other field is projected.
    """

    moments: SiteMoments | SiteRows
    reference: FloatArray
    exact_components: FloatArray
    exact_eigenvalues: FloatArray
    optimum: FloatArray
    centre: FloatArray
    about: DataDescription
    basis: FloatArray | None = None

    @property
    def default_components(self) -> int | None:
        return self.about.default_components

    def lift(self, subspace: Subspace) -> Subspace:
        """Return a subspace of the moments in the D dimensions in which energy is measured."""
        if self.basis is None:
            return subspace
        return replace(subspace, components=subspace.components @ self.basis)

    @property
    def n_features(self) -> int:
        return len(self.reference)

    @property
    def holders_moment(self) -> FloatArray:
        """Second moment of all rows for an algorithm without a private mean.

        On the sphere, rows are scaled around the public middle.
        """
        rows = self.moments
        moments = rows.around_public_middle() if isinstance(rows, SiteRows) else rows
        return moments.pooled()

    def eigenvalues_before_noise(self) -> FloatArray:
        """Return the eigenvalues, descending, of the matrix that noise is added to.

        On the sphere it is that of rows scaled to length 1 around the exact mean, while
        `exact_eigenvalues` belong to the rows before scaling.
        """
        if not isinstance(self.moments, SiteRows):
            return self.exact_eigenvalues
        centre = self.centre if self.basis is None else self.basis @ self.centre
        return np.asarray(np.linalg.eigvalsh(self.moments.moment_around(centre))[::-1])

    @property
    def n_samples(self) -> int:
        return int(self.moments.n_samples.sum())


def load_prepared(
    name: str,
    preparation: str,
    norm_bound: float | None = None,
    limits: str = "",
    *,
    download: bool = True,
) -> Prepared:
    """Load and prepare a data set for a private algorithm."""
    dataset = load_dataset(name, limits=limits, download=download)
    # An uploaded table is prepared again later, so its rows must not be changed in place.
    in_place = not is_held(name)
    return prepare(dataset, mode=preparation, norm_bound=norm_bound, in_place=in_place)


def sites_of(key: ProblemKey, prepared: Prepared) -> tuple[IntArray, ...]:
    """Return the row numbers of each site."""
    n_rows = len(prepared.X)
    n_samples = n_rows if key.samples is None else key.samples
    if n_samples > n_rows:
        raise ParameterError("samples", f"at most the {n_rows} people of {key.dataset}", n_samples)
    if n_samples < 2 * key.sites:
        raise ParameterError(
            "sites", f"at most {n_samples // 2}, for 2 of {n_samples} people each", key.sites
        )
    people = np.arange(n_rows)
    if n_samples < n_rows:
        if key.split == GIVEN:
            raise ParameterError(
                "samples", "all rows, since the table assigns rows to sites", n_samples
            )
        rng = stream(key.seed, Purpose.SAMPLE, key.drawing)
        # A prefix of one permutation, so that a larger sample contains the smaller one.
        people = rng.permutation(n_rows)[:n_samples]
    labels = prepared.sites if key.split == GIVEN else prepared.labels
    members = split_sites(
        n_samples,
        key.sites,
        how=key.split,
        labels=None if labels is None else labels[people],
        concentration=key.concentration if key.split == "dirichlet" else None,
        rng=stream(key.seed, Purpose.SPLIT, key.drawing),
    )
    return tuple(people[rows] for rows in members)


def site_data(key: ProblemKey, read: Callable[[], Prepared]) -> SiteData:
    """Compute the site data of a key from its rows."""
    prepared = read()
    require_variance(prepared)
    sites = sites_of(key, prepared)
    if key.on_sphere:
        shape = prepared.image_shape
        rows = SiteRows.of(
            prepared.X, sites, prepared.half_widths, image_shape=shape, picture=prepared.picture
        )
        return SiteData(rows, rows.unscaled_moments.means[0], DataDescription.of(prepared))
    moments = site_moments(prepared.X, sites)
    centre = moments.weights @ moments.means
    if key.reads_rows_first:
        # The authors' code also centres the sampled rows again, with their own mean.
        moments = moments.centred(centre, in_place=True)
    return SiteData(moments, centre, DataDescription.of(prepared))


def build_problem(
    key: ProblemKey, prepared: Prepared, whole: Callable[[], FloatArray] | None = None
) -> Problem:
    """Compute site moments and exact result for one key.

    prepared: Result of `load_prepared` for the key's data set and preparation.
    whole: Function that returns the second moment of all prepared rows, for keys that measure on
        all rows; the default computes it.
    """
    if (knowledge := Knowledge.parse(key.knowledge)) is not None:
        basis = public_basis(knowledge, key.dataset)
        return _within_public_subspace(replace(key, knowledge=NO_KNOWLEDGE), basis, prepared, whole)
    data = site_data(key, lambda: prepared)
    return _problem_on(key, data, whole or (lambda: whole_second_moment(prepared)))


def _problem_on(key: ProblemKey, data: SiteData, whole: Callable[[], FloatArray]) -> Problem:
    if isinstance(data.moments, SiteRows):
        # Energy is measured on the rows before scaling.
        pooled = data.moments.unscaled_moments.centred().pooled()
    else:
        pooled = data.moments.pooled()
        if not key.reads_rows_first:
            pooled -= np.outer(data.centre, data.centre)
    return problem_of(data, pooled, whole() if key.reference == "all" else pooled)


def _within_public_subspace(
    key: ProblemKey,
    basis: FloatArray,
    prepared: Prepared,
    whole: Callable[[], FloatArray] | None,
) -> Problem:
    """Compute moments of projected rows, measured on the rows without the projection."""
    without = build_problem(key, prepared, whole)
    basis = basis.astype(prepared.X.dtype)
    rows: FloatArray = prepared.X @ basis.T
    if not key.on_sphere:
        # A projection lengthens no row, but its rounding may.
        rows, _ = shorten(rows, 1.0)
    # Limits of columns do not hold after a rotation, and coordinates are not pixels.
    projected = replace(prepared, X=rows, half_widths=None, image_shape=None)
    within = build_problem(replace(key, reference="sites"), projected)
    return replace(without, moments=within.moments, basis=basis)


def _no_variance() -> ParameterError:
    return ParameterError(
        "data",
        "of at least two different rows: equal rows have no variance",
        "equal rows",
    )


def require_variance(prepared: Prepared) -> None:
    """Raise `ParameterError` if all rows are equal: their centred moments are rounding errors."""
    X = prepared.X
    # Usually the first two rows differ, and no others are compared.
    if (X[:2] == X[0]).all() and (X == X[0]).all():
        raise _no_variance()


def problem_of(data: SiteData, pooled: FloatArray, reference: FloatArray) -> Problem:
    """Return the problem with the exact result for `pooled`, measured on `reference`."""
    eigenvalues, components = leading_eigenpairs(pooled, len(pooled))
    optimum = cumulative_energy(components, reference)
    if not optimum[-1] > 0:
        raise _no_variance()
    return Problem(
        moments=data.moments,
        reference=reference,
        exact_components=components,
        exact_eigenvalues=eigenvalues,
        optimum=optimum,
        centre=data.centre,
        about=data.about,
    )


def whole_second_moment(prepared: Prepared) -> FloatArray:
    """Compute the centred second moment of every prepared row, in float64."""
    all_rows = (np.arange(len(prepared.X)),)
    return site_moments(prepared.X, all_rows, products=prepared.X.dtype).centred().pooled()


ProblemSource = Callable[[ProblemKey], Problem]


class Problems:
    """Thread-safe cache of problems by their keys; each is computed once.

    load: Function of (name, preparation, norm_bound, limits) that returns prepared rows.
    keep_data, keep: Numbers of data sets and problems that are cached. A sweep uses its problems
        one after the other, so more than one would only take memory.
    most_bytes: Limit on the memory of all cached problems; the latest one always stays.
    source: Function that computes site data, or reads stored ones.
    prepared: Cache of prepared rows; called like `load`.
    """

    def __init__(
        self,
        load: Callable[..., Prepared] = load_prepared,
        *,
        keep_data: int = 1,
        keep: int = 1,
        most_bytes: int = _MOST_BYTES,
        source: SiteDataSource = site_data,
    ):
        self.prepared: OnceCache[Prepared] = OnceCache(load, keep_data, _MOST_BYTES)
        self._whole = OnceCache(lambda *data: whole_second_moment(self.prepared(*data)), keep_data)
        self._problems: OnceCache[Problem] = OnceCache(
            lambda key: self._compute(key, source), keep, most_bytes, _SECONDS_UNUSED
        )

    def __call__(self, key: ProblemKey) -> Problem:
        return self._problems(key)

    def peek(self, key: ProblemKey) -> Problem | None:
        """Return the problem if it is cached, None otherwise."""
        return self._problems.peek(key)

    def _compute(self, key: ProblemKey, source: SiteDataSource) -> Problem:
        read, whole = partial(self.prepared, *key.data), partial(self._whole, *key.data)
        with one_blas_thread():
            if key.knowledge != NO_KNOWLEDGE:
                return build_problem(key, read(), whole)
            return _problem_on(key, source(key, read), whole)


local_problem = Problems()
