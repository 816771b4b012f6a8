from __future__ import annotations

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.spectra import RunningMoments, SiteRows, second_moment, site_moments


@pytest.fixture
def rng():
    return np.random.default_rng(20181)


@pytest.fixture
def split(rng):
    shuffled = rng.permutation(1000)
    return shuffled[:17], shuffled[17:400], shuffled[400:990]  # unequal, ten people nowhere


def direct(X, rows):
    held = X[rows].astype(np.float64)
    return held.T @ held / len(rows)


# A sum of at most n_samples roundings, whatever the rows come in.
TOLERANCE = 1e-13


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block_rows", [1, 7, 100, 5000])
def test_each_site_against_its_own_rows(rng, split, dtype, block_rows):
    X = rng.normal(1.0, 2.0, (1000, 12)).astype(dtype)
    moments = site_moments(X, split, block_rows=block_rows)
    assert moments.dtype == dtype
    assert moments.second_moments.dtype == moments.means.dtype == np.float64
    assert (moments.n_sites, moments.n_features) == (3, 12)
    np.testing.assert_array_equal(moments.n_samples, [17, 383, 590])
    for moment_of_site, mean, rows in zip(
        moments.second_moments, moments.means, split, strict=True
    ):
        np.testing.assert_allclose(moment_of_site, direct(X, rows), rtol=TOLERANCE, atol=1e-12)
        np.testing.assert_array_equal(moment_of_site, moment_of_site.T)
        expected = X[rows].mean(axis=0, dtype=np.float64)
        np.testing.assert_allclose(mean, expected, rtol=100 * TOLERANCE)


def test_integers_are_summed_exactly(rng):
    X = rng.integers(0, 256, (3000, 9), dtype=np.uint8)
    exact = (X.astype(np.int64).T @ X.astype(np.int64)) / 3000
    result = second_moment(X)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, exact)


def test_what_is_only_looked_at_may_be_in_float32(rng):
    # All entries of one sign, so that a running float32 sum would drift.
    X = rng.uniform(0.5, 1.0, (200_000, 3)).astype(np.float32)
    exact = X.astype(np.float64).T @ X.astype(np.float64) / len(X)
    np.testing.assert_allclose(second_moment(X), exact, rtol=1e-12)
    looked_at = site_moments(X, (np.arange(len(X)),), products=np.float32).second_moments[0]
    assert looked_at.dtype == np.float32
    np.testing.assert_allclose(looked_at, exact, rtol=3e-7)


def moved(moment, rows, other):
    """Return the change of a sum when the first row is replaced, and its error."""
    replaced = np.concatenate([other[None], rows[1:]])
    change = len(rows) * (moment(rows).astype(np.float64) - moment(replaced).astype(np.float64))
    first, other = rows[0].astype(np.float64), other.astype(np.float64)
    return change, np.linalg.norm(change - np.outer(first, first) + np.outer(other, other))


def running(rows):
    """Return the moments of two blocks, as `partial_fit` computes them."""
    moments = RunningMoments(rows.shape[1], rows.dtype)
    for block in np.array_split(rows, 2):
        moments.add(block)
    return moments.as_site().second_moments[0]


def one_site(rows):
    return site_moments(rows, (np.arange(len(rows)),)).second_moments[0]


def on_sphere(rows):
    all_rows = SiteRows.of(rows, (np.arange(len(rows)),))
    return all_rows.moment_around(np.zeros(rows.shape[1]), 0)


def test_rounding_does_not_add_to_the_sensitivity_at_a_short_word_length():
    """Test float16 on 3000 rows, which behaves as float32 on 2 10^7 rows.

    All entries that move are just below the middle of two numbers and are rounded up.
    """
    n_features = 32
    one = np.full(n_features, n_features**-0.5, dtype=np.float16)
    other = one * np.resize([1, -1], n_features).astype(np.float16)
    farthest = {"float16": 0.0, "kept": 0.0}
    for scale in np.linspace(0.95, 1, 40):
        rows = np.full((3000, n_features), scale * one[0], dtype=np.float16)
        rows[0] = one
        change, error = moved(running, rows, other)
        rounded, _ = moved(lambda data: running(data).astype(np.float16), rows, other)
        farthest["kept"] = max(farthest["kept"], np.linalg.norm(change))
        farthest["float16"] = max(farthest["float16"], np.linalg.norm(rounded))
        assert error < 1e-9
    assert farthest["float16"] > 1.25 * np.sqrt(2)
    assert farthest["kept"] <= np.sqrt(2)


@pytest.mark.parametrize("moment", [running, one_site, on_sphere])
def test_replacing_one_row_moves_a_moment_by_what_is_proven(rng, moment):
    """Also within a block: in float32, each partial sum after the row is rounded anew."""
    rows = np.abs(rng.normal(1.0, 0.1, (20_480, 64))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 1e-6)
    unit = np.eye(64, dtype=np.float32) * np.float32(1 - 1e-6)
    rows[0] = unit[0]
    change, error = moved(moment, rows, unit[1])
    # 1e-4 of the rows' length is shortened on the sphere, where rounding can be its own.
    assert np.linalg.norm(change) <= np.sqrt(2) * (1 + 1e-8)
    assert error < (1e-8 if moment is not on_sphere else 1e-5)


def test_memory_map_is_read_in_blocks(rng, split, tmp_path):
    X = rng.normal(size=(1000, 20)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    read = []

    class Watched(np.memmap):
        def __getitem__(self, rows):
            block = super().__getitem__(rows)
            read.append(len(block))
            return np.asarray(block)

    from_map = site_moments(mapped.view(Watched), split, block_rows=64)
    in_memory = site_moments(X, split, block_rows=64)
    np.testing.assert_array_equal(from_map.second_moments, in_memory.second_moments)
    np.testing.assert_array_equal(from_map.means, in_memory.means)
    assert max(read) <= 64
    assert sum(read) == 990


def test_pooled_and_weights(rng, split):
    X = rng.normal(size=(1000, 8))
    moments = site_moments(X, split)
    np.testing.assert_allclose(moments.weights, np.array([17, 383, 590]) / 990)
    np.testing.assert_allclose(moments.pooled(), direct(X, np.concatenate(split)), atol=1e-13)
    as_float32 = site_moments(X.astype(np.float32), split).pooled()
    assert as_float32.dtype == np.float64
    np.testing.assert_allclose(as_float32, moments.pooled(), atol=1e-6)


@pytest.mark.parametrize("origin", [None, np.linspace(-1, 2, 8)])
def test_centring_equals_moments_of_shifted_rows(rng, split, origin):
    X = rng.normal(3.0, 1.0, (1000, 8))
    centred = site_moments(X, split).centred(origin)
    held = np.concatenate(split)
    shift = X[held].mean(axis=0) if origin is None else origin
    expected = site_moments(X - shift, split)
    np.testing.assert_allclose(centred.second_moments, expected.second_moments, atol=1e-12)
    np.testing.assert_allclose(centred.means, expected.means, atol=1e-12)
    np.testing.assert_array_equal(centred.n_samples, expected.n_samples)
    np.testing.assert_array_equal(centred.second_moments, centred.second_moments.transpose(0, 2, 1))
    if origin is None:
        covariance = np.cov(X[held].T, bias=True)
        np.testing.assert_allclose(centred.pooled(), covariance, atol=1e-12)


def test_centring_keeps_the_data_type(rng, split):
    moments = site_moments(rng.normal(size=(1000, 4)).astype(np.float32), split)
    assert moments.centred().dtype == moments.at([1, 2]).dtype == np.float32
    looked_at = site_moments(np.ones((9, 4), np.float32), (np.arange(9),), products=np.float32)
    assert looked_at.centred().second_moments.dtype == np.float32
    with pytest.raises(ParameterError, match="mean must be of shape"):
        moments.centred(np.zeros(5))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_entries_that_cannot_be_squared_are_refused(rng, split, bad):
    X = rng.normal(size=(1000, 5)).astype(np.float32)
    X[split[1][3], 2] = bad
    with pytest.raises(ParameterError, match=r"X must be finite .*\(site 1\)"):
        site_moments(X, split)


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        (([0, 1], [2]), r"at least 2 people each \(site 1\), got 1"),
        (([0, 1], []), r"at least 2 people each \(site 1\), got 0"),
        (([0, 1], [1, 2]), "disjoint, no row number twice, got 1"),
        (([3, 3],), "disjoint, no row number twice, got 3"),
        (([0, 10],), "got 10"),
        (([0, -1],), "got -1"),
    ],
)
def test_impossible_sites_are_refused(sites, message):
    with pytest.raises(ParameterError, match="sites must be .*" + message):
        site_moments(np.ones((10, 2)), [np.array(rows, dtype=int) for rows in sites])


def test_X_must_be_a_matrix():
    with pytest.raises(ParameterError, match="X must be a matrix"):
        second_moment(np.ones(5))


def test_centring_in_place_is_centring():
    X = np.random.default_rng(0).normal(size=(60, 5)) + 2
    expected = site_moments(X, [np.arange(30), np.arange(30, 60)]).centred()
    moments = site_moments(X, [np.arange(30), np.arange(30, 60)])
    centred = moments.centred(in_place=True)
    assert centred.second_moments is moments.second_moments
    np.testing.assert_array_equal(centred.second_moments, expected.second_moments)
    np.testing.assert_array_equal(centred.means, expected.means)
