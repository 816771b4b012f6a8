"""Six short tutorials, each a generator of cells that yields the last value of each cell.

`# %%` begins a cell of code, which ends with a `yield`, and `# %% [markdown]` one of text. The
docstring gives the title and one sentence about it.
"""

import numpy as np

from dpcore.classification import PrivateLogisticRegression, PrivateSVM, fit_many
from dpcore.data import load_dataset, prepare
from dpcore.figures.statistics import histogram_bars
from dpcore.pca import AnalyzeGaussPCA
from dpcore.spectra import captured_energy, leading_eigenpairs, second_moment
from dpcore.statistics import (
    clipping_bias,
    people_needed,
    private_histogram,
    private_mean,
    private_variance,
)
from dpcore.teaching.tutorials import Cells, Print


def mean(epsilon: float, print: Print) -> Cells:
    """Private mean.

    The average age of two thousand people, with a bound on what it reveals about each.
    """
    # %% [markdown]
    # An age lies in [0, 100]. Replacing one person moves the mean of $n$ ages
    # by at most $100 / n$: noise of that size hides them.

    # %%
    rng = np.random.default_rng(7)
    ages = rng.normal(44, 17, size=2000).clip(0, 100).round()  # two thousand people
    bounds = (0, 100)  # public limits
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


def variance(epsilon: float, print: Print) -> Cells:
    """Private variance.

    How spread out the ages are, and why the bounds matter twice as much here.
    """
    # %% [markdown]
    # On $[a, b]$ one person moves the variance by at most $(b-a)^2 (n-1)/n^2$: bounds twice as wide
    # cost four times the noise.

    # %%
    rng = np.random.default_rng(7)
    ages = rng.normal(44, 17, size=2000).clip(0, 100).round()  # two thousand people
    bounds = (0, 100)  # public limits
    yield None

    # %%
    variance = private_variance(ages, bounds=bounds, epsilon=epsilon, rng=rng)
    print(f"true {ages.var():.2f}, private {variance.value:.2f}, scale {variance.noise_scale:.3g}")
    print(f"standard deviation {max(variance.value, 0) ** 0.5:.2f} years, at no further cost")
    yield None

    # %% [markdown]
    # Bounds that are too tight move values: less noise, but a hidden bias.

    # %%
    for high in (60, 80, 100, 200):
        noise = private_variance(ages, bounds=(0, high), epsilon=epsilon, rng=rng).noise_scale
        bias = clipping_bias(ages, bounds=(0, high), statistic="variance")
        print(f"[0, {high}]  bias {bias:8.2f}   noise scale {noise:.3f}")
    yield None


def histogram(epsilon: float, print: Print) -> Cells:
    """Private histogram.

    Counts in public bins: one person leaves a bin and enters another, and that is all.
    """
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


def pca(epsilon: float, print: Print) -> Cells:
    """Private PCA.

    Principal components of handwritten digits by Analyze Gauss: noise on the second moment.
    """
    # %% [markdown]
    # Rows of length at most 1 have a second moment $A = X^\top X / n$, which one person moves by at
    # most $\sqrt 2 / n$. Symmetric Gaussian noise is added to it once; the eigenvectors of what
    # results are free.

    # %%
    digits = load_dataset("digits")
    rows = prepare(digits, mode="bounded").X  # divided by a public bound, cut to length 1
    print(rows.shape, "rows no longer than", np.linalg.norm(rows, axis=1).max().round(3))
    yield None

    # %%
    pca = AnalyzeGaussPCA(10, epsilon=epsilon, delta=0.01, random_state=0).fit(rows)
    print("components", pca.components_.shape, "noise", pca.noise_scale_)
    print(f"guarantee: epsilon {pca.guarantee_.epsilon:.4g} at delta {pca.guarantee_.delta:g}")
    yield None

    # %% [markdown]
    # How much of the energy of the exact components do the private ones keep?

    # %%
    moment = second_moment(rows)
    _, exact = leading_eigenpairs(moment, 10)
    ratio = captured_energy(pca.components_, moment) / captured_energy(exact, moment)
    print(f"{ratio:.1%} of the energy of exact PCA")
    yield None


def svm(epsilon: float, print: Print) -> Cells:
    """Private support vector machine.

    PCA feeding an SVM, with one budget for both: the poster's experiment, all private.
    """
    # %% [markdown]
    # Three tenths of ε go to the components, the rest to the classifier. The first is
    # $(\varepsilon_1, \delta)$-private, the second pure: together they cost $(\varepsilon_1 +
    # \varepsilon_2, \delta)$.

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
    ill = group == 0
    pca = AnalyzeGaussPCA(3, epsilon=0.3 * epsilon, delta=1e-5, random_state=0).fit(rows[learn])
    svm = PrivateSVM(epsilon=0.7 * epsilon, regularization=1e-3, random_state=0)
    svm.fit(pca.transform(rows[learn]), ill[learn])
    error = 1 - svm.score(pca.transform(rows[test]), ill[test])
    print(f"test error {error:.1%}; always saying 'not ill' {ill[test].mean():.1%}")
    print("noise is added by", svm.guarantee_.noise_added_by)
    yield None

    # %% [markdown]
    # The same without PCA and without any noise, for comparison: not private.

    # %%
    exact = PrivateSVM(epsilon=np.inf, regularization=1e-3).fit(rows[learn], ill[learn])
    print(f"test error without privacy {1 - exact.score(rows[test], ill[test]):.1%}")
    yield None


def logistic(epsilon: float, print: Print) -> Cells:
    """Private logistic regression.

    Three groups of people, one against the rest, and what three classifiers cost.
    """
    # %% [markdown]
    # Three groups are three classifiers of the same people, each at a third of ε. Objective
    # perturbation adds noise to the function that is minimised, not to the result.

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
    # Accuracy against ε: many fits at once, each the mean of five draws.

    # %%
    epsilons = [0.03, 0.1, 0.3, 1.0, 3.0]
    rngs = np.random.default_rng(1).spawn(5)
    fits = fit_many(model, rows[learn], group[learn], epsilons=epsilons, rngs=rngs)
    for value, scores in zip(epsilons, fits.score(rows[test], group[test]), strict=True):
        print(f"epsilon {value:<5} accuracy {scores.mean():.1%}")
    yield None

    # %% [markdown]
    # How sure it is about the first three test people: post-processing, free.

    # %%
    print(model.predict_proba(rows[test[:3]]).round(2))
    yield None
