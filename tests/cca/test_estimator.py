"""PrivateCCA as a scikit-learn estimator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import CCA
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpcore.cca import PrivateCCA, canonical_pairs, measured_correlations
from dpcore.errors import ParameterError


@parametrize_with_checks([PrivateCCA(1, epsilon=1.0, delta=1e-5)])
def test_scikit_learn_checks(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        pytest.skip("needs SCIPY_ARRAY_API; second moments are made with NumPy alone")
    check(estimator)


def some_views(n_samples=4000):
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((n_samples, 2))
    X = 5 + 3 * shared @ rng.standard_normal((2, 6)) + rng.standard_normal((n_samples, 6))
    Y = shared @ rng.standard_normal((2, 4)) - 1 + rng.standard_normal((n_samples, 4))
    return X, Y


def noiseless(**changes):
    parameters = {
        "n_components": 2,
        "epsilon": math.inf,
        "delta": 0.01,
        "row_norm_bound": (100.0, 50.0),
        "preparation": "bounded",
    }
    return PrivateCCA(**(parameters | changes))


def test_without_noise_it_is_cca_in_original_units():
    X, Y = some_views()
    ours = noiseless().fit(X, Y)
    x_scores, y_scores = ours.transform(X, Y)
    theirs = CCA(2, tol=1e-10, max_iter=10_000).fit(X, Y)
    their_x, their_y = theirs.transform(X, Y)
    for k in range(2):
        correlation = np.corrcoef(x_scores[:, k], y_scores[:, k])[0, 1]
        assert abs(correlation - np.corrcoef(their_x[:, k], their_y[:, k])[0, 1]) < 1e-6
        assert abs(correlation - ours.correlations_[k]) < 1e-9
    assert_allclose(ours.x_mean_, X.mean(axis=0), rtol=1e-9)
    assert_allclose(x_scores.std(axis=0), 1, rtol=1e-6)
    assert ours.noise_scale_ == 0 and ours.n_features_in_ == 6
    assert ours.get_feature_names_out().tolist() == ["privatecca0", "privatecca1"]


def test_taken_as_centred_it_uses_the_second_moment():
    X, Y = some_views()
    ours = noiseless(preparation="none").fit(X, Y)
    Z = np.hstack([X, Y])
    assert_allclose(ours.correlations_, canonical_pairs(Z.T @ Z, 6, 2)[2], atol=1e-9)
    assert not ours.x_mean_.any() and not ours.y_mean_.any()


def test_on_the_sphere_the_length_of_a_view_does_not_count():
    X, Y = some_views()
    ours = noiseless(preparation="sphere").fit(X, Y)
    about = X - X.mean(axis=0), Y - Y.mean(axis=0)
    Z = np.hstack([view / np.linalg.norm(view, axis=1, keepdims=True) for view in about])
    expected = canonical_pairs(Z.T @ Z, 6, 2)
    assert_allclose(ours.correlations_, expected[2], atol=1e-9)
    assert_allclose(np.hstack([ours.x_mean_, ours.y_mean_]), np.hstack([X, Y]).mean(axis=0))
    measured = measured_correlations(
        ours.x_rotations_, ours.y_rotations_, np.cov(np.hstack([X, Y]).T, bias=True)
    )
    exact = noiseless().fit(X, Y).correlations_
    assert measured.total > 0.99 * exact.sum()


def test_too_few_people_for_a_mean_buy_none():
    X, Y = some_views(10)
    few = PrivateCCA(1, epsilon=0.1, row_norm_bound=40.0, random_state=0).fit(X, Y)
    assert not few.x_mean_.any() and not few.y_mean_.any() and few.guarantee_.keeps_requested


@pytest.mark.parametrize("preparation", ["sphere", "bounded", "none"])
def test_equal_rows_and_constant_columns_make_no_release_fail(preparation):
    X, Y = np.ones((50, 3)), np.hstack([np.zeros((50, 1)), some_views(50)[1]])
    for epsilon in (1.0, math.inf):
        fitted = PrivateCCA(2, epsilon=epsilon, preparation=preparation, random_state=0).fit(X, Y)
        assert np.isfinite(fitted.x_rotations_).all() and np.isfinite(fitted.correlations_).all()


def test_a_private_fit_captures_most_of_the_correlation():
    X, Y = some_views()
    joint = np.cov(np.hstack([X, Y]).T, bias=True)
    exact = canonical_pairs(joint, 6, 2)[2]
    ours = PrivateCCA(2, epsilon=1.0, delta=1e-5, row_norm_bound=(40.0, 12.0), random_state=0).fit(
        X, Y
    )
    measured = measured_correlations(ours.x_rotations_, ours.y_rotations_, joint)
    assert measured.total > 0.8 * exact.sum()
    assert ours.guarantee_.keeps_requested and ours.guarantee_.epsilon == pytest.approx(1.0)
    assert (ours.correlations_ < 1).all()


def test_random_state():
    X, Y = some_views(200)
    model = PrivateCCA(2, epsilon=1.0, delta=1e-5, random_state=5)
    again = clone(model).fit(X, Y)
    assert np.array_equal(model.fit(X, Y).joint_moment_, again.joint_moment_)
    fresh = clone(model).set_params(random_state=None)
    assert not np.array_equal(fresh.fit(X, Y).joint_moment_, again.joint_moment_)
    generator = clone(model).set_params(random_state=np.random.default_rng(1))
    first = generator.fit(X, Y).joint_moment_
    assert not np.array_equal(first, generator.fit(X, Y).joint_moment_)
    with pytest.raises(ParameterError, match="random_state"):
        clone(model).set_params(random_state=-1).fit(X, Y)


def test_it_stands_in_a_pipeline():
    X, Y = some_views(300)
    model = PrivateCCA(2, epsilon=1.0, delta=1e-5, random_state=0)
    pipeline = make_pipeline(model, KMeans(3, n_init=1, random_state=0))
    assert pipeline.fit(X, Y).predict(X).shape == (300,)


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta"),
        ({"n_components": 5}, "n_components"),
        ({"n_components": 0}, "n_components"),
        ({"calibration": "exact"}, "calibration"),
        ({"epsilon": 2.0, "calibration": "classic"}, "epsilon"),
        ({"noise": "wishart"}, "noise"),
        ({"mean_share": 1.0}, "mean_share"),
        ({"preparation": "published"}, "preparation"),
        ({"x_share": 1.0}, "x_share"),
        ({"row_norm_bound": (1.0, 0.0)}, "row_norm_bound"),
        ({"row_norm_bound": (1.0,)}, "row_norm_bound"),
        ({"row_norm_bound": -1.0}, "row_norm_bound"),
        ({"on_long_rows": "drop"}, "on_long_rows"),
    ],
)
def test_refusals_name_the_parameter(changes, parameter):
    with pytest.raises(ParameterError) as caught:
        noiseless(**changes).fit(*some_views(50))
    assert caught.value.parameter == parameter


def test_the_second_view_has_to_match():
    X, Y = some_views(50)
    model = noiseless().fit(X, Y)
    with pytest.raises(ParameterError, match="y must be of shape"):
        model.transform(X, Y[:, :3])
