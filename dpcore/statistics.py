"""Private mean, variance and histogram of bounded values.

Neighbours differ in one person's row (replace-one). The number of people n, the bounds and the bin
edges are public. Values are clipped to the bounds first, so the sensitivities hold for all data
(`replace_one_sensitivity`). Several columns are one joint release (`unit_scale`).

Mironov (2012) describes attacks on floating-point Laplace noise.

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

MECHANISMS = ("laplace", "gaussian")
STATISTICS = ("mean", "variance", "share")

# Sensitivities (l1, l2) of one column, in units of the largest change of one of its entries.
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
    """Released statistic with its noise and guarantee.

    Parameters
    ----------
    name : {"mean", "variance", "histogram"}
    value : float or ndarray
        Private result: a float, (n_columns,) values, or counts of shape (n_bins,) or
        (n_columns, n_bins).
    noise_scale : float or ndarray of shape (n_columns,)
        Laplace scale or Gaussian standard deviation, in units of `value`; 0 when noise is off.
    sensitivity : float or ndarray of shape (n_columns,)
        Largest change of one entry of `value` by one person.
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
    """Return the noise scale of columns in units of their own sensitivity.

    Several columns are one joint release. With Laplace noise each of the d columns gets
    epsilon / d, since pure epsilons add up. With Gaussian noise the d columns compose exactly, as
    one vector with l2 sensitivity sqrt(d). With noise of scale l1 / epsilon, the Laplace densities
    of two neighbours differ by a factor of at most exp(epsilon) (Dwork, McSherry, Nissim & Smith
    2006, theorem 1). `dpcore.privacy.gaussian` proves the Gaussian mechanism.
    """
    l1, l2 = moves
    if _check_mechanism(mechanism) == "laplace":
        return n_columns * l1 / budget.epsilon
    return gaussian_sigma(budget, l2 * math.sqrt(n_columns))


def replace_one_sensitivity(
    statistic: str, n_samples: int, bounds: tuple[ArrayLike, ArrayLike] = (0.0, 1.0)
) -> float | FloatArray:
    """Return the replace-one sensitivity of a statistic of `n_samples` values in [a, b].

    The sensitivities on [a, b] are, each attained:

        mean       (b - a) / n
        variance   (b - a)^2 (n - 1) / n^2      (the population variance, divisor n)
        histogram  l1 2, l2 sqrt(2)             (one person leaves a bin and enters another)

    Proof. Replacing a value x by y changes the mean by (y - x) / n. The variance is
    sum_{i<j} (x_i - x_j)^2 / n^2; one value is in n - 1 pairs, each of which changes by at most
    (b - a)^2. A histogram changes by 1 in two entries (`ONE_VALUE`, `TWO_BINS`).

    Parameters
    ----------
    statistic : {"mean", "variance", "share"}
        "share" is one histogram count divided by n, with sensitivity 1 / n.
    n_samples : int
    bounds : (a, b)
        Two numbers, or two sequences of n_columns numbers.

    Returns
    -------
    float or ndarray of shape (n_columns,)
        Sensitivity in units of the statistic.
    """
    if statistic == "share":
        return 1.0 / n_samples
    width = np.asarray(bounds[1], dtype=float) - np.asarray(bounds[0], dtype=float)
    if statistic == "mean":
        sensitivity = width / n_samples
    elif statistic == "variance":
        sensitivity = width**2 * (n_samples - 1) / n_samples**2
    else:
        raise ParameterError("statistic", f"one of {', '.join(STATISTICS)}", statistic)
    return sensitivity if np.ndim(sensitivity) else float(sensitivity)


def error_law(mechanism: str, scale: float) -> rv_frozen:
    """Return the distribution of a release's error, before any post-processing.

    Parameters
    ----------
    mechanism : {"laplace", "gaussian"}
    scale : float
        Positive; `PrivateStatistic.noise_scale`.

    Returns
    -------
    scipy.stats frozen distribution
        Distribution with ``pdf``, ``cdf``, ``ppf`` and ``interval``, in units of the statistic.
    """
    if not np.all(np.asarray(scale) > 0):
        raise ParameterError("scale", "greater than 0", scale)
    # Importing scipy.stats takes half a second, and only the plot of the distribution needs it.
    from scipy import stats

    return {"laplace": stats.laplace, "gaussian": stats.norm}[_check_mechanism(mechanism)](
        scale=scale
    )


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
    """Add the noise, state the guarantee, and clip the result to its possible values if given.

    above: Public offset of `exact`. It is added after the noise, so its rounding errors only affect
        a value that is already private.
    """
    n_columns = int(np.size(sensitivity))
    unit = unit_scale(budget, mechanism, moves, n_columns)
    scale = np.asarray(sensitivity) * unit
    # A histogram has one scale per column, and several entries.
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
        return Guarantee(budget, math.inf, 0.0, "none", "no one")
    if mechanism == "laplace":
        shares = f", epsilon / {n_columns} per column" if n_columns > 1 else ""
        return Guarantee(
            budget,
            budget.epsilon,
            0.0,
            mechanism,
            f"the curator, to the statistic{shares}: Laplace, scale {np.max(scale):.3g}",
            assumptions=(*_ASSUMPTIONS, Assumption.FEW_DIGITS),
        )
    joint = moves[1] * math.sqrt(n_columns)
    composition = f", {n_columns} columns composed exactly" if n_columns > 1 else ""
    return Guarantee(
        budget,
        gaussian_epsilon(budget.delta, unit, joint),
        budget.delta,
        mechanism,
        f"the curator, to the statistic{composition}",
        l2_sensitivity=float(np.max(scale)) / unit * joint,
        sigma=float(np.max(scale)),
        assumptions=(*_ASSUMPTIONS, Assumption.FLOAT_ARITHMETIC),
    )


def _check_mechanism(mechanism: str) -> str:
    require_one_of("mechanism", mechanism, MECHANISMS)
    return mechanism


# Limit of the bounds, so that sums and squares of the values are finite.
LARGEST_END = 1e100
# Smallest width of the bounds, absolute and relative to their distance from 0. Narrower bounds
# leave fewer than 2^20 doubles between them, or a width whose square underflows.
_MIN_WIDTH, _MIN_RELATIVE_WIDTH = 1e-100, 2.0**-32


def clip_to_bounds(
    values: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike],
    *,
    minimum: int,
    parameter: str = "bounds",
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Return the values clipped to their bounds, and the bounds as arrays."""
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


def shift_to_zero(
    values: ArrayLike, bounds: tuple[ArrayLike, ArrayLike], *, minimum: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return x - a of each value x in [a, b], a, and b - a.

    The first array has shape (n_columns, n_samples) or (n_samples,). The rounding errors of sums
    of x - a are small compared with b - a, and hence with the sensitivity; those of sums of x are
    not, far from 0. NumPy adds contiguous columns pairwise.

    Raises `ParameterError` like `clip_to_bounds`, and if b is too close to a for double precision.
    """
    values, (low, high) = clip_to_bounds(values, bounds, minimum=minimum)
    width = high - low
    farthest = np.maximum(abs(low), abs(high))
    if not np.all(width >= np.maximum(_MIN_WIDTH, _MIN_RELATIVE_WIDTH * farthest)):
        raise ParameterError(
            "bounds",
            f"apart by {_MIN_WIDTH:g} and by {_MIN_RELATIVE_WIDTH:.1g} of their distance from 0, "
            "for double precision to hold what is between them",
            bounds,
        )
    return np.ascontiguousarray((values - low).T), low, width


def clipping_bias(
    values: ArrayLike, *, bounds: tuple[ArrayLike, ArrayLike], statistic: str = "mean"
) -> float | FloatArray:
    """Compute the bias of the mean or variance due to clipping, without noise.

    The result is NOT private. It serves to teach the choice of bounds.

    Returns
    -------
    float or ndarray of shape (n_columns,)
        The clipped values' statistic minus the values' own.
    """
    if statistic not in ("mean", "variance"):
        raise ParameterError("statistic", "'mean' or 'variance'", statistic)
    summary = np.mean if statistic == "mean" else np.var
    clipped, _ = clip_to_bounds(values, bounds, minimum=1)
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
    """Release a differentially private mean of values in [a, b].

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        One row per person. Two-dimensional values give one mean per column, with one budget.
    bounds : (a, b)
        Public bounds: two numbers, or two sequences of n_columns numbers, in units of the values.
    epsilon, delta : float
        Budget of the whole release; ``epsilon=inf`` disables the noise.
    mechanism : {"laplace", "gaussian"}
        Laplace is pure epsilon-DP and does not use delta; Gaussian noise is calibrated
        analytically.
    clip_to_range : bool
        Whether to clip the released mean to [a, b]. This is post-processing, but the error
        distribution then differs from `error_law` near the ends.
    rng : numpy.random.Generator
        Secret generator: its state determines the noise. One generator may serve many releases.
        Two generators in the same state give two releases the same noise, which reveals the value.

    Raises
    ------
    ParameterError
        If the values are empty or not finite, the bounds not increasing or so near to each other
        that double precision has no digits between them, the budget outside its range, or the
        mechanism unknown.
    """
    above, low, width = shift_to_zero(values, bounds, minimum=1)
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
    """Release a differentially private population variance (divisor n) of values in [a, b].

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        Values of two or more people.
    bounds, epsilon, delta, mechanism, rng
        See `private_mean`.
    clip_to_range : bool
        Whether to clip the release to [0, (b - a)^2 / 4].

    Raises
    ------
    ParameterError
        See `private_mean`.
    """
    above, _, width = shift_to_zero(values, bounds, minimum=2)
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
    """Release differentially private counts of values in public bins.

    Parameters
    ----------
    values : array-like of shape (n_samples,) or (n_samples, n_columns)
        Values beyond the outermost edges are counted in the outermost bins.
    edges : array-like of shape (n_bins + 1,) or (n_columns, n_bins + 1)
        Public and increasing. Edges read from the data break the guarantee. Bins are half open, the
        last one closed, as in `numpy.histogram`.
    epsilon, delta, mechanism, rng
        See `private_mean`.
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
    values, _ = clip_to_bounds(
        values, (edges[..., 0], edges[..., -1]), minimum=1, parameter="edges"
    )
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
