"""Data side of a CCA experiment: the joint moments of the sites and the exact pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.cca import bound_views, canonical_pairs, measured_correlations
from dpcore.data import split_sites
from dpcore.data.two_views import TwoViewDataset
from dpcore.errors import ParameterError
from dpcore.experiments.cca.views import ViewSource
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.fields import Prepares
from dpcore.spectra import (
    PublicBasis,
    SiteMoments,
    SiteRows,
    basis_of_halves,
    second_moment,
    site_moments,
)
from dpcore.streams import Purpose, stream

_RANDOM_DRAWS = 64
# Rows per block of the conversion to double precision, which would double a large table's memory.
_BLOCK_ROWS = 10_000


@dataclass(frozen=True)
class ViewsKey(Prepares):
    """Key of the data side: the two views, their rows, sites and preparation."""

    source: ViewSource
    sites: int
    samples: int | None
    components: int
    preparation: str
    x_norm_bound: float | None
    y_norm_bound: float | None
    x_share: float
    split: str
    concentration: float
    seed: int


@dataclass(frozen=True, eq=False)
class CcaProblem:
    """Site moments and exact pairs; the size does not depend on N.

    n_x: Columns of the first view.
    moments: Moments of the bounded rows [x y] that were sampled; for the preparation "sphere" the
        rows themselves, which are scaled only after the centre is drawn.
    reference: shape (n_x + n_y, n_x + n_y), float64. Centred joint moment of all bounded rows,
        sampled or not, on which correlations are measured.
    exact_x, exact_y: shape (n_x, n_components) and (n_y, n_components)
    exact: shape (n_components,). Canonical correlations of `reference`.
    random: shape (n_components,). Mean correlations of random directions on `reference`: the floor.
    x_scale, y_scale: Factors of the rows; a direction in original units has the same factor.
    basis: Basis of the pictures whose halves are the views; None for other views.
    statement: Text on whether the preparation is private.
    """

    dataset: str
    n_x: int
    moments: SiteMoments | SiteRows
    reference: FloatArray
    exact_x: FloatArray
    exact_y: FloatArray
    exact: FloatArray
    random: FloatArray
    x_scale: float
    y_scale: float
    statement: str
    basis: PublicBasis | None = None

    @property
    def random_share(self) -> float:
        """Return the share of the total correlation that random directions capture."""
        return float(self.random.sum() / self.exact.sum())


def build_cca_problem(views: TwoViewDataset, key: ViewsKey) -> CcaProblem:
    """Build the data side of a key: bounded rows, sample, sites and exact pairs.

    Raises `ParameterError` if the key needs more rows, pairs or sites than there are, or a view is
        constant.
    """
    people = views.n_samples if key.samples is None else key.samples
    if 2 * key.sites > views.n_samples:
        most = views.n_samples // 2
        raise ParameterError("sites", f"at most {most}, of two people each", key.sites)
    if not 2 * key.sites <= people <= views.n_samples:
        raise ParameterError("samples", f"in [{2 * key.sites}, {views.n_samples}]", people)
    bounded = bound_views(
        views.X,
        views.Y,
        x_share=key.x_share,
        mode=key.preparation,
        x_norm_bound=views.x_norm_bound if key.x_norm_bound is None else key.x_norm_bound,
        y_norm_bound=views.y_norm_bound if key.y_norm_bound is None else key.y_norm_bound,
        x_centre=views.x_centre,
        y_centre=views.y_centre,
    )
    for name, view in (("X", views.X), ("Y", views.Y)):
        if (view == view[0]).all():
            raise ParameterError(name, "a view with at least two different rows", "equal rows")
    rows = bounded.joined
    # A prefix of one permutation, so that a larger sample contains the smaller one.
    drawn = stream(key.seed, Purpose.SAMPLE).permutation(views.n_samples)[:people]
    is_skewed = key.split == "dirichlet"
    sites = split_sites(
        people,
        key.sites,
        how=key.split,
        labels=views.labels[drawn] if is_skewed and views.labels is not None else None,
        concentration=key.concentration if is_skewed else None,
        rng=stream(key.seed, Purpose.SPLIT),
    )
    members = [drawn[site] for site in sites]
    mean = rows.mean(axis=0, dtype=np.float64)
    reference = _second_moment_in_double(rows) - np.outer(mean, mean)
    x_rotations, y_rotations, exact = canonical_pairs(reference, views.n_x, key.components)
    return CcaProblem(
        dataset=views.name,
        n_x=views.n_x,
        moments=SiteRows.of(rows, members, parts=bounded.parts)
        if key.on_sphere
        else site_moments(rows, members),
        reference=reference,
        exact_x=x_rotations,
        exact_y=y_rotations,
        exact=exact,
        random=_random_spans(reference, views.n_x, key.components, key.seed),
        x_scale=bounded.x_scale,
        y_scale=bounded.y_scale,
        statement=bounded.statement,
        basis=_basis_of_pictures(views),
    )


def _basis_of_pictures(views: TwoViewDataset) -> PublicBasis | None:
    if views.picture_shape is None or views.x_image_shape is None:
        return None
    side_by_side = views.x_image_shape[0] == views.picture_shape[0]
    return basis_of_halves(views.picture_shape, side_by_side=side_by_side)


def _second_moment_in_double(rows: FloatArray) -> FloatArray:
    """Compute the second moment in float64; the exact pairs divide by small eigenvalues."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS].astype(np.float64, copy=False)
        total += len(block) * second_moment(block)
    return total / len(rows)


def _random_spans(reference: FloatArray, n_x: int, n_components: int, seed: int) -> FloatArray:
    rng = stream(seed, Purpose.SUBSPACE)
    spans: FloatArray = np.mean(
        [
            measured_correlations(
                rng.standard_normal((n_x, n_components)),
                rng.standard_normal((len(reference) - n_x, n_components)),
                reference,
            ).spans
            for _ in range(_RANDOM_DRAWS)
        ],
        axis=0,
    )
    return spans


_views: OnceCache[TwoViewDataset] = OnceCache(lambda source: source.load(), keep=2)
# Shared by the pages and the sweeps of this process.
local_cca_problem: OnceCache[CcaProblem] = OnceCache(
    lambda key: build_cca_problem(_views(key.source), key), keep=2
)
