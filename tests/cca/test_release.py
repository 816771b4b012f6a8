"""Sensitivity, calibration and private centring of the joint second moment."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dpcore.cca.release import (
    constant_coordinate,
    joint_moment_sigma,
    with_constant,
    with_mean_bound,
    without_constant,
)
from dpcore.errors import ParameterError
from dpcore.mechanisms import NOISE_SHAPES
from dpcore.privacy import PrivacyBudget, gaussian_epsilon, l2_sensitivity_of_second_moment
from dpcore.spectra import second_moment, site_moments


def rows_in_ball(rng, n_samples, n_features):
    rows = rng.standard_normal((n_samples, n_features))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * rng.random((n_samples, 1)) ** rng.choice([0.0, 0.1, 1.0])


def one_site(Z):
    return site_moments(Z, (np.arange(len(Z)),))


@given(
    seed=st.integers(0, 2**32 - 1),
    n_samples=st.integers(2, 20),
    n_features=st.integers(2, 8),
    constant=st.floats(0.01, 3.0),
)
@settings(deadline=None)
def test_no_neighbours_are_further_apart_than_the_sensitivity(
    seed, n_samples, n_features, constant
):
    rng = np.random.default_rng(seed)
    Z = rows_in_ball(rng, n_samples, n_features)
    neighbour = Z.copy()
    neighbour[rng.integers(n_samples)] = rows_in_ball(rng, 1, n_features)[0]
    change = second_moment(Z) - second_moment(neighbour)
    bound = l2_sensitivity_of_second_moment(n_samples)
    assert np.linalg.norm(change) <= bound * (1 + 1e-9)
    lifted_change = (
        with_constant(one_site(Z), constant).second_moments[0]
        - with_constant(one_site(neighbour), constant).second_moments[0]
    )
    lifted_bound = l2_sensitivity_of_second_moment(n_samples, math.hypot(1, constant))
    assert np.linalg.norm(lifted_change) <= lifted_bound * (1 + 1e-9)


def test_orthogonal_rows_attain_the_sensitivity():
    Z = np.zeros((10, 5))
    neighbour = Z.copy()
    Z[0], neighbour[0] = np.eye(5)[0], np.eye(5)[3]
    change = second_moment(Z) - second_moment(neighbour)
    assert_allclose(np.linalg.norm(change), math.sqrt(2) / 10)


def test_rows_orthogonal_after_the_constant_attain_the_lifted_sensitivity():
    constant = 0.4
    Z = np.zeros((10, 2))
    neighbour = Z.copy()
    angle = math.acos(-(constant**2))
    Z[0], neighbour[0] = (1, 0), (math.cos(angle), math.sin(angle))
    change = (
        with_constant(one_site(Z), constant).second_moments[0]
        - with_constant(one_site(neighbour), constant).second_moments[0]
    )
    assert_allclose(np.linalg.norm(change), math.sqrt(2) * (1 + constant**2) / 10)


def test_constant_coordinate_gives_moment_and_mean_back():
    Z = rows_in_ball(np.random.default_rng(0), 30, 6) + 0.1
    lifted = with_constant(one_site(Z), 0.3)
    assert_allclose(lifted.second_moments[0], second_moment(np.column_stack([Z, np.full(30, 0.3)])))
    centred, mean = without_constant(lifted.second_moments[0], 0.3)
    assert_allclose(mean, Z.mean(axis=0))
    assert_allclose(centred, np.cov(Z.T, bias=True), atol=1e-14)


@given(
    share=st.floats(0.001, 0.95),
    bound=st.floats(0.1, 10),
    noise=st.sampled_from(NOISE_SHAPES),
    norms=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    cosine=st.floats(-1, 1),
)
@settings(deadline=None)
def test_the_lifted_moment_is_calibrated_for_its_worst_rows(share, bound, noise, norms, cosine):
    """Counted as the noise is drawn: on one triangle, with its own scale in each entry."""
    constant = constant_coordinate(share, bound, noise=noise)
    upper = np.triu_indices(3)
    scale = np.where(upper[0] == upper[1], 1.0, 1.0 if noise == "triangle" else math.sqrt(0.5))

    def mu(x: np.ndarray, y: np.ndarray) -> float:
        x, y = np.append(x, constant), np.append(y, constant)
        return float(np.linalg.norm((np.outer(x, x) - np.outer(y, y))[upper] / scale))

    def at_angle(turn: float, t: float) -> list[np.ndarray]:
        half = math.acos(t) / 2
        angles = turn - half, turn + half
        return [bound * np.array([math.cos(angle), math.sin(angle)]) for angle in angles]

    promised = l2_sensitivity_of_second_moment(1, with_mean_bound(share, bound))
    for turn in (0.0, math.pi / 4):
        x, y = at_angle(turn, cosine)
        assert mu(norms[0] * x, norms[1] * y) <= promised * (1 + 1e-9)
    # Around the diagonal of the plane the moment's change is all on the diagonal of the matrix.
    border = constant**2 / bound**2 * (2 if noise == "isometric" else 1)
    assert_allclose(mu(*at_angle(math.pi / 4, max(-1.0, -border / 2))), promised)
    alone = l2_sensitivity_of_second_moment(1, bound)
    assert_allclose((alone / promised) ** 2, 1 - share)
    assert constant_coordinate(0.0, bound) == 0


def test_one_release_costs_less_than_two():
    # Beside each other: mu^2 = 2 / (n s)^2 + (2 / (n s_mean))^2. One release with isometric
    # noise s on rows [z, kappa]: the mean comes with noise s / (sqrt(2) kappa) per entry.
    kappa, s, n = 0.3, 1.0, 50
    together = l2_sensitivity_of_second_moment(n, math.hypot(1, kappa)) / s
    apart = math.hypot(
        l2_sensitivity_of_second_moment(n) / s, (2 / n) / (s / (math.sqrt(2) * kappa))
    )
    assert together < apart


def test_published_is_the_poster_s_tau():
    budget = PrivacyBudget(0.5, 0.01)
    tau = math.sqrt(2) / (1000 * 0.5) * math.sqrt(2 * math.log(1.25 / 0.01))
    assert_allclose(joint_moment_sigma(budget, 1000, calibration="published"), tau, rtol=1e-14)
    assert_allclose(joint_moment_sigma(budget, 1000, calibration="classic"), tau, rtol=1e-14)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 4.0, 10.0])
def test_exact_epsilon_of_the_poster_s_noise(epsilon):
    n_samples, delta = 1000, 0.01
    tau = joint_moment_sigma(PrivacyBudget(epsilon, delta), n_samples, calibration="published")
    exact = gaussian_epsilon(delta, tau, l2_sensitivity_of_second_moment(n_samples))
    # Proven up to 1; the classic formula at delta = 0.01 happens to hold a good way beyond.
    assert exact <= epsilon if epsilon <= 4 else exact > epsilon


def test_classic_refuses_above_one_and_published_does_not():
    with pytest.raises(ParameterError):
        joint_moment_sigma(PrivacyBudget(2.0, 0.01), 1000, calibration="classic")
    assert joint_moment_sigma(PrivacyBudget(2.0, 0.01), 1000, calibration="published") > 0
