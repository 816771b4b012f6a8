"""Replace-one sensitivity of a statistic."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError

STATISTICS = ("mean", "variance", "share")


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
