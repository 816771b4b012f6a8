"""SuLQ and MOD-SuLQ of the 2012 paper as scikit-learn estimators."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from dpcore.pca.estimators.private_estimator import RandomState
from dpcore.pca.estimators.private_pca import PrivatePCA
from dpcore.pca.estimators.shared_descriptions import insert_shared_descriptions
from dpcore.pca.protocols.central import modsulq_average, sulq_average
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import PrivacyBudget
from dpcore.streams import Purpose


class _SulqFamily(PrivatePCA):
    """Base class of SuLQ and MOD-SuLQ, which differ only in their noise."""

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        truncation: str = "psd",
        preparation: str = "sphere",
        row_norm_bound: float = 1.0,
        on_long_rows: str = "clip",
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release a subspace for these rows; `y` is ignored. See `AnalyzeGaussPCA.fit`."""
        rows = self._bound_rows(X)
        settings = ReleaseSettings.published(
            budget=PrivacyBudget(self.epsilon, self.delta),
            truncation=self.truncation,
            **self._preparation_settings(0.0),
        )
        draw = self._draw(rows, settings, noise=(self._noise,))
        average, rng = self._average(draw), draw.repetition.rng(Purpose.ASSESSMENT)
        self._store(average.subspace(settings), rows.dtype, average.assessment(settings, rng=rng))
        return self


@insert_shared_descriptions
class SulqPCA(_SulqFamily):
    """SuLQ: noise on all D^2 entries of the second moment, then its symmetric part.

    The published scale comes from a bound that grows with the dimension, so the exact
    `guarantee_.epsilon` is far below the requested one. Use this class to compare with the 2012
    paper, and `AnalyzeGaussPCA` to make the most of a budget.

    {sections_of_sulq}

    References
    ----------
    Blum, Dwork, McSherry & Nissim (2005), "Practical privacy: the SuLQ framework"; Chaudhuri,
    Sarwate & Sinha (2012), "Near-optimal differentially private principal components", section 3.
    """

    _noise, _average = "sulq", staticmethod(sulq_average)


@insert_shared_descriptions
class ModSulqPCA(_SulqFamily):
    """MOD-SuLQ: symmetric noise of scale beta on the second moment.

    The exact `guarantee_.epsilon` is far below the requested one, as in `SulqPCA`.

    {sections_of_sulq}

    References
    ----------
    Chaudhuri, Sarwate & Sinha (2012), Algorithm 1.
    """

    _noise, _average = "modsulq", staticmethod(modsulq_average)
