"""What is asked of one column: a statistic, its public bounds, its budget."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from dpcore.errors import ParameterError, require_one_of
from dpcore.experiments.engine.control_ranges import LARGEST_BOUND, require_counts
from dpcore.privacy import PrivacyBudget
from dpcore.statistics import MECHANISMS

MEAN, VARIANCE, HISTOGRAM = "mean", "variance", "histogram"
KINDS = (MEAN, VARIANCE, HISTOGRAM)

# Bounds for the pixels of pictures, which the way of encoding gives; encoded tables are in [0, 1].
_BOUNDS = {
    "digits": (0.0, 16.0),
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

    kind: {"mean", "variance", "histogram"}
    low, high: Public bounds; the histogram's outermost edges.
    epsilon, delta: Asked of this one release.
    mechanism: {"laplace", "gaussian"}
    bins: Of the histogram, equally wide.
    column: Public name of what the values are. Columns of one name share their noise.
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
            require_one_of(name, getattr(self, name), choices)
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
        return np.linspace(float(self.low), float(self.high), self.bins + 1)


def usual_bounds(dataset: str | None) -> tuple[float, float]:
    """Bounds somebody may choose before seeing any value; None is for typed numbers."""
    if dataset is None:
        return _TYPED
    return _BOUNDS.get(dataset, (0.0, 1.0))


def numbers_in(text: str) -> np.ndarray:
    """The numbers in a text, separated by blanks, commas, semicolons or lines.

    Raises `ParameterError` naming the first thing that is no finite number, or if there are fewer
        than two.
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
