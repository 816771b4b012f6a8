"""One private statistic of a column: the release, the law of its error, what the bounds cost."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from dpcore.errors import ParameterError
from dpcore.experiments.engine.control_ranges import LARGEST_BOUND, require_counts
from dpcore.privacy import PrivacyBudget
from dpcore.statistics import (
    MECHANISMS,
    PrivateStatistic,
    clipping_bias,
    error_law,
    people_needed,
    private_histogram,
    private_mean,
    private_variance,
)
from dpcore.streams import Purpose, root_of_release, stream

Row = dict[str, object]

MEAN, VARIANCE, HISTOGRAM = "mean", "variance", "histogram"
KINDS = (MEAN, VARIANCE, HISTOGRAM)
PROBABILITY = 0.95

# Bounds for the pixels of pictures, which the way of encoding gives; encoded tables are in [0, 1].
_ENCODED = {"digits": (0.0, 16.0)}
_MEASURED = {
    "covtype": (0.0, 4000.0),
    "synthetic": (-10.0, 10.0),
    "synthetic-2012": (-1.0, 1.0),
    "mfeat": (0.0, 400.0),
}
_TYPED = (0.0, 100.0)
_NEAREST = 1e-9
_SEPARATORS = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class StatisticSpec:
    """What is released about one column.

    Parameters
    ----------
    kind : {"mean", "variance", "histogram"}
    low, high : float
        Public bounds; the histogram's outermost edges.
    epsilon, delta : float
        Asked of this one release.
    mechanism : {"laplace", "gaussian"}
    bins : int
        Of the histogram, equally wide.
    seed : int
    column : str
        Public name of what the values are. Columns of one name share their noise.
    """

    kind: str = MEAN
    low: float = 0.0
    high: float = 100.0
    epsilon: float = 1.0
    delta: float = 1e-2
    mechanism: str = "laplace"
    bins: int = 10
    seed: int = 0
    column: str = ""

    def __post_init__(self) -> None:
        PrivacyBudget(self.epsilon, self.delta)
        for name, choices in (("kind", KINDS), ("mechanism", MECHANISMS)):
            if getattr(self, name) not in choices:
                raise ParameterError(name, f"one of {', '.join(choices)}", getattr(self, name))
        if not self.low < self.high < math.inf:
            raise ParameterError("upper bound", f"above the lower bound, {self.low:g}", self.high)
        for name, bound in (("lower bound", self.low), ("upper bound", self.high)):
            if not abs(bound) <= LARGEST_BOUND:
                reach = f"a number from {-LARGEST_BOUND:g} to {LARGEST_BOUND:g}"
                raise ParameterError(name, reach, bound)
        # Closer together, rounding would move values between bins and swallow the noise.
        if self.high - self.low < max(_NEAREST, _NEAREST * abs(self.high)):
            raise ParameterError(
                "upper bound", f"further above the lower bound, {self.low:g}", self.high
            )
        require_counts(self, bins=2, seed=0)

    @property
    def edges(self) -> np.ndarray:
        """(bins + 1,) public edges."""
        return np.linspace(self.low, self.high, self.bins + 1)


def usual_bounds(dataset: str | None) -> tuple[float, float]:
    """Bounds somebody may choose before seeing any value; None is for typed numbers."""
    if dataset is None:
        return _TYPED
    return (_ENCODED | _MEASURED).get(dataset, (0.0, 1.0))


def n_outside(values: np.ndarray, spec: StatisticSpec) -> int:
    """How many values the bounds move. Exact: for whoever holds the values, not for release."""
    return int(np.count_nonzero((values < spec.low) | (values > spec.high)))


def numbers_in(text: str) -> np.ndarray:
    """The numbers in a text, separated by blanks, commas, semicolons or lines.

    Raises
    ------
    ParameterError
        Naming the first thing that is no finite number, or if there are fewer than two.
    """
    numbers = []
    for word in filter(None, _SEPARATORS.split(text.strip())):
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ParameterError("numbers", "finite numbers with commas or blanks between", word)
        numbers.append(number)
    if len(numbers) < 2:
        raise ParameterError("numbers", "at least two, one a person", len(numbers))
    return np.array(numbers)


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

    Returns
    -------
    ndarray of shape (draws,), or (draws * bins,) for a histogram
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
    errors = np.linspace(*law.interval(0.998), points)
    return np.column_stack([errors, law.pdf(errors)])


def bound_trade_off(values: np.ndarray, spec: StatisticSpec, steps: int = 41) -> list[Row]:
    """Bias and noise of the mean or variance against the upper bound.

    The bias is read from the values themselves: not private, a lesson in choosing bounds.

    Returns
    -------
    list of dict
        With high, bias (its size), noise (standard deviation) and error (root of the sum of
        squares), in units of the statistic.
    """
    width = spec.high - spec.low
    rows = []
    for high in sorted({spec.high, *(spec.low + width * np.geomspace(0.05, 4.0, steps))}):
        try:
            bounded = replace(spec, high=float(high))
        except ParameterError:  # beyond what public bounds may be
            continue
        bias = abs(
            float(clipping_bias(values, bounds=(bounded.low, bounded.high), statistic=spec.kind))
        )
        scale = release(values, bounded).noise_scale
        noise = float(error_law(spec.mechanism, scale).std())
        rows.append(
            {
                "high": bounded.high,
                "bias": bias,
                "noise": noise,
                "error": math.hypot(bias, noise),
            }
        )
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


def people_rows(spec: StatisticSpec, points: int = 25) -> list[Row]:
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
    asked = {
        "epsilon": spec.epsilon,
        "delta": spec.delta if spec.mechanism == "gaussian" else 0.0,
        "mechanism": spec.mechanism,
        "rng": rng,
    }
    if spec.kind == HISTOGRAM:
        return private_histogram(values, edges=spec.edges, **asked)
    summary = private_mean if spec.kind == MEAN else private_variance
    return summary(values, bounds=(spec.low, spec.high), **asked)
