"""Private mean, variance and histogram of bounded values, and private score plot.

Neighbours differ in one person's row (replace-one). The number of people n, the bounds and the bin
edges are public. Values are clipped to the bounds first, so the sensitivities hold for all data
(`replace_one_sensitivity`). Several columns are one joint release (`unit_scale`).

Mironov (2012) describes attacks on floating-point Laplace noise.

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

from dpcore.statistics.bounds import LARGEST_END, clipping_bias
from dpcore.statistics.histogram import private_histogram
from dpcore.statistics.mean import private_mean
from dpcore.statistics.noisy_release import MECHANISMS, PrivateStatistic, error_law
from dpcore.statistics.people import people_needed
from dpcore.statistics.scores import (
    PrivateScores,
    bins_of,
    private_scores,
    score_limits,
    shrink_counts,
)
from dpcore.statistics.sensitivity import STATISTICS, replace_one_sensitivity
from dpcore.statistics.variance import private_variance

__all__ = [
    "LARGEST_END",
    "MECHANISMS",
    "STATISTICS",
    "PrivateScores",
    "PrivateStatistic",
    "bins_of",
    "clipping_bias",
    "error_law",
    "people_needed",
    "private_histogram",
    "private_mean",
    "private_scores",
    "private_variance",
    "replace_one_sensitivity",
    "score_limits",
    "shrink_counts",
]
