"""The contract of the sampler; `test_bingham_law.py` tests its distribution."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.mechanisms import rank_normalized_r_hat, sample_matrix_bingham


def test_a_draw_is_orthonormal_and_repeatable():
    b = np.linspace(0, 30, 20)
    first, again = (sample_matrix_bingham(b, 5, rng=np.random.default_rng(1)) for _ in range(2))
    assert first.method == "rotation" and first.converged
    np.testing.assert_allclose(first.components @ first.components.T, np.eye(5), atol=1e-13)
    np.testing.assert_array_equal(first.components, again.components)
    np.testing.assert_array_equal(first.energies, again.energies)


def test_diagnostics_belong_to_the_traces():
    b = np.linspace(0, 30, 20)
    draw = sample_matrix_bingham(b, 5, n_chains=3, rng=np.random.default_rng(2))
    assert draw.starts == ("random", "random", "mode")
    assert draw.energies.shape == (3, draw.n_sweeps + 1)
    assert draw.r_hat == rank_normalized_r_hat(draw.energies[:, draw.energies.shape[1] // 2 :])
    assert draw.r_hat < 1.05 and min(draw.ess_bulk, draw.ess_tail) >= 50
    assert draw.energies[2, 0] == pytest.approx(np.sort(b)[-5:].sum())
    last = np.einsum("d,ckd,ckd->c", b, draw.states, draw.states)
    np.testing.assert_allclose(draw.energies[:, -1], last, rtol=1e-10)
    np.testing.assert_array_equal(draw.components, draw.states[0])


def test_the_complement_reports_the_energy_of_the_subspace():
    b = np.linspace(-5, 30, 9)
    draw = sample_matrix_bingham(b, 7, rng=np.random.default_rng(3))
    assert draw.components.shape == (7, 9)
    np.testing.assert_allclose(draw.components @ draw.components.T, np.eye(7), atol=1e-13)
    last = np.einsum("d,ckd,ckd->c", b, draw.states, draw.states)
    np.testing.assert_allclose(draw.energies[:, -1], last, rtol=1e-10)


def test_too_few_sweeps_are_admitted():
    b = np.concatenate([np.full(20, 400.0), np.zeros(80)])
    draw = sample_matrix_bingham(b, 20, max_sweeps=8, rng=np.random.default_rng(4))
    assert not draw.converged
    assert draw.n_sweeps == 8 and draw.r_hat > 1.05


def test_a_matrix_is_turned_into_its_eigenbasis_and_back():
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    b = np.where(np.arange(12) < 3, 1e7, 0.0)
    draw = sample_matrix_bingham(basis * b @ basis.T, 3, rng=rng)
    # At this concentration the subspace is the leading one up to 1e-3.
    np.testing.assert_allclose(
        draw.components.T @ draw.components, basis[:, :3] @ basis[:, :3].T, atol=1e-2
    )
    assert draw.energies[0, -1] == pytest.approx(3e7, rel=1e-4)


def test_the_law_does_not_see_a_multiple_of_the_identity():
    b = np.linspace(0, 8, 6)
    plain = sample_matrix_bingham(b, 2, rng=np.random.default_rng(6))
    shifted = sample_matrix_bingham(b - 64.0, 2, rng=np.random.default_rng(6))
    np.testing.assert_allclose(plain.components, shifted.components, atol=1e-9)


@pytest.mark.parametrize(
    ("n_components", "method", "used"),
    [
        (1, "auto", "exact"),
        (1, "rotation", "rotation"),
        (4, "auto", "exact"),
        (5, "auto", "exact"),
        (2, "auto", "rotation"),
    ],
)
def test_the_method_used_is_named(n_components, method, used):
    draw = sample_matrix_bingham(
        np.arange(5.0), n_components, method=method, rng=np.random.default_rng(7)
    )
    assert draw.method == used
    assert draw.components.shape == (n_components, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_components": 0}, "n_components must be in \\[1, n_features=5\\], got 0"),
        ({"n_components": 6}, "n_components"),
        ({"method": "gibbs"}, "method must be one of auto, exact, rotation"),
        ({"method": "exact"}, "method must be 'auto' or 'rotation' for n_components=2"),
        ({"n_chains": 1}, "n_chains must be at least 2"),
        ({"max_sweeps": 7}, "max_sweeps must be at least 8"),
        ({"matrix": np.ones((5, 4))}, "matrix"),
        ({"matrix": np.triu(np.ones((5, 5)))}, "matrix must be symmetric"),
        ({"matrix": np.array([1.0, np.nan])}, "matrix must be finite"),
    ],
)
def test_what_is_refused(arguments, message):
    given = {"matrix": np.arange(5.0), "n_components": 2} | arguments
    with pytest.raises(ParameterError, match=message):
        sample_matrix_bingham(**given, rng=np.random.default_rng(8))
