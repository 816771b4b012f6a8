"""One private statistic of a column: the release, the law of its error, what the bounds cost."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypedDict

import numpy as np

from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Experiment, each_alone, row_from
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.learning.statistic_spec import HISTOGRAM, MEAN, VARIANCE, StatisticSpec
from dpcore.statistics import (
    PrivateStatistic,
    clipping_bias,
    error_law,
    people_needed,
    private_histogram,
    private_mean,
    private_variance,
)
from dpcore.streams import Purpose, root_of_release, stream

PROBABILITY = 0.95
TYPED = "typed"


class BoundRow(TypedDict):
    """What an upper bound costs, in units of the statistic.

    `bias` is its size, `noise` a standard deviation, `error` the root of the sum of squares.
    """

    high: float
    bias: float
    noise: float
    error: float


class PeopleRow(TypedDict):
    """How many people keep an error that small."""

    error: float
    people: int


def n_outside(values: np.ndarray, spec: StatisticSpec) -> int:
    """How many values the bounds move. Exact: for whoever holds the values, not for release."""
    return int(np.count_nonzero((values < spec.low) | (values > spec.high)))


def release(values: np.ndarray, spec: StatisticSpec, repetition: int = 0) -> PrivateStatistic:
    """One release of the statistic; a repetition is one draw of its noise.

    The noise is of this column, statistic, bounds and budget alone.
    """
    root = root_of_release(
        spec.seed,
        spec.column,
        len(values),
        spec.kind,
        (spec.low, spec.high),
        spec.bins if spec.kind == HISTOGRAM else None,
        spec.mechanism,
        spec.epsilon,
        spec.delta if spec.mechanism == "gaussian" else 0.0,
    )
    return _released(values, spec, stream(root, Purpose.STATISTIC, repetition))


def truth(values: np.ndarray, spec: StatisticSpec) -> float | np.ndarray:
    """What the values themselves give, unbounded and without noise. Not private."""
    if spec.kind == HISTOGRAM:
        return np.histogram(np.clip(values, spec.low, spec.high), spec.edges)[0].astype(float)
    return float(values.mean() if spec.kind == MEAN else values.var())


def affordable_draws(n_samples: int, spec: StatisticSpec) -> int:
    """How many releases to draw for their law to show within a moment: 50 to 1,000.

    A histogram gives an error a bin, and takes longer.
    """
    wanted, work = (1000, 5e7) if spec.kind != HISTOGRAM else (200, 1e7)
    return int(min(wanted, max(50, work // n_samples)))


def error_draws(values: np.ndarray, spec: StatisticSpec, draws: int) -> np.ndarray:
    """Errors of many releases, against the statistic of the bounded values.

    Returns: shape (draws,), or (draws * bins,) for a histogram
    """
    bounded = np.clip(values, spec.low, spec.high)
    exact = truth(bounded, spec)
    rng = stream(spec.seed, Purpose.STATISTIC, 1, 0)
    return np.concatenate(
        [np.atleast_1d(_released(bounded, spec, rng).value - exact) for _ in range(draws)]
    )


def error_reached(spec: StatisticSpec, scale: float) -> float:
    """The size of error that theory exceeds in 5 draws of 100."""
    return float(error_law(spec.mechanism, scale).ppf((1 + PROBABILITY) / 2))


def error_density(spec: StatisticSpec, scale: float, points: int = 241) -> np.ndarray:
    """(points, 2) error and theoretical density of it, over the middle 99.8 %."""
    law = error_law(spec.mechanism, scale)
    low, high = law.interval(0.998)
    errors = np.linspace(low, high, points)
    return np.column_stack([errors, law.pdf(errors)])


def bound_trade_off(values: np.ndarray, spec: StatisticSpec, steps: int = 41) -> list[BoundRow]:
    """Bias and noise of the mean or variance against the upper bound.

    The bias is read from the values themselves: not private, a lesson in choosing bounds.
    """
    width = spec.high - spec.low
    rows: list[BoundRow] = []
    for high in sorted({spec.high, *(spec.low + width * np.geomspace(0.05, 4.0, steps))}):
        try:
            bounded = replace(spec, high=float(high))
        except ParameterError:  # beyond what public bounds may be
            continue
        bias = abs(
            float(clipping_bias(values, bounds=(bounded.low, bounded.high), statistic=spec.kind))
        )
        scale = float(release(values, bounded).noise_scale)
        noise = float(error_law(spec.mechanism, scale).std())
        error = math.hypot(bias, noise)
        rows.append({"high": bounded.high, "bias": bias, "noise": noise, "error": error})
    return rows


def people_for(spec: StatisticSpec, error: float) -> int:
    """People from which the noise stays below `error` 95 times in 100.

    For a histogram the error is a share of all people, for each bin.
    """
    return people_needed(
        error,
        statistic="share" if spec.kind == HISTOGRAM else spec.kind,
        bounds=(spec.low, spec.high),
        epsilon=spec.epsilon,
        delta=spec.delta if spec.mechanism == "gaussian" else 0.0,
        mechanism=spec.mechanism,
        probability=PROBABILITY,
    )


def people_rows(spec: StatisticSpec, points: int = 25) -> list[PeopleRow]:
    """People needed for errors from a thousandth of the range to half of it."""
    return [
        {"error": float(error), "people": people_for(spec, float(error))}
        for error in error_range(spec) * np.geomspace(0.001, 0.5, points)
    ]


def error_range(spec: StatisticSpec) -> float:
    """The largest value an error can sensibly have: the range of the statistic."""
    if spec.kind == HISTOGRAM:
        return 1.0
    width = spec.high - spec.low
    return width if spec.kind == MEAN else width**2 / 4


def data_driven_edges(values: np.ndarray, spec: StatisticSpec) -> np.ndarray:
    """(bins + 1,) edges from the smallest to the largest value. Not private: the mistake."""
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, high if high > low else low + 1.0, spec.bins + 1)


def _released(
    values: np.ndarray, spec: StatisticSpec, rng: np.random.Generator
) -> PrivateStatistic:
    release = {
        MEAN: partial(private_mean, bounds=(spec.low, spec.high)),
        VARIANCE: partial(private_variance, bounds=(spec.low, spec.high)),
        HISTOGRAM: partial(private_histogram, edges=spec.edges),
    }[spec.kind]
    return release(
        values,
        epsilon=spec.epsilon,
        delta=spec.delta if spec.mechanism == "gaussian" else 0.0,
        mechanism=spec.mechanism,
        rng=rng,
    )


@dataclass(frozen=True)
class ErrorsSpec:
    """Many releases of one statistic.

    origin: (data set, column number), or ("typed", numbers …).
    draws: How many releases.
    """

    experiment = "dpcore.experiments.learning.statistic_runs:STATISTIC"
    rounds = 1

    statistic: StatisticSpec
    origin: tuple[Any, ...]
    draws: int = 100

    @property
    def dataset(self) -> str | None:
        return None if self.origin[0] == TYPED else str(self.origin[0])


class StatisticRow(TypedDict):
    """Errors of many releases, against the statistic of the bounded values.

    One a release; of a histogram one a bin and release.
    """

    column: str
    kind: str
    mechanism: str
    epsilon: float
    delta: float
    low: float
    high: float
    bins: int
    seed: int
    samples: int
    draws: int
    errors: list[float]
    seconds: float


def _rows(spec: ErrorsSpec, values: np.ndarray, _repetition: int) -> list[StatisticRow]:
    started, asked = time.perf_counter(), spec.statistic
    found = {
        "samples": len(values),
        "draws": spec.draws,
        "errors": error_draws(values, asked, spec.draws).tolist(),
    }
    return [row_from(StatisticRow, asked, **found, seconds=time.perf_counter() - started)]


def _with_values(base: ErrorsSpec, values: dict[str, Any]) -> ErrorsSpec:
    own = {name: values.pop(name) for name in base.__dataclass_fields__ if name in values}
    base = replace(base, **own)
    return replace(base, statistic=replace(base.statistic, **values))


def _values(origin: tuple[Any, ...]) -> np.ndarray:
    first, *rest = origin
    values = np.array(rest) if first == TYPED else load_dataset(first).X[:, rest[0]]
    values = values.astype(np.float64)
    values.flags.writeable = False
    return values


# The values of a column, or typed ones, by their origin.
local_values: OnceCache[np.ndarray] = OnceCache(_values, keep=32)
STATISTIC: Experiment[ErrorsSpec, tuple[Any, ...], np.ndarray] = Experiment(
    row=StatisticRow,
    outline=lambda spec: [{"kind": spec.statistic.kind, "draws": spec.draws}],
    run=each_alone(_rows),
    problem_key=lambda spec, _: spec.origin,
    problem=local_values,
    dataset=lambda spec: spec.dataset,
    data_of=lambda origin: origin[0],
    # All releases are made together, from one stream.
    repetitions="rounds",
    derived_fields=tuple(StatisticSpec.__dataclass_fields__),
    with_values=_with_values,
)
