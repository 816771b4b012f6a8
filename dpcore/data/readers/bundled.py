"""Data that comes with scikit-learn: nothing to download."""

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
        X=np.ascontiguousarray(table[:, :-1]),
        labels=table[:, -1].astype(int),
        label_names=tuple("0123456789"),
        feature_names=pixel_names(8, 8),
        provenance="All 1,797 handwritten digits that ship with scikit-learn (the test half of "
        "UCI's optdigits), 8 × 8 pixels from 0 to 16.",
        # A frame all in ink, which no row exceeds: 16 * sqrt(64).
        public_norm_bound=128.0,
    )


def photograph_windows() -> tuple[FloatArray, ...]:
    """Every 28 x 28 grey window of the two photographs, as views, nothing copied.

    Returns: tuple of shape (400, 613, 28, 28), float32 in [0, 1]. Luma by the weights of ITU-R
        BT.601.
    Raises `DataUnavailable` if no library that reads JPEG is installed.
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
        X=X,
        labels=labels,
        label_names=("china", "flower"),
        feature_names=pixel_names(PATCH, PATCH),
        provenance=f"{n_samples:,} of the {total:,} overlapping 28 × 28 grey patches of "
        "scikit-learn's two sample photographs, drawn with a fixed seed.",
        # A patch of sky at 80 % of white; nothing exceeds 28, which is a patch all white.
        public_norm_bound=22.4,
    )


def pixel_names(height: int, width: int) -> tuple[str, ...]:
    return tuple(f"pixel_{row}_{column}" for row in range(height) for column in range(width))
