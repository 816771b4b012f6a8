"""Checks of the official files in ../shared/datasets, if they exist."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from test_bundled_data import assert_agrees_with_the_catalogue

from dpcore.data import list_datasets, load_dataset, official_files, pictures, prepare
from dpcore.data.catalog import CATALOG
from dpcore.errors import DataUnavailable

PARTS = {"covtype": 20_000, "localization": 16_486, "census": 99_762}


def _status(home):
    return {status.name: status for status in list_datasets(home)}


def _load(name, home, **options):
    return load_dataset(name, home, download=False, **options)


def test_what_is_whole_and_what_is_a_part_is_said(shared_datasets):
    for name, status in _status(shared_datasets).items():
        assert status.ready
        assert status.is_part == (name in PARTS)
        if status.is_part:
            assert status.n_samples == PARTS[name]
            assert "Put " in status.how_to_get


def test_listing_reads_no_file(shared_datasets, monkeypatch):
    def refuse(path):
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(official_files, "_unpack", refuse)
    list_datasets(shared_datasets)


def _load_and_check(name, home):
    dataset = _load(name, home)
    assert_agrees_with_the_catalogue(dataset, _status(home)[name])
    for mode in ("published", "bounded"):
        prepared = prepare(dataset, mode=mode)
        assert np.linalg.norm(prepared.X[:5_000].astype(np.float64), axis=1).max() <= 1.0
    return dataset


def test_bundled_files_are_the_official_ones(shared_datasets):
    folder = Path(pictures.__file__).parent
    for name in ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"):
        assert (folder / name).read_bytes() == (shared_datasets / "mnist" / name).read_bytes()


def test_mnist_pixels_and_labels(shared_datasets):
    dataset = _load_and_check("mnist", shared_datasets)
    assert dataset.X.dtype == np.float32
    assert dataset.X.min() == 0.0 and dataset.X.max() == 1.0
    # Published facts about MNIST: the class counts and the first labels 5, 0, 4, 1, 9.
    assert np.bincount(dataset.labels).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert dataset.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert dataset.X.mean(dtype=np.float64) == pytest.approx(0.1307, abs=5e-5)


def test_fashion_has_its_own_labels(shared_datasets):
    dataset = _load_and_check("fashion-mnist", shared_datasets)
    assert np.bincount(dataset.labels).tolist() == [6_000] * 10
    # Fashion-MNIST's mean and first label are as widely known as MNIST's.
    assert dataset.X.mean(dtype=np.float64) == pytest.approx(0.2860, abs=5e-5)
    assert dataset.label_names[dataset.labels[0]] == "Ankle boot"


def test_fashion_is_never_loaded_as_mnist(shared_datasets, tmp_path):
    for file in pictures.MNIST_FILES:
        shutil.copy(shared_datasets / "fashion-mnist" / file.name, tmp_path / file.name)
    status = _status(tmp_path)
    assert status["fashion-mnist"].ready and status["mnist"].is_part
    assert "test pictures of MNIST" in _load("mnist", tmp_path).provenance
    (tmp_path / "mnist").mkdir()
    for file in pictures.MNIST_FILES:
        shutil.move(tmp_path / file.name, tmp_path / "mnist" / file.name)
    with pytest.raises(DataUnavailable, match=pictures.MNIST_FILES[0].content_sha256):
        _load("mnist", tmp_path)


def test_checksums_of_downloads_are_the_official_files(shared_datasets):
    for folder in ("mnist", "fashion-mnist"):
        for file in CATALOG[folder].sources[0].files:
            content = (shared_datasets / folder / file.name).read_bytes()
            assert len(content) == file.n_bytes
            assert hashlib.sha256(content).hexdigest() == file.sha256


def test_the_part_of_covertype_says_what_it_is(shared_datasets):
    dataset = _load_and_check("covtype", shared_datasets)
    assert dataset.provenance.startswith("The first 20,000 of the 581,012 rows")
    assert "not a random sample" in dataset.provenance
    assert np.bincount(dataset.labels[:15_120]).tolist() == [2_160] * 7
    assert dataset.X[0, :4].tolist() == [2596, 51, 3, 258]
    # Every cell lies in one wilderness area and has one soil.
    np.testing.assert_array_equal(dataset.X[:, 10:14].sum(axis=1), 1)
    np.testing.assert_array_equal(dataset.X[:, 14:].sum(axis=1), 1)


def test_kddcup_has_the_2012_papers_dimension(shared_datasets):
    dataset = _load_and_check("kddcup99", shared_datasets)
    assert dataset.X.shape == (494_021, 116) and dataset.X.dtype == np.float32
    assert dataset.labels.sum() == 97_278
    # Not one column is constant, and all but the logarithms lie in [0, 1] by definition.
    assert np.all(np.ptp(dataset.X, axis=0) > 0)
    assert dataset.X.min() >= 0.0 and dataset.X.max() <= 1.0
    no_row_exceeds_the_bound(dataset)


def no_row_exceeds_the_bound(dataset):
    """Check that the bound is not within 4 % of the longest row, as a bound read from the data
    would be.
    """
    longest = np.sqrt(np.einsum("nd,nd->n", dataset.X, dataset.X, dtype=np.float64)).max()
    assert longest < 0.96 * dataset.public_norm_bound


def test_localization_labels_are_its_last_columns(shared_datasets):
    dataset = _load_and_check("localization", shared_datasets)
    activities = dataset.X[:, dataset.label_columns]
    np.testing.assert_array_equal(activities.sum(axis=1), 1)
    np.testing.assert_array_equal(activities[:, 1], dataset.labels)
    assert dataset.labels.sum() == 270


def test_census_is_one_indicator_a_nominal_column(shared_datasets):
    dataset = _load_and_check("census", shared_datasets)
    assert dataset.labels.sum() == 6_186
    np.testing.assert_array_equal(dataset.X[:, dataset.label_columns][:, 1], dataset.labels)
    indicators = ["=" in name for name in dataset.feature_names]
    np.testing.assert_array_equal(dataset.X[:, indicators].sum(axis=1), 34)
    assert dataset.X.min() >= 0.0 and dataset.X.max() <= 1.0
    no_row_exceeds_the_bound(dataset)


def test_insurance_counts_are_the_published_ones(shared_datasets):
    dataset = _load_and_check("insurance", shared_datasets)
    assert dataset.labels[:5_822].sum() == 348 and dataset.labels[5_822:].sum() == 238
    assert np.all(np.ptp(dataset.X, axis=0) > 0)


def test_a_truncated_official_file_is_damaged_not_a_part(shared_datasets, tmp_path):
    lines = gzip.decompress(
        (shared_datasets / "census-income-kdd" / "census-income.test.gz").read_bytes()
    ).splitlines(keepends=True)[:100]
    (tmp_path / "census-income.test").write_bytes(b"".join(lines))
    with pytest.raises(DataUnavailable, match="census-income.test .* 100 rows where 99,762"):
        _load("census", tmp_path)


def test_numerals_are_the_same_people_in_every_view(shared_datasets):
    dataset = _load_and_check("mfeat", shared_datasets)
    assert {name: view.stop - view.start for name, view in dataset.views.items()} == {
        "fac": 216, "fou": 76, "kar": 64, "mor": 6, "pix": 240, "zer": 47,
    }  # fmt: skip
    for view in dataset.views.values():
        norms = np.linalg.norm(dataset.X[:, view], axis=1)
        assert 0.05 < np.median(norms) < 1.0
