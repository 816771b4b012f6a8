"""Statistics of a few runs of the noise: how often a target is reached, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from scipy.special import betaincinv, stdtr

from dpcore.errors import ParameterError

# Runs with new noise that confirm the result of a search. A recommendation needs the target in
# `ENOUGH_RUNS` of them.
FRESH_RUNS, ENOUGH_RUNS = 10, 9


def count_hits(energies: Sequence[float], target: float) -> int:
    """Return the number of runs that reach the target."""
    return sum(energy >= target for energy in energies)


def reaches_target(energies: Sequence[float], target: float) -> bool:
    """Return whether at least nine of ten runs reach the target; all, for fewer than ten runs."""
    return count_hits(energies, target) * FRESH_RUNS >= ENOUGH_RUNS * len(energies) > 0


def chance_of_mean_above(values: Sequence[float], level: float) -> float | None:
    """Return the posterior probability that the expected value of a run is above a level.

    For independent normal draws of unknown mean and spread, under Jeffreys' prior for location and
    log scale, the posterior of the mean is a Student distribution: for n draws with mean m and
    standard deviation s, the probability is T_{n-1}((m - level) sqrt(n) / s).

    Returns: None for fewer than two draws, which have no spread.
    """
    if len(values) < 2:
        return None
    ahead, spread = fmean(values) - level, stdev(values)
    if spread == 0:
        return 0.5 + 0.5 * (ahead > 0) - 0.5 * (ahead < 0)
    return float(stdtr(len(values) - 1, ahead * math.sqrt(len(values)) / spread))


def least_share(successes: int, draws: int, *, confidence: float = 0.95) -> float:
    """Return a lower confidence limit of the success probability (Clopper & Pearson 1934).

    Raises `ParameterError` unless 0 <= successes <= draws and draws >= 1.
    """
    if not 0 <= successes <= draws or draws < 1:
        raise ParameterError("successes", f"in [0, draws={draws}], of at least one", successes)
    if successes == 0:
        return 0.0
    return float(betaincinv(successes, draws - successes + 1, 1 - confidence))
