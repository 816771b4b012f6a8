"""How sure a few draws make one: chances that follow from the draws, and what they suppose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from scipy.special import betaincinv, stdtr

from dpcore.errors import ParameterError


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
