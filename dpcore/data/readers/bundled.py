"""Data that comes with scikit-learn, or is made here from a law: nothing to download."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dpcore.arrays import FloatArray
from dpcore.data.dataset import DATA_SEED, Dataset
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.streams import Purpose, stream

PATCH = 28
_PATCH_STREAM = 2

EIGENVALUES_2012 = (0.5, 0.30, 0.04, 0.03, 0.02, 0.01, 0.004, 0.003, 0.001, 0.001)
_ROWS, _TAIL = 0, 1
_PAPER, _PAPER_2012 = 0, 1
_BLOCK = 8192


def load_digits() -> Dataset:
    """1,797 handwritten digits, 8 x 8 pixels from 0 to 16, float64."""
    # Without importing the package, which takes longer than all the rest of a start.
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise DataUnavailable("digits come with scikit-learn, which is not installed")
    path = Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"
    with gzip.open(path, "rt") as file:  # by its name, NumPy asks for the working folder
        table = np.loadtxt(file, delimiter=",")
    return Dataset(
        name="digits",
        title="Digits 8 × 8",
        X=np.ascontiguousarray(table[:, :-1]),
        labels=table[:, -1].astype(int),
        label_names=tuple("0123456789"),
        feature_names=pixel_names(8, 8),
        image_shape=(8, 8),
        default_components=10,
        provenance="All 1,797 handwritten digits that ship with scikit-learn (the test half of "
        "UCI's optdigits), 8 × 8 pixels from 0 to 16.",
        # A pen stroke that covers a third of so coarse a frame in full ink: 16 * sqrt(64 / 3).
        public_norm_bound=74.0,
    )


def photograph_windows() -> tuple[FloatArray, ...]:
    """Every 28 x 28 grey window of the two photographs, as views, nothing copied.

    Returns
    -------
    tuple of ndarray of shape (400, 613, 28, 28), float32 in [0, 1]
        Luma by the weights of ITU-R BT.601.

    Raises
    ------
    DataUnavailable
        If no library that reads JPEG is installed.
    """
    from sklearn.datasets import load_sample_images

    try:
        photographs = load_sample_images().images
    except ImportError as error:
        raise DataUnavailable(
            "patches needs Pillow to read scikit-learn's two sample photographs; "
            "everything else works without it"
        ) from error
    weights = np.array([0.299, 0.587, 0.114], dtype=np.float32) / 255
    return tuple(
        sliding_window_view(photograph.astype(np.float32) @ weights, (PATCH, PATCH))
        for photograph in photographs
    )


def load_patches(n_samples: int | None = None) -> Dataset:
    """Patches of two photographs: 60,000 of the 490,400 there are unless told otherwise."""
    windows = photograph_windows()
    counts = [view.shape[0] * view.shape[1] for view in windows]
    total = sum(counts)
    n_samples = n_samples or 60_000
    if n_samples > total:
        raise ParameterError("n_samples", f"at most {total}, the patches there are", n_samples)
    rng = stream(DATA_SEED, Purpose.DATA, _PATCH_STREAM)
    chosen = rng.permutation(total)[:n_samples]
    labels = np.searchsorted(np.cumsum(counts), chosen, side="right")
    X = np.empty((n_samples, PATCH * PATCH), dtype=np.float32)
    offset = 0
    for photograph, (view, count) in enumerate(zip(windows, counts, strict=True)):
        mine = np.flatnonzero(labels == photograph)
        rows, columns = np.divmod(chosen[mine] - offset, view.shape[1])
        # In blocks, because indexing all windows at once copies them twice.
        for block in np.array_split(np.arange(len(mine)), max(1, len(mine) // 4096)):
            X[mine[block]] = view[rows[block], columns[block]].reshape(len(block), -1)
        offset += count
    return Dataset(
        name="patches",
        title="Photograph patches 28 × 28",
        X=X,
        labels=labels,
        label_names=("china", "flower"),
        feature_names=pixel_names(PATCH, PATCH),
        image_shape=(PATCH, PATCH),
        default_components=50,
        provenance=f"{n_samples:,} of the {total:,} overlapping 28 × 28 grey patches of "
        "scikit-learn's two sample photographs, drawn with a fixed seed.",
        # A patch of sky at 80 % of white; nothing exceeds 28, which is a patch all white.
        public_norm_bound=22.4,
    )


def pixel_names(height: int, width: int) -> tuple[str, ...]:
    return tuple(f"pixel_{row}_{column}" for row in range(height) for column in range(width))


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
