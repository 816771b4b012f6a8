"""One release: the noise, the promise, and the result that carries both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from dpcore.arrays import AnyArray, FloatArray
from dpcore.privacy import Assumption, Guarantee, PrivacyBudget, gaussian_epsilon
from dpcore.statistics.law import unit_scale

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


def release(
    name: str,
    exact: FloatArray,
    sensitivity: float | FloatArray,
    moves: tuple[float, float],
    budget: PrivacyBudget,
    mechanism: str,
    *,
    n_samples: int,
    possible: tuple[ArrayLike, ArrayLike] | None,
    rng: np.random.Generator,
) -> PrivateStatistic:
    """Add the noise, say what it promises, and post-process if asked to."""
    n_columns = int(np.size(sensitivity))
    unit = unit_scale(budget, mechanism, moves, n_columns)
    scale = np.asarray(sensitivity) * unit
    # A histogram has one scale a column and several entries.
    entries = scale.reshape(scale.shape + (1,) * (np.ndim(exact) - scale.ndim))
    draw = rng.laplace if mechanism == "laplace" else rng.normal
    value = exact + entries * draw(size=np.shape(exact))
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
