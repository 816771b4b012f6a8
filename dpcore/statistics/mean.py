"""Private mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcore.privacy import PrivacyBudget
from dpcore.statistics.bounds import shift_to_zero
from dpcore.statistics.noisy_release import ONE_VALUE, PrivateStatistic, release
from dpcore.statistics.sensitivity import replace_one_sensitivity


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
