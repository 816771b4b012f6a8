"""Private variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcore.privacy import PrivacyBudget
from dpcore.statistics.bounds import shift_to_zero
from dpcore.statistics.noisy_release import ONE_VALUE, PrivateStatistic, release
from dpcore.statistics.sensitivity import replace_one_sensitivity


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
