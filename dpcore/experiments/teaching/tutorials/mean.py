"""Private mean.

The average age of two thousand people, without giving any one of them away.
"""

import numpy as np

from dpcore.experiments.teaching.tutorials import Cells, Print
from dpcore.statistics import people_needed, private_mean


def cells(epsilon: float, print: Print) -> Cells:
    """The cells below, run one after the other; each yields its last value."""
    # %% [markdown]
    # An age lies in [0, 100], whoever somebody is. Replacing one person moves the mean of $n$ ages
    # by at most $100 / n$: noise of that size hides them.

    # %%
    rng = np.random.default_rng(7)
    ages = rng.normal(44, 17, size=2000).clip(0, 100).round()  # two thousand people
    bounds = (0, 100)  # public: nobody is older
    yield None

    # %%
    mean = private_mean(ages, bounds=bounds, epsilon=epsilon, rng=rng)
    print(f"true {ages.mean():.3f}, private {mean.value:.3f}, noise scale {mean.noise_scale:.3g}")
    yield None

    # %% [markdown]
    # Every further release costs another ε. Here is how far ten of them scatter.

    # %%
    draws = [private_mean(ages, bounds=bounds, epsilon=epsilon, rng=rng).value for _ in range(10)]
    print("errors:", np.round(np.array(draws) - ages.mean(), 3))
    yield None

    # %% [markdown]
    # How many people does an error below half a year take, 95 times in 100?

    # %%
    print(people_needed(0.5, bounds=bounds, epsilon=epsilon, probability=0.95), "people")
    yield None
