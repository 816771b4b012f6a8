"""Private mean, variance and histogram of bounded values.

Neighbours differ in one person's row (replace-one); the number of people n, the bounds and the
bin edges are public. Values outside the bounds are moved to them before anything is computed,
so the sensitivities hold whatever the data. On [a, b] they are, each attained:

    mean       (b - a) / n
    variance   (b - a)^2 (n - 1) / n^2      (the population variance, divisor n)
    histogram  l1 2, l2 sqrt(2)             (one person leaves a bin and enters another)

Several columns are one joint release, in which every column is measured in units of its own
sensitivity. Under Laplace noise each of the d columns gets epsilon / d (pure epsilons add up);
under Gaussian noise the d columns compose exactly, as one vector of l2-sensitivity sqrt(d).

Sources: Dwork, McSherry, Nissim & Smith (2006) for the Laplace mechanism, Balle & Wang (2018) for
the Gaussian one, Mironov (2012) for what floating point does to the former.

>>> import numpy as np
>>> ages = np.array([23.0, 35.0, 41.0, 62.0, 58.0, 30.0, 104.0, 47.0] * 500)
>>> rng = np.random.default_rng(0)
>>> mean = private_mean(ages, bounds=(0, 100), epsilon=1, rng=rng)
>>> abs(float(mean) - 49.5) < 1, mean.noise_scale
(True, 0.025)
>>> counts = private_histogram(ages, edges=[0, 25, 50, 75, 100], epsilon=1, rng=rng)
>>> bool(np.all(abs(counts.value - [500, 2000, 1000, 500]) < 60)), counts.noise_scale
(True, 2.0)
>>> people_needed(0.5, bounds=(0, 100), epsilon=1, probability=0.95)
600
"""

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

# One release: how far one person moves a statistic, how much noise that takes, what it promises,
# and the error it makes.

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


# The three statistics, of values that are moved into public bounds first.

# Sums and squares of values within such bounds are numbers too, whatever the values.
LARGEST_END = 1e100
# Bounds so close together, by themselves or for how far from 0 they are, leave doubles no digits
# for what is between them, or their square none at all: 2^20 numbers are the fewest.
_NARROWEST, _NARROWEST_SHARE = 1e-100, 2.0**-32


def into_bounds(
    values: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike],
    *,
    minimum: int,
    parameter: str = "bounds",
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """The values moved into their bounds, and the bounds as arrays."""
    values = np.asarray(values, dtype=float)
    if values.ndim not in (1, 2) or len(values) < minimum or values.size == 0:
        raise ParameterError(
            "values", f"one- or two-dimensional with at least {minimum} rows", values.shape
        )
    if not np.all(np.isfinite(values)):
        raise ParameterError("values", "finite", values[~np.isfinite(values)][0])
    try:
        low, high = (
            np.array(np.broadcast_to(np.asarray(end, dtype=float), values.shape[1:]))
            for end in bounds
        )
    except (TypeError, ValueError) as error:
        raise ParameterError(parameter, "a low and a high end, one a column", bounds) from error
    if not np.all((low >= -LARGEST_END) & (low < high) & (high <= LARGEST_END)):
        constraint = f"finite, within {LARGEST_END:g} of 0, the first below the second"
        raise ParameterError(parameter, constraint, bounds)
    return np.clip(values, low, high), (low, high)


def above_low(
    values: ArrayLike, bounds: tuple[ArrayLike, ArrayLike], *, minimum: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x - a of each value x in [a, b], shape (n_columns, n_samples) or (n_samples,); a; and b - a.

    What sums of these are rounded by is small beside b - a, and so beside what one person does;
    far from 0 that of sums of x is not. Along columns that lie side by side NumPy adds pairwise.

    Raises `ParameterError` as `into_bounds`, and where b is too near to a for double precision.
    """
    values, (low, high) = into_bounds(values, bounds, minimum=minimum)
    width = high - low
    farthest = np.maximum(abs(low), abs(high))
    if not np.all(width >= np.maximum(_NARROWEST, _NARROWEST_SHARE * farthest)):
        raise ParameterError(
            "bounds",
            f"apart by {_NARROWEST:g} and by {_NARROWEST_SHARE:.1g} of their distance from 0, "
            "for double precision to hold what is between them",
            bounds,
        )
    return np.ascontiguousarray((values - low).T), low, width


def clipping_bias(
    values: ArrayLike, *, bounds: tuple[ArrayLike, ArrayLike], statistic: str = "mean"
) -> float | FloatArray:
    """What moving the values into [a, b] does to their mean or variance, noise apart.

    Computed from the values themselves: NOT private, a lesson in choosing bounds.

    Returns
    -------
    float or ndarray of shape (n_columns,)
        The clipped values' statistic minus the values' own.
    """
    if statistic not in ("mean", "variance"):
        raise ParameterError("statistic", "'mean' or 'variance'", statistic)
    summary = np.mean if statistic == "mean" else np.var
    clipped, _ = into_bounds(values, bounds, minimum=1)
    bias: float | FloatArray = summary(clipped, axis=0) - summary(
        np.asarray(values, dtype=float), axis=0
    )
    return bias


def private_mean(
    values: ArrayLike,
    *,
    bounds: tuple[ArrayLike, ArrayLike],
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "laplace",
    clip_to_range: bool = False,
    rng: np.random.Generator,
) -> PrivateStatistic:
    """Differentially private mean of values in [a, b].

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        One row a person. Two-dimensional values give one mean a column, under one budget.
    bounds : (a, b)
        Public; each a number or (n_columns,) numbers, in units of the values.
    epsilon, delta : float
        Asked budget for the whole release; ``epsilon=inf`` turns the noise off.
    mechanism : {"laplace", "gaussian"}
        Laplace is pure epsilon-DP and does not use delta; Gaussian noise is calibrated
        analytically.
    clip_to_range : bool
        Move the released mean into [a, b]. Post-processing: no privacy is lost, but the error
        no longer follows `error_law` near the ends.
    rng : numpy.random.Generator
        Secret: whoever can draw from its state can take the noise off. One generator serves
        release after release; two in one state give two releases one noise, and the value away.

    Raises
    ------
    ParameterError
        If the values are empty or not finite, the bounds not increasing or so near to each other
        that double precision has no digits between them, the budget outside its range, or the
        mechanism unknown.
    """
    above, low, width = above_low(values, bounds, minimum=1)
    n_samples = above.shape[-1]
    return release(
        "mean",
        above.mean(axis=-1),
        replace_one_sensitivity("mean", n_samples, (0.0, width)),
        ONE_VALUE,
        PrivacyBudget(epsilon, delta),
        mechanism,
        n_samples=n_samples,
        above=low,
        possible=(low, low + width) if clip_to_range else None,
        rng=rng,
    )


def private_variance(
    values: ArrayLike,
    *,
    bounds: tuple[ArrayLike, ArrayLike],
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "laplace",
    clip_to_range: bool = False,
    rng: np.random.Generator,
) -> PrivateStatistic:
    """Differentially private population variance (divisor n) of values in [a, b].

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        Of two people or more.
    bounds, epsilon, delta, mechanism, rng
        As in `private_mean`.
    clip_to_range : bool
        Move the release into [0, (b - a)^2 / 4].

    Raises
    ------
    ParameterError
        As in `private_mean`.
    """
    above, _, width = above_low(values, bounds, minimum=2)
    n_samples = above.shape[-1]
    return release(
        "variance",
        above.var(axis=-1),
        replace_one_sensitivity("variance", n_samples, (0.0, width)),
        ONE_VALUE,
        PrivacyBudget(epsilon, delta),
        mechanism,
        n_samples=n_samples,
        possible=(np.zeros_like(width), width**2 / 4) if clip_to_range else None,
        rng=rng,
    )


def private_histogram(
    values: ArrayLike,
    *,
    edges: ArrayLike,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "laplace",
    non_negative: bool = False,
    rng: np.random.Generator,
) -> PrivateStatistic:
    """Differentially private counts of values in public bins.

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        Values beyond the outermost edges are counted in the outermost bins.
    edges : array-like of shape (n_bins + 1,) or (n_columns, n_bins + 1)
        Public and increasing. Edges read from the data break the promise. Bins are half open,
        the last one closed, as in `numpy.histogram`.
    epsilon, delta, mechanism, rng
        As in `private_mean`.
    non_negative : bool
        Raise negative counts to 0. Post-processing, which biases empty bins upwards.

    Raises
    ------
    ParameterError
        If the edges are not increasing or do not fit the columns, or as in `private_mean`.
    """
    edges = np.asarray(edges, dtype=float)
    if edges.ndim not in (1, 2) or edges.shape[-1] < 2 or not np.all(np.diff(edges) > 0):
        raise ParameterError("edges", "two or more increasing numbers a column", edges.tolist())
    values, _ = into_bounds(values, (edges[..., 0], edges[..., -1]), minimum=1, parameter="edges")
    if values.ndim == 1:
        counts = np.histogram(values, edges)[0].astype(float)
    else:
        per_column = np.broadcast_to(edges, (values.shape[1], edges.shape[-1]))
        counts = np.array(
            [
                np.histogram(column, bins)[0]
                for column, bins in zip(values.T, per_column, strict=True)
            ],
            dtype=float,
        )
    return release(
        "histogram",
        counts,
        np.ones(counts.shape[:-1]),
        TWO_BINS,
        PrivacyBudget(epsilon, delta),
        mechanism,
        n_samples=len(values),
        possible=(0.0, np.inf) if non_negative else None,
        rng=rng,
    )


__all__ = [
    "LARGEST_END",
    "MECHANISMS",
    "STATISTICS",
    "PrivateStatistic",
    "clipping_bias",
    "error_law",
    "people_needed",
    "private_histogram",
    "private_mean",
    "private_variance",
    "replace_one_sensitivity",
]
