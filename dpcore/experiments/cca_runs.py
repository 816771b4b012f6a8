"""Experiments with private CCA: views, specs, data, runs, evaluation and sentences.

The directions and the private correlations are the release. Their measurement on the true data, and
the projection and clustering of rows, read the rows and are not private.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.cca import (
    PROTOCOLS,
    CanonicalPairs,
    bound_views,
    canonical_pairs,
    distributed_cca,
    joint_moment_sigma,
    measured_correlations,
)
from dpcore.data import dataset_status, load_dataset, split_sites
from dpcore.data.dataset import DATA_SEED
from dpcore.data.synthetic import synthetic_views
from dpcore.data.two_views import TwoViewDataset, two_views
from dpcore.errors import ParameterError
from dpcore.experiments.charge_keys import (
    describe_matrix,
    describe_noise,
    make_people_key,
    make_stream_key,
    noise_key,
)
from dpcore.experiments.engine import Row, Spec, gathered, is_charged, joined, merged, row_from
from dpcore.experiments.export import Recipe, imports_of, source_of
from dpcore.experiments.once_cache import OnceCache
from dpcore.experiments.spec import ReleaseRow, ReleaseSpec, release_settings
from dpcore.experiments.summaries import counted, crossing, percent
from dpcore.experiments.sweep import Sweep, collect
from dpcore.params import again, param
from dpcore.pca import ReleaseSettings
from dpcore.pca.protocols.register import PROTOCOLS as REGISTERED
from dpcore.privacy import EVERYONE, Charge, Guarantee, PrivacyBudget, Release
from dpcore.spectra import (
    SiteMoments,
    SiteRows,
    cosine_basis_of_views,
    second_moment,
    site_moments,
)
from dpcore.streams import Purpose, Repetition, stream

SYNTHETIC = "synthetic-views"
COLUMN_HALVES = "column-halves"

# Largest number of digits of a column number.
_DIGITS = 5

Cut = str | tuple[str, str] | tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class CutViews:
    """Data set of the catalogue, cut into two views.

    how: str or pair. Argument of `two_views`, or "column-halves": the first half of the columns and
        the rest.
    """

    dataset: str = "digits"
    how: Cut = "halves-top-bottom"

    @property
    def n_samples(self) -> int:
        return dataset_status(self.dataset).n_samples

    def load(
        self, data_home: str | os.PathLike[str] | None = None, *, download: bool = True
    ) -> TwoViewDataset:
        dataset = load_dataset(self.dataset, data_home, download=download)
        how = self.how
        if how == COLUMN_HALVES:
            middle = dataset.n_features // 2
            how = tuple(range(middle)), tuple(range(middle, dataset.n_features))
        return two_views(dataset, how)


@dataclass(frozen=True)
class SyntheticViews:
    """Views drawn by `synthetic_views`; equal fields give equal rows."""

    people: int = 20_000
    columns: int = 50
    shared: int = 5
    noise: float = 0.5

    @property
    def n_samples(self) -> int:
        return self.people

    def load(
        self, data_home: str | os.PathLike[str] | None = None, *, download: bool = True
    ) -> TwoViewDataset:
        return synthetic_views(
            self.people,
            self.columns,
            self.columns,
            self.shared,
            self.noise,
            rng=stream(DATA_SEED, Purpose.DATA),
        )


ViewSource = CutViews | SyntheticViews


def cut_from_text(text: str) -> Cut:
    """Parse a cut from the command line.

    "halves-top-bottom", "halves-left-right" and "column-halves" are returned unchanged; "fou,kar"
    names two views; "0-3,7:4-6" gives two groups of column numbers.

    Raises `ParameterError` if the text has none of these forms.
    """
    if ":" in text:
        groups = text.split(":")
        if len(groups) != 2:
            raise ParameterError("views", "two groups of columns with one colon", text)
        return _columns(groups[0]), _columns(groups[1])
    if "," in text:
        names = [name.strip() for name in text.split(",")]
        if len(names) != 2:
            raise ParameterError("views", "two names with one comma", text)
        return names[0], names[1]
    return text


def _columns(text: str) -> tuple[int, ...]:
    columns: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal()):
            raise ParameterError("views", "columns such as 0-3,7", text)
        if max(len(first), len(last)) > _DIGITS:
            raise ParameterError("views", f"columns below {10**_DIGITS:,}", text)
        columns.extend(range(int(first), int(last) + 1))
    return tuple(columns)


_DIGIT_VIEWS = CutViews()
# Largest K on pages.
MOST_PAIRS = 10
_RANDOM_DRAWS = 64
# Rows per block of the conversion to double precision, which would double a large table's memory.
_BLOCK_ROWS = 10_000


@dataclass(frozen=True)
class CcaSpec(ReleaseSpec, Spec):
    """Cell of a CCA experiment; `published` and `recommended` return the two standard settings.

    source: Data set and its two views.
    protocols: Keys of `dpcore.cca.PROTOCOLS`. "pooled" is the poster's.
    calibration: "published" is the poster's tau.
    denoise: Denoising of the joint moment before its blocks are used. "auto" takes the cosines of
        each view if both are images and the whole joint moment is available. Otherwise denoising
        reduces the correlations and is off; proxies of R directions are never denoised.
    floor: "auto" or float. Parameter of `dpcore.cca.distributed_cca`.
    preparation: On the sphere, each view of a row is scaled to a fixed length. Correlations are
        measured on the centred rows; on the sphere, on the rows before clipping and scaling.
    x_norm_bound, y_norm_bound: Bounds around the data set's public centres.
    """

    source: ViewSource = _DIGIT_VIEWS
    protocols: tuple[str, ...] = ("pooled",)
    sites: int = again(ReleaseSpec, "sites", 1)
    components: int = again(
        ReleaseSpec,
        "components",
        3,
        title="Canonical pairs K",
        note="",
        up_to=MOST_PAIRS,
        words=f"a whole number from 1 to {MOST_PAIRS} or to the columns of the smaller view",
    )
    intermediate_dim: int | None = again(
        ReleaseSpec,
        "intermediate_dim",
        note="Default: 4 K, or the number of columns if that is smaller",
        words="a whole number from 1 to the columns of both views",
    )
    denoise: str = again(
        ReleaseSpec,
        "denoise",
        choices=("auto", "columns", "none"),
        note="auto: cosines of each view if both are images. Published rows are not denoised",
    )
    floor: float | str = "auto"
    x_norm_bound: float | None = param(
        None, "Public bound on a row of x", note="Default: the data set's own"
    )
    y_norm_bound: float | None = param(
        None, "Public bound on a row of y", note="Default: the data set's own"
    )
    # Beyond these one view keeps none of the norm bound that double precision can tell from 0.
    x_share: float = param(
        0.5,
        "Part of the squared length of a joined row given to the first view",
        low=1e-9,
        high=1 - 1e-9,
        constraint="in [1e-9, 1 - 1e-9]",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.protocols or not set(self.protocols) <= set(PROTOCOLS):
            raise ParameterError("protocols", f"out of {', '.join(PROTOCOLS)}", self.protocols)
        if self.floor != "auto" and not (
            isinstance(self.floor, int | float) and 0 <= self.floor < math.inf
        ):
            raise ParameterError("floor", "'auto', or finite and at least 0", self.floor)

    def problem_key(self, repetition: int = 0) -> CcaSpec:
        """Return a spec with only the fields of the data side, which fix the site moments."""
        data_side = {name: getattr(self, name) for name in _DATA_SIDE}
        return CcaSpec(**data_side | {"preparation": self.data_preparation})

    @classmethod
    def row_type(cls) -> type:
        return CcaRow

    def outline(self) -> Sequence[Row]:
        return [{"protocol": key} for key in self.protocols]

    @classmethod
    def load(cls, key: CcaSpec) -> CcaProblem:
        return local_cca_problem(key)

    @classmethod
    def data_of(cls, key: CcaSpec) -> Hashable:
        return key.source

    def dataset_read(self) -> str | None:
        return self.source.dataset if isinstance(self.source, CutViews) else None

    def check(self) -> None:
        check_cca(self)

    def rows(self, problem: CcaProblem, repetition: int) -> Sequence[Row]:
        return run_cca_repetition(self, problem, repetition)

    def charges(
        self,
        guarantees: Mapping[str, Guarantee] | None = None,
        draws: int | None = None,
    ) -> list[Charge]:
        """Return one charge for each noisy joint moment."""
        numbers = frozenset(range(self.repetitions if draws is None else draws))
        charges = []
        samples = self.source.n_samples if self.samples is None else self.samples
        cell = vars(self) | {"samples": samples, "resample": False}
        bounds = (self.source, self.x_share, self.x_norm_bound, self.y_norm_bound)
        for name, guarantee in (self.guarantees() if guarantees is None else guarantees).items():
            if not is_charged(guarantee):
                continue
            entry = REGISTERED[name]
            matrix = describe_matrix(cell, name).replace("moment", "joint moment")
            key = ("pairs", *bounds, *noise_key(cell | {"norm_bound": None}, name))
            release = Release.of(
                guarantee,
                key=joined(*key),
                label=describe_noise(cell, name, matrix),
                dataset=dataset_of(self.source),
                partition=joined("pairs", self.source, *make_people_key(cell))
                if entry.is_alone
                else EVERYONE,
                sites=(0,) if entry.is_alone else None,
            )
            charges.append(
                Charge(
                    release,
                    numbers,
                    ("canonical pairs",),
                    (f"CCA: {TITLES[name]}",),
                    entry.is_distributed,
                    make_stream_key(cell, name),
                )
            )
        return merged(charges)

    def settings(
        self, n_features: int, image_shapes: tuple[tuple[int, int], ...] = ()
    ) -> ReleaseSettings:
        """Return the release settings, with R filled in for the columns of both views.

        image_shapes: Image shapes of both views, if they are images.
        """
        intermediate = self.intermediate_dim
        if intermediate is None:
            intermediate = min(4 * self.components, n_features)
        settings = release_settings(self, self.components, intermediate)
        if self.denoise != "auto" or not settings.bases:
            return settings
        return replace(
            settings, bases=(cosine_basis_of_views(*image_shapes),) if image_shapes else ()
        )


def dataset_of(source: ViewSource) -> str:
    """Return the name of the data set of two views."""
    if isinstance(source, CutViews):
        return source.dataset
    return (
        f"two drawn views of {source.people:,} people ({source.columns} columns each, "
        f"{source.shared} shared, noise {source.noise:g})"
    )


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
    image_shapes: Image shapes of both views, if they are images; else empty.
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
    image_shapes: tuple[tuple[int, int], ...] = ()

    @property
    def random_share(self) -> float:
        """Return the share of the total correlation that random directions capture."""
        return float(self.random.sum() / self.exact.sum())


def build_cca_problem(views: TwoViewDataset, spec: CcaSpec) -> CcaProblem:
    """Build the data side of a spec: bounded rows, sample, sites and exact pairs.

    Raises `ParameterError` if the spec needs more rows, pairs or sites than there are, or a view is
        constant.
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
        if spec.on_sphere
        else site_moments(rows, members),
        reference=reference,
        exact_x=x_rotations,
        exact_y=y_rotations,
        exact=exact,
        random=_random_spans(reference, views.n_x, spec.components, spec.seed),
        x_scale=bounded.x_scale,
        y_scale=bounded.y_scale,
        statement=bounded.statement,
        image_shapes=_shapes(views),
    )


def _shapes(views: TwoViewDataset) -> tuple[tuple[int, int], ...]:
    shapes = views.x_image_shape, views.y_image_shape
    return () if shapes[0] is None or shapes[1] is None else (shapes[0], shapes[1])


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


class CcaRow(ReleaseRow):
    """Row of one protocol in one repetition, with its correlations on the true data.

    `correlation_share` is the measured total correlation divided by the exact one, `random_share`
    that of random directions, `estimate_error` the root mean square error of the private
    correlations.
    """

    preparation: str
    mean_share: float | None
    x_share: float
    floor: float
    repetition: int
    seed: int
    correlation_share: float
    random_share: float
    measured_total: float
    exact_total: float
    estimated_total: float
    estimate_error: float
    sigma: float | None
    exact_epsilon: float
    bytes_sent: int
    seconds: float


def draw_pairs(
    spec: CcaSpec, problem: CcaProblem, protocol: str, repetition: int
) -> CanonicalPairs:
    """Draw the private pairs of one protocol in one repetition, for bounded rows."""
    shapes = () if REGISTERED[protocol].wants_proxies else problem.image_shapes
    return distributed_cca(
        problem.moments,
        problem.n_x,
        spec.settings(len(problem.reference), shapes),
        protocol=protocol,
        floor=spec.floor,
        repetition=Repetition(spec.seed, repetition),
    )


def pairs_and_row(
    spec: CcaSpec, problem: CcaProblem, protocol: str, repetition: int
) -> tuple[CanonicalPairs, CcaRow]:
    """Draw the pairs of one protocol, and return them with their tidy row."""
    started = time.perf_counter()
    pairs = draw_pairs(spec, problem, protocol, repetition)
    seconds = time.perf_counter() - started
    return pairs, row_of(spec, problem, protocol, repetition, pairs, seconds)


def run_cca_repetition(spec: CcaSpec, problem: CcaProblem, repetition: int) -> list[CcaRow]:
    """Return tidy rows of one repetition, one per protocol; all cells use the same unit noise."""
    return [pairs_and_row(spec, problem, key, repetition)[1] for key in spec.protocols]


def epsilon_reaching(rows: Iterable[Row], share: float = 0.5) -> float:
    """Return the smallest epsilon at which a curve's mean `correlation_share` reaches `share`.

    The curve is linear in log epsilon between neighbouring points. The result is the lowest epsilon
    of the rows if it reaches the share already, and infinity if none does.
    """
    shares = gathered((row["epsilon"], row["correlation_share"]) for row in rows)
    means = ((epsilon, fmean(values)) for epsilon, values in sorted(shares.items()))
    reached = crossing(means, share)
    return math.inf if reached is None else reached


def row_of(
    spec: CcaSpec,
    problem: CcaProblem,
    protocol: str,
    repetition: int,
    pairs: CanonicalPairs,
    seconds: float,
) -> CcaRow:
    """Return the tidy row of pairs."""
    measured = measured_correlations(pairs.x_rotations, pairs.y_rotations, problem.reference)
    exact_total = float(problem.exact.sum())
    settings = spec.settings(len(problem.reference))
    return row_from(
        CcaRow,
        spec,
        dataset=problem.dataset,
        protocol=protocol,
        samples=int(problem.moments.n_samples.sum()),
        components=settings.n_components,
        intermediate_dim=settings.intermediate_dim,
        mean_share=settings.mean_share,
        floor=pairs.floor,
        repetition=repetition,
        correlation_share=measured.total / exact_total,
        random_share=problem.random_share,
        measured_total=measured.total,
        exact_total=exact_total,
        estimated_total=float(pairs.correlations.sum()),
        estimate_error=float(np.sqrt(np.mean((pairs.correlations - problem.exact) ** 2))),
        sigma=pairs.guarantee.sigma,
        exact_epsilon=pairs.guarantee.epsilon,
        bytes_sent=int(pairs.bytes_sent.sum()),
        seconds=seconds,
    )


def check_cca(spec: CcaSpec) -> None:
    """Validate a spec without reading data.

    Raises `ParameterError` if no release is possible.
    """
    spec.settings(spec.components)
    # The check depends only on epsilon; any number of rows gives the same result.
    joint_moment_sigma(PrivacyBudget(spec.epsilon, spec.delta), 2, calibration=spec.calibration)


_views: OnceCache[TwoViewDataset] = OnceCache(lambda source: source.load(), keep=2)
_problems: OnceCache[CcaProblem] = OnceCache(
    lambda key: build_cca_problem(_views(key.source), key), keep=2
)


def local_cca_problem(key: CcaSpec) -> CcaProblem:
    """Return the problem of a key, from the cache of this process."""
    return _problems(key)


_MOST_PEOPLE = 2_000


@dataclass(frozen=True, eq=False)
class FoundPairs:
    """Directions of both views with their correlations on the true data.

    x_rotations, y_rotations: shape (n_x, n_components) and (n_y, n_components). Directions for
        bounded rows, with signs as in the exact pairs.
    x_pattern, y_pattern: ndarray of the same shapes. Covariance of each column with the score, from
        the moment that gave the directions. Patterns are covered by the guarantee of the
        directions.
    claimed: shape (n_components,). Released correlations.
    measured: shape (n_components,). Canonical correlations of the two projected views on the true
        data.
    x_agreement, y_agreement: shape (n_components,). |correlation| of each score with that of the
        exact pair, on the true data.
    guarantee: Guarantee of directions, patterns and `claimed`; None for the exact pairs.
    has_mean: Whether there is a private mean.
    """

    x_rotations: FloatArray
    y_rotations: FloatArray
    x_pattern: FloatArray
    y_pattern: FloatArray
    claimed: FloatArray
    measured: FloatArray
    x_agreement: FloatArray
    y_agreement: FloatArray
    guarantee: Guarantee | None = None
    has_mean: bool = False


def exact_found(problem: CcaProblem) -> FoundPairs:
    """Return the exact pairs in the form of a private draw."""
    ones = np.ones(len(problem.exact))
    n_x = problem.n_x
    return FoundPairs(
        problem.exact_x,
        problem.exact_y,
        problem.reference[:n_x, :n_x] @ problem.exact_x,
        problem.reference[n_x:, n_x:] @ problem.exact_y,
        problem.exact,
        problem.exact,
        ones,
        ones,
    )


def find_pairs(
    spec: CcaSpec, problem: CcaProblem, protocol: str, repetition: int
) -> tuple[FoundPairs, CcaRow]:
    """Draw the pairs of one protocol, and return them evaluated, with their tidy row."""
    pairs, row = pairs_and_row(spec, problem, protocol, repetition)
    return _judged(pairs, problem), row


def _judged(pairs: CanonicalPairs, problem: CcaProblem) -> FoundPairs:
    n_x = problem.n_x
    true_x, true_y = problem.reference[:n_x, :n_x], problem.reference[n_x:, n_x:]
    x_agreement = _correlations(pairs.x_rotations, problem.exact_x, true_x)
    y_agreement = _correlations(pairs.y_rotations, problem.exact_y, true_y)
    # The sign of a pair is arbitrary, but common to both its directions.
    signs = np.where(x_agreement + y_agreement < 0, -1.0, 1.0)
    x_rotations, y_rotations = pairs.x_rotations * signs, pairs.y_rotations * signs
    return FoundPairs(
        x_rotations,
        y_rotations,
        pairs.joint_moment[:n_x, :n_x] @ x_rotations,
        pairs.joint_moment[n_x:, n_x:] @ y_rotations,
        pairs.correlations,
        measured_correlations(x_rotations, y_rotations, problem.reference).spans,
        np.abs(x_agreement),
        np.abs(y_agreement),
        pairs.guarantee,
        bool(pairs.mean.any()),
    )


def _correlations(found: FloatArray, exact: FloatArray, moment: FloatArray) -> FloatArray:
    across = np.einsum("dk,dk->k", found, moment @ exact)
    lengths = np.einsum("dk,dk->k", found, moment @ found) * np.einsum(
        "dk,dk->k", exact, moment @ exact
    )
    cosines: FloatArray = across / np.sqrt(np.where(lengths > 0, lengths, np.inf))
    return cosines


@dataclass(frozen=True, eq=False)
class ProjectedPeople:
    """Scores of sampled rows along given directions, and a clustering of them. Not private.

    x_scores, y_scores: shape (n_people, n_components). Mean 0 and standard deviation 1 over the
        sample.
    labels: ndarray of int, shape (n_people,), or None
    nmi, calinski_harabasz: Quality of k-means on the scores of both views; `calinski_harabasz` is
        that of the true groups in this projection. None without labels of at least two groups.
    """

    x_scores: FloatArray
    y_scores: FloatArray
    labels: IntArray | None
    nmi: float | None
    calinski_harabasz: float | None


def project_people(
    views: TwoViewDataset, problem: CcaProblem, found: FoundPairs, *, seed: int
) -> ProjectedPeople:
    """Project up to 2,000 rows, sampled by the seed, onto given directions."""
    from dpcore.cca.estimator import cluster_scores

    drawn = stream(seed, Purpose.SAMPLE).permutation(views.n_samples)[:_MOST_PEOPLE]
    scores = [
        np.asarray(view[drawn], dtype=float) @ (rotations * scale)
        for view, rotations, scale in (
            (views.X, found.x_rotations, problem.x_scale),
            (views.Y, found.y_rotations, problem.y_scale),
        )
    ]
    labels = None if views.labels is None else views.labels[drawn]
    quality = None
    if labels is not None and labels.min() < labels.max():
        # Not standardised, because short directions are noisy ones.
        quality = cluster_scores(np.hstack(scores), labels, rng=stream(seed, Purpose.TRAINING))
    return ProjectedPeople(
        _standard(scores[0]),
        _standard(scores[1]),
        labels,
        None if quality is None else quality.nmi,
        None if quality is None else quality.calinski_harabasz_of_labels,
    )


def _standard(scores: FloatArray) -> FloatArray:
    deviations = scores.std(axis=0)
    standard: FloatArray = (scores - scores.mean(axis=0)) / np.where(
        deviations > 0, deviations, 1.0
    )
    return standard


_RUN = """\
rows = collect(Sweep(spec)).rows
print("exact correlations", local_cca_problem(spec.problem_key()).exact.round(4))
for protocol in spec.protocols:
    shares = [row["correlation_share"] for row in rows if row["protocol"] == protocol]
    print(f"{protocol:<8} {fmean(shares):.4f} of it captured, mean of {len(shares)} draws")"""
TITLES = {
    "pooled": "Pooled, trusted",
    "dpdis": "Proxies",
    "full": "Full moments",
    "local": "One site alone",
    "cape": "CAPE",
}
SAID = {
    "pooled": "one noisy joint moment of the pooled rows",
    "dpdis": "the sites' noisy proxies",
    "full": "the sites' noisy joint moments",
    "local": "one site on its own",
    "cape": "the sites' moments under masks that cancel",
}


def captured(rows: Sequence[Row], protocol: str) -> float:
    """Return the mean share of the exact total correlation over the draws of one protocol."""
    return fmean(row["correlation_share"] for row in rows if row["protocol"] == protocol)


def cca_headline(rows: Sequence[Row], protocol: str) -> str:
    """Describe in one sentence the captured correlation of a protocol and its setting."""
    mine = [row for row in rows if row["protocol"] == protocol]
    shares = [row["correlation_share"] for row in mine]
    spread = (
        f" ({percent(min(shares))} to {percent(max(shares))} over {len(shares)} runs)"
        if len(shares) > 1
        else ""
    )
    first = mine[0]
    sites = "" if protocol == "pooled" else f" at {counted(first['sites'], 'site')}"
    return (
        f"of the total correlation of the {counted(first['components'], 'best pair')} survives in "
        f"**{SAID[protocol]}** at **ε = {first['epsilon']:g}** with {first['samples']:,} "
        f"rows{sites}{spread}."
    )


def cca_comparison(rows: Sequence[Row], protocol: str) -> str:
    """Describe the captured correlation of other protocols and random directions."""
    others = [key for key in dict.fromkeys(row["protocol"] for row in rows) if key != protocol]
    parts = [f"{TITLES[key]} keeps {percent(captured(rows, key))}" for key in others]
    floor = f"random directions {percent(rows[0]['random_share'])}"
    return f"{', '.join([*parts, floor])}.".replace("random d", "Random d", not others)


def half_captured(rows: Sequence[Row], protocol: str, share: float = 0.5) -> dict[int, float]:
    """Return the smallest epsilon that captures the share, by number of rows."""
    mine = [row for row in rows if row["protocol"] == protocol]
    return {
        samples: epsilon_reaching([row for row in mine if row["samples"] == samples], share)
        for samples in sorted({row["samples"] for row in mine}, reverse=True)
    }


def half_in_words(reached: Mapping[int, float], least: float, greatest: float) -> str:
    """Describe the epsilons of `half_captured`; the curve spans `least` to `greatest`."""

    def say(epsilon: float) -> str:
        if math.isinf(epsilon):
            return f"beyond ε = {greatest:g}"
        return f"below ε = {least:g}" if epsilon <= least else f"at ε = {epsilon:.2g}"

    parts = [f"**{say(epsilon)}** with {people:,} people" for people, epsilon in reached.items()]
    return f"Half of the exact correlation is captured {', '.join(parts)}."


def cca_recipe(spec: CcaSpec) -> Recipe:
    """Return a recipe that runs the spec and prints the result."""
    needed = local_cca_problem, CcaSpec, type(spec.source), Sweep, collect
    imports = imports_of("from statistics import fmean", *needed)
    return Recipe("Private CCA of two views", (f"{imports}\n\nspec = {source_of(spec)}", _RUN))
