"""Rows projected onto a public subspace: definition, cost and unchanged guarantees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.fft import dctn

from dpcore.data import dataset_status, load_dataset
from dpcore.errors import ParameterError
from dpcore.experiments.engine.charge_keys import compute_charges
from dpcore.experiments.engine.knowledge import (
    Knowledge,
    count_directions,
    lowest_frequencies,
    public_basis,
)
from dpcore.experiments.engine.spec import charges_of
from dpcore.experiments.pca import RunSpec, draw_subspaces, run
from dpcore.experiments.pca.problem import local_problem
from dpcore.spectra import captured_energy

SPEC = RunSpec(
    protocols=("pooled", "exact"), preparation="bounded", components=4, knowledge="dct:25",
    repetitions=2,
)  # fmt: skip


def test_frequencies_are_scipys_in_the_order_of_their_length():
    picture = np.random.default_rng(0).standard_normal((5, 7))
    basis = lowest_frequencies((5, 7))
    np.testing.assert_allclose(basis @ basis.T, np.eye(35), atol=1e-12)
    coefficients = basis @ picture.ravel()
    np.testing.assert_allclose(
        np.sort(coefficients), np.sort(dctn(picture, norm="ortho").ravel()), atol=1e-12
    )
    assert coefficients[0] == pytest.approx(picture.sum() / np.sqrt(35))


def test_the_directions_of_another_data_set_are_its_principal_ones():
    basis = public_basis(Knowledge("patches", 1), "mnist")
    rows = load_dataset("patches").X.astype(float)
    exact = np.linalg.eigvalsh(np.cov(rows.T, bias=True))[::-1][:8]
    assert basis.shape == (8, 784)
    np.testing.assert_allclose(np.var(rows @ basis.T, axis=0), exact, rtol=1e-4)


@pytest.mark.parametrize("preparation", ["sphere", "bounded", "published"])
def test_energy_is_measured_without_the_projection(preparation):
    spec = replace(SPEC, preparation=preparation, epsilon=1e6)
    problem, plain = (
        local_problem(run_spec.problem_key())
        for run_spec in (spec, replace(spec, knowledge="none"))
    )
    np.testing.assert_array_equal(problem.reference, plain.reference)
    np.testing.assert_array_equal(problem.optimum, plain.optimum)
    assert problem.moments.n_features == count_directions("dct:25", 64) == 16
    exact = draw_subspaces([spec], problem, 0)[0]["exact"]
    assert exact.components.shape == (4, 64)
    basis = public_basis(Knowledge("dct", 25), "digits")
    within = np.linalg.eigvalsh(basis @ problem.reference @ basis.T)[-4:].sum()
    assert captured_energy(exact.components, problem.reference) == pytest.approx(within)
    assert within < problem.optimum[3]


def test_projected_rows_keep_the_bound_that_the_guarantee_is_about():
    moments = local_problem(SPEC.problem_key()).moments
    assert np.trace(moments.pooled()) <= 1
    plain = local_problem(replace(SPEC, knowledge="none").problem_key()).moments
    basis = public_basis(Knowledge("dct", 25), "digits")
    np.testing.assert_allclose(
        moments.pooled(), basis @ plain.pooled() @ basis.T, atol=1e-7 * np.trace(plain.pooled())
    )


@pytest.mark.parametrize("protocol", ["pooled", "dpdis", "wishart", "modsulq"])
def test_a_guarantee_is_that_of_the_dimensions_that_are_left(protocol):
    spec = replace(SPEC, protocols=(protocol,), sites=2)
    subspace = draw_subspaces([spec], local_problem(spec.problem_key()), 0)[0][protocol]
    assert subspace.guarantee == spec.guarantee(protocol, dataset_status("digits"))
    assert [c.release.identity for c in charges_of([spec])] == [
        c.release.identity for c in compute_charges(run(spec))
    ]


def test_a_wrong_choice_shows_what_it_costs():
    """A wrong subspace has no effect far below the noise, and full effect far above it."""
    without = replace(SPEC, knowledge="none")
    few, none = (
        [
            row["energy_ratio"]
            for row in run(replace(run_spec, epsilon=1e6))
            if row["protocol"] == "pooled"
        ]
        for run_spec in (replace(SPEC, knowledge="dct:10"), without)
    )
    assert max(few) < 0.9 < 0.999 < min(none)


@pytest.mark.parametrize(
    ("dataset", "knowledge", "said"),
    [
        ("digits", "wavelets:3", "knowledge must be none, dct:P or DATASET:P"),
        ("digits", "dct:0", "from 1 to 100, got 'dct:0'"),
        ("digits", "mnist:20", "of images of 8 × 8, like digits"),
        ("mnist", "mnist:20", "from another data set than mnist"),
        ("covtype", "dct:20", "none, since covtype has no images"),
    ],
)
def test_a_subspace_that_says_nothing_about_the_rows_is_one_sentence(dataset, knowledge, said):
    with pytest.raises(ParameterError) as caught:
        RunSpec(dataset=dataset, knowledge=knowledge)
    assert said in str(caught.value)


def test_no_more_directions_are_asked_for_than_are_left():
    with pytest.raises(ParameterError, match=r"components must be .* \[1, n_features=4\], got 5"):
        RunSpec(knowledge="dct:5").settings(64, 5)


def test_the_spectrum_under_public_knowledge_is_that_of_the_projected_rows():
    spec = RunSpec(knowledge="dct:20", preparation="sphere")
    eigenvalues = local_problem(spec.problem_key()).eigenvalues_before_noise()
    assert len(eigenvalues) == local_problem(spec.problem_key()).moments.n_features
    # Every projected row has length 1, so that the trace is 1.
    assert eigenvalues.sum() == pytest.approx(1.0, abs=1e-6)
