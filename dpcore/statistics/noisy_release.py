"""Noise, guarantee and error distribution that all statistics share."""

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
    draw = getattr(rng, "laplace" if mechanism == "laplace" else "normal", None)
    if draw is None:
        # Only its type, because it may be a secret seed.
        raise ParameterError("rng", "a numpy.random.Generator", type(rng))
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
