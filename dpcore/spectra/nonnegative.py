"""A non-negative number with a normal prior cut at 0, given a noisy estimate."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx

from dpcore.arrays import FloatArray


def posterior_at_least_zero(
    estimate: FloatArray, slope: FloatArray, variance: FloatArray, centre: float, scale: float
) -> FloatArray:
    """Return E c, at most 1, for estimate ~ N(c slope, variance), c ~ N(centre, scale^2) cut at 0.

    An estimate without slope or variance carries no information.
    """
    precision = np.divide(slope**2, variance, out=np.zeros_like(variance), where=variance > 0)
    ratio = np.divide(estimate, slope, out=np.zeros_like(estimate), where=slope > 0)
    spread = 1 / np.sqrt(precision + scale**-2)
    mean = spread**2 * (precision * ratio + centre * scale**-2)
    posterior: FloatArray = np.clip(mean_above_zero(mean, spread), 0, 1)
    return posterior


def mean_above_zero(mean: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the mean of N(mean, spread^2) cut at 0, m + s phi(m / s) / Phi(m / s)."""
    above: FloatArray = mean + spread * (
        math.sqrt(2 / math.pi) / erfcx(-mean / spread / math.sqrt(2))
    )
    return above
