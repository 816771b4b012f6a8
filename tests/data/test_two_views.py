"""Cutting data sets into two views, and views with known correlations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dpcore.data import load_dataset
from dpcore.data.synthetic import synthetic_views
from dpcore.data.two_views import two_views
from dpcore.errors import ParameterError


def test_top_and_bottom_halves_are_the_pictures_cut():
    digits = load_dataset("digits")
    views = two_views(digits)
    pictures = digits.X.reshape(-1, 8, 8)
    assert np.array_equal(views.X.reshape(-1, 4, 8), pictures[:, :4])
    assert np.array_equal(views.Y.reshape(-1, 4, 8), pictures[:, 4:])
    assert views.x_image_shape == views.y_image_shape == (4, 8)
    assert views.labels is digits.labels
    # Pixels lie in [0, 16], whatever the rows are: 32 of them within 8 of 8.
    assert views.x_centre == views.y_centre == 8
    assert_allclose((views.x_norm_bound, views.y_norm_bound), 8 * math.sqrt(32))
    assert np.linalg.norm(views.X - 8, axis=1).max() <= views.x_norm_bound
    assert views.x_feature_names[-1] == "pixel_3_7" and views.y_feature_names[0] == "pixel_4_0"
    assert "top half" in views.provenance


def test_left_and_right_halves_are_the_pictures_cut():
    digits = load_dataset("digits")
    views = two_views(digits, "halves-left-right")
    assert np.array_equal(views.Y.reshape(-1, 8, 4), digits.X.reshape(-1, 8, 8)[:, :, 4:])
    assert views.x_image_shape == (8, 4)
    assert not views.X.flags.writeable


def test_an_odd_side_leaves_the_larger_half_second():
    odd = replace(load_dataset("digits"), X=np.zeros((1797, 15)), image_shape=(5, 3))
    views = two_views(odd)
    assert views.x_image_shape == (2, 3) and views.y_image_shape == (3, 3)


def test_two_groups_of_columns_of_any_table():
    table = load_dataset("synthetic-2012")
    views = two_views(table, ((3, 1), (0, 2, 9)))
    assert np.array_equal(views.X, table.X[:, [3, 1]])
    assert np.array_equal(views.Y, table.X[:, [0, 2, 9]])
    assert views.y_feature_names == ("x0", "x2", "x9")
    assert_allclose(views.x_norm_bound, table.public_norm_bound * math.sqrt(0.2))
    assert views.x_centre == views.y_centre == 0


def test_named_views():
    table = replace(
        load_dataset("synthetic-2012"),
        views={"a": slice(0, 3), "b": slice(3, 4), "c": slice(4, 10)},
        public_norm_bound=math.sqrt(3),
    )
    views = two_views(table, ("c", "a"))
    assert np.array_equal(views.X, table.X[:, 4:]) and np.array_equal(views.Y, table.X[:, :3])
    assert (views.x_name, views.y_name) == ("c", "a")
    assert_allclose((views.x_norm_bound, views.y_norm_bound), 1)


@pytest.mark.parametrize(
    "how",
    [
        "halves",
        "halves-top-bottom",
        ("a", "b"),
        ((0, 1), (1, 2)),
        ((0,), ()),
        ((0,), (10,)),
        ((0,), (-1,)),
        ((0,), (1,), (2,)),
    ],
)
def test_refusals_name_the_parameter(how):
    with pytest.raises(ParameterError) as caught:
        two_views(load_dataset("synthetic-2012"), how)
    assert caught.value.parameter == "views"


def test_synthetic_views_have_the_correlations_they_state():
    views = synthetic_views(200_000, 6, 4, 3, 0.5, rng=np.random.default_rng(0))
    energy = np.linspace(1, 0.6, 3) ** 2
    assert_allclose(views.correlations, energy / (energy + 0.25))
    X, Y = (view - view.mean(axis=0) for view in (views.X, views.Y))
    correlations = np.linalg.svd(np.linalg.qr(X)[0].T @ np.linalg.qr(Y)[0], compute_uv=False)
    # A sample correlation has standard deviation at most 1 / sqrt(N) (the latent mixture has
    # lighter tails than a Gaussian); 6.2 of them bound a false alarm by 1e-9, and the upward
    # bias, below min(n_x, n_y) / sqrt(N), is granted on top.
    assert_allclose(correlations[:3], views.correlations, atol=(6.2 + 4) / math.sqrt(200_000))
    assert correlations[3] < (6.2 + 4) / math.sqrt(200_000)


def test_synthetic_latent_groups_have_unit_covariance():
    views = synthetic_views(100_000, 4, 4, 4, 0.0, rng=np.random.default_rng(1))
    # cov(x) = W diag(a^2) W^T exactly in law, so its eigenvalues are a^2. Entries of a sample
    # covariance have standard deviation below sqrt(2 / N); norms of the 4 x 4 error below 4 x.
    eigenvalues = np.linalg.eigvalsh(views.X.T @ views.X / len(views.X))[::-1]
    assert_allclose(eigenvalues, np.linspace(1, 0.6, 4) ** 2, atol=4 * 6.2 * math.sqrt(2 / 100_000))
    assert set(views.labels) == set(range(5)) and len(views.label_names) == 5


def test_most_synthetic_rows_are_within_the_public_bound():
    views = synthetic_views(20_000, 50, 30, 5, 0.5, rng=np.random.default_rng(2))
    for rows, bound in ((views.X, views.x_norm_bound), (views.Y, views.y_norm_bound)):
        assert (np.linalg.norm(rows, axis=1) > bound).mean() < 0.02


@pytest.mark.parametrize(
    ("change", "parameter"),
    [({"n_samples": 1}, "n_samples"), ({"n_shared": 5}, "n_shared"), ({"noise": -1}, "noise")],
)
def test_synthetic_refusals_name_the_parameter(change, parameter):
    arguments = {"n_samples": 10, "n_x": 4, "n_y": 6, "n_shared": 2, "noise": 0.1} | change
    with pytest.raises(ParameterError) as caught:
        synthetic_views(**arguments, rng=np.random.default_rng(3))
    assert caught.value.parameter == parameter
