"""Private mean.

The average age of two thousand people, without giving any one of them away.
"""

# %% [markdown]
# An age lies in [0, 100], whoever somebody is. Replacing one person moves the mean of $n$ ages by
# at most $100 / n$: noise of that size hides them.

# %%
import numpy as np

from dpcore.statistics import people_needed, private_mean

rng = np.random.default_rng(7)
ages = rng.normal(44, 17, size=2000).clip(0, 100).round()  # two thousand people
bounds = (0, 100)  # public: nobody is older

# %%
epsilon = 1.0
mean = private_mean(ages, bounds=bounds, epsilon=epsilon, rng=rng)
print(f"true {ages.mean():.3f}, private {mean.value:.3f}, noise scale {mean.noise_scale:.3g}")

# %% [markdown]
# Every further release costs another ε. Here is how far ten of them scatter.

# %%
draws = [private_mean(ages, bounds=bounds, epsilon=epsilon, rng=rng).value for _ in range(10)]
print("errors:", np.round(np.array(draws) - ages.mean(), 3))

# %% [markdown]
# How many people does an error below half a year take, 95 times in 100?

# %%
print(people_needed(0.5, bounds=bounds, epsilon=epsilon, probability=0.95), "people")
