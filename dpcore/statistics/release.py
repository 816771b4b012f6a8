"""One release: how far one person moves a statistic, how much noise that takes, what it promises,
and the error it makes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.privacy import Assumption, Guarantee, PrivacyBudget, gaussian_epsilon, gaussian_sigma

if TYPE_CHECKING:
    from scipy.stats.distributions import rv_frozen

MECHANISMS = ("laplace", "gaussian")
STATISTICS = ("mean", "variance", "share")

# How far one column of a release moves, in l1 and l2, in units of that column's sensitivity.
ONE_VALUE = (1.0, 1.0)
TWO_BINS = (2.0, math.sqrt(2.0))

_ASSUMPTIONS = (
    Assumption.ONE_ROW_A_PERSON,
    Assumption.ROW_OF_ONE_PERSON,
    Assumption.PUBLIC_COUNTS,
    Assumption.PUBLIC_RANGE,
    Assumption.TRUSTED_HOLDER,
    Assumption.SECRET_SEED,
)


@dataclass(frozen=True, eq=False)
class PrivateStatistic:
    """A released statistic, and what was done to release it.

    Parameters
    ----------
    name : {"mean", "variance", "histogram"}
    value : float or ndarray
        What may be published: a float, (n_columns,) values, or counts of shape (n_bins,) or
        (n_columns, n_bins).
    noise_scale : float or ndarray of shape (n_columns,)
        Laplace scale or Gaussian standard deviation, in units of `value`; 0 when noise is off.
    sensitivity : float or ndarray of shape (n_columns,)
        How far one person can move one entry of `value`.
    mechanism : {"laplace", "gaussian"}
    n_samples : int
    guarantee : Guarantee
    """

    name: str
    value: float | FloatArray
    noise_scale: float | FloatArray
    sensitivity: float | FloatArray
    mechanism: str
    n_samples: int
    guarantee: Guarantee

    def __float__(self) -> float:
        return float(self.value)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.value, dtype=dtype)


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


def release(
    name: str,
    exact: FloatArray,
    sensitivity: float | FloatArray,
    moves: tuple[float, float],
    budget: PrivacyBudget,
    mechanism: str,
    *,
    n_samples: int,
    above: float | FloatArray = 0.0,
    possible: tuple[ArrayLike, ArrayLike] | None,
    rng: np.random.Generator,
) -> PrivateStatistic:
    """Add the noise, say what it promises, and post-process if asked to.

    above: Public. What `exact` is measured from; added when the noise is there, so that its digits
        round what has been released.
    """
    n_columns = int(np.size(sensitivity))
    unit = unit_scale(budget, mechanism, moves, n_columns)
    scale = np.asarray(sensitivity) * unit
    # A histogram has one scale a column and several entries.
    entries = scale.reshape(scale.shape + (1,) * (np.ndim(exact) - scale.ndim))
    draw = rng.laplace if mechanism == "laplace" else rng.normal
    value = above + (exact + entries * draw(size=np.shape(exact)))
    if possible is not None:
        value = np.clip(value, *possible)
    return PrivateStatistic(
        name=name,
        value=value if np.ndim(value) else float(value),
        noise_scale=scale if scale.ndim else float(scale),
        sensitivity=sensitivity if np.ndim(sensitivity) else float(sensitivity),
        mechanism=mechanism,
        n_samples=n_samples,
        guarantee=_guarantee(budget, mechanism, moves, n_columns, unit, scale),
    )


def _guarantee(
    budget: PrivacyBudget,
    mechanism: str,
    moves: tuple[float, float],
    n_columns: int,
    unit: float,
    scale: FloatArray,
) -> Guarantee:
    if budget.is_noiseless:
        return Guarantee(budget, math.inf, 0.0, "none", "nobody")
    if mechanism == "laplace":
        shares = f", epsilon / {n_columns} a column" if n_columns > 1 else ""
        return Guarantee(
            budget,
            budget.epsilon,
            0.0,
            mechanism,
            f"the curator, to the statistic{shares}: Laplace, scale {np.max(scale):.3g}",
            assumptions=(*_ASSUMPTIONS, Assumption.FEW_DIGITS),
        )
    joint = moves[1] * math.sqrt(n_columns)
    together = f", {n_columns} columns composed exactly" if n_columns > 1 else ""
    return Guarantee(
        budget,
        gaussian_epsilon(budget.delta, unit, joint),
        budget.delta,
        mechanism,
        f"the curator, to the statistic{together}",
        l2_sensitivity=float(np.max(scale)) / unit * joint,
        sigma=float(np.max(scale)),
        assumptions=(*_ASSUMPTIONS, Assumption.FLOAT_ARITHMETIC),
    )


def _checked(mechanism: str) -> str:
    require_one_of("mechanism", mechanism, MECHANISMS)
    return mechanism
