"""Experiments with one private statistic of a column: release, error distribution, bounds."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, Self, TypedDict

import numpy as np

from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.spec import Row, Spec, join_key, row_from
from dpcore.experiments.publish.export import Recipe, imports_of, source_of
from dpcore.params import LARGEST_BOUND, check_params, param
from dpcore.privacy import Charge, Guarantee, PrivacyBudget, Release
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

MEAN, VARIANCE, HISTOGRAM = "mean", "variance", "histogram"
KINDS = (MEAN, VARIANCE, HISTOGRAM)

# Public bounds of the values of a data set; encoded tables are in [0, 1].
_BOUNDS = {
    "digits": (0.0, 16.0),
    "covtype": (0.0, 4000.0),
    "synthetic": (-10.0, 10.0),
    "synthetic-2012": (-1.0, 1.0),
    "mfeat": (0.0, 400.0),
}
_TYPED = (0.0, 100.0)
_MIN_RANGE = 1e-9
_SEPARATORS = re.compile(r"[\s,;]+")

TYPED_NUMBERS = "the typed numbers"


@dataclass(frozen=True)
class StatisticSpec:
    """Settings of one private statistic of a column.

    low, high: Public bounds; the outermost edges of a histogram.
    epsilon, delta: Requested budget of this release.
    column: Public name of the values. Columns with the same name share their noise.
    """

    kind: str = param(MEAN, "Statistic", choices=KINDS, label=str.capitalize)
    low: float = 0.0
    high: float = 100.0
    epsilon: float = 1.0
    delta: float = 1e-2
    mechanism: str = param(
        "laplace",
        "Noise",
        "Laplace has pure ε and does not use δ.",
        choices=MECHANISMS,
        label={"laplace": "Laplace", "gaussian": "Gaussian, analytic"}.__getitem__,
    )
    bins: int = param(10, "Bins", "Number of equally wide bins of the histogram.", low=2, up_to=40)
    seed: int = param(0, "Seed", low=0, high=2**63 - 1)
    column: str = ""

    def __post_init__(self) -> None:
        PrivacyBudget(self.epsilon, self.delta)
        check_params(self)
        if not self.low < self.high < math.inf:
            raise ParameterError("upper bound", f"above the lower bound, {self.low:g}", self.high)
        for name, bound in (("lower bound", self.low), ("upper bound", self.high)):
            if not abs(bound) <= LARGEST_BOUND:
                reach = f"a number from {-LARGEST_BOUND:g} to {LARGEST_BOUND:g}"
                raise ParameterError(name, reach, bound)
        # Rounding at closer bounds would move values between bins and remove the noise.
        if self.high - self.low < max(_MIN_RANGE, _MIN_RANGE * abs(self.high)):
            raise ParameterError(
                "upper bound", f"further above the lower bound, {self.low:g}", self.high
            )

    @property
    def edges(self) -> np.ndarray:
        """Public edges of the bins, shape (bins + 1,)."""
        return np.linspace(float(self.low), float(self.high), self.bins + 1)

    def charge(
        self, dataset: str | None, identity: tuple[object, ...], name: str, guarantee: Guarantee
    ) -> Charge:
        """Return the charge of one release.

        dataset: Name of the data set; None for typed numbers.
        identity: Values that identify the column, or the typed numbers.
        name: Displayed name of the column.
        """
        settings: tuple[object, ...] = (
            self.kind,
            self.low,
            self.high,
            self.epsilon,
            self.mechanism,
            self.seed,
        )
        if self.kind == HISTOGRAM:
            settings += (self.bins,)
        if self.mechanism == "gaussian":
            settings += (self.delta,)
        # The identity of typed numbers is the numbers themselves, which may be many.
        column = sha256(repr(identity).encode()).hexdigest()
        release = Release.of(
            guarantee,
            key=join_key("statistic", column, *settings),
            label=f"the {self.kind} of {name}, ε = {self.epsilon:g}, seed {self.seed}",
            dataset=dataset or TYPED_NUMBERS,
        )
        # The noise of typed numbers depends on their count and not on their values.
        stream = "" if dataset else join_key("typed", len(identity), *settings)
        return Charge(release, quantities=(self.kind,), algorithms=(name,), stream=stream)


def usual_bounds(dataset: str | None) -> tuple[float, float]:
    """Return bounds that are public knowledge about a data set; None for typed numbers."""
    if dataset is None:
        return _TYPED
    return _BOUNDS.get(dataset, (0.0, 1.0))


def numbers_in(text: str) -> np.ndarray:
    """Parse the numbers in a text, separated by blanks, commas, semicolons or lines.

    Raises `ParameterError` with the first word that is not a finite number, or if there are fewer
    than two numbers.
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


PROBABILITY = 0.95
TYPED = "typed"


class ErrorBoundRow(TypedDict):
    """Error of the statistic for one upper bound, in units of the statistic.

    `bias` is the absolute bias of clipping, `noise` the standard deviation of the noise, and
    `error` the root of the sum of their squares.
    """

    high: float
    bias: float
    noise: float
    error: float


class PeopleRow(TypedDict):
    """Number of rows needed for an error."""

    error: float
    people: int


def n_outside(values: np.ndarray, spec: StatisticSpec) -> int:
    """Return the number of values outside the bounds. Exact, so not for release."""
    return int(np.count_nonzero((values < spec.low) | (values > spec.high)))


def release(values: np.ndarray, spec: StatisticSpec, repetition: int = 0) -> PrivateStatistic:
    """Release the statistic; a repetition is one draw of its noise.

    The noise is independent for each column, statistic, bounds and budget.
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
    return _release(values, spec, stream(root, Purpose.STATISTIC, repetition))


def truth(values: np.ndarray, spec: StatisticSpec) -> float | np.ndarray:
    """Compute the statistic without noise. Not private."""
    if spec.kind == HISTOGRAM:
        return np.histogram(np.clip(values, spec.low, spec.high), spec.edges)[0].astype(float)
    return float(values.mean() if spec.kind == MEAN else values.var())


def affordable_draws(n_samples: int, spec: StatisticSpec) -> int:
    """Return the number of releases, 50 to 1,000, that can be drawn in about a second.

    A histogram has one error per bin and takes longer.
    """
    most, work = (1000, 5e7) if spec.kind != HISTOGRAM else (200, 1e7)
    return int(min(most, max(50, work // n_samples)))


def error_draws(values: np.ndarray, spec: StatisticSpec, draws: int) -> np.ndarray:
    """Draw errors of releases, relative to the statistic of the bounded values.

    Returns: shape (draws,), or (draws * bins,) for a histogram
    """
    bounded = np.clip(values, spec.low, spec.high)
    exact = truth(bounded, spec)
    rng = stream(spec.seed, Purpose.STATISTIC, 1, 0)
    return np.concatenate(
        [np.atleast_1d(_release(bounded, spec, rng).value - exact) for _ in range(draws)]
    )


def error_reached(spec: StatisticSpec, scale: float) -> float:
    """Return the absolute error that is exceeded with probability 5 %, by theory."""
    return float(error_law(spec.mechanism, scale).ppf((1 + PROBABILITY) / 2))


def error_density(spec: StatisticSpec, scale: float, points: int = 241) -> np.ndarray:
    """Return errors and their theoretical density, shape (points, 2), over the middle 99.8 %."""
    law = error_law(spec.mechanism, scale)
    low, high = law.interval(0.998)
    errors = np.linspace(low, high, points)
    return np.column_stack([errors, law.pdf(errors)])


def bound_trade_off(
    values: np.ndarray, spec: StatisticSpec, steps: int = 41
) -> list[ErrorBoundRow]:
    """Return bias and noise of the mean or variance for several upper bounds.

    The bias is computed from the values, so it is not private.
    """
    width = spec.high - spec.low
    rows: list[ErrorBoundRow] = []
    for high in sorted({spec.high, *(spec.low + width * np.geomspace(0.05, 4.0, steps))}):
        try:
            bounded = replace(spec, high=float(high))
        except ParameterError:  # outside the allowed bounds
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
    """Return the number of rows from which the noise is below `error` with probability 95 %.

    For a histogram, the error is that of each bin's share of all rows.
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
    """Return the number of people for each error from a thousandth to half of the range."""
    return [
        {"error": float(error), "people": people_for(spec, float(error))}
        for error in error_range(spec) * np.geomspace(0.001, 0.5, points)
    ]


def error_range(spec: StatisticSpec) -> float:
    """Return the range of the statistic, which bounds its error."""
    if spec.kind == HISTOGRAM:
        return 1.0
    width = spec.high - spec.low
    return width if spec.kind == MEAN else width**2 / 4


def data_driven_edges(values: np.ndarray, spec: StatisticSpec) -> np.ndarray:
    """Return edges from the smallest to the largest value, as an example of a privacy error."""
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, high if high > low else low + 1.0, spec.bins + 1)


def _release(values: np.ndarray, spec: StatisticSpec, rng: np.random.Generator) -> PrivateStatistic:
    mechanism = {
        MEAN: partial(private_mean, bounds=(spec.low, spec.high)),
        VARIANCE: partial(private_variance, bounds=(spec.low, spec.high)),
        HISTOGRAM: partial(private_histogram, edges=spec.edges),
    }[spec.kind]
    return mechanism(
        values,
        epsilon=spec.epsilon,
        delta=spec.delta if spec.mechanism == "gaussian" else 0.0,
        mechanism=spec.mechanism,
        rng=rng,
    )


@dataclass(frozen=True)
class ErrorsSpec(Spec):
    """Spec of the errors of many releases of one statistic.

    origin: (data set, column number), or ("typed", numbers …).
    draws: Number of releases.
    """

    experiment = "statistic-errors"

    # All releases are made together, from one stream.
    counted = "rounds"
    rounds = 1
    derived_fields = tuple(StatisticSpec.__dataclass_fields__)

    statistic: StatisticSpec
    origin: tuple[Any, ...]
    draws: int = 100

    @property
    def dataset(self) -> str | None:
        return None if self.origin[0] == TYPED else str(self.origin[0])

    @classmethod
    def row_type(cls) -> type:
        return StatisticRow

    def outline(self) -> Sequence[Row]:
        return [{"kind": self.statistic.kind, "draws": self.draws}]

    def problem_key(self, repetition: int = 0) -> tuple[Any, ...]:  # noqa: ARG002
        return self.origin

    @classmethod
    def load(cls, key: tuple[Any, ...]) -> np.ndarray:
        return local_values(key)

    @classmethod
    def data_of(cls, key: tuple[Any, ...]) -> Hashable:
        return str(key[0])

    def rows(self, problem: np.ndarray, repetition: int) -> Sequence[Row]:  # noqa: ARG002
        started = time.perf_counter()
        errors = error_draws(problem, self.statistic, self.draws).tolist()
        row = row_from(
            StatisticRow,
            self.statistic,
            samples=len(problem),
            draws=self.draws,
            errors=errors,
            seconds=time.perf_counter() - started,
        )
        return [row]

    def with_values(self, values: dict[str, Any]) -> Self:
        own_values = {
            name: values.pop(name) for name in self.__dataclass_fields__ if name in values
        }
        base = replace(self, **own_values)
        return replace(base, statistic=replace(base.statistic, **values))


class StatisticRow(TypedDict):
    """Row with the errors of many releases, relative to the statistic of the bounded values.

    `errors` has one value per release, or per bin and release of a histogram.
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


def _read_values(origin: tuple[Any, ...]) -> np.ndarray:
    first, *rest = origin
    values = np.array(rest) if first == TYPED else load_dataset(first).X[:, rest[0]]
    values = values.astype(np.float64)
    values.flags.writeable = False
    return values


# Values by their origin.
local_values: OnceCache[np.ndarray] = OnceCache(_read_values, keep=32)


_RELEASE = """\
result = release(values, spec)
print(np.round(result.value, 6), result.mechanism, result.guarantee.epsilon)"""


def statistic_recipe(spec: StatisticSpec, origin: tuple[str, int] | list[float]) -> Recipe:
    """Return a recipe that repeats a release.

    origin: (data set, column number) or list of float. Source of the values, or the values.
    """
    needed: list[Callable[..., object]] = [StatisticSpec, release]
    if isinstance(origin, tuple):
        needed.append(load_dataset)
        values = f"load_dataset({origin[0]!r}).X[:, {origin[1]}].astype(float)"
    else:
        values = f"np.array({origin!r})"
    cells = (
        imports_of("import numpy as np", *needed),
        f"values = {values}\nspec = {source_of(spec)}",
        _RELEASE,
    )
    return Recipe("One private statistic", cells)
