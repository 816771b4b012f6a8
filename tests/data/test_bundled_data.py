from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpcore.data import dataset_status, list_datasets, load_dataset, pictures, synthetic
from dpcore.data import pictures as mnist_small
from dpcore.data.catalog import CATALOG
from dpcore.data.loading import rows_here
from dpcore.data.official_files import LocalFile
from dpcore.data.splits import load_halves
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.streams import Purpose, stream

# Name, rows, columns, default K of the data sets of the papers and of those bundled with them.
CATALOGUE = (
    ("mnist-small", 10_000, 196, 30),
    ("digits", 1_797, 64, 10),
    ("breast-cancer", 569, 30, 5),
    ("diabetes", 442, 10, 3),
    ("patches", 60_000, 784, 50),
    ("synthetic", 60_000, 200, 50),
    ("synthetic-2012", 5_000, 10, 2),
    ("mnist", 60_000, 784, 50),
    ("fashion-mnist", 60_000, 784, 50),
    ("covtype", 60_000, 54, 10),
    ("kddcup99", 494_021, 116, 4),
    ("localization", 164_860, 44, 10),
    ("insurance", 9_822, 150, 11),
    ("census", 199_523, 513, 8),
    ("mfeat", 2_000, 649, None),
)
# Data sets without official files.
BUNDLED = [entry.name for entry in CATALOG.values() if not entry.sources[0].files]
# Bundled parts of data sets, with their numbers of rows.
PARTS = {"mnist": 10_000, "covtype": 20_000}


def test_the_catalogue_is_the_designs(tmp_path):
    datasets = {
        (s.name, CATALOG[s.name].n_samples, s.n_features, s.default_components)
        for s in list_datasets(tmp_path)
    }
    assert datasets >= set(CATALOGUE)


def test_an_empty_machine_is_told_what_is_missing(tmp_path):
    for status in list_datasets(tmp_path / "absent"):
        assert status.ready == (status.name in (*BUNDLED, *PARTS))
        assert status.is_part == (status.name in PARTS)
        if status.ready and not status.is_part:
            assert status.download_bytes == 0 and status.how_to_get == "Ready."
        else:
            assert str(tmp_path / "absent" / status.name) in status.how_to_get
            assert status.download_bytes != 0
    assert not (tmp_path / "absent").exists()


def assert_agrees_with_the_catalogue(dataset, status):
    for field in "name title n_samples n_features default_components image_shape is_part".split():
        assert getattr(dataset, field) == getattr(status, field), field
    assert len(dataset.feature_names) == dataset.n_features == len(set(dataset.feature_names))
    if dataset.image_shape is not None:
        assert np.prod(dataset.image_shape) == dataset.n_features
    if dataset.labels is not None:
        assert np.array_equal(np.unique(dataset.labels), np.arange(len(dataset.label_names)))
    assert dataset.provenance.endswith(".") and f"{dataset.n_samples:,}" in dataset.provenance
    assert sum(column.n_columns for column in status.ranges) == dataset.n_features
    assert len({column.name for column in status.ranges}) == len(status.ranges)
    first = 0
    for column in status.ranges:
        values = dataset.X[:5_000, first : first + column.n_columns]
        assert column.lower <= values.min() and values.max() <= column.upper, column
        first += column.n_columns
    if all(column.is_limited for column in status.ranges):
        assert len(dataset.column_limits) == dataset.n_features
    else:
        assert dataset.column_limits is None
    # Chosen from the domain, so rows may be longer; but it is to be a bound for most of them.
    centre, radius = dataset.public_ball
    norms = np.linalg.norm(dataset.X[:5_000] - centre, axis=1)
    assert np.mean(norms <= radius) > 0.8
    assert np.median(norms) > radius / 3


def test_mnist_small_has_every_numeral_and_a_bound_that_no_picture_can_exceed():
    dataset = load_dataset("mnist-small")
    assert dataset.X.dtype == np.float32
    # The counts of MNIST's test half, as published.
    assert np.bincount(dataset.labels).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert dataset.public_norm_bound == np.linalg.norm(np.ones(196))
    # The ball about the middle of the pixels' limits contains every picture with half the radius.
    centre, radius = dataset.public_ball
    assert np.array_equal(centre, np.full(196, 0.5)) and radius == pytest.approx(7.0)
    assert "CC BY-SA 3.0" in dataset.provenance


def test_means_of_blocks_are_rounded_half_up():
    pictures = np.array([[[0, 1, 255, 255], [0, 1, 255, 254], [0, 0, 1, 1], [0, 1, 0, 0]]])
    assert mnist_small.halve_pictures(pictures.astype(np.uint8)).tolist() == [[[1, 255], [0, 1]]]


def test_small_pictures_are_made_from_the_bundled_large_ones(tmp_path):
    large = load_dataset("mnist", tmp_path, download=False)
    pixels = np.rint(255 * large.X).astype(np.uint8).reshape(-1, 28, 28)
    small = load_dataset("mnist-small")
    halved = mnist_small.halve_pictures(pixels).reshape(-1, 196)
    assert np.array_equal(np.rint(255 * small.X), halved)
    assert np.array_equal(small.labels, large.labels)
    mnist_small.write_small_file(tmp_path)
    file = mnist_small.SMALL_FILE
    assert LocalFile(tmp_path / file.name, file).content()


@pytest.mark.parametrize(("name", "n_rows"), PARTS.items())
def test_bundled_parts_say_how_many_rows_they_are(name, n_rows, tmp_path):
    status = dataset_status(name, tmp_path)
    assert status.is_part and status.n_samples == n_rows and status.download_bytes > 0
    assert rows_here(name, tmp_path) == f"{n_rows:,} of 60,000 rows"
    dataset = load_dataset(name, tmp_path, download=False)
    assert dataset.n_samples == n_rows and f"{n_rows:,}" in dataset.provenance


def test_a_part_is_not_tested_on_itself(tmp_path):
    """The bundled part of MNIST is its test half, which may also lie in the data home."""
    (tmp_path / "mnist").mkdir()
    for file in mnist_small.TEST_FILES["mnist"]:
        shutil.copy(Path(mnist_small.__file__).with_name(file.name), tmp_path / "mnist")
    halves = load_halves("mnist", tmp_path)
    assert len(halves.X) + len(halves.test_X) == 10_000


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_data_need_no_file(name, tmp_path):
    status = {s.name: s for s in list_datasets(tmp_path)}[name]
    dataset = load_dataset(name, tmp_path, download=False)
    assert_agrees_with_the_catalogue(dataset, status)
    assert np.array_equal(dataset.X, load_dataset(name, tmp_path).X)


def test_patients_are_scikit_learns_scaled_by_limits_that_few_values_exceed():
    from sklearn.datasets import load_breast_cancer

    dataset, bunch = load_dataset("breast-cancer"), load_breast_cancer()
    assert list(dataset.feature_names) == bunch.feature_names.tolist()
    assert list(dataset.label_names) == bunch.target_names.tolist()
    assert np.array_equal(dataset.labels, bunch.target)
    upper = bunch.data[0] / dataset.X[0]
    assert np.mean(np.isclose(dataset.X * upper, bunch.data)) > 0.999
    # Limits that were read from the rows would be reached exactly.
    assert not np.isclose(upper, bunch.data.max(axis=0)).any()


def test_diabetes_has_real_units_within_public_limits():
    from sklearn.datasets import load_diabetes

    dataset = load_dataset("diabetes")
    assert np.array_equal(dataset.X, load_diabetes(scaled=False).data)
    limits = dataset.column_limits
    assert (limits[:, 0] <= dataset.X.min(axis=0)).all()
    assert (dataset.X.max(axis=0) <= limits[:, 1]).all()


def test_digits_are_scikit_learns():
    from sklearn.datasets import load_digits

    dataset, bunch = load_dataset("digits"), load_digits()
    # A frame all in ink; the longest row is 76.9.
    assert dataset.public_norm_bound == 128 > 1.5 * np.linalg.norm(dataset.X, axis=1).max()
    assert dataset.X.dtype == np.float64
    np.testing.assert_array_equal(dataset.X, bunch.data)
    np.testing.assert_array_equal(dataset.labels, bunch.target)


def test_patches_are_windows_of_the_photographs_and_copy_nothing_before_the_draw():
    windows = pictures.photograph_windows()
    assert [view.shape for view in windows] == [(400, 613, 28, 28)] * 2
    for view in windows:
        assert np.shares_memory(view[0, 0], view[1, 1])
        assert 0.0 <= view.min() and view.max() <= 1.0 + 1e-6
    dataset = load_dataset("patches", n_samples=300)
    assert sum(view.shape[0] * view.shape[1] for view in windows) == 490_400
    assert 100 < dataset.labels.sum() < 200
    # Each patch occurs in the photograph its label names: look for it by its first row.
    for row, label in zip(dataset.X[:40].reshape(-1, 28, 28), dataset.labels[:40], strict=True):
        starts = np.argwhere(windows[label][:, :, 0, 0] == row[0, 0])
        assert any(np.array_equal(windows[label][i, j], row) for i, j in starts)


def test_patches_are_drawn_without_replacement_and_larger_draws_extend_smaller_ones():
    small, large = (load_dataset("patches", n_samples=n).X for n in (50, 400))
    np.testing.assert_array_equal(small, large[:50])
    with pytest.raises(ParameterError, match="n_samples must be at most 490400"):
        load_dataset("patches", n_samples=490_401)


def test_patches_without_pillow_say_so(monkeypatch):
    def absent():
        raise ImportError("no Pillow")

    monkeypatch.setattr("sklearn.datasets.load_sample_images", absent)
    with pytest.raises(DataUnavailable, match="patches needs Pillow"):
        load_dataset("patches")


def test_synthetic_covariance_is_the_papers():
    eigenvalues = synthetic.paper_eigenvalues()
    np.testing.assert_allclose(eigenvalues[:50], np.linspace(10, 1, 50))
    assert eigenvalues.shape == (200,)
    assert np.all((eigenvalues[50:] >= 0) & (eigenvalues[50:] <= 0.5))
    # Uniform on (0, 0.5), with a false alarm in one of 1e9 seeds.
    assert stats.kstest(eigenvalues[50:], stats.uniform(0, 0.5).cdf).pvalue > 1e-9


@pytest.mark.parametrize("name", ["synthetic", "synthetic-2012"])
def test_synthetic_rows_are_gaussian_with_that_covariance(name):
    eigenvalues = (
        synthetic.paper_eigenvalues()
        if name == "synthetic"
        else np.array(synthetic.EIGENVALUES_2012)
    )
    X = load_dataset(name).X.astype(np.float64)
    n, d = X.shape
    Z = X / np.sqrt(eigenvalues)
    # Each bound holds for any seed but one in 1e9: Bonferroni over the columns or pairs.
    assert np.abs(Z.mean(axis=0)).max() * np.sqrt(n) < stats.norm.isf(1e-9 / d / 2)
    squares = (Z**2).sum(axis=0)
    assert stats.chi2(n).cdf(squares).min() > 1e-9 / d / 2
    assert stats.chi2(n).sf(squares).min() > 1e-9 / d / 2
    # Off the diagonal a mean of products of two standard normals: sub-exponential, within
    # t = 1.1 times the normal quantile at these n.
    moments = Z.T @ Z / n - np.diag(squares / n)
    pairs = d * (d - 1) / 2
    assert np.abs(moments).max() * np.sqrt(n) < 1.1 * stats.norm.isf(1e-9 / pairs / 2)
    assert stats.kstest(Z[:2_000].ravel(), "norm").pvalue > 1e-9


def test_more_synthetic_rows_extend_fewer():
    few, many = (load_dataset("synthetic", n_samples=n).X for n in (100, 20_000))
    np.testing.assert_array_equal(few, many[:100])


def test_a_block_boundary_leaves_no_trace():
    eigenvalues = np.ones(3)
    n = synthetic._BLOCK
    one = synthetic.gaussian_rows(eigenvalues, n + 5, rng=stream(0, Purpose.DATA))
    two = synthetic.gaussian_rows(eigenvalues, 2 * n, rng=stream(0, Purpose.DATA))
    np.testing.assert_array_equal(one, two[: n + 5])
    assert len(np.unique(two[:, 0])) > 1.99 * n


def test_n_samples_draws_rows_of_the_data_set():
    whole, drawn = load_dataset("digits"), load_dataset("digits", n_samples=100)
    rows = {row.tobytes(): label for row, label in zip(whole.X, whole.labels, strict=True)}
    assert drawn.X.shape == (100, 64)
    assert len({row.tobytes() for row in drawn.X}) == 100
    assert all(rows[x.tobytes()] == y for x, y in zip(drawn.X, drawn.labels, strict=True))
    assert drawn.provenance.startswith("100 rows drawn with a fixed seed")
    assert load_dataset("digits", n_samples=1797).X.shape == (1797, 64)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (dict(name="imagenet"), "dataset must be one of mnist-small, .*, mfeat, got 'imagenet'"),
        (dict(name="digits", n_samples=1798), "n_samples must be at most 1797"),
        (dict(name="synthetic", n_samples=1), "n_samples must be at least 2, got 1"),
        (dict(name="synthetic", n_samples=0), "n_samples must be at least 2, got 0"),
    ],
)
def test_requests_that_cannot_be_met(arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        load_dataset(**arguments)
