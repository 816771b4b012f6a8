"""PPCA, the exponential mechanism over subspaces, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from dpcore.pca.estimators.private_estimator import RandomState
from dpcore.pca.estimators.private_pca import PrivatePCA
from dpcore.pca.estimators.shared_descriptions import insert_shared_descriptions
from dpcore.pca.protocols.ppca import ppca
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import PrivacyBudget


@insert_shared_descriptions
class ExponentialPCA(PrivatePCA):
    """PPCA: random subspace with a probability that is exponential in its captured energy.

    Guarantee: `guarantee_`, pure epsilon for every person under replace-one neighbours, if the draw
    is exact. One component is drawn exactly. Several components are drawn by Markov chains, whose
    convergence is diagnosed and not proven. If the diagnostics fail, there is no guarantee; this
    verdict depends on the rows, and epsilon does not cover it.

    The release has no assessment and no `explained_variance_`: an estimate of the captured energy
    would need a budget of its own.

    The order and direction of the components within the subspace have no meaning, and no
    eigenvalues are released. The diagnostics depend on the rows and are not stored; `ppca` returns
    them to the holder of the rows.

    Parameters
    ----------
    {n_components}
    epsilon : float
        Requested epsilon, positive and finite. There is no delta.
    {preparation_at_zero}
    {row_bound}
    {random_state}

    Attributes
    ----------
    {components_}
    {guarantee_}
    noise_scale_ : ndarray of shape (1,)
        Scale of the captured energy, 2 c^2 / (n epsilon), with c = 1 on the sphere: a subspace that
        captures less by this amount is e times less likely.
    {mean_}
    {centre_choice_}
    {input_}

    Warnings
    --------
    {warning}

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
        self._set_parameters(locals())

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Draw a subspace for these rows; `y` is ignored.

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint.

        Warns
        -----
        ConvergenceWarning
            If the chains did not converge, so that there is no guarantee. The warning depends on
            the rows and is only for their holder.
        """
        rows = self._bound_rows(X)
        settings = ReleaseSettings.published(
            budget=PrivacyBudget(self.epsilon),
            **self._preparation_settings(0.0),
        )
        # Draws of different dimension are not computed from the same noisy matrix.
        subspace = ppca(self._draw(rows, settings, noise=("ppca", self.n_components)))
        if not subspace.diagnostics["converged"]:
            warnings.warn(
                "The chains did not converge: this release has no guarantee. This warning depends "
                "on the rows; do not publish it.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.centre_choice_ = subspace.centre_choice
        self._store_mean(subspace, rows.dtype)
        self.assessment_, self._no_assessment_because = None, PROTOCOLS["ppca"].why_silent(settings)
        self.components_ = subspace.components.astype(rows.dtype, copy=False)
        self.guarantee_ = subspace.guarantee
        bound = settings.row_norm_bound
        self.noise_scale_ = np.array([2 * bound**2 / (len(rows) * self.epsilon)])
        return self
