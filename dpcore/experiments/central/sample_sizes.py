"""Number of rows that a private first component needs, found by simulation, as an experiment.

The simulation uses the population's second moment at every n, so it measures the cost of privacy
without the sampling of rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, cast

import numpy as np

from dpcore.errors import ParameterError
from dpcore.experiments.central.sample_bounds import (
    gapped_spectrum,
    lower_bound_least_correlation,
    modsulq_necessary_shape,
    ppca_sufficient_samples,
    pure_dp_necessary_samples,
    require_unit,
)
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.spec import Row, Spec, row_from
from dpcore.mechanisms import sample_vector_bingham, symmetric_gaussian_noise
from dpcore.params import param
from dpcore.pca.protocols.central import modsulq_sigma
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import leading_eigenpairs
from dpcore.streams import Purpose, stream

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

    experiment = "sample-sizes"

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
        """Find by simulation the n at which the mechanism reaches the target correlation."""
        started = time.perf_counter()
        delta = self.delta if self.mechanism == "modsulq" else None
        measured = measured_sample_size(
            self.mechanism,
            gapped_spectrum(self.n_features, self.gap),
            self.epsilon,
            self.correlation,
            delta=delta,
            n_repetitions=self.repetitions,
            relative_precision=_PRECISION,
            rng=stream(
                self.seed,
                Purpose.SUBSPACE,
                _MEASUREMENT,
                MECHANISMS.index(self.mechanism),
                self.n_features,
            ),
        )
        row = row_from(
            ComplexityRow,
            self,
            protocol=self.mechanism,
            features=self.n_features,
            delta=delta or 0.0,
            samples=measured.n_samples,
            mean_correlation=measured.mean_correlation,
            standard_error=measured.standard_error,
            seconds=time.perf_counter() - started,
        )
        return [row]

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


def bounds(
    spec: ComplexitySpec,
    dimensions: Sequence[int],
    measured: Sequence[Mapping[str, Any]] = (),
) -> list[SampleBoundRow]:
    """Return the bounds of theorems 3, 4 and 5 for every dimension, one row each.

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
    require_unit("correlation", correlation)
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
    measured = correlations(n_samples)
    return MeasuredSampleSize(
        n_samples, float(measured.mean()), float(measured.std(ddof=1) / math.sqrt(measured.size))
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
