"""Experiments with central algorithms: batches of draws, PPCA's Markov chains, sample sizes.

A batch makes many draws together. For PPCA, the last states of many Markov chains on one
distribution are the draws; a separate call for each draw would repeat the warm-up and the
diagnostics.

Bounds on the sample size of a private first component are those of Chaudhuri, Sarwate & Sinha
(2012), theorems 3 to 5, for K = 1. The correlation of a unit vector v with the leading eigenvector
v_1 is |<v, v_1>|. lambda_1 and lambda_2 are the two leading eigenvalues of the second moment of
rows of norm at most 1, and gap = lambda_1 - lambda_2.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, TypedDict, TypeVar, cast

import numpy as np
from scipy.special import log_expit

from dpcore.arrays import FloatArray
from dpcore.data import Prepared
from dpcore.errors import ParameterError
from dpcore.experiments.engine import Row, Spec, one_blas_thread, row_from
from dpcore.experiments.floor import compute_floors
from dpcore.experiments.knowledge import NO_KNOWLEDGE
from dpcore.experiments.once_cache import OnceCache
from dpcore.experiments.pca import PcaRow, RunSpec, draw_subspaces, row_of
from dpcore.experiments.problem import (
    DataDescription,
    Problem,
    SiteData,
    build_problem,
    local_problem,
    problem_of,
    require_variance,
    sites_of,
)
from dpcore.experiments.spec import ProblemKey
from dpcore.experiments.sweep import Sweep
from dpcore.mechanisms import (
    bulk_ess,
    rank_normalized_r_hat,
    sample_matrix_bingham,
    sample_vector_bingham,
    symmetric_gaussian_noise,
    tail_ess,
)
from dpcore.mechanisms.bingham import BinghamDraw
from dpcore.params import param
from dpcore.pca import Subspace
from dpcore.pca.protocols.protocol import Kind
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.protocols.trusted_holder import draw_ppca, modsulq_sigma
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import SiteRows, captured_energy, leading_eigenpairs, site_moments
from dpcore.streams import Purpose, Repetition, stream

# Number of the SUBSPACE stream; the random floor and the protocol `ppca` use lower numbers.
_MANY_CHAINS = 2
_FEWEST_CHAINS = 4
# Same per chain as in `sample_matrix_bingham`, whose 50 are for four chains.
_ESS_A_CHAIN = 12.5


R = TypeVar("R", bound=RunSpec)


@dataclass(frozen=True)
class Variant:
    """Algorithm with the choices that determine its noise."""

    key: str
    protocol: str
    label: str
    calibration: str = "published"
    noise: str = "triangle"

    def of(self, spec: R) -> R:
        """Return the spec with only this variant."""
        return replace(
            spec, protocols=(self.protocol,), calibration=self.calibration, noise=self.noise
        )


# Protocols with pure ε, PPCA first.
PURE = tuple(
    sorted(
        (k for k, each in PROTOCOLS.items() if each.kind is Kind.PURE and each.noise is not None),
        key=lambda k: PROTOCOLS[k].has_sites,
    )
)
VARIANTS: dict[str, Variant] = {
    variant.key: variant
    for variant in (
        *(Variant(key, key, PROTOCOLS[key].title) for key in PURE),
        *(
            Variant(f"ag-{scale}-{noise}", "ag", f"Analyze Gauss, {scale}, {noise}", scale, noise)
            for scale in ("analytic", "classic", "published")
            for noise in ("isometric", "triangle")
        ),
        Variant("modsulq", "modsulq", "MOD-SuLQ"),
        Variant("sulq", "sulq", "SuLQ"),
    )
}


@dataclass(frozen=True)
class CentralSpec(RunSpec):
    """Spec of `repetitions` draws of one central algorithm, made in one batch."""

    counted = "batches"
    batches = 1

    @classmethod
    def row_type(cls) -> type:
        return CentralRow

    def outline(self) -> Sequence[Row]:
        key = self.protocols[0]
        return [{"protocol": key, "repetition": number} for number in range(self.repetitions)]

    @classmethod
    def load(cls, key: ProblemKey) -> Problem:
        return _problems(key)

    @classmethod
    def after_draw(cls) -> tuple[str, ...]:
        return ()

    def rows(self, problem: Problem, repetition: int) -> Sequence[Row]:  # noqa: ARG002
        return central_rows(self, run_batch(self, problem))

    @classmethod
    def run(
        cls,
        specs: Sequence[Any],
        problem: Problem,
        repetition: int,
        **_: Any,
    ) -> Sequence[Sequence[Row]]:
        return [spec.rows(problem, repetition) for spec in specs]


class BatchRow(PcaRow):
    """PCA row with the number of chains of its batch, which affects the draws."""

    chains: int


class CentralRow(BatchRow):
    """Batch row with the key and label of its variant."""

    variant: str
    label: str


@dataclass(frozen=True)
class Batch:
    """Rows and subspaces of many draws of one algorithm."""

    rows: tuple[BatchRow, ...]
    subspaces: tuple[Subspace, ...]


def central_spec(spec: RunSpec) -> CentralSpec:
    """Return the spec with one site and no private mean."""
    central = {
        "sites": 1, "dropped_sites": 0, "split": "equal", "mean_share": 0.0, "honest_sites": None,
        "intermediate_dim": None, "knowledge": NO_KNOWLEDGE,
    }  # fmt: skip
    return CentralSpec(**vars(spec) | central)


def central_problem(
    key: ProblemKey, prepared: Prepared, whole: Callable[[], FloatArray] | None = None
) -> Problem:
    """Build the data side of a central run.

    Rows prepared as published are handled as in `build_problem`. Otherwise the second moment is
    taken around zero, as in the 2012 paper: its algorithms release only a subspace, so there is no
    mean for centring, and energy is measured on the same uncentred second moment. On the sphere,
    rows have length 1 around zero, and energy is measured on the rows before scaling.

    key: Key with one site.
    whole: Function that returns the second moment of all prepared rows, for keys that measure on
        them.
    """
    if key.reads_rows_first:
        return build_problem(key, prepared, whole)
    require_variance(prepared)
    sites, on_sphere = sites_of(key, prepared), key.on_sphere
    # On the sphere these moments are not released.
    products = prepared.X.dtype if on_sphere else np.float64
    moments = site_moments(prepared.X, sites, products=products)
    pooled = moments.pooled()
    if on_sphere:
        moments = SiteRows.of(prepared.X, sites).around_public_middle()
    reference = pooled
    if key.reference == "all":
        reference = whole() if whole is not None else raw_second_moment(prepared)
    data = SiteData(moments, np.zeros(len(pooled)), DataDescription.of(prepared))
    return problem_of(data, pooled, reference)


def raw_second_moment(prepared: Prepared) -> FloatArray:
    """Return the second moment around zero of every prepared row, float64."""
    all_rows = (np.arange(len(prepared.X)),)
    return site_moments(prepared.X, all_rows, products=prepared.X.dtype).pooled()


def nearest_basis(components: FloatArray, exact: FloatArray) -> FloatArray:
    """Return the basis of the components' span that is closest to the exact components.

    PPCA's components are uniform within their span, so that only this basis makes them comparable
    one by one. The result depends on the exact components and must not be released.

    components: shape (n_components, n_features), orthonormal rows
    exact: shape (at least n_components, n_features), orthonormal rows
    """
    u, _, vt = np.linalg.svd(components @ exact[: len(components)].T)
    rotated: FloatArray = (u @ vt).T @ components
    return rotated


def run_batch(spec: RunSpec, problem: Problem, *, first: int = 0) -> Batch:
    """Run `spec.repetitions` draws of the spec's one protocol.

    spec: Result of `central_spec`, with one protocol.
    problem: Result of `central_problem`.
    first: Number of the first repetition.
    Raises `ParameterError` if the protocol cannot run with these settings.
    """
    (protocol,) = spec.protocols
    started = time.perf_counter()
    with one_blas_thread():
        if protocol == "ppca":
            subspaces = _ppca_draws(spec, problem, first)
        else:
            subspaces = [
                draw_subspaces([spec], problem, first + number)[0][protocol]
                for number in range(spec.repetitions)
            ]
        energies = [captured_energy(s.components, problem.reference) for s in subspaces]
        seconds = (time.perf_counter() - started) / spec.repetitions
        settings = spec.settings(problem.n_features, problem.default_components)
        (floors,) = compute_floors([protocol], [settings], problem, spec.seed)
    rows = tuple(
        BatchRow(
            **row_of(
                spec,
                problem,
                first + number,
                protocol,
                subspace,
                energy,
                seconds,
                floors[protocol].mean,
            ),
            chains=subspace.diagnostics.get("chains", 0),
        )
        for number, (subspace, energy) in enumerate(zip(subspaces, energies, strict=True))
    )
    return Batch(rows, tuple(subspaces))


def variant_of(spec: RunSpec) -> Variant:
    """Return the entry of `VARIANTS` that matches the spec."""
    return next(each for each in VARIANTS.values() if each.of(spec) == spec)


def central_rows(spec: CentralSpec, batch: Batch) -> list[CentralRow]:
    """Return the rows of a batch with their variant."""
    variant = variant_of(spec)
    return [CentralRow(**row, variant=variant.key, label=variant.label) for row in batch.rows]


def _ppca_draws(spec: RunSpec, problem: Problem, first: int) -> list[Subspace]:
    settings = spec.settings(problem.n_features, problem.default_components)
    n_chains = max(spec.repetitions, _FEWEST_CHAINS)
    release = draw_ppca(
        problem.holders_moment,
        problem.n_samples,
        spec.epsilon,
        settings.n_components,
        rng=Repetition(spec.seed, first).rng(Purpose.SUBSPACE, _MANY_CHAINS),
        n_chains=n_chains,
        min_ess=_ESS_A_CHAIN * n_chains,
    )
    draw = release.draw
    if draw.method == "exact":
        # One component is drawn without chains, one draw per call.
        return [
            draw_subspaces([spec], problem, first + number)[0]["ppca"]
            for number in range(spec.repetitions)
        ]
    diagnostics = {
        "method": draw.method,
        "converged": draw.converged,
        "r_hat": draw.r_hat,
        "ess_bulk": draw.ess_bulk,
        "ess_tail": draw.ess_tail,
        "sweeps": draw.n_sweeps,
        "chains": n_chains,
        "seconds": draw.seconds,
    }
    unknown = np.full(settings.n_components, np.nan)
    # The curator who draws receives all rows.
    rows = problem.moments.n_samples * problem.n_features
    sent = rows * problem.moments.dtype.itemsize
    return [
        Subspace(state, unknown, release.guarantee, bytes_sent=sent, diagnostics=diagnostics)
        for state in draw.states[: spec.repetitions]
    ]


def _problem(key: ProblemKey) -> Problem:
    return central_problem(key, local_problem.prepared(*key.data))


_problems: OnceCache[Problem] = OnceCache(_problem, keep=2)


MAX_R_HAT, MIN_ESS = 1.05, 50.0
FEWEST_SWEEPS = 8
# Number of the SUBSPACE stream.
_WATCHED = 4


@dataclass(frozen=True)
class WatchedChains:
    """Traces and diagnostics of Markov chains on one distribution. They depend on the data and must
    not be released.

    shares: shape (n_chains, n_sweeps + 1). Captured energy as a share of exact PCA's, including the
        start.
    starts: tuple of {"random", "mode"}
    random_share: Mean captured energy of a uniformly random subspace.
    converged: Whether the last diagnostics passed.
    r_hat, ess: The last split R-hat, and the smaller of bulk and tail effective sample size.
    """

    shares: FloatArray
    starts: tuple[str, ...]
    random_share: float
    converged: bool
    r_hat: float
    ess: float

    @property
    def n_sweeps(self) -> int:
        return int(self.shares.shape[1] - 1)

    def mean_of(self, start: str) -> float:
        """Return the mean share over the second half of the chains with this start."""
        half = self.shares[:, self.shares.shape[1] // 2 :]
        return fmean(half[chain].mean() for chain, own in enumerate(self.starts) if own == start)


def watch(
    spec: RunSpec, problem: Problem, *, n_chains: int, n_sweeps: int | None = None
) -> WatchedChains:
    """Run chains for this number of sweeps, or until the diagnostics pass.

    The chains of a spec do not depend on the number of sweeps: a longer run begins with a shorter
        one.

    spec: Result of `central_spec`.
    n_chains: Number of chains, at least 2. Half start at a uniformly random subspace, half at the
        exact one.
    n_sweeps: Number of sweeps, at least 8.
    Raises `ParameterError` if K is the number of features, because there is only one such subspace.
    """
    settings = spec.settings(problem.n_features, problem.default_components)
    if settings.n_components == problem.n_features:
        raise ParameterError(
            "components", f"below n_features={problem.n_features}", settings.n_components
        )
    # Rows have norm at most 1, so that the score moves by at most 1 (theorem 2).
    concentration = problem.n_samples * spec.epsilon / 2
    limits: dict[str, Any] = {"min_ess": MIN_ESS}
    if n_sweeps is not None:
        limits = {"min_ess": np.inf, "max_sweeps": n_sweeps}
    moment = problem.holders_moment
    with one_blas_thread():
        draw = sample_matrix_bingham(
            concentration * moment,
            settings.n_components,
            rng=Repetition(spec.seed).rng(Purpose.SUBSPACE, _WATCHED),
            method="rotation",
            n_chains=n_chains,
            max_r_hat=MAX_R_HAT,
            **limits,
        )
    return _watched(draw, moment, settings.n_components, concentration)


def _watched(
    draw: BinghamDraw, moment: FloatArray, n_components: int, concentration: float
) -> WatchedChains:
    optimum = float(leading_eigenpairs(moment, n_components)[0].sum())
    ess = min(draw.ess_bulk, draw.ess_tail)
    floor = n_components / len(moment) * float(moment.trace()) / optimum
    return WatchedChains(
        shares=draw.energies / (concentration * optimum),
        starts=draw.starts,
        random_share=floor,
        converged=draw.r_hat < MAX_R_HAT and ess >= MIN_ESS,
        r_hat=draw.r_hat,
        ess=ess,
    )


def running_diagnostics(chains: WatchedChains, n_points: int = 24) -> list[Row]:
    """Compute split R-hat and effective sample sizes after fewer sweeps.

    Rows contain sweeps, r_hat and ess over the second half of each trace, as in the sampler.
    """
    last = chains.n_sweeps
    first = min(FEWEST_SWEEPS, last)
    sweeps = np.unique(np.geomspace(first, last, n_points).round().astype(int))
    return [_diagnosed(chains.shares[:, : t + 1]) for t in sweeps.tolist()]


def _diagnosed(shares: FloatArray) -> Row:
    half = shares[:, shares.shape[1] // 2 :]
    return {
        "sweeps": shares.shape[1] - 1,
        "r_hat": rank_normalized_r_hat(half),
        "ess": min(bulk_ess(half), tail_ess(half)),
    }


DIMENSIONS = (10, 20, 40, 80)
MECHANISMS = ("ppca", "modsulq")
# Number of the SUBSPACE stream.
_MEASUREMENT = 3
_PRECISION = 0.03


@dataclass(frozen=True)
class ComplexitySpec(Spec):
    """Search for the sample size n at given epsilon, delta (only MOD-SuLQ), gap and correlation.

    `failure_probability` is theorem 3's eta; `repetitions` is the number of runs at each n. The
    mechanism and the dimension are those of a measurement; the bounds do not read them.
    """

    # One search, with all its runs at every n, gives one row.
    counted = "searches"
    searches = 1

    epsilon: float = 0.1
    delta: float = 0.01
    gap: float = param(
        0.3, "Gap between the two largest eigenvalues", steps=(0.05, 0.1, 0.2, 0.3, 0.5), label=str
    )
    correlation: float = param(
        0.9,
        "Target correlation ρ with the exact component",
        steps=(0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998),
        label=str,
    )
    failure_probability: float = 0.05
    repetitions: int = 100
    seed: int = 0
    mechanism: str = "ppca"
    n_features: int = 10

    @classmethod
    def row_type(cls) -> type:
        return ComplexityRow

    def outline(self) -> Sequence[Row]:
        return [{"protocol": self.mechanism, "features": self.n_features}]

    def rows(self, problem: None, repetition: int) -> Sequence[Row]:  # noqa: ARG002
        return [measure(self)]

    def sweep(self) -> Sweep:
        """Return the sweep over every mechanism and dimension."""
        return Sweep(self, (("n_features", DIMENSIONS), ("mechanism", MECHANISMS)))


class ComplexityRow(TypedDict):
    """Smallest n at which a mechanism's mean correlation reaches the target."""

    protocol: str
    features: int
    epsilon: float
    delta: float
    gap: float
    correlation: float
    samples: int
    mean_correlation: float
    standard_error: float
    repetitions: int
    seed: int
    seconds: float


class SampleBoundRow(TypedDict):
    """Bound of a theorem on n in one dimension."""

    bound: str
    features: int
    samples: float


def measure(spec: ComplexitySpec) -> ComplexityRow:
    """Find by simulation the n at which the spec's mechanism reaches the target correlation."""
    started = time.perf_counter()
    delta = spec.delta if spec.mechanism == "modsulq" else None
    found = measured_sample_size(
        spec.mechanism,
        gapped_spectrum(spec.n_features, spec.gap),
        spec.epsilon,
        spec.correlation,
        delta=delta,
        n_repetitions=spec.repetitions,
        relative_precision=_PRECISION,
        rng=stream(
            spec.seed,
            Purpose.SUBSPACE,
            _MEASUREMENT,
            MECHANISMS.index(spec.mechanism),
            spec.n_features,
        ),
    )
    return row_from(
        ComplexityRow,
        spec,
        protocol=spec.mechanism,
        features=spec.n_features,
        delta=delta or 0.0,
        samples=found.n_samples,
        mean_correlation=found.mean_correlation,
        standard_error=found.standard_error,
        seconds=time.perf_counter() - started,
    )


def bounds(
    spec: ComplexitySpec,
    dimensions: Sequence[int],
    measured: Sequence[Mapping[str, Any]] = (),
) -> list[SampleBoundRow]:
    """Return theorems 3, 4 and 5 over the dimension, in rows of bound, features and samples.

    Theorem 4 covers only correlations close to 1, and is omitted for others. Theorem 5 gives a
    growth without its constant. It is scaled to the first measured point of MOD-SuLQ, and omitted
    without one.
    """
    rows: list[SampleBoundRow] = []
    anchor = next((row for row in measured if row["protocol"] == "modsulq"), None)
    for d in dimensions:
        points = {
            "theorem 3": ppca_sufficient_samples(
                d,
                spec.epsilon,
                spec.gap,
                spec.correlation,
                leading_eigenvalue=gapped_spectrum(d, spec.gap)[0],
                failure_probability=spec.failure_probability,
            )
        }
        if is_covered_by_theorem_4(spec, d):
            points["theorem 4"] = pure_dp_necessary_samples(
                d, spec.epsilon, spec.gap, spec.correlation
            )
        if anchor is not None:
            shape = modsulq_necessary_shape(d, spec.epsilon, spec.delta)
            there = modsulq_necessary_shape(anchor["features"], spec.epsilon, spec.delta)
            points["theorem 5"] = anchor["samples"] * shape / there
        rows += [{"bound": name, "features": d, "samples": n} for name, n in points.items()]
    return rows


def is_covered_by_theorem_4(spec: ComplexitySpec, n_features: int) -> bool:
    """Return whether theorem 4 applies to the spec."""
    least = lower_bound_least_correlation(n_features)
    return spec.gap <= 0.5 and least <= spec.correlation


def growth(rows: Sequence[Mapping[str, Any]], protocol: str) -> float:
    """Estimate the exponent p of n ~ d^p by least squares on the logarithms.

    Raises `ParameterError` if there are fewer than two points.
    """
    points = [(row["features"], row["samples"]) for row in rows if row["protocol"] == protocol]
    if len(points) < 2:
        raise ParameterError("rows", "at least two points", len(points))
    d, n = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(d, n, 1)[0])


def ppca_sufficient_samples(
    n_features: int,
    epsilon: float,
    gap: float,
    correlation: float,
    *,
    leading_eigenvalue: float,
    failure_probability: float,
) -> float:
    """Return the sufficient sample size of theorem 3.

    With more samples, PPCA reaches `correlation` (rho) with probability at least 1 -
    `failure_probability` (eta):

        d / (epsilon (1 - rho) gap) * (ln(1 / eta) / d + ln(4 lambda_1 / ((1 - rho^2) gap)))
    """
    _require_unit("correlation", correlation)
    _require_unit("failure_probability", failure_probability)
    if not 0 < gap <= leading_eigenvalue <= 1:
        raise ParameterError("gap", f"in (0, leading_eigenvalue={leading_eigenvalue:g}]", gap)
    per_dimension = math.log(1 / failure_probability) / n_features
    packing = math.log(4 * leading_eigenvalue / ((1 - correlation**2) * gap))
    return n_features * (per_dimension + packing) / (epsilon * (1 - correlation) * gap)


def lower_bound_least_correlation(n_features: int) -> float:
    """Return the smallest rho of theorem 4: 1 - (1 - phi) / 16, about 0.992 for large d."""
    return 1 - _one_minus_phi(n_features) / 16


def pure_dp_necessary_samples(
    n_features: int, epsilon: float, gap: float, correlation: float
) -> float:
    """Return the necessary sample size of theorem 4.

    With fewer samples, no pure epsilon-DP algorithm has an expected correlation above `correlation`
    (rho) on every data set with this gap:

        max{ d / (gap epsilon), sqrt((1 - phi) / 80) d / (gap epsilon sqrt(1 - rho)) } with
        1 - phi = exp(-2 (ln 8 + ln(1 + e^d)) / (d - 2)),
        for gap <= 1/2 and rho >= 1 - (1 - phi) / 16.

    Raises `ParameterError` if d < 3, the gap is outside (0, 1/2] or rho is below the range of the
        theorem.
    """
    if not 0 < gap <= 0.5:
        raise ParameterError("gap", "in (0, 0.5] for theorem 4", gap)
    least = lower_bound_least_correlation(n_features)
    if not least <= correlation < 1:
        raise ParameterError("correlation", f"in [{least:.5g}, 1) for theorem 4", correlation)
    shrink = math.sqrt(_one_minus_phi(n_features) / (80 * (1 - correlation)))
    return n_features / (gap * epsilon) * max(1.0, shrink)


def modsulq_necessary_shape(n_features: int, epsilon: float, delta: float) -> float:
    """Return theorem 5 up to a factor: d^(3/2) sqrt(ln(d / delta)) / epsilon.

    The theorem multiplies this by c (1 - c' (1 - rho)) with unknown constants. Only the growth with
    d, epsilon and delta has a meaning; the caller has to scale the curve.
    """
    _require_unit("delta", delta)
    return math.pow(n_features, 1.5) * math.sqrt(math.log(n_features / delta)) / epsilon


def gapped_spectrum(n_features: int, gap: float) -> np.ndarray:
    """Return eigenvalues of trace 1, all equal except the first, which is larger by `gap`."""
    _require_unit("gap", gap)
    spectrum = np.full(n_features, (1 - gap) / n_features)
    spectrum[0] += gap
    return spectrum


@dataclass(frozen=True)
class MeasuredSampleSize:
    """Smallest sample size found to reach a mean correlation, with that mean and its error."""

    n_samples: int
    mean_correlation: float
    standard_error: float


def measured_sample_size(
    mechanism: str,
    eigenvalues: np.ndarray,
    epsilon: float,
    correlation: float,
    *,
    delta: float | None = None,
    n_repetitions: int = 200,
    relative_precision: float = 0.02,
    rng: np.random.Generator,
) -> MeasuredSampleSize:
    """Find by simulation the n at which a mechanism's mean correlation reaches `correlation`.

    The second moment is the population's, diag(eigenvalues), at every n: the simulation measures
    the cost of privacy without the sampling of rows. Bisection over ln n uses the same random
    streams at every n, so that the mean is nearly monotone in n.

    mechanism: {"ppca", "modsulq"}. PPCA draws exactly (one component); MOD-SuLQ takes the leading
        eigenvector by value.
    eigenvalues: shape (n_features,). The first is the largest; their sum is at most 1.
    correlation: Target mean, in (0, 1).
    delta: Failure probability of "modsulq".
    n_repetitions: Runs at each n.
    relative_precision: Relative distance between upper and lower end at which the search stops.
    Raises `ParameterError` if an argument is outside its range, or 10^15 samples are not enough.
    """
    _require_unit("correlation", correlation)
    PrivacyBudget(epsilon)
    eigenvalues = np.asarray(eigenvalues, dtype=float)
    if eigenvalues[0] < eigenvalues.max() or eigenvalues.sum() > 1 + 1e-9:
        raise ParameterError("eigenvalues", "led by the largest, of sum at most 1", eigenvalues)
    correlations = _correlations(mechanism, eigenvalues, epsilon, delta, n_repetitions, rng)

    low, high = 1.0, 1.0
    while correlations(high).mean() < correlation:
        low, high = high, 4 * high
        if high > 1e15:
            raise ParameterError("correlation", "within reach of 1e15 samples", correlation)
    while high / low > 1 + relative_precision:
        middle = math.sqrt(low * high)
        if correlations(middle).mean() < correlation:
            low = middle
        else:
            high = middle
    n_samples = math.ceil(high)
    found = correlations(n_samples)
    return MeasuredSampleSize(
        n_samples, float(found.mean()), float(found.std(ddof=1) / math.sqrt(found.size))
    )


def _correlations(
    mechanism: str,
    eigenvalues: np.ndarray,
    epsilon: float,
    delta: float | None,
    n_repetitions: int,
    rng: np.random.Generator,
) -> Callable[[float], np.ndarray]:
    """Return a function from n to the correlations of `n_repetitions` runs, on the same streams."""
    if mechanism == "ppca":
        (seed,) = _seeds(rng, 1)

        def run(n_samples: float) -> np.ndarray:
            exponent = n_samples * epsilon / 2 * eigenvalues
            directions, _ = sample_vector_bingham(
                exponent, n_repetitions, rng=np.random.default_rng(seed)
            )
            return np.abs(directions[:, 0])

    elif mechanism == "modsulq":
        if delta is None:
            raise ParameterError("delta", "given for MOD-SuLQ", delta)
        budget, n_features = PrivacyBudget(epsilon, delta), eigenvalues.size
        seeds = _seeds(rng, n_repetitions)

        def run(n_samples: float) -> np.ndarray:
            sigma = modsulq_sigma(n_features, n_samples, budget)
            return np.array([_noisy_correlation(eigenvalues, sigma, seed) for seed in seeds])

    else:
        raise ParameterError("mechanism", "'ppca' or 'modsulq'", mechanism)
    return run


def _seeds(rng: np.random.Generator, n_seeds: int) -> list[np.random.SeedSequence]:
    return [
        cast(np.random.SeedSequence, child.bit_generator.seed_seq) for child in rng.spawn(n_seeds)
    ]


def _noisy_correlation(
    eigenvalues: np.ndarray, sigma: float, seed: np.random.SeedSequence
) -> float:
    noisy = symmetric_gaussian_noise(eigenvalues.size, sigma, rng=np.random.default_rng(seed))
    noisy[np.diag_indices_from(noisy)] += eigenvalues
    return float(abs(leading_eigenpairs(noisy, 1)[1][0, 0]))


def _one_minus_phi(n_features: int) -> float:
    if n_features < 3:
        raise ParameterError("n_features", "at least 3 for theorem 4", n_features)
    log_sum = n_features - log_expit(n_features)  # ln(1 + e^d) without overflow
    return math.exp(-2 * (math.log(8) + log_sum) / (n_features - 2))


def _require_unit(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ParameterError(name, "in (0, 1)", value)
