"""What a private CCA experiment asks for, and its data side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.cca import PROTOCOLS, bound_views, canonical_pairs, measured_correlations
from dpcore.data import split_sites
from dpcore.data.two_views import TwoViewDataset
from dpcore.errors import ParameterError
from dpcore.experiments.cca.views import CutViews, ViewSource
from dpcore.experiments.engine.control_ranges import require_counts
from dpcore.experiments.pca.spec import RECOMMENDED, TwoWorlds, check_asked, release_settings
from dpcore.pca import ReleaseSettings
from dpcore.pca.settings import DENOISING
from dpcore.spectra import SiteMoments, SiteRows, second_moment, site_moments
from dpcore.streams import Purpose, stream

_DIGITS = CutViews()
_RANDOM_DRAWS = 64
# Rows turned to double precision at a time: a large table would take twice its room otherwise.
_BLOCK_ROWS = 10_000


@dataclass(frozen=True)
class CcaSpec(TwoWorlds):
    """One cell of a CCA experiment; `published` and `recommended` name the two worlds.

    source: Which two views of which people.
    protocols: Keys of `dpcore.cca.PROTOCOLS`. "pooled" is the poster's.
    epsilon, delta: Asked of each protocol, under replace-one.
    sites: S.
    split, concentration: How people are spread over sites, as in `dpcore.data.split_sites`; the
        concentration is of the Dirichlet split.
    samples: N, people in all; None takes everybody.
    components: K, pairs of directions.
    intermediate_dim: R of "dpdis"; None takes 4 K, or the number of columns if that is smaller.
    calibration, noise, truncation, masks, honest_sites: As in `dpcore.pca.ReleaseSettings`;
        "published" is the poster's tau.
    denoise: {"auto", "columns", "none"}. As in `dpcore.experiments.pca.spec.RunSpec`; of the joint
        moment, before its blocks are taken.
    floor: "auto" or float. As in `dpcore.cca.distributed_cca`.
    preparation: {"sphere", "bounded", "none", "published"}. Sphere brings each view of a person to
        a length of its own around a private mean. Bounded clips joined rows to public bounds and
        centres by a private mean, none clips them and centres by nothing. Published centring and
        scaling read the rows and are not private. Correlations are measured on the centred rows: on
        the sphere on those that are neither clipped nor at that length yet.
    x_norm_bound, y_norm_bound: Public bounds, about the data set's public centres; None takes the
        data set's.
    x_share: Part of the squared length of a joined row given to the first view.
    mean_share: As in `dpcore.experiments.pca.spec.RunSpec`.
    """

    experiment = "dpcore.experiments.cca.runs:CCA"

    source: ViewSource = _DIGITS
    protocols: tuple[str, ...] = ("pooled",)
    epsilon: float = 1.0
    delta: float = 0.01
    sites: int = 1
    samples: int | None = None
    components: int = 3
    intermediate_dim: int | None = None
    calibration: str = RECOMMENDED["calibration"]
    noise: str = RECOMMENDED["noise"]
    truncation: str = RECOMMENDED["truncation"]
    denoise: str = RECOMMENDED["denoise"]
    masks: str = "published"
    honest_sites: int | None = None
    floor: float | str = "auto"
    preparation: str = "sphere"
    x_norm_bound: float | None = None
    y_norm_bound: float | None = None
    x_share: float = 0.5
    mean_share: float | None = None
    split: str = "equal"
    concentration: float = 1.0
    repetitions: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.protocols or not set(self.protocols) <= set(PROTOCOLS):
            raise ParameterError("protocols", f"out of {', '.join(PROTOCOLS)}", self.protocols)
        check_asked(self, denoise=[choice for choice in DENOISING if choice != "cosines"])
        require_counts(self, sites=1, repetitions=1, seed=0)
        if self.floor != "auto" and not (
            isinstance(self.floor, int | float) and 0 <= self.floor < math.inf
        ):
            raise ParameterError("floor", "'auto', or finite and at least 0", self.floor)
        # Beyond these one view keeps none of the norm bound that double precision can tell from 0.
        if not 1e-9 <= self.x_share <= 1 - 1e-9:
            raise ParameterError("x_share", "in [1e-9, 1 - 1e-9]", self.x_share)

    def problem_key(self, repetition: int = 0) -> CcaSpec:
        """The data side alone: specs that are equal in it share their site moments."""
        data_side = {name: getattr(self, name) for name in _DATA_SIDE}
        if self.preparation == "none":
            # Bounded all the same, and measured as if it were centred.
            data_side["preparation"] = "bounded"
        return CcaSpec(**data_side)

    def settings(self, n_features: int) -> ReleaseSettings:
        """The release settings, with R filled in for this many columns of both views."""
        intermediate = self.intermediate_dim
        if intermediate is None:
            intermediate = min(4 * self.components, n_features)
        return release_settings(self, self.components, intermediate)


_DATA_SIDE = (
    "source",
    "sites",
    "samples",
    "components",
    "preparation",
    "x_norm_bound",
    "y_norm_bound",
    "x_share",
    "split",
    "concentration",
    "seed",
)


@dataclass(frozen=True, eq=False)
class CcaProblem:
    """Site moments and the exact answer; nothing here grows with N.

    n_x: Columns of the first view.
    moments: Of the bounded rows [x y] of the people drawn; the rows themselves, which wait for a
        centre, if the preparation was "sphere".
    reference: shape (n_x + n_y, n_x + n_y), float64. Centred joint moment of everybody's bounded
        rows: what correlations are measured on, whoever was drawn.
    exact_x, exact_y: shape (n_x, n_components) and (n_y, n_components)
    exact: shape (n_components,). Canonical correlations of `reference`.
    random: shape (n_components,). Mean correlations that random directions capture on `reference`:
        the floor.
    x_scale, y_scale: What the rows were multiplied by; a direction in original units carries the
        same factor.
    statement: Whether the preparation is private.
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

    @property
    def random_share(self) -> float:
        """Share of the total correlation that random directions capture."""
        return float(self.random.sum() / self.exact.sum())


def build_cca_problem(views: TwoViewDataset, spec: CcaSpec) -> CcaProblem:
    """The data side of a spec: bounded rows, people drawn, their sites, the exact pairs.

    Raises `ParameterError` if the spec asks for more people, pairs or sites than there are, or a
        view never varies.
    """
    people = views.n_samples if spec.samples is None else spec.samples
    if 2 * spec.sites > views.n_samples:
        most = views.n_samples // 2
        raise ParameterError("sites", f"at most {most}, of two people each", spec.sites)
    if not 2 * spec.sites <= people <= views.n_samples:
        raise ParameterError("samples", f"in [{2 * spec.sites}, {views.n_samples}]", people)
    bounded = bound_views(
        views.X,
        views.Y,
        x_share=spec.x_share,
        mode=spec.preparation,
        x_norm_bound=views.x_norm_bound if spec.x_norm_bound is None else spec.x_norm_bound,
        y_norm_bound=views.y_norm_bound if spec.y_norm_bound is None else spec.y_norm_bound,
        x_centre=views.x_centre,
        y_centre=views.y_centre,
    )
    for name, view in (("X", views.X), ("Y", views.Y)):
        if (view == view[0]).all():
            raise ParameterError(name, "a view with at least two different rows", "equal rows")
    rows = bounded.joined
    # A prefix of one permutation, so that a larger sample contains the smaller one.
    drawn = stream(spec.seed, Purpose.SAMPLE).permutation(views.n_samples)[:people]
    skewed = spec.split == "dirichlet"
    sites = split_sites(
        people,
        spec.sites,
        how=spec.split,
        labels=views.labels[drawn] if skewed and views.labels is not None else None,
        concentration=spec.concentration if skewed else None,
        rng=stream(spec.seed, Purpose.SPLIT),
    )
    members = [drawn[site] for site in sites]
    mean = rows.mean(axis=0, dtype=np.float64)
    reference = _second_moment_in_double(rows) - np.outer(mean, mean)
    x_rotations, y_rotations, exact = canonical_pairs(reference, views.n_x, spec.components)
    return CcaProblem(
        dataset=views.name,
        n_x=views.n_x,
        moments=SiteRows.of(rows, members, parts=bounded.parts)
        if spec.preparation == "sphere"
        else site_moments(rows, members),
        reference=reference,
        exact_x=x_rotations,
        exact_y=y_rotations,
        exact=exact,
        random=_random_spans(reference, views.n_x, spec.components, spec.seed),
        x_scale=bounded.x_scale,
        y_scale=bounded.y_scale,
        statement=bounded.statement,
    )


def _second_moment_in_double(rows: FloatArray) -> FloatArray:
    """The exact answer divides by small eigenvalues, which products in float32 would drown."""
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
