"""Private PCA.

Principal components of handwritten digits by Analyze Gauss: noise on the second moment.
"""

import numpy as np

from dpcore.data import load_dataset, prepare
from dpcore.experiments.teaching.tutorials import Cells, Print
from dpcore.pca import AnalyzeGaussPCA
from dpcore.spectra import captured_energy, leading_eigenpairs, second_moment


def cells(epsilon: float, print: Print) -> Cells:
    """The cells below, run one after the other; each yields its last value."""
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
    print(f"promise: epsilon {pca.guarantee_.epsilon:.4g} at delta {pca.guarantee_.delta:g}")
    yield None

    # %% [markdown]
    # How much of the energy of the exact components do the private ones keep?

    # %%
    moment = second_moment(rows)
    _, exact = leading_eigenpairs(moment, 10)
    kept = captured_energy(pca.components_, moment) / captured_energy(exact, moment)
    print(f"{kept:.1%} of the energy of exact PCA")
    yield None
