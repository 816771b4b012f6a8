"""PPCA as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from dpcore.pca.estimators.private_estimator import RandomState
from dpcore.pca.estimators.private_pca import PrivatePCA
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.protocols.trusted import ppca
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import PrivacyBudget


class ExponentialPCA(PrivatePCA):
    """PPCA: a random subspace, exponentially likelier the more energy it captures.

    Promise: `guarantee_`, pure epsilon for every person under replace-one neighbours, as far as
    the draw is exact. One component is drawn exactly; several by Markov chains, whose
    convergence is diagnosed and not proven. Where the diagnostics fail, nothing is promised; that
    verdict is itself worked out from the rows, and epsilon does not cover it.

    A chain returns a subspace alone: nothing in it says how good it is, and an estimate would take
    a budget of its own. So there is no `explained_variance_`, and asking for it says this.

    Within the subspace the order and direction of the components mean nothing, and no
    eigenvalues are released. Nor is what the diagnostics measured kept, which depends on the
    rows; `ppca` returns it to whoever holds them.

    Parameters
    ----------
    n_components : int
        K.
    epsilon : float
        Positive and finite. There is no delta.
    preparation : {"sphere", "bounded", "none"}
        As in `SulqPCA`.
    row_norm_bound, on_long_rows, random_state
        As in `AnalyzeGaussPCA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), orthonormal rows
    guarantee_ : Guarantee
    noise_scale_ : ndarray of shape (1,)
        In units of captured energy, 2 c^2 / (n epsilon), c = 1 on the sphere: a subspace that
        captures so much less than another is e times less likely to be drawn.
    mean_, n_features_in_, feature_names_in_
        As in `AnalyzeGaussPCA`.

    Warnings
    --------
    Whoever has `random_state` can take the noise off again, and it is not saved; as for
    `AnalyzeGaussPCA`.

    References
    ----------
    Chaudhuri, Sarwate & Sinha (2012), Algorithm 2 and theorem 2.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        preparation: str = "sphere",
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.preparation = preparation
        self.row_norm_bound = row_norm_bound
        self.on_long_rows = on_long_rows
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Draw a subspace for these rows; `y` is ignored.

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint.

        Warns
        -----
        ConvergenceWarning
            If the chains did not converge, so that nothing is promised. The warning depends on
            the rows: it is for their holder, as what the diagnostics measured is.
        """
        rows = self._bounded(X)
        settings = ReleaseSettings.published(
            budget=PrivacyBudget(self.epsilon),
            **self._prepared_for(0.0),
        )
        # Draws of different dimension are no two readings of one noisy matrix.
        subspace = ppca(self._draw(rows, settings, noise=("ppca", self.n_components)))
        if not subspace.diagnostics["converged"]:
            warnings.warn(
                "The chains did not converge: this release promises nothing. This warning depends "
                "on the rows; keep it to yourself.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep_centre(subspace, rows.dtype)
        self.assessment_, self._why_silent = None, PROTOCOLS["ppca"].why_silent(settings)
        self.components_ = subspace.components.astype(rows.dtype, copy=False)
        self.guarantee_ = subspace.guarantee
        bound = settings.row_norm_bound
        self.noise_scale_ = np.array([2 * bound**2 / (len(rows) * self.epsilon)])
        return self
