"""Convex margin losses with a slope of at most 1 and a known largest curvature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from dpcore.arrays import FloatArray


@dataclass(frozen=True)
class Loss:
    """A loss of the margin z = y f(x), with what privacy and the solver need to know of it.

    curvature: c, the largest second derivative.
    value_and_slope: Margins -> (losses, derivatives), both of the shape of the margins. Derivatives
        are in [-1, 0].
    curvature_at: Margins -> second derivatives, in [0, c].
    """

    name: str
    curvature: float
    value_and_slope: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    curvature_at: Callable[[FloatArray], FloatArray]


def _logistic(margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    # Buffers are reused because these arrays are the whole cost of a sweep.
    tail = np.abs(margins)
    np.negative(tail, out=tail)
    np.exp(tail, out=tail)
    one_plus = 1.0 + tail
    slope = np.where(margins > 0, tail, 1.0)
    slope /= one_plus
    np.negative(slope, out=slope)
    # The argument is in (1, 2], where log is as good as log1p in absolute terms, and faster.
    value = np.log(one_plus, out=one_plus)
    value -= np.minimum(margins, 0.0, out=tail)
    return value, slope


def _logistic_curvature(margins: FloatArray) -> FloatArray:
    chance: FloatArray = expit(margins)
    return chance * (1.0 - chance)


LOGISTIC = Loss("logistic", 0.25, _logistic, _logistic_curvature)


def huber_hinge(width: float) -> Loss:
    """The hinge loss with its corner rounded over [1 - width, 1 + width].

    Chaudhuri, Monteleoni & Sarwate (2011), equation 7: 0 above 1 + h, 1 - z below 1 - h, and
    (1 + h - z)^2 / 4h between; c = 1 / 2h. Its second derivative jumps at two points, which
    their theorem allows for (section 3.4.2).
    """

    def value_and_slope(margins: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Depth into the rounded stretch, 0 where the loss is flat and 2h where it is straight.
        depth = np.clip(1.0 + width - margins, 0.0, 2.0 * width)
        slope = depth / (-2.0 * width)
        value = np.maximum(1.0 - width - margins, 0.0)
        value -= 0.5 * slope * depth
        return value, slope

    def curvature_at(margins: FloatArray) -> FloatArray:
        return np.where(np.abs(1.0 - margins) < width, 1.0 / (2.0 * width), 0.0)

    return Loss("huber", 1.0 / (2.0 * width), value_and_slope, curvature_at)
