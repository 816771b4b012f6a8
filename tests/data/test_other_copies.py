"""Copies that scikit-learn and OpenML leave on a machine give the rows of the official files."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace

import joblib
import numpy as np
import pytest

from dpcore.data import covertype, load_dataset, pictures
from dpcore.data.catalog import CATALOG
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.streams import Purpose, stream


@pytest.fixture
def small_mnist(monkeypatch, write_idx, tmp_path):
    """Fifty pictures under MNIST's names, and a catalogue that holds them for official."""
    rng = stream(0, Purpose.DATA)
    images = rng.integers(256, size=(50, 28, 28))
    labels = np.arange(50) % 10
    home = tmp_path / "official"
    contents = [
        write_idx(home / "mnist" / file.name, array)
        for file, array in zip(pictures.MNIST_FILES, (images, labels), strict=True)
    ]
    files = tuple(
        replace(file, content_sha256=hashlib.sha256(content).hexdigest())
        for file, content in zip(pictures.MNIST_FILES, contents, strict=True)
    )
    monkeypatch.setattr(pictures, "_N_ROWS", 50)
    monkeypatch.setattr(pictures, "MNIST_FILES", files)
    first, *others = CATALOG["mnist"].sources
    sources = (replace(first, files=files), *others)
    monkeypatch.setitem(CATALOG, "mnist", replace(CATALOG["mnist"], sources=sources))
    return home, images.reshape(50, -1), labels


def _write_arff(home, images, labels, n_more_rows=5):
    rows = np.column_stack([images, labels])
    rows = np.vstack([rows, rows[:n_more_rows]])
    text = "@RELATION mnist_784\n@ATTRIBUTE pixel1 real\n@DATA\n" + "".join(
        ",".join(map(str, row)) + "\n" for row in rows
    )
    folder = home / pictures.OPENML_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mnist_784.arff.gz").write_bytes(gzip.compress(text.encode()))


def test_openmls_mnist(small_mnist, tmp_path):
    official, images, labels = small_mnist
    expected = load_dataset("mnist", official, download=False)
    np.testing.assert_array_equal(expected.X, (images / np.float32(255)).astype(np.float32))
    _write_arff(tmp_path / "openml", images, labels)
    dataset = load_dataset("mnist", tmp_path / "openml", download=False)
    np.testing.assert_array_equal(dataset.X, expected.X)
    np.testing.assert_array_equal(dataset.labels, labels)
    assert "OpenML" in dataset.provenance


@pytest.mark.parametrize(
    "damage", [lambda rows: rows[::-1], lambda rows: rows[:20], lambda rows: rows[:, :-1]]
)
def test_openml_rows_that_are_not_mnists_are_refused(small_mnist, tmp_path, damage):
    _, images, labels = small_mnist
    _write_arff(tmp_path, damage(images), labels[: len(damage(images))])
    with pytest.raises(DataUnavailable, match="are not MNIST's training pictures"):
        load_dataset("mnist", tmp_path, download=False)


@pytest.fixture
def small_covtype(monkeypatch, tmp_path):
    """A hundred rows as UCI's whole file, and as scikit-learn keeps it."""
    monkeypatch.setattr(covertype, "_N_ROWS", 100)
    monkeypatch.setattr(covertype, "_DRAWN", 60)
    rng = stream(1, Purpose.DATA)
    X = rng.integers(4_000, size=(100, 54))
    y = rng.integers(1, 8, size=100)
    home, cache = tmp_path / "official", tmp_path / "cache"
    for folder in (home / "covertype", cache / "covertype"):
        folder.mkdir(parents=True)
    rows = np.column_stack([X, y]).tolist()
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (home / "covertype" / "covtype.data.gz").write_bytes(gzip.compress(text.encode()))
    joblib.dump(X.astype(np.float64), cache / "covertype" / "samples_py3", compress=9)
    joblib.dump(y.astype(np.int32), cache / "covertype" / "targets_py3", compress=9)
    return home, cache, X, y


def test_covertype_is_drawn_alike_from_either_copy(small_covtype):
    home, cache, X, y = small_covtype
    label_of = {tuple(row): label for row, label in zip(X.tolist(), y - 1, strict=True)}
    for n_samples in (None, 30, 100):
        drawn, cached = (
            load_dataset("covtype", folder, n_samples=n_samples, download=False)
            for folder in (home, cache)
        )
        assert len(drawn.X) == (n_samples or 60)
        np.testing.assert_array_equal(drawn.X, cached.X)
        np.testing.assert_array_equal(drawn.labels, cached.labels)
        people = [tuple(row) for row in drawn.X.astype(int).tolist()]
        assert len(set(people)) == len(people)
        assert [label_of[person] for person in people] == drawn.labels.tolist()
    with pytest.raises(ParameterError, match="n_samples must be at most 100"):
        load_dataset("covtype", home, n_samples=101)


def test_a_copy_of_another_shape_is_refused(small_covtype):
    _, cache, X, _ = small_covtype
    joblib.dump(X[:, :-1].astype(np.float64), cache / "covertype" / "samples_py3")
    with pytest.raises(DataUnavailable, match=r"samples_py3 .* \(100, 53\) where \(100, 54\)"):
        load_dataset("covtype", cache, download=False)
