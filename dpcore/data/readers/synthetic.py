"""Gaussian data sets with a known covariance."""

from __future__ import annotations

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data.dataset import DATA_SEED, Dataset
from dpcore.streams import Purpose, stream

EIGENVALUES_2012 = (0.5, 0.30, 0.04, 0.03, 0.02, 0.01, 0.004, 0.003, 0.001, 0.001)

_ROWS, _TAIL = 0, 1
_PAPER, _PAPER_2012 = 0, 1
_BLOCK = 8192


def paper_eigenvalues(n_features: int = 200, n_components: int = 50) -> FloatArray:
    """Covariance diagonal of the DPdisPCA authors' synthetic data, shape (n_features,).

    10 down to 1 linearly over the first `n_components`, then 0.5 U(0, 1). The uniform part is
    fixed by `DATA_SEED`; the authors' own draw is not known.
    """
    tail = stream(DATA_SEED, Purpose.DATA, _PAPER, _TAIL).random(n_features - n_components)
    return np.concatenate([np.linspace(10.0, 1.0, n_components), 0.5 * tail])


def gaussian_rows(
    eigenvalues: FloatArray, n_samples: int, *, rng: np.random.Generator
) -> FloatArray:
    """Draw N(0, diag(eigenvalues)), float32 of shape (n_samples, n_features).

    The first n rows are the same whatever `n_samples`.
    """
    deviations = np.sqrt(eigenvalues).astype(np.float32)
    X = np.empty((n_samples, len(eigenvalues)), dtype=np.float32)
    for start in range(0, n_samples, _BLOCK):
        block = X[start : start + _BLOCK]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= deviations
    return X


def load_synthetic(n_samples: int | None = None) -> Dataset:
    """The synthetic data of Imtiaz & Sarwate (2018): 60,000 x 200 unless told otherwise."""
    n_samples = n_samples or 60_000
    eigenvalues = paper_eigenvalues()
    return _gaussian_dataset(
        "synthetic",
        "Synthetic (DPdisPCA)",
        gaussian_rows(eigenvalues, n_samples, rng=stream(DATA_SEED, Purpose.DATA, _PAPER, _ROWS)),
        default_components=50,
        # E|x|^2 = 275 + 37.5 and sd|x|^2 = sqrt(2 sum of squared eigenvalues) = 62 over the
        # law's own randomness; the bound is the mean plus three of these.
        public_norm_bound=22.3,
        law="covariance diag(10 to 1 linearly over 50, then 0.5 U(0, 1) over 150)",
    )


def load_synthetic_2012(n_samples: int | None = None) -> Dataset:
    """The synthetic data of Chaudhuri, Sarwate & Sinha (2012), Fig. 2: 5,000 x 10."""
    n_samples = n_samples or 5_000
    return _gaussian_dataset(
        "synthetic-2012",
        "Synthetic (2012 paper)",
        gaussian_rows(
            np.array(EIGENVALUES_2012),
            n_samples,
            rng=stream(DATA_SEED, Purpose.DATA, _PAPER_2012, _ROWS),
        ),
        default_components=2,
        # E|x|^2 = 0.909, sd|x|^2 = 0.83: mean plus three.
        public_norm_bound=1.84,
        law="covariance eigenvalues 0.5, 0.3, 0.04, 0.03, 0.02, 0.01, 0.004, 0.003, 0.001, 0.001",
    )


def _gaussian_dataset(
    name: str,
    title: str,
    X: FloatArray,
    *,
    default_components: int,
    public_norm_bound: float,
    law: str,
) -> Dataset:
    n_samples, n_features = X.shape
    return Dataset(
        name=name,
        title=title,
        X=X,
        feature_names=tuple(f"x{j}" for j in range(n_features)),
        default_components=default_components,
        provenance=f"{n_samples:,} rows drawn from N(0, C) with {law}; the seed is fixed.",
        public_norm_bound=public_norm_bound,
    )
