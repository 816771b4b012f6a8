"""Number of people from which the noise of a statistic is acceptable."""

from __future__ import annotations

import math

from dpcore.errors import ParameterError
from dpcore.privacy import PrivacyBudget
from dpcore.statistics.noisy_release import ONE_VALUE, TWO_BINS, error_law, unit_scale
from dpcore.statistics.sensitivity import replace_one_sensitivity


def people_needed(
    error: float,
    *,
    statistic: str = "mean",
    bounds: tuple[float, float] = (0.0, 1.0),
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "laplace",
    probability: float = 0.95,
    n_columns: int = 1,
) -> int:
    """Return the number of people from which the noise is at most an acceptable error.

    The result is the smallest n such that, for n or more people, the absolute noise of an entry is
    at most `error` with the given probability. The sampling error is not included.

    Parameters
    ----------
    error : float
        Positive, in units of the statistic.
    statistic : {"mean", "variance", "share"}
        "share" is a histogram count divided by n.
    bounds, epsilon, delta, mechanism
        See `private_mean`; bounds are two numbers.
    probability : float
        Probability in (0, 1), for each entry.
    n_columns : int
        Number of columns in one joint release.
    """
    if not error > 0:
        raise ParameterError("error", "greater than 0", error)
    if not 0 < probability < 1:
        raise ParameterError("probability", "in (0, 1)", probability)
    moves = TWO_BINS if statistic == "share" else ONE_VALUE
    unit = unit_scale(PrivacyBudget(epsilon, delta), mechanism, moves, n_columns)
    smallest = 2 if statistic == "variance" else 1
    if unit == 0:
        return smallest
    # Largest acceptable sensitivity, and the largest n whose sensitivity may exceed it.
    allowed = error / (error_law(mechanism, unit).ppf((1 + probability) / 2))
    if statistic == "variance":
        ratio = allowed / (bounds[1] - bounds[0]) ** 2
        n = (1 + math.sqrt(max(0.0, 1 - 4 * ratio))) / (2 * ratio) if 4 * ratio < 1 else smallest
    else:
        n = replace_one_sensitivity(statistic, 1, bounds) / allowed
    n = max(smallest, math.floor(n))
    while replace_one_sensitivity(statistic, n, bounds) > allowed:
        n += 1
    return n
