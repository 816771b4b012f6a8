"""Rows [x y] within the unit ball."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dpcore.cca import bound_views, canonical_pairs
from dpcore.errors import ParameterError


def some_views(seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (3 + rng.standard_normal((50, 4))).astype(dtype)
    Y = (X @ rng.standard_normal((4, 6)) + rng.standard_normal((50, 6))).astype(dtype)
    return X, Y


@given(
    seed=st.integers(0, 2**32 - 1),
    x_share=st.floats(0.01, 0.99),
    x_norm_bound=st.floats(0.1, 100),
    y_norm_bound=st.floats(0.1, 100),
    dtype=st.sampled_from([np.float32, np.float64]),
    mode=st.sampled_from(["published", "bounded", "none"]),
)
def test_no_joined_row_is_longer_than_one(seed, x_share, x_norm_bound, y_norm_bound, dtype, mode):
    views = bound_views(
        *some_views(seed, dtype),
        x_share=x_share,
        mode=mode,
        x_norm_bound=x_norm_bound,
        y_norm_bound=y_norm_bound,
    )
    norms = np.linalg.norm(views.joined.astype(np.float64), axis=1)
    assert norms.max() <= 1
    assert views.X.dtype == dtype


def test_rows_within_their_bounds_are_scaled_and_weighted():
    X, Y = some_views()
    views = bound_views(X, Y, x_share=0.2, x_norm_bound=100.0, y_norm_bound=1000.0)
    assert views.n_clipped == 0 and views.is_private
    assert_allclose(views.X, X / 100 * np.sqrt(0.2))
    assert_allclose(views.Y, Y / 1000 * np.sqrt(0.8))
    assert_allclose(views.x_scale, np.sqrt(0.2) / 100)


def test_public_centres_are_subtracted_before_the_bound():
    X, Y = some_views()
    centred = bound_views(X, Y, x_norm_bound=9.0, y_norm_bound=9.0, x_centre=3.0, y_centre=-1.0)
    expected = bound_views(X - 3, Y + 1, x_norm_bound=9.0, y_norm_bound=9.0)
    assert_allclose(centred.joined, expected.joined, atol=1e-15)
    assert centred.is_private and centred.n_clipped == expected.n_clipped
    assert (centred.x_mean == 3).all() and (centred.y_mean == -1).all()


def test_a_long_row_is_shortened_as_a_whole_and_counted():
    X, Y = np.array([[3.0, 0.0], [0.1, 0.0]]), np.array([[4.0], [0.1]])
    views = bound_views(X, Y)
    assert views.n_clipped == 1
    assert_allclose(views.joined[0], [0.6, 0.0, 0.8], rtol=1e-12)
    assert_allclose(views.joined[1], [0.1 * np.sqrt(0.5), 0, 0.1 * np.sqrt(0.5)])


def test_on_the_sphere_nothing_is_shortened_but_counted_all_the_same():
    X, Y = np.array([[3.0, 0.0], [0.1, 0.0], [1e300, 0.0]]), np.array([[4.0], [0.1], [1.0]])
    views = bound_views(X, Y, mode="sphere", x_share=0.2)
    assert views.n_clipped == 2 and views.is_private
    assert_allclose(views.joined[:2, [0, 2]], [[3, 4], [0.1, 0.1]] * np.sqrt([0.2, 0.8]))
    assert np.isfinite(views.joined).all()
    columns, lengths = zip(*views.parts, strict=True)
    assert [part.indices(3)[:2] for part in columns] == [(0, 2), (2, 3)]
    assert_allclose(np.square(lengths), [0.2, 0.8])


def test_a_sentence_that_says_private_says_nothing_of_the_rows():
    X, Y = some_views()
    sentences = {bound_views(factor * X, Y).statement for factor in (1e-3, 1.0, 1e3)}
    assert len(sentences) == 1 and "this step is private" in sentences.pop()


def test_one_person_s_row_changes_nobody_else_s():
    X, Y = some_views()
    before = bound_views(X, Y).joined
    X[7] *= 1000
    after = bound_views(X, Y).joined
    assert np.array_equal(np.delete(before, 7, axis=0), np.delete(after, 7, axis=0))


def test_published_centres_reaches_the_bound_and_says_it_is_not_private():
    X, Y = some_views()
    views = bound_views(X, Y, mode="published")
    assert not views.is_private and "not private" in views.statement
    assert_allclose(views.joined.mean(axis=0), 0, atol=1e-15)
    assert_allclose(np.linalg.norm(views.joined, axis=1).max(), 1)


def test_canonical_correlations_do_not_see_the_share():
    exact = [
        canonical_pairs(Z.T @ Z, 4, 4)[2]
        for Z in (
            bound_views(*some_views(), mode="published", x_share=share).joined
            for share in (0.1, 0.5, 0.9)
        )
    ]
    assert_allclose(exact[0], exact[1], atol=1e-9)
    assert_allclose(exact[2], exact[1], atol=1e-9)


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"x_share": 0.0}, "x_share"),
        ({"x_share": 1.0}, "x_share"),
        ({"mode": "spheres"}, "mode"),
        ({"x_norm_bound": 0.0}, "x_norm_bound"),
        ({"y_norm_bound": np.inf}, "y_norm_bound"),
        ({"Y": np.ones((3, 2))}, "Y"),
        ({"X": np.ones(50)}, "X"),
        ({"X": np.full((50, 4), np.nan)}, "X"),
    ],
)
def test_refusals_name_the_parameter(change, parameter):
    X, Y = some_views()
    with pytest.raises(ParameterError) as caught:
        bound_views(**({"X": X, "Y": Y} | change))
    assert caught.value.parameter == parameter


def test_published_refuses_a_view_that_never_varies():
    with pytest.raises(ParameterError, match="X must be a view"):
        bound_views(np.ones((5, 2)), np.eye(5), mode="published")
