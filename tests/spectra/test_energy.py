from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from dpcore.errors import ParameterError
from dpcore.spectra import (
    align_signs,
    captured_energy,
    cumulative_energy,
    principal_angles,
    projector_distance,
    random_subspace_energy,
)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def frame(rng, n_components, n_features):
    return np.linalg.qr(rng.normal(size=(n_features, n_components)))[0].T


def covariance(rng, n_features):
    X = rng.normal(size=(50, n_features)) * np.arange(1, n_features + 1)
    return X.T @ X / 50


def test_energy_is_the_trace_within_the_subspace(rng):
    A, V = covariance(rng, 12), frame(rng, 5, 12)
    assert captured_energy(V, A) == pytest.approx(np.trace(V @ A @ V.T), rel=1e-14)
    rotation = frame(rng, 5, 5)
    assert captured_energy(rotation @ V, A) == pytest.approx(captured_energy(V, A), rel=1e-13)
    nested = [captured_energy(V[:k], A) for k in range(1, 6)]
    np.testing.assert_allclose(cumulative_energy(V, A), nested, rtol=1e-14)


def test_energy_in_float32_is_summed_in_float64(rng):
    A, V = covariance(rng, 12), frame(rng, 5, 12)
    energy = cumulative_energy(V.astype(np.float32), A.astype(np.float32))
    assert energy.dtype == np.float64
    np.testing.assert_allclose(energy, cumulative_energy(V, A), rtol=1e-5)


def test_energy_refuses_shapes_that_do_not_fit(rng):
    with pytest.raises(ParameterError, match=r"components must be of shape \(n_components, 12\)"):
        captured_energy(frame(rng, 2, 11), covariance(rng, 12))


def test_random_subspaces_capture_their_share_on_average(rng):
    A = covariance(rng, 10)
    energies = [captured_energy(frame(rng, 3, 10), A) for _ in range(4000)]
    # Each lies in [0, tr A] with its mean near the floor; by the central limit theorem a mean of
    # 4000 draws leaves six standard errors with probability 2e-9.
    error = 6 * np.std(energies) / np.sqrt(len(energies))
    assert np.mean(energies) == pytest.approx(random_subspace_energy(A, 3), abs=error)
    assert random_subspace_energy(A, 10) == pytest.approx(np.trace(A))


def test_subspaces_of_two_spaces_are_refused():
    for compare in (principal_angles, projector_distance):
        with pytest.raises(ParameterError, match=r"V must be of shape \(n_components, 3\)"):
            compare(np.eye(2, 3), np.eye(2, 4))


@given(
    dimensions=st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(8, 12)),
    seed=st.integers(0, 2**32),
)
def test_angles_agree_with_scipy(dimensions, seed):
    rng = np.random.default_rng(seed)
    n_first, n_second, n_features = dimensions
    U, V = frame(rng, n_first, n_features), frame(rng, n_second, n_features)
    angles = principal_angles(U, V)
    # Where two subspaces must meet, SciPy sometimes takes the zero angle from its cosine: 1e-8.
    np.testing.assert_allclose(angles, subspace_angles(U.T, V.T)[::-1], atol=1e-7)
    shared = max(n_first + n_second - n_features, 0)
    np.testing.assert_allclose(angles[:shared], 0, atol=1e-14)
    np.testing.assert_allclose(angles, principal_angles(V, U), atol=1e-14)
    projectors = U.T @ U - V.T @ V
    assert projector_distance(U, V) == pytest.approx(np.linalg.norm(projectors), abs=1e-13)


@pytest.mark.parametrize("angle", [1e-12, 1e-9, 1e-5, 0.5, np.pi / 4, 1.5, np.pi / 2])
def test_known_angles_small_and_large(rng, angle):
    basis = frame(rng, 6, 9)
    U = basis[:3]
    V = np.cos(angle) * basis[:3] + np.sin(angle) * basis[3:]
    # A cosine cannot distinguish angles below 1e-8 from zero.
    np.testing.assert_allclose(principal_angles(U, V), [angle] * 3, rtol=1e-3, atol=1e-15)
    expected = np.sqrt(6) * np.sin(angle)
    assert projector_distance(U, V) == pytest.approx(expected, rel=1e-3, abs=1e-15)


def test_subspaces_do_not_depend_on_their_basis(rng):
    V = frame(rng, 4, 20)
    mixed = rng.normal(size=(4, 4)) @ V
    assert principal_angles(V, mixed).max() < 1e-13
    assert projector_distance(V, mixed) < 1e-13
    assert projector_distance(V, frame(rng, 4, 20)[:0]) == pytest.approx(2.0)  # sqrt(K)


def test_signs_follow_the_reference(rng):
    V = frame(rng, 4, 9).astype(np.float32)
    flipped = V * np.array([1, -1, -1, 1], dtype=np.float32)[:, None]
    aligned = align_signs(flipped, V)
    assert aligned.dtype == np.float32
    np.testing.assert_array_equal(aligned, V)
    with pytest.raises(ParameterError, match="reference"):
        align_signs(V, V[:2])


@pytest.mark.parametrize("scale", [2.0, 0.99, np.nan])
def test_rows_that_are_not_orthonormal_are_refused(scale):
    """Their energy was wrong without a word."""
    components = np.eye(2, 4)
    components[1] *= scale
    with pytest.raises(ParameterError, match="components must be made of orthonormal rows"):
        captured_energy(components, np.eye(4))


def test_rows_with_16_bit_numbers_are_orthonormal_enough():
    components = np.linalg.qr(np.random.default_rng(8).normal(size=(64, 10)))[0].T
    rounded = components.astype(np.float16).astype(np.float64)
    assert captured_energy(rounded, np.eye(64)) == pytest.approx(10, abs=0.01)
