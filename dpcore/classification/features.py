"""From rows to features of bounded norm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data.preparation import LONGEST_ON_SPHERE, in_units_of_bound
from dpcore.data.row_norms import rounding, shorten
from dpcore.spectra.site_rows import directions


@dataclass(frozen=True, eq=False)
class BoundedFeatures:
    """A map from rows to features whose norm is at most `norm_bound`, whatever the rows.

    The bound holds in exact arithmetic, for every finite row. Linear features are the row itself,
    shortened to `row_norm_bound` where it is longer. With `frequencies` they are random Fourier
    features of the Gaussian kernel (Rahimi & Recht 2007), the cosines and sines of M / 2
    projections over sqrt(M / 2), of norm 1. An intercept is one more feature, constant at the
    bound of the others, so that the bound grows by sqrt(2) and the intercept is regularised like
    every other weight. Dividing rows and constant by sqrt(2), to be back inside the unit ball, is
    the same problem in other units. On the sphere every row is brought to `row_norm_bound` before
    any of that; a row of zeros stays one.

    frequencies: shape (n_columns, M / 2) or None. Drawn without looking at the data.
    """

    row_norm_bound: float
    fit_intercept: bool
    frequencies: FloatArray | None = None
    on_sphere: bool = False

    @property
    def constant(self) -> float:
        """Value of the intercept's feature; 0 without an intercept."""
        return (1.0 if self.frequencies is not None else self.row_norm_bound) * self.fit_intercept

    @property
    def norm_bound(self) -> float:
        bound = math.hypot(
            1.0 if self.frequencies is not None else self.row_norm_bound, self.constant
        )
        return math.nextafter(bound, math.inf) if self.fit_intercept else bound

    def of(self, X: FloatArray) -> FloatArray:
        """Features (n_samples, n_features [+ 1]) of finite rows, float64."""
        if self.on_sphere:
            rows, _ = in_units_of_bound(X, self.row_norm_bound, LONGEST_ON_SPHERE, np.empty_like(X))
            X = self.row_norm_bound * directions(rows, np.zeros(X.shape[1]))
        if self.frequencies is None:
            features, _ = shorten(X, self.row_norm_bound)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                phases = X @ self.frequencies
            # A phase too large for a number is any angle: 0 serves, and keeps the norm.
            phases[~np.isfinite(phases)] = 0.0
            features = np.hstack([np.cos(phases), np.sin(phases)])
            features *= (1 - rounding(features)) / math.sqrt(self.frequencies.shape[1])
        if self.fit_intercept:
            features = np.column_stack([features, np.full(len(X), self.constant)])
        return features


def gaussian_frequencies(
    n_columns: int, n_random_features: int, gamma: float, rng: np.random.Generator
) -> FloatArray:
    """Frequencies (n_columns, M / 2) of the kernel exp(-gamma |x - x'|^2)."""
    return math.sqrt(2.0 * gamma) * rng.standard_normal((n_columns, n_random_features // 2))
