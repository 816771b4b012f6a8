"""Private logistic regression.

Three groups of people, one against the rest, and what three classifiers cost.
"""

import numpy as np

from dpcore.classification import PrivateLogisticRegression, fit_many
from dpcore.experiments.teaching.tutorials import Cells, Print


def cells(epsilon: float, print: Print) -> Cells:
    """The cells below, run one after the other; each yields its last value."""
    # %% [markdown]
    # Three groups are three classifiers of the same people, each at a third of ε. Objective
    # perturbation adds noise to what is minimised, not to the result.

    # %%
    rng = np.random.default_rng(3)
    group = rng.integers(3, size=20000)  # twenty thousand people
    centres = rng.normal(size=(3, 20))  # twenty measurements each
    measured = centres[group] + 0.8 * rng.normal(size=(20000, 20))
    rows = measured / 8.0  # 8 is a public bound ...
    rows /= np.maximum(np.linalg.norm(rows, axis=1), 1)[:, None]  # ... longer rows are cut
    learn, test = np.arange(15000), np.arange(15000, 20000)
    yield None

    # %%
    model = PrivateLogisticRegression(epsilon=epsilon, regularization=1e-3, random_state=0)
    model.fit(rows[learn], group[learn])
    print(f"accuracy {model.score(rows[test], group[test]):.1%}, guessing {1 / 3:.1%}")
    print("each classifier:", model.perturbation_)
    yield None

    # %% [markdown]
    # How it falls with ε: many fits at once, the mean of five draws each.

    # %%
    epsilons = [0.03, 0.1, 0.3, 1.0, 3.0]
    rngs = np.random.default_rng(1).spawn(5)
    fits = fit_many(model, rows[learn], group[learn], epsilons=epsilons, rngs=rngs)
    for each, scores in zip(epsilons, fits.score(rows[test], group[test]), strict=True):
        print(f"epsilon {each:<5} accuracy {scores.mean():.1%}")
    yield None

    # %% [markdown]
    # How sure it is about the first three test people: post-processing, free.

    # %%
    print(model.predict_proba(rows[test[:3]]).round(2))
    yield None
