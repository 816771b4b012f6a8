"""Private mean, variance and histogram of bounded values.

Neighbours differ in one person's row (replace-one); the number of people n, the bounds and the
bin edges are public. Values outside the bounds are moved to them before anything is computed,
so the sensitivities hold whatever the data. On [a, b] they are, each attained:

    mean       (b - a) / n
    variance   (b - a)^2 (n - 1) / n^2      (the population variance, divisor n)
    histogram  l1 2, l2 sqrt(2)             (one person leaves a bin and enters another)

Several columns are one joint release, in which every column is measured in units of its own
sensitivity. Under Laplace noise each of the d columns gets epsilon / d (pure epsilons add up);
under Gaussian noise the d columns compose exactly, as one vector of l2-sensitivity sqrt(d).

Sources: Dwork, McSherry, Nissim & Smith (2006) for the Laplace mechanism, Balle & Wang (2018) for
the Gaussian one, Mironov (2012) for what floating point does to the former.

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

from dpcore.statistics.private import (
    LARGEST_END,
    clipping_bias,
    private_histogram,
    private_mean,
    private_variance,
)
from dpcore.statistics.release import (
    MECHANISMS,
    STATISTICS,
    PrivateStatistic,
    error_law,
    people_needed,
    replace_one_sensitivity,
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
