"""What a search for the cheapest way gives: rounds of runs, a recommendation at the end, and how
sure its few draws make one: chances that follow from the draws, and what they suppose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.special import betaincinv, stdtr

from dpcore.errors import ParameterError
from dpcore.experiments.analysis.ranking import Ranked
from dpcore.experiments.analysis.target_search import held_in_words, value_in_words
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.pca.spec import RunSpec


def chance_of_mean_above(values: Sequence[float], level: float) -> float | None:
    """Posterior chance that the mean of all possible draws is above a level.

    For independent normal draws of unknown mean and spread under the usual flat prior (Jeffreys'
    for location and log scale), the mean is Student's t around theirs: of n draws with mean m and
    standard deviation s, the chance is T_{n-1}((m - level) sqrt(n) / s).

    Returns: None for fewer than two draws, which say nothing of their spread.
    """
    if len(values) < 2:
        return None
    ahead, spread = fmean(values) - level, stdev(values)
    if spread == 0:
        return 0.5 + 0.5 * (ahead > 0) - 0.5 * (ahead < 0)
    return float(stdtr(len(values) - 1, ahead * math.sqrt(len(values)) / spread))


def chance_ahead(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The same chance that the first captures more than the second on average.

    Draws of one number may share their noise, so it is their differences that are looked at.
    """
    return chance_of_mean_above([a - b for a, b in zip(first, second, strict=False)], 0.0)


def least_share(successes: int, draws: int, *, confidence: float = 0.95) -> float:
    """A lower confidence limit of how often a single draw succeeds (Clopper & Pearson 1934).

    Raises `ParameterError` unless there are draws, and no more successes than draws.
    """
    if not 0 <= successes <= draws or draws < 1:
        raise ParameterError("successes", f"in [0, draws={draws}], of at least one", successes)
    if successes == 0:
        return 0.0
    return float(betaincinv(successes, draws - successes + 1, 1 - confidence))


@dataclass(frozen=True)
class Round:
    """Ways that were run at one value of the axis."""

    value: float
    ranked: tuple[Ranked, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows of all of them."""
        return tuple(row for each in self.ranked for row in each.rows)


@dataclass(frozen=True)
class Found:
    """A way that reaches the target, and the cheapest value at which it does.

    spec: What it runs there.
    ranked: Its draws in the search.
    """

    value: float
    spec: RunSpec
    ranked: Ranked


@dataclass(frozen=True)
class Recommendation:
    """What a target costs at least.

    base: What was held.
    best, runner_up: The cheapest, and the cheapest of the others; None if no way reaches the
        target.
    untrusting: The cheapest that needs nobody trusted.
    most: Where nothing reaches the target: the way that comes closest, and where.
    fresh: As many further draws of the best, which had no part in the search.
    skipped: Settings that could not be run, with reasons.
    """

    base: RunSpec
    field: str
    target: float
    best: Found | None
    runner_up: Found | None
    untrusting: Found | None
    most: Round
    fresh: tuple[Row, ...]
    skipped: tuple[Row, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Those that no `Round` has."""
        return self.fresh

    @property
    def sentence(self) -> str:
        """The answer for a slide."""
        held = held_in_words(self.base, self.field)
        wanted = f"{percent(self.target)} of the optimum at {held}"
        if self.best is None:
            (most,) = self.most.ranked
            where = value_in_words(self.field, self.most.value)
            return (
                f"{wanted} is out of reach: the most is {percent(most.mean)}, "
                f"with {most.way.label} at {where}."
            )
        takes = "is kept up to" if self.field == "sites" else "takes"
        named = value_in_words(self.field, self.best.value)
        second = ""
        if self.runner_up is not None:
            other = value_in_words(self.field, self.runner_up.value)
            second = f"; next is {self.runner_up.ranked.way.label} at {other}"
        return f"{wanted} {takes} {named} with {self.best.ranked.way.label}{second}."
