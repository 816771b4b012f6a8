"""People to learn from and people to test on, kept apart."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.data.catalog import entry_of
from dpcore.data.dataset import DATA_SEED, Dataset
from dpcore.data.loading import load_dataset
from dpcore.data.official import find_data_home, read_idx
from dpcore.data.preparation import prepare
from dpcore.data.readers.pictures import TEST_FILES
from dpcore.data.row_norms import shorten
from dpcore.errors import ParameterError
from dpcore.streams import Purpose, stream

_TEST_SHARE = 0.25
_MOST_TESTED = 10_000
_HELD_OUT = 10


@dataclass(frozen=True, eq=False)
class Halves:
    """A labelled data set in two: rows to learn from, rows to test on.

    Rows were prepared as `dpcore.data.prepare` says; nobody who tests was read for it.

    X, test_X: shape (n, n_features). Row norms at most 1, unless for the sphere.
    labels, test_labels: Positions in `label_names`.
    statement: Who learns, who tests, what was left out, and how the rows were bounded.
    """

    name: str
    title: str
    X: FloatArray
    labels: IntArray
    test_X: FloatArray
    test_labels: IntArray
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    image_shape: tuple[int, int] | None
    default_components: int
    statement: str


def load_halves(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    mode: str = "bounded",
    download: bool = False,
) -> Halves:
    """Load a labelled data set with its test half.

    The official test half where its files are here; else a quarter of the people, at most
    10,000, drawn once with a fixed stream. Columns that spell out the label are left out.

    name, data_home, download: As for `load_dataset`.
    mode: {"sphere", "bounded", "none", "published"}. As for `prepare`; "none" clips to the bound as
        well, since a classifier needs one. What "published" centres and scales by is read from
        those who learn.
    Raises `ParameterError` if the data set has no labels.
    Raises `DataUnavailable` if its files are not there.
    """
    # Those who learn are shared out among sites of their own.
    dataset = replace(load_dataset(name, data_home, download=download), sites=None)
    labels, label_names, n_components = (
        dataset.labels,
        dataset.label_names,
        dataset.default_components,
    )
    if labels is None or label_names is None or n_components is None or len(label_names) < 2:
        wanted = "one with labels of two kinds or more, as digits or mnist"
        raise ParameterError("dataset", wanted, dataset.title)
    dataset, left_out = _without_label_columns(dataset)
    official = _official_test_half(name, data_home)
    if official is not None:
        test_X, test_labels = official
        whose = f"the {len(test_X):,} of the official test half, whom no training reads, test."
    else:
        tested = _drawn(len(dataset.X))
        test_X, test_labels = dataset.X[tested], labels[tested]
        labels = labels[~tested]
        dataset = replace(dataset, X=dataset.X[~tested], labels=labels)
        whose = f"{len(test_X):,} others, drawn once for good and read by no training, test."
    split = f"{len(labels):,} people learn; {whose}"
    mode = "bounded" if mode == "none" else mode
    prepared = prepare(dataset, mode=mode)
    X = prepared.X
    if mode == "published":
        test_X = shorten(
            (test_X - prepared.mean).astype(X.dtype) / X.dtype.type(prepared.scale), 1.0
        )[0]
    else:
        test_X = prepare(replace(dataset, X=test_X, labels=test_labels), mode=mode).X
    return Halves(
        name=name,
        title=dataset.title,
        X=X,
        labels=labels,
        test_X=test_X,
        test_labels=test_labels,
        label_names=label_names,
        feature_names=dataset.feature_names,
        image_shape=dataset.image_shape,
        default_components=min(n_components, X.shape[1]),
        statement=" ".join(filter(None, (split, left_out, prepared.statement))),
    )


def _without_label_columns(dataset: Dataset) -> tuple[Dataset, str]:
    columns = dataset.label_columns
    if columns is None:
        return dataset, ""
    kept = np.setdiff1d(np.arange(dataset.n_features), np.arange(dataset.n_features)[columns])
    names = tuple(dataset.feature_names[index] for index in kept)
    n_dropped = dataset.n_features - len(kept)
    without = replace(
        dataset,
        X=dataset.X[:, kept],
        feature_names=names,
        column_limits=None if dataset.column_limits is None else dataset.column_limits[kept],
        label_columns=None,
        views=None,
    )
    return without, (
        f"{n_dropped} of the source's {dataset.n_features} columns spell out the label and are "
        "left out: a classifier that reads them is told the answer."
    )


def _drawn(n_samples: int) -> BoolArray:
    """Mask (n_samples,) of the people held out for testing."""
    n_tested = min(round(_TEST_SHARE * n_samples), _MOST_TESTED)
    order = stream(DATA_SEED, Purpose.DATA, _HELD_OUT).permutation(n_samples)
    tested = np.zeros(n_samples, dtype=bool)
    tested[order[:n_tested]] = True
    return tested


def _official_test_half(
    name: str, data_home: str | os.PathLike[str] | None
) -> tuple[FloatArray, IntArray] | None:
    home = find_data_home(data_home)
    wanted = TEST_FILES.get(name, ())
    located = (entry_of(name).locate(file, home) for file in wanted)
    files = [file for file in located if file is not None]
    if not wanted or len(files) < len(wanted):
        return None
    images, labels = map(read_idx, files)
    pixels = np.divide(images.reshape(len(images), -1), np.float32(255), dtype=np.float32)
    return pixels, labels.astype(np.intp)
