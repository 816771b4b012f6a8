"""How many people a private first component needs: bounds beside measurements, as tables."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Experiment, each_alone, row_from
from dpcore.experiments.engine.sweep import Sweep
from dpcore.pca.sample_complexity import (
    gapped_spectrum,
    lower_bound_least_correlation,
    measured_sample_size,
    modsulq_necessary_shape,
    ppca_sufficient_samples,
    pure_dp_necessary_samples,
)
from dpcore.streams import Purpose, stream

DIMENSIONS = (10, 20, 40, 80)
MECHANISMS = ("ppca", "modsulq")
# Of the SUBSPACE streams.
_MEASUREMENT = 3
_PRECISION = 0.03


@dataclass(frozen=True)
class ComplexitySpec:
    """The question: n for which epsilon, delta (MOD-SuLQ alone), gap and correlation.

    `failure_probability` is theorem 3's eta; `repetitions` is the number of runs at each n that
    is tried. The mechanism and the dimension are those of a measurement; bounds read neither.
    """

    experiment = "dpcore.experiments.central.people_needed:COMPLEXITY"
    searches = 1

    epsilon: float = 0.1
    delta: float = 0.01
    gap: float = 0.3
    correlation: float = 0.9
    failure_probability: float = 0.05
    repetitions: int = 100
    seed: int = 0
    mechanism: str = "ppca"
    n_features: int = 10

    def sweep(self) -> Sweep:
        """Every mechanism in every dimension."""
        return Sweep(self, (("n_features", DIMENSIONS), ("mechanism", MECHANISMS)))


class ComplexityRow(TypedDict):
    """The n at which a mechanism's mean correlation reaches the asked one."""

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


class BoundRow(TypedDict):
    """What a theorem says of n in one dimension."""

    bound: str
    features: int
    samples: float


def measure(spec: ComplexitySpec) -> ComplexityRow:
    """The n at which the spec's mechanism reaches the asked correlation, by running it."""
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
) -> list[BoundRow]:
    """Theorems 3, 4 and 5 over the dimension, in rows of bound, features and samples.

    Theorem 4 speaks of correlations close to 1 alone, and is left out where it is silent.
    Theorem 5 gives a growth without its constant: it is drawn through the first measured point
    of MOD-SuLQ, and left out before there is one.
    """
    rows: list[BoundRow] = []
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
    """Whether theorem 4 says anything here."""
    least = lower_bound_least_correlation(n_features)
    return spec.gap <= 0.5 and least <= spec.correlation


def growth(rows: Sequence[Mapping[str, Any]], protocol: str) -> float:
    """The exponent p of n ~ d^p, least squares through the logarithms.

    Raises `ParameterError` if there are fewer than two points.
    """
    points = [(row["features"], row["samples"]) for row in rows if row["protocol"] == protocol]
    if len(points) < 2:
        raise ParameterError("rows", "at least two points", len(points))
    d, n = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(d, n, 1)[0])


COMPLEXITY: Experiment[ComplexitySpec, None, None] = Experiment(
    row=ComplexityRow,
    outline=lambda spec: [{"protocol": spec.mechanism, "features": spec.n_features}],
    run=each_alone(lambda spec, *_: [measure(spec)]),
    problem_key=lambda *_: None,
    problem=lambda _: None,
    dataset=lambda _: None,
    # Its runs are made together, at every n that is tried: one search gives one row.
    repetitions="searches",
)
