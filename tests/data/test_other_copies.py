"""Copies that are not the publisher's: rows drawn from packed files, OpenML's MNIST, pickles."""

from __future__ import annotations

import gzip
import hashlib
import pickle
from dataclasses import replace

import numpy as np
import pytest

from dpcore.data import covtype, load_dataset, pictures
from dpcore.data.catalog import CATALOG
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.streams import Purpose, stream


@pytest.fixture
def small_mnist(monkeypatch, write_idx, tmp_path):
    """Write fifty pictures under MNIST's names, with a catalogue that accepts them as official."""
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
    monkeypatch.setattr(pictures, "_N_PICTURES", 50)
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


def test_openml_labels_that_are_not_mnists_are_refused(small_mnist, tmp_path):
    _, images, labels = small_mnist
    _write_arff(tmp_path, images, np.where(np.arange(50) == 7, 77, labels))
    with pytest.raises(DataUnavailable, match="are not MNIST's training labels"):
        load_dataset("mnist", tmp_path, download=False)


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
    """Write a hundred rows in the form of UCI's complete file."""
    monkeypatch.setattr(covtype, "_ROWS", 100)
    monkeypatch.setattr(covtype, "_DRAWN", 60)
    rng = stream(1, Purpose.DATA)
    y = rng.integers(1, 8, size=100)
    X = np.hstack(
        [
            rng.integers(4_000, size=(100, 10)),
            np.eye(4, dtype=int)[rng.integers(4, size=100)],
            np.eye(40, dtype=int)[rng.integers(40, size=100)],
        ]
    )
    return _write_covtype(tmp_path, X, y), X, y


def _write_covtype(home, X, y):
    (home / "covertype").mkdir(exist_ok=True)
    rows = np.column_stack([X, y]).tolist()
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (home / "covertype" / "covtype.data.gz").write_bytes(gzip.compress(text.encode()))
    return home


def test_covertype_is_drawn_without_replacement(small_covtype):
    home, X, y = small_covtype
    label_of = {tuple(row): label for row, label in zip(X.tolist(), y - 1, strict=True)}
    for n_samples in (None, 30, 100):
        drawn = load_dataset("covtype", home, n_samples=n_samples, download=False)
        assert len(drawn.X) == (n_samples or 60)
        people = [tuple(row) for row in drawn.X.astype(int).tolist()]
        assert len(set(people)) == len(people)
        assert [label_of[person] for person in people] == drawn.labels.tolist()
    with pytest.raises(ParameterError, match="n_samples must be at most 100"):
        load_dataset("covtype", home, n_samples=101)


@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        (54, 8, "row 43 has no cover type from 1 to 7"),
        (54, 1.5, "row 43 has no cover type"),
        (0, "nan", "row 43 holds a number that is not finite"),
        (0, 1e6, "row 43 holds a measurement beyond 10,000"),
        (0, "high", "row 43 holds something that is no number"),
        (12, 7, "row 43 is not in one wilderness area"),
        (30, -1, "row 43 has not one soil"),
    ],
)
def test_a_row_that_covertype_cannot_have_is_named(small_covtype, column, value, complaint):
    home, X, y = small_covtype
    table = np.column_stack([X, y]).astype(object)
    table[42, column] = value
    _write_covtype(home, table[:, :-1], table[:, -1])
    with pytest.raises(DataUnavailable, match=f"covtype.data.gz .* {complaint}"):
        load_dataset("covtype", home, n_samples=100, download=False)


class Planted:
    """Object that writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("kddcup99", ("kddcup99_10-py3/samples", "kddcup99_10-py3/targets")),
        ("kddcup99", ("samples", "targets")),
    ],
)
def test_code_planted_in_a_data_folder_does_not_run(tmp_path, name, files):
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
    with pytest.raises(DataUnavailable, match="is not on this machine"):
        load_dataset(name, tmp_path, download=False)
    assert not (tmp_path / "ran").exists()
