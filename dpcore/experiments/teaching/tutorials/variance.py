"""Private variance.

How spread out the ages are, and why the bounds matter twice as much here.
"""

import numpy as np

from dpcore.experiments.teaching.tutorials import Cells, Print
from dpcore.statistics import clipping_bias, private_variance


def cells(epsilon: float, print: Print) -> Cells:
    """The cells below, run one after the other; each yields its last value."""
    # %% [markdown]
    # On $[a, b]$ one person moves the variance by at most $(b-a)^2 (n-1)/n^2$: bounds twice as wide
    # cost four times the noise.

    # %%
    rng = np.random.default_rng(7)
    ages = rng.normal(44, 17, size=2000).clip(0, 100).round()  # two thousand people
    bounds = (0, 100)  # public: nobody is older
    yield None

    # %%
    variance = private_variance(ages, bounds=bounds, epsilon=epsilon, rng=rng)
    print(f"true {ages.var():.2f}, private {variance.value:.2f}, scale {variance.noise_scale:.3g}")
    print(f"standard deviation {max(variance.value, 0) ** 0.5:.2f} years, at no further cost")
    yield None

    # %% [markdown]
    # Bounds that are too tight move people: less noise, but a bias nobody sees.

    # %%
    for high in (60, 80, 100, 200):
        noise = private_variance(ages, bounds=(0, high), epsilon=epsilon, rng=rng).noise_scale
        bias = clipping_bias(ages, bounds=(0, high), statistic="variance")
        print(f"[0, {high}]  bias {bias:8.2f}   noise scale {noise:.3f}")
    yield None
