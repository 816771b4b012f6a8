"""The public constant: components of pictures that read no data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcore.data.catalog import entry_of
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec, floor_of, random_ratio, run
from dpcore.experiments.pca.problem import local_problem
from dpcore.spectra import public_components, public_energy, public_kernel


@pytest.mark.parametrize("picture", ["full", "centred"])
@pytest.mark.parametrize("shape", [(8, 8), (5, 9), (1, 4)])
def test_the_kernel_is_a_second_moment_of_trace_one(shape, picture):
    kernel = public_kernel(shape, picture)
    assert np.trace(kernel) == pytest.approx(1)
    np.testing.assert_allclose(kernel, kernel.T, atol=1e-15)
    assert np.linalg.eigvalsh(kernel).min() > -1e-9


def test_components_are_orthonormal_and_nested_in_k():
    three, ten = (public_components((8, 8), "centred", k) for k in (3, 10))
    np.testing.assert_allclose(ten @ ten.T, np.eye(10), atol=1e-10)
    np.testing.assert_array_equal(three, ten[:3])


@pytest.mark.parametrize(
    ("shape", "picture", "k", "name"),
    [((8, 8), "round", 2, "picture"), ((2, 2), "full", 5, "n_components")],
)
def test_unknown_kinds_and_too_many_components_are_refused(shape, picture, k, name):
    with pytest.raises(ParameterError, match=name):
        public_components(shape, picture, k)


@pytest.mark.parametrize(("dataset", "picture"), [("digits", "centred"), ("patches", "full")])
def test_the_catalogue_declares_the_kind_of_picture(dataset, picture):
    assert entry_of(dataset).picture == picture


def test_the_floor_is_one_number_for_all_protocols_and_budgets():
    spec = RunSpec(dataset="digits", protocols=("dpdis", "local", "pooled"), repetitions=2)
    rows = [row for epsilon in (0.01, 1.0) for row in run(replace(spec, epsilon=epsilon))]
    problem = local_problem(spec.problem_key())
    assert {row["floor"] for row in rows} == {floor_of(spec, problem)}


def test_rows_that_are_not_denoised_have_the_floor_of_random_directions():
    """The command line printed the floor of the prior next to published runs, which use none."""
    spec = RunSpec.published(dataset="digits", protocols=("dpdis",), repetitions=1)
    [row] = run(spec)
    assert row["floor"] == row["random_ratio"]


def test_the_floor_of_pictures_is_far_above_random_directions():
    spec = RunSpec(dataset="mnist-small", components=30)
    problem = local_problem(spec.problem_key())
    assert floor_of(spec, problem) > 4 * random_ratio(problem, 30)


def test_the_floor_of_a_table_is_that_of_random_directions():
    spec = RunSpec(dataset="breast-cancer", components=5)
    problem = local_problem(spec.problem_key())
    assert floor_of(spec, problem) == random_ratio(problem, 5)


def test_the_floor_does_not_depend_on_which_of_two_equal_directions_comes_first(rng):
    """The floor for K = 2 was the energy of the better of two equal directions."""
    exact = rng.standard_normal((200, 64)) * np.repeat(np.linspace(1, 2, 8), 8)
    moment = exact.T @ exact / 200
    turned = moment.reshape(8, 8, 8, 8).transpose(1, 0, 3, 2).reshape(64, 64)
    for k in (1, 2, 5):
        energies = [public_energy(each, (8, 8), "full", k) for each in (moment, turned)]
        assert energies[0] == pytest.approx(energies[1])
