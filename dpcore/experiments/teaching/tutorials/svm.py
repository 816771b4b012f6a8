"""Private support vector machine.

PCA feeding an SVM, with one budget for both: the poster's experiment, all private.
"""

import numpy as np

from dpcore.classification import PrivateSVM
from dpcore.experiments.teaching.tutorials import Cells, Print
from dpcore.pca import AnalyzeGaussPCA


def cells(epsilon: float, print: Print) -> Cells:
    """The cells below, run one after the other; each yields its last value."""
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
