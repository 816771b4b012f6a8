"""Canonical pairs of a joint moment, against computations that share no code with them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.cross_decomposition import CCA

from dpcore.cca import canonical_pairs, measured_correlations, noise_floor
from dpcore.data import load_dataset, two_views
from dpcore.data.pictures import VIEWS
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise

DATASETS = Path(__file__).resolve().parents[3] / "shared" / "datasets"


def views_with_shared_part(rng, n_samples=500, n_x=7, n_y=5, n_shared=3):
    shared = rng.standard_normal((n_samples, n_shared))
    X = shared @ rng.standard_normal((n_shared, n_x)) + rng.standard_normal((n_samples, n_x))
    Y = shared @ rng.standard_normal((n_shared, n_y)) + rng.standard_normal((n_samples, n_y))
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


def moment(X, Y):
    Z = np.hstack([X, Y])
    return Z.T @ Z / len(Z)


def qr_svd_correlations(X, Y):
    """Return cosines between the column spaces without a second moment (Björck & Golub 1973)."""

    def basis(view):
        # Pivoted, so that columns that depend on others (fac has three) come last and go.
        Q, R, _ = scipy.linalg.qr(view, mode="economic", pivoting=True)
        return Q[:, np.abs(R.diagonal()) > 1e-10 * abs(R[0, 0])]

    return np.linalg.svd(basis(X).T @ basis(Y), compute_uv=False)


def wild_moment(seed, size, sigma=1.0):
    rng = np.random.default_rng(seed)
    return symmetric_gaussian_noise(size, sigma, shape="triangle", rng=rng)


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_qr_svd(seed):
    X, Y = views_with_shared_part(np.random.default_rng(seed))
    x_rotations, y_rotations, correlations = canonical_pairs(moment(X, Y), 7, 5)
    assert_allclose(correlations, qr_svd_correlations(X, Y), atol=1e-8)
    measured = measured_correlations(x_rotations, y_rotations, moment(X, Y))
    assert_allclose(measured.pairs, correlations, atol=1e-8)
    assert_allclose(measured.spans, correlations, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("digits", "halves-top-bottom"),
        ("digits", "halves-left-right"),
        *(("mfeat", pair) for pair in itertools.combinations(VIEWS, 2)),
    ],
)
def test_agrees_with_qr_svd_on_real_views(name, how):
    try:
        views = two_views(load_dataset(name, DATASETS, download=False), how)
    except DataUnavailable:
        pytest.skip(f"the {name} files are not next to the checkout")
    X, Y = (np.asarray(view, dtype=float) for view in (views.X, views.Y))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    n_components = min(views.n_x, views.n_y)
    correlations = canonical_pairs(moment(X, Y), views.n_x, n_components)[2]
    expected = qr_svd_correlations(X, Y)
    assert_allclose(correlations[: len(expected)], expected, atol=1e-8)
    assert not correlations[len(expected) :].any()


def test_agrees_with_scikit_learn():
    X, Y = views_with_shared_part(np.random.default_rng(1))
    x_rotations, y_rotations, correlations = canonical_pairs(moment(X, Y), 7, 3)
    theirs = CCA(n_components=3, tol=1e-10, max_iter=10_000).fit(X, Y)
    x_scores, y_scores = theirs.transform(X, Y)
    for k in range(3):
        assert abs(np.corrcoef(x_scores[:, k], y_scores[:, k])[0, 1] - correlations[k]) < 1e-6
        assert abs(np.corrcoef(x_scores[:, k], X @ x_rotations[:, k])[0, 1]) > 1 - 1e-6
        assert abs(np.corrcoef(y_scores[:, k], Y @ y_rotations[:, k])[0, 1]) > 1 - 1e-6


def test_the_poster_s_eigenproblem():
    X, Y = views_with_shared_part(np.random.default_rng(2))
    joint = moment(X, Y)
    x_rotations, _, correlations = canonical_pairs(joint, 7, 5)
    product = np.linalg.solve(joint[:7, :7], joint[:7, 7:]) @ np.linalg.solve(
        joint[7:, 7:], joint[7:, :7]
    )
    assert_allclose(product @ x_rotations, x_rotations * correlations**2, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_invariant_to_invertible_changes_of_either_view(seed):
    rng = np.random.default_rng(seed)
    X, Y = views_with_shared_part(rng)
    change_x = rng.standard_normal((7, 7)) + 3 * np.eye(7)
    change_y = 100 * rng.standard_normal((5, 5))
    before = canonical_pairs(moment(X, Y), 7, 5)
    after = canonical_pairs(moment(X @ change_x, Y @ change_y), 7, 5)
    assert_allclose(after[2], before[2], atol=1e-8)
    assert_allclose(
        change_x @ after[0] @ np.diag(np.sign(np.diag((change_x @ after[0]).T @ before[0]))),
        before[0],
        atol=1e-6,
    )


def test_directions_are_whitened_and_signs_fixed():
    X, Y = views_with_shared_part(np.random.default_rng(3))
    joint = moment(X, Y)
    x_rotations, y_rotations, correlations = canonical_pairs(joint, 7, 4)
    assert_allclose(x_rotations.T @ joint[:7, :7] @ x_rotations, np.eye(4), atol=1e-10)
    assert_allclose(y_rotations.T @ joint[7:, 7:] @ y_rotations, np.eye(4), atol=1e-10)
    assert_allclose(x_rotations.T @ joint[:7, 7:] @ y_rotations, np.diag(correlations), atol=1e-10)
    assert (x_rotations.max(axis=0) >= -x_rotations.min(axis=0)).all()


def test_columns_that_never_vary_are_left_out():
    X, Y = views_with_shared_part(np.random.default_rng(4))
    padded = np.hstack([np.zeros((len(X), 2)), X, X @ np.ones((7, 1))])
    x_rotations, _, correlations = canonical_pairs(moment(padded, Y), 10, 5)
    assert_allclose(correlations, qr_svd_correlations(X, Y), atol=1e-8)
    assert_allclose(x_rotations[:2], 0, atol=1e-10)


def test_fewer_pairs_than_asked_leaves_zero_columns():
    joint = np.diag([1.0, 0.0, 0.0, 1.0, 1.0])
    joint[0, 3] = joint[3, 0] = 0.5
    x_rotations, y_rotations, correlations = canonical_pairs(joint, 3, 2)
    assert_allclose(correlations, [0.5, 0.0])
    assert not x_rotations[:, 1].any() and not y_rotations[:, 1].any()
    measured = measured_correlations(x_rotations, y_rotations, joint)
    assert_allclose(measured.pairs, [0.5, 0.0])
    assert_allclose(measured.total, 0.5)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_x=st.integers(1, 8),
    n_y=st.integers(1, 8),
    floor=st.sampled_from([0.0, 1e-12, 0.1, 10.0]),
)
@settings(deadline=None)
def test_any_symmetric_matrix_gives_correlations_in_the_unit_interval(seed, n_x, n_y, floor):
    joint = wild_moment(seed, n_x + n_y)
    n_components = min(n_x, n_y)
    x_rotations, y_rotations, correlations = canonical_pairs(joint, n_x, n_components, floor=floor)
    assert np.isfinite(x_rotations).all() and np.isfinite(y_rotations).all()
    assert (correlations >= 0).all() and (correlations <= 1).all()
    assert (np.diff(correlations) <= 1e-12).all()
    if floor >= 0.1:
        assert (correlations < 1).all()


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_nothing_captures_more_than_the_exact_pairs(seed):
    rng = np.random.default_rng(seed)
    X, Y = views_with_shared_part(rng, n_samples=60)
    joint = moment(X, Y)
    exact = canonical_pairs(joint, 7, 3)[2]
    measured = measured_correlations(
        rng.standard_normal((7, 3)), rng.standard_normal((5, 3)), joint
    )
    assert (measured.spans <= exact + 1e-9).all()
    assert (measured.pairs <= exact[0] + 1e-9).all()


def test_measured_spans_do_not_depend_on_the_basis():
    rng = np.random.default_rng(5)
    X, Y = views_with_shared_part(rng)
    U, V = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
    before = measured_correlations(U, V, moment(X, Y))
    after = measured_correlations(
        U @ (rng.standard_normal((3, 3)) + 2 * np.eye(3)), 1e-6 * V, moment(X, Y)
    )
    assert_allclose(after.spans, before.spans, atol=1e-9)
    assert_allclose(before.spans, qr_svd_correlations(X @ U, Y @ V), atol=1e-9)


@pytest.mark.parametrize("variance", [0.0, 5.0])
def test_the_floor_follows_the_bulk_of_small_eigenvalues(variance):
    # The smallest eigenvalue is minus the edge up to Tracy-Widom fluctuations of order D^(-2/3)
    # of it, 0.02; 0.1 is far beyond 1e-9.
    noise = symmetric_gaussian_noise(300, 0.3, shape="triangle", rng=np.random.default_rng(8))
    edge = 2 * 0.3 * np.sqrt(300)
    floor = noise_floor(noise + variance * np.eye(300), 0.3, noise="triangle")
    assert_allclose(floor, variance + edge / 4, atol=0.1 * edge)
    assert noise_floor(np.eye(3), 0.0, noise="triangle") == 0


def test_a_sound_matrix_is_not_touched_by_a_lower_floor():
    X, Y = views_with_shared_part(np.random.default_rng(7))
    joint = moment(X, Y)
    smallest = np.linalg.eigvalsh(joint)[0]
    low = canonical_pairs(joint, 7, 3, floor=smallest / 2)
    for got, expected in zip(low, canonical_pairs(joint, 7, 3), strict=True):
        assert_allclose(got, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("joint", "n_x", "n_components", "floor", "parameter"),
    [
        (np.eye(4)[:3], 2, 1, 0.0, "joint_moment"),
        (np.full((4, 4), np.nan), 2, 1, 0.0, "joint_moment"),
        (np.eye(4), 0, 1, 0.0, "n_x"),
        (np.eye(4), 4, 1, 0.0, "n_x"),
        (np.eye(4), 1, 2, 0.0, "n_components"),
        (np.eye(4), 2, 0, 0.0, "n_components"),
        (np.eye(4), 2, 1, -1.0, "floor"),
        (np.eye(4), 2, 1, np.nan, "floor"),
    ],
)
def test_refusals_name_the_parameter(joint, n_x, n_components, floor, parameter):
    with pytest.raises(ParameterError) as caught:
        canonical_pairs(joint, n_x, n_components, floor=floor)
    assert caught.value.parameter == parameter
