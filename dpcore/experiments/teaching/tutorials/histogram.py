"""Private histogram.

Counts in public bins: one person leaves a bin and enters another, and that is all.
"""

import numpy as np

from dpcore.experiments.teaching.tutorials import Cells, Print
from dpcore.figures.families.distributions import histogram_bars
from dpcore.statistics import private_histogram


def cells(epsilon: float, print: Print) -> Cells:
    """The cells below, run one after the other; each yields its last value."""
    # %% [markdown]
    # Replacing one person changes two counts by one each, however many bins there are. The edges
    # are public; edges read from the data would give people away.

    # %%
    rng = np.random.default_rng(7)
    ages = rng.normal(44, 17, size=2000).clip(0, 100).round()  # two thousand people
    yield None

    # %%
    edges = np.arange(0, 101, 10)
    counts = private_histogram(ages, edges=edges, epsilon=epsilon, rng=rng)
    exact, noisy = np.histogram(ages, edges)[0], np.asarray(counts.value)
    for low, true, private in zip(edges[:-1], exact, noisy, strict=True):
        print(f"{low:3d} to {low + 10:3d}   true {true:4d}   private {private:7.1f}")
    yield None

    # %% [markdown]
    # Rounding, or raising negative counts to 0, is post-processing: free.

    # %%
    yield histogram_bars(edges, exact, noisy.round().clip(0))
