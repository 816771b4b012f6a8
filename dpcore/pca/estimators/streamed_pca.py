"""Rows that come a block at a time, and one release of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.draw import Draw
from dpcore.pca.estimators.private_pca import PrivatePCA, bounded_rows
from dpcore.pca.settings import ReleaseSettings
from dpcore.spectra import RunningMoments


class StreamedPCA(PrivatePCA, ABC):
    """What an estimator of one noisy second moment can do besides: `partial_fit`, then `release`.

    Between the two it holds the exact moments of all rows so far, which are as private as the
    rows. They are in nothing that pickle, joblib or copy make of it.
    """

    on_long_rows: str
    _running: RunningMoments

    @property
    def partial_fit(self) -> Callable[..., Self]:
        """Take in a block of rows, X of shape (n_samples, n_features): partial_fit(X, y=None).

        Nothing is drawn or released before `release`: one noise for all rows, each of another
        person. The mean is one of the moments, so that rows are read once.

        Raises
        ------
        AttributeError
            If the preparation is "sphere", which reads rows twice: for their mean, and around it.
        """
        if self.preparation == "sphere":
            raise AttributeError(
                'partial_fit reads rows once, and "sphere" reads them twice, for a private mean '
                'and around it: choose preparation "bounded" or "none", or fit all rows at once'
            )
        return self._take_in

    def _take_in(self, X: ArrayLike, y: object = None) -> Self:
        if "_running" not in vars(self):
            rows = self._bounded(X)
            self._running = RunningMoments(rows.shape[1], rows.dtype)
        else:
            # As the first block was: its bound counts the rounding of its data type.
            same: FloatArray = validate_data(self, X, dtype=[self._running.dtype], reset=False)
            rows, _ = bounded_rows(same, self.row_norm_bound, on_long_rows=self.on_long_rows)
        self._running.add(rows)
        return self

    def release(self) -> Self:
        """Release a subspace for all rows that `partial_fit` took in, and forget their moments.

        Raises
        ------
        ParameterError
            If there are none, or a parameter breaks its constraint.
        """
        if "_running" not in vars(self):
            raise ParameterError("rows", "taken in by partial_fit before they are released", "none")
        moments = self._running.as_site()
        self._keep_release(self._draw_of(moments, self._settings(), noise=("pooled",)))
        del self._running
        return self

    @abstractmethod
    def _settings(self) -> ReleaseSettings:
        """Of its release."""

    @abstractmethod
    def _keep_release(self, draw: Draw) -> None:
        """Take over what a draw of its protocol gives."""

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self)

    def __getstate__(self) -> dict[str, object]:
        return {key: kept for key, kept in super().__getstate__().items() if key != "_running"}
