"""How far one person moves a statistic, how much noise that takes, and the error it makes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.privacy import PrivacyBudget, gaussian_sigma

if TYPE_CHECKING:
    from scipy.stats.distributions import rv_frozen

MECHANISMS = ("laplace", "gaussian")
STATISTICS = ("mean", "variance", "share")

# How far one column of a release moves, in l1 and l2, in units of that column's sensitivity.
ONE_VALUE = (1.0, 1.0)
TWO_BINS = (2.0, math.sqrt(2.0))


def unit_scale(
    budget: PrivacyBudget, mechanism: str, moves: tuple[float, float], n_columns: int
) -> float:
    """Noise scale for columns measured in units of their own sensitivity."""
    l1, l2 = moves
    if _checked(mechanism) == "laplace":
        return n_columns * l1 / budget.epsilon
    return gaussian_sigma(budget, l2 * math.sqrt(n_columns))


def replace_one_sensitivity(
    statistic: str, n_samples: int, bounds: tuple[ArrayLike, ArrayLike] = (0.0, 1.0)
) -> float | FloatArray:
    """How far one person can move a statistic of `n_samples` values in [a, b].

    Parameters
    ----------
    statistic : {"mean", "variance", "share"}
        "share" is one histogram count divided by n, which moves by 1 / n whatever the bounds.
    n_samples : int
    bounds : (a, b)
        Each a number or (n_columns,) numbers.

    Returns
    -------
    float or ndarray of shape (n_columns,)
        In units of the statistic.
    """
    if statistic == "share":
        return 1.0 / n_samples
    width = np.asarray(bounds[1], dtype=float) - np.asarray(bounds[0], dtype=float)
    if statistic == "mean":
        moved = width / n_samples
    elif statistic == "variance":
        moved = width**2 * (n_samples - 1) / n_samples**2
    else:
        raise ParameterError("statistic", f"one of {', '.join(STATISTICS)}", statistic)
    return moved if np.ndim(moved) else float(moved)


def error_law(mechanism: str, scale: float) -> rv_frozen:
    """The law of a release's error before any post-processing, as a frozen SciPy distribution.

    Parameters
    ----------
    mechanism : {"laplace", "gaussian"}
    scale : float
        Positive; `PrivateStatistic.noise_scale`.

    Returns
    -------
    scipy.stats frozen distribution
        With ``pdf``, ``cdf``, ``ppf`` and ``interval``, in units of the statistic.
    """
    if not np.all(np.asarray(scale) > 0):
        raise ParameterError("scale", "greater than 0", scale)
    # Half a second to import, and only the law's picture needs it.
    from scipy import stats

    return {"laplace": stats.laplace, "gaussian": stats.norm}[_checked(mechanism)](scale=scale)


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
    """The number of people from which privacy costs no more than an error one can live with.

    The smallest n such that for n people or more the noise of an entry is at most `error` in
    size with probability `probability`. It counts what privacy costs, not the sampling error.

    Parameters
    ----------
    error : float
        Positive, in units of the statistic.
    statistic : {"mean", "variance", "share"}
        "share" is a histogram count divided by n.
    bounds, epsilon, delta, mechanism
        As in `private_mean`, with numbers as bounds.
    probability : float
        In (0, 1), for each entry.
    n_columns : int
        Columns released together under this budget.
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
    # Largest sensitivity one can live with, and the largest n whose sensitivity may exceed it.
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


def _checked(mechanism: str) -> str:
    require_one_of("mechanism", mechanism, MECHANISMS)
    return mechanism
