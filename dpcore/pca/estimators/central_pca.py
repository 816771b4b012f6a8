"""Private PCA of rows held in one place, as scikit-learn estimators.

The noise is added once. For rows spread over sites: `dpcore.pca.estimators.distributed_pca`.
"""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from dpcore.pca.estimators.private_estimator import RandomState
from dpcore.pca.estimators.private_pca import PrivatePCA
from dpcore.pca.protocols.distributed import noisy_pool
from dpcore.pca.protocols.trusted import modsulq_average, ppca, sulq_average
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import PrivacyBudget


class AnalyzeGaussPCA(PrivatePCA):
    """Leading eigenvectors of a second moment with Gaussian noise.

    Promise: `guarantee_`, (epsilon, delta) for every person under replace-one neighbours
    (l2-sensitivity sqrt(2) c^2 / n), provided the row norm bound was chosen without the data.

    Parameters
    ----------
    n_components : int
        K.
    epsilon, delta : float
        Asked of the release. ``epsilon=inf`` adds no noise.
    calibration : {"analytic", "classic", "published"}
    noise : {"isometric", "triangle"}
    truncation : {"psd", "svd"}
        Rank eigenvalues of the noisy matrix by value, or by magnitude.
    row_norm_bound : float
        c, public; see `on_long_rows`.
    on_long_rows : {"clip", "refuse"}
        What happens to rows longer than the bound. Refusing reads the rows, which no guarantee
        covers: for holders who check their table before they release anything.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        None is fresh entropy from the operating system; see the warning.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), orthonormal rows
    eigenvalues_ : ndarray of shape (n_components,)
        In units of the second moment X^T X / n.
    noise_scale_ : ndarray of shape (1,)
        Noise standard deviation in one second-moment entry.
    guarantee_ : Guarantee
    assessment_ : Assessment
        What the release says of itself, at no cost (`dpcore.pca.self_assessment`), and so
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        and 90 % intervals, `explained_variance[_ratio]_interval_` of shape (2, n_components);
    suggested_n_components_ : int
        how many stand out of the noise: too many in one release of 100 at most.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X had names.

    Warnings
    --------
    Whoever has `random_state` can take the noise off again. Leave it None for anything that leaves
    the laboratory. An int is for one data set: other rows under the same int and settings get the
    same noise, which drops out of the difference. Whatever it is, it is not saved: what pickle,
    joblib or copy make has None.

    References
    ----------
    Dwork, Talwar, Thakurta & Zhang (2014), "Analyze Gauss: optimal bounds for privacy-preserving
    principal component analysis", Algorithm 1.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        calibration: str = "analytic",
        noise: str = "isometric",
        truncation: str = "psd",
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.noise = noise
        self.truncation = truncation
        self.row_norm_bound = row_norm_bound
        self.on_long_rows = on_long_rows
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release a subspace for these rows; `y` is ignored.

        Raises
        ------
        ParameterError
            If a parameter breaks its constraint.
        """
        rows = self._bounded(X)
        settings = ReleaseSettings(
            budget=PrivacyBudget(self.epsilon, self.delta),
            n_components=self.n_components,
            intermediate_dim=self.n_components,
            calibration=self.calibration,
            noise=self.noise,
            truncation=self.truncation,
            row_norm_bound=self.row_norm_bound,
        )
        average = noisy_pool(self._draw(rows, settings, noise=("pooled",)))
        self._keep(average.subspace(settings), rows.dtype, average.assessment(settings))
        return self


class _SulqFamily(PrivatePCA):
    """What SuLQ and MOD-SuLQ share: everything but the noise."""

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        truncation: str = "psd",
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.truncation = truncation
        self.row_norm_bound = row_norm_bound
        self.on_long_rows = on_long_rows
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release a subspace for these rows; as `AnalyzeGaussPCA.fit`."""
        rows = self._bounded(X)
        settings = ReleaseSettings.published(
            budget=PrivacyBudget(self.epsilon, self.delta),
            n_components=self.n_components,
            intermediate_dim=self.n_components,
            truncation=self.truncation,
            row_norm_bound=self.row_norm_bound,
        )
        average = self._average(self._draw(rows, settings, noise=(self._noise,)))
        self._keep(average.subspace(settings), rows.dtype, average.assessment(settings))
        return self


class SulqPCA(_SulqFamily):
    """SuLQ: noise on all D^2 entries of the second moment, then its symmetric part.

    Its scale comes from a bound that grows with the dimension: what holds, `guarantee_.epsilon`,
    is far below what was asked. For comparison with the 2012 paper; to get the most out of a
    budget use `AnalyzeGaussPCA`, whose attributes these are.

    Parameters
    ----------
    n_components, epsilon, delta, truncation, row_norm_bound, on_long_rows, random_state
        As in `AnalyzeGaussPCA`.

    Warnings
    --------
    Whoever has `random_state` can take the noise off again, and it is not saved; as for
    `AnalyzeGaussPCA`.

    References
    ----------
    Blum, Dwork, McSherry & Nissim (2005), "Practical privacy: the SuLQ framework"; Chaudhuri,
    Sarwate & Sinha (2012), "Near-optimal differentially private principal components", section 3.
    """

    _noise, _average = "sulq", staticmethod(sulq_average)


class ModSulqPCA(_SulqFamily):
    """MOD-SuLQ: symmetric noise of scale beta on the second moment.

    As `SulqPCA`: its noise keeps far more than it promises. Attributes as in `AnalyzeGaussPCA`.

    Parameters
    ----------
    n_components, epsilon, delta, truncation, row_norm_bound, on_long_rows, random_state
        As in `AnalyzeGaussPCA`.

    Warnings
    --------
    Whoever has `random_state` can take the noise off again, and it is not saved; as for
    `AnalyzeGaussPCA`.

    References
    ----------
    Chaudhuri, Sarwate & Sinha (2012), Algorithm 1.
    """

    _noise, _average = "modsulq", staticmethod(modsulq_average)


class ExponentialPCA(PrivatePCA):
    """PPCA: a random subspace, exponentially likelier the more energy it captures.

    Promise: `guarantee_`, pure epsilon for every person under replace-one neighbours, as far as
    the draw is exact. One component is drawn exactly; several by Markov chains, whose
    convergence is diagnosed and not proven. Where the diagnostics fail, nothing is promised; that
    verdict is itself worked out from the rows, and epsilon does not cover it.

    Within the subspace order and direction of the components mean nothing. No eigenvalues are
    released; the release cannot tell how good it is (`assessment_` is None), and what the
    diagnostics measured, which depends on the rows, is not kept: `ppca` returns it.

    Parameters
    ----------
    n_components : int
        K.
    epsilon : float
        Positive and finite. There is no delta.
    row_norm_bound, on_long_rows, random_state
        As in `AnalyzeGaussPCA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), orthonormal rows
    guarantee_ : Guarantee
    noise_scale_ : ndarray of shape (1,)
        In units of captured energy, 2 c^2 / (n epsilon): a subspace that captures so much less
        than another is e times less likely to be drawn.
    n_features_in_, feature_names_in_
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
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
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
            n_components=self.n_components,
            intermediate_dim=self.n_components,
            row_norm_bound=self.row_norm_bound,
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
        self.components_ = subspace.components.astype(rows.dtype, copy=False)
        self.guarantee_ = subspace.guarantee
        self.assessment_ = None
        self.noise_scale_ = np.array([2 * self.row_norm_bound**2 / (len(rows) * self.epsilon)])
        return self
