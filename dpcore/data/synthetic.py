"""Gaussian data sets with a known covariance, and two views with known correlations."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import helmert

from dpcore.arrays import FloatArray
from dpcore.data.dataset import DATA_SEED, Dataset
from dpcore.data.two_views import TwoViewDataset
from dpcore.errors import ParameterError
from dpcore.streams import Purpose, stream

EIGENVALUES_2012 = (0.5, 0.30, 0.04, 0.03, 0.02, 0.01, 0.004, 0.003, 0.001, 0.001)
_ROWS, _TAIL = 0, 1
_STREAM_2018, _STREAM_2012 = 0, 1
_BLOCK = 8192
# Share of the latent variance between the groups, large so that good projections separate them.
_BETWEEN_GROUPS = 0.9


def paper_eigenvalues() -> FloatArray:
    """Return the covariance diagonal of the DPdisPCA authors' synthetic data, shape (200,).

    The values are 10 to 1 linearly over the first 50 entries, then 0.5 U(0, 1). The uniform part is
    fixed by `DATA_SEED`, because the authors' draw is not known.
    """
    tail = stream(DATA_SEED, Purpose.DATA, _STREAM_2018, _TAIL).random(150)
    return np.concatenate([np.linspace(10.0, 1.0, 50), 0.5 * tail])


def gaussian_rows(
    eigenvalues: FloatArray, n_samples: int, *, rng: np.random.Generator
) -> FloatArray:
    """Draw N(0, diag(eigenvalues)), float32 of shape (n_samples, n_features).

    The first n rows do not depend on `n_samples`.
    """
    deviations = np.sqrt(eigenvalues).astype(np.float32)
    X = np.empty((n_samples, len(eigenvalues)), dtype=np.float32)
    for start in range(0, n_samples, _BLOCK):
        block = X[start : start + _BLOCK]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= deviations
    return X


def load_synthetic(n_samples: int | None = None) -> Dataset:
    """Draw the synthetic data of Imtiaz & Sarwate (2018), by default 60,000 x 200."""
    n_samples = n_samples or 60_000
    eigenvalues = paper_eigenvalues()
    return _gaussian_dataset(
        gaussian_rows(
            eigenvalues, n_samples, rng=stream(DATA_SEED, Purpose.DATA, _STREAM_2018, _ROWS)
        ),
        # E|x|^2 = 275 + 37.5 and sd|x|^2 = sqrt(2 sum of squared eigenvalues) = 62, on average over
        # the random eigenvalues; the bound is the mean plus three standard deviations.
        public_norm_bound=22.3,
        law="covariance diag(10 to 1 linearly over 50, then 0.5 U(0, 1) over 150)",
    )


def load_synthetic_2012(n_samples: int | None = None) -> Dataset:
    """Draw the data of Fig. 2 of Chaudhuri, Sarwate & Sinha (2012), by default 5,000 x 10."""
    n_samples = n_samples or 5_000
    return _gaussian_dataset(
        gaussian_rows(
            np.array(EIGENVALUES_2012),
            n_samples,
            rng=stream(DATA_SEED, Purpose.DATA, _STREAM_2012, _ROWS),
        ),
        # E|x|^2 = 0.909, sd|x|^2 = 0.83: mean plus three.
        public_norm_bound=1.84,
        law="covariance eigenvalues 0.5, 0.3, 0.04, 0.03, 0.02, 0.01, 0.004, 0.003, 0.001, 0.001",
    )


def _gaussian_dataset(X: FloatArray, *, public_norm_bound: float, law: str) -> Dataset:
    n_samples, n_features = X.shape
    return Dataset(
        X=X,
        feature_names=tuple(f"x{j}" for j in range(n_features)),
        provenance=f"{n_samples:,} rows drawn from N(0, C) with {law}; the seed is fixed.",
        public_norm_bound=public_norm_bound,
    )


def synthetic_views(
    n_samples: int,
    n_x: int = 50,
    n_y: int = 50,
    n_shared: int = 5,
    noise: float = 0.5,
    *,
    rng: np.random.Generator,
) -> TwoViewDataset:
    """Draw two views that share a latent vector, with separate noise and known correlations.

    x = W_x diag(a) h + noise g_x and y alike, W with orthonormal columns, a from 1 down to 0.6,
    cov(h) = I: the k-th canonical correlation of the law is a_k^2 / (a_k^2 + noise^2). The
    people form n_shared + 1 groups, with means of h at the corners of a regular simplex.

    Parameters
    ----------
    n_samples : int
    n_x, n_y : int
        Columns of each view.
    n_shared : int
        Dimension of h, from 1 to min(n_x, n_y).
    noise : float
        Standard deviation of each entry of the private parts; at least 0.
    rng : numpy.random.Generator

    Raises
    ------
    ParameterError
        If a number is outside its range.
    """
    if n_samples < 2:
        raise ParameterError("n_samples", "at least 2", n_samples)
    if not 1 <= n_shared <= min(n_x, n_y):
        raise ParameterError("n_shared", f"in [1, min(n_x, n_y)={min(n_x, n_y)}]", n_shared)
    if not 0 <= noise <= 1e12:
        raise ParameterError("noise", "from 0 to 1e12", noise)
    amplitudes = np.linspace(1.0, 0.6, n_shared)
    x_basis = np.linalg.qr(rng.standard_normal((n_x, n_shared)))[0] * amplitudes
    y_basis = np.linalg.qr(rng.standard_normal((n_y, n_shared)))[0] * amplitudes
    labels = rng.integers(n_shared + 1, size=n_samples)
    within = rng.standard_normal((n_samples, n_shared))
    latent = math.sqrt(_BETWEEN_GROUPS) * _simplex(n_shared)[labels]
    latent += math.sqrt(1 - _BETWEEN_GROUPS) * within
    views = [
        latent @ basis.T + noise * rng.standard_normal((n_samples, len(basis)))
        for basis in (x_basis, y_basis)
    ]
    return TwoViewDataset(
        name="synthetic-views",
        title=f"Synthetic views, {n_shared} shared",
        X=views[0],
        Y=views[1],
        labels=labels,
        label_names=tuple(f"group {g}" for g in range(n_shared + 1)),
        x_name="x",
        y_name="y",
        x_feature_names=tuple(f"x{j}" for j in range(n_x)),
        y_feature_names=tuple(f"y{j}" for j in range(n_y)),
        x_image_shape=None,
        y_image_shape=None,
        x_norm_bound=_synthetic_norm_bound(amplitudes, noise, n_x),
        y_norm_bound=_synthetic_norm_bound(amplitudes, noise, n_y),
        provenance=f"{n_samples:,} people drawn from a law with {n_shared} shared dimensions and "
        f"private noise {noise:g} in {n_x} + {n_y} columns.",
        correlations=amplitudes**2 / (amplitudes**2 + noise**2),
    )


def _simplex(n_dimensions: int) -> FloatArray:
    """Return the corners of a regular simplex, (n + 1, n), with mean zero and covariance I."""
    n_corners = n_dimensions + 1
    corners: FloatArray = math.sqrt(n_corners) * helmert(n_corners).T
    return corners


def _synthetic_norm_bound(amplitudes: FloatArray, noise: float, n_features: int) -> float:
    """Return the root of the mean squared norm plus three deviations, for a Gaussian law."""
    variances = np.full(n_features, noise**2)
    variances[: len(amplitudes)] += amplitudes**2
    return math.sqrt(variances.sum() + 3 * math.sqrt(2 * (variances**2).sum()))
