"""Sensitivity and calibration of the joint second moment."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dpcore.cca.distributed import joint_moment_sigma, joint_noise
from dpcore.errors import ParameterError
from dpcore.pca import ReleaseSettings
from dpcore.pca.site import noise_scales
from dpcore.privacy import PrivacyBudget, gaussian_epsilon, l2_sensitivity_of_second_moment
from dpcore.spectra import second_moment


def rows_in_ball(rng, n_samples, n_features):
    rows = rng.standard_normal((n_samples, n_features))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * rng.random((n_samples, 1)) ** rng.choice([0.0, 0.1, 1.0])


@given(
    seed=st.integers(0, 2**32 - 1),
    n_samples=st.integers(2, 20),
    n_features=st.integers(2, 8),
)
@settings(deadline=None)
def test_no_neighbours_are_further_apart_than_the_sensitivity(seed, n_samples, n_features):
    rng = np.random.default_rng(seed)
    Z = rows_in_ball(rng, n_samples, n_features)
    neighbour = Z.copy()
    neighbour[rng.integers(n_samples)] = rows_in_ball(rng, 1, n_features)[0]
    change = second_moment(Z) - second_moment(neighbour)
    bound = l2_sensitivity_of_second_moment(n_samples)
    assert np.linalg.norm(change) <= bound * (1 + 1e-9)


def test_orthogonal_rows_attain_the_sensitivity():
    Z = np.zeros((10, 5))
    neighbour = Z.copy()
    Z[0], neighbour[0] = np.eye(5)[0], np.eye(5)[3]
    change = second_moment(Z) - second_moment(neighbour)
    assert_allclose(np.linalg.norm(change), math.sqrt(2) / 10)


@pytest.mark.parametrize("on_sphere", [False, True])
@pytest.mark.parametrize("mean_share", [0.0, 0.3])
def test_the_noise_is_that_of_pca_but_for_the_poster_s(on_sphere, mean_share):
    asked = ReleaseSettings(
        PrivacyBudget(1.0, 0.01), 1, 1, mean_share=mean_share, on_sphere=on_sphere
    )
    assert joint_noise(100, asked) == noise_scales(100, asked)
    published = replace(asked, calibration="published")
    ours, theirs = joint_noise(100, published), noise_scales(100, published)
    assert ours.l2_sensitivity == theirs.l2_sensitivity
    for name in ("moment", "mean"):
        assert_allclose(getattr(ours, name), math.sqrt(2) * getattr(theirs, name))


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
