"""Many draws of one algorithm, people needed, and chains watched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ks_2samp

from dpcore.data import load_dataset, prepare
from dpcore.experiments.central import (
    VARIANTS,
    central_problem,
    central_spec,
    nearest_basis,
    run_batch,
)
from dpcore.experiments.central.chain_traces import running_diagnostics, watch
from dpcore.experiments.central.sample_sizes import (
    DIMENSIONS,
    ComplexitySpec,
    bounds,
    is_covered_by_theorem_4,
)
from dpcore.experiments.pca import RunSpec, run_repetitions


def problem_of(spec):
    prepared = prepare(load_dataset(spec.dataset), mode=spec.preparation)
    return central_problem(spec.problem_key(), prepared)


@pytest.fixture(scope="module")
def synthetic():
    spec = central_spec(
        RunSpec(dataset="synthetic-2012", preparation="bounded", epsilon=0.2, truncation="psd")
    )
    return spec, problem_of(spec)


@pytest.mark.parametrize("key", [key for key in VARIANTS if key != "ppca"])
def test_a_batch_is_what_run_gives_one_after_the_other(synthetic, key):
    spec, problem = synthetic
    spec = replace(VARIANTS[key].of(spec), repetitions=3)
    batch = run_batch(spec, problem, first=4)
    for row, number in zip(batch.rows, (4, 5, 6), strict=True):
        (alone,) = run_repetitions([spec], problem, number)[0]
        assert row.pop("chains") == 0
        assert {k: v for k, v in row.items() if k != "seconds"} == {
            k: v for k, v in alone.items() if k != "seconds"
        }


def test_ppca_batches_have_the_law_of_single_draws(synthetic, false_alarm):
    spec, problem = synthetic
    spec = VARIANTS["ppca"].of(spec)
    many = run_batch(replace(spec, repetitions=300), problem)
    alone = [
        row["energy_ratio"]
        for number in range(60)
        for row in run_repetitions([spec], problem, number)[0]
    ]
    # Two-sample Kolmogorov-Smirnov: exact under equality whatever the law.
    assert ks_2samp([row["energy_ratio"] for row in many.rows], alone).pvalue > false_alarm
    assert {row["exact_epsilon"] for row in many.rows} == {0.2}
    assert many.subspaces[0].diagnostics["converged"]


def test_one_component_comes_from_the_exact_sampler(synthetic):
    spec, problem = synthetic
    spec = replace(VARIANTS["ppca"].of(spec), components=1, repetitions=2)
    batch = run_batch(spec, problem)
    assert batch.subspaces[0].diagnostics["method"] == "exact"
    assert batch.rows[0]["energy"] != batch.rows[1]["energy"]


def test_private_preparation_is_measured_about_zero():
    spec = central_spec(RunSpec(preparation="bounded"))
    prepared = prepare(load_dataset("digits"), mode="bounded")
    problem = central_problem(spec.problem_key(), prepared)
    X = prepared.X.astype(float)
    np.testing.assert_allclose(problem.reference, X.T @ X / len(X), atol=1e-6)
    assert run_batch(replace(spec, protocols=("exact",), repetitions=1), problem).rows[0][
        "energy_ratio"
    ] == pytest.approx(1, abs=1e-5)


def test_nearest_basis_keeps_the_span_and_undoes_a_rotation(rng):
    exact = np.linalg.qr(rng.standard_normal((8, 8)))[0].T
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(nearest_basis(turn @ exact[:3], exact), exact[:3], atol=1e-12)


def test_bounds_are_silent_where_their_theorem_is():
    spec = ComplexitySpec()
    assert {row["bound"] for row in bounds(spec, DIMENSIONS)} == {"theorem 3"}
    close = ComplexitySpec(correlation=0.998)
    assert all(is_covered_by_theorem_4(close, d) for d in DIMENSIONS)
    anchor = {"protocol": "modsulq", "features": 10, "samples": 1000}
    rows = bounds(close, DIMENSIONS, [anchor])
    assert {row["bound"] for row in rows} == {"theorem 3", "theorem 4", "theorem 5"}
    assert next(r["samples"] for r in rows if r["bound"] == "theorem 5") == pytest.approx(1000)


def test_longer_chains_begin_with_shorter_ones(synthetic):
    spec, problem = synthetic
    short = watch(spec, problem, n_chains=4, n_sweeps=16)
    long = watch(spec, problem, n_chains=4, n_sweeps=200)
    np.testing.assert_array_equal(long.shares[:, :17], short.shares)
    assert short.n_sweeps == 16
    assert short.starts == ("random", "random", "mode", "mode")
    # A chain of the second kind starts at exact PCA.
    assert long.shares[2, 0] == pytest.approx(1, abs=1e-6)


def test_left_to_itself_the_sampler_stops_when_it_passes(synthetic):
    spec, problem = synthetic
    chains = watch(spec, problem, n_chains=4)
    assert chains.converged
    assert chains.r_hat < 1.05 <= 50 <= chains.ess
    rows = running_diagnostics(chains)
    assert rows[-1]["r_hat"] == pytest.approx(chains.r_hat)
    assert rows[-1]["sweeps"] == chains.n_sweeps
