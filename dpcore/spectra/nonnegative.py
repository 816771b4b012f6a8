"""A non-negative number with a normal prior cut at 0, given a noisy estimate."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx

from dpcore.arrays import FloatArray

_SCALE = math.sqrt(2 / math.pi)


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


def number_at_least_zero(estimate: float, slope: float, variance: float, scale: float) -> float:
    """Return `posterior_at_least_zero` of one number with centre 0."""
    informs = slope > 0 and variance > 0
    precision, ratio = (slope**2 / variance, estimate / slope) if informs else (0.0, 0.0)
    spread = 1 / math.sqrt(precision + scale**-2)
    return min(max(number_above_zero(spread**2 * precision * ratio, spread), 0.0), 1.0)


def mean_above_zero(mean: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the mean of N(mean, spread^2) cut at 0, m + s phi(m / s) / Phi(m / s)."""
    above: FloatArray = mean + spread * (_SCALE / erfcx(-mean / spread / math.sqrt(2)))
    return above


def number_above_zero(mean: float, spread: float) -> float:
    """Return `mean_above_zero` of one number, without the overhead of arrays."""
    return mean + spread * _SCALE / float(erfcx(-mean / spread / math.sqrt(2)))
