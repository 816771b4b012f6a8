"""Rows with a clear gap in their spectrum, over unequal sites."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.pca import ReleaseSettings
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import SiteMoments, site_moments

SIZES = (120, 80, 200)


@pytest.fixture
def rows(rng) -> np.ndarray:
    """Return (400, 12) float64 rows of norm below 1: four strong directions, and not centred."""
    scales = np.array([8, 7, 6, 5] + [0.5] * 8)
    basis = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    X = (rng.standard_normal((sum(SIZES), 12)) * scales + np.linspace(0, 2, 12)) @ basis
    # Norms are below 1 by more than rounding, so that estimators change no row.
    return (1 - 1e-12) * X / np.linalg.norm(X, axis=1).max()


@pytest.fixture
def labels() -> np.ndarray:
    return np.repeat(np.arange(len(SIZES)), SIZES)


@pytest.fixture
def moments(rows, labels) -> SiteMoments:
    return site_moments(rows, [np.flatnonzero(labels == site) for site in range(len(SIZES))])


@pytest.fixture
def settings_with():
    """Return the published settings with K = 4, R = 6 and the given changes."""

    def make(epsilon: float = 1.0, delta: float = 0.01, **changes) -> ReleaseSettings:
        values = {"n_components": 4, "intermediate_dim": 6} | changes
        return ReleaseSettings.published(PrivacyBudget(epsilon, delta), **values)

    return make
