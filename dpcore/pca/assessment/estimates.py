"""Estimates with standard errors, and the assessment of a release that consists of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray

LEVEL = 0.9
_QUANTILE = 1.6448536269514722  # of the standard normal at (1 + LEVEL) / 2


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated values with their standard errors.

    value, standard_error: ndarrays of the same shape
    most: Upper bound of the true values. The lower bound is 0.
    """

    value: FloatArray
    standard_error: FloatArray
    most: float = math.inf

    @property
    def interval(self) -> FloatArray:
        """Return the lower and upper ends of a 90 % interval, shape (2, ...)."""
        reach = _QUANTILE * self.standard_error
        low, high = np.clip([self.value - reach, self.value + reach], 0, self.most)
        return np.array([np.nan_to_num(low, nan=0.0), np.where(np.isnan(high), self.most, high)])


@dataclass(frozen=True, eq=False)
class Assessment:
    """Assessment of a release. All values refer to the rows as prepared.

    explained_variance: Estimate of shape (n_components,). v_i^T A v_i, the variance along each
        component, with the sum `captured`. Both are NaN if a mean was subtracted and no component
        exceeds the noise.
    explained_variance_ratio: Estimate of shape (n_components,). Share of the total. NaN if unknown,
        or if the total may be 0.
    captured: Estimate of shape (). tr(V^T A V), the energy of all components.
    captured_share: Estimate of shape (). Share of the total. NaN if unknown, or if the total may be
        0.
    total: Estimate of shape (). tr A.
    energy_ratio: Estimate of shape () or None. Captured energy divided by that of the best subspace
        of this dimension; None unless every component exceeds the noise and no mean was subtracted.
    n_above_noise: Number of leading components that exceed the noise, too large in at most 1 % of
        releases (`n_above_noise`). None if the law of the noise is not known, as after a cut.
    """

    explained_variance: Estimate
    explained_variance_ratio: Estimate
    captured: Estimate
    captured_share: Estimate
    total: Estimate
    energy_ratio: Estimate | None = None
    n_above_noise: int | None = None
