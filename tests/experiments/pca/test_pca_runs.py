"""Runs: the row schema, numbers that do not depend on other runs, and the published numbers."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from statistics import fmean

import numpy as np
import pytest

from dpcore.data import Dataset, prepare
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.pca.problem import build_problem, sites_of
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.spectra import captured_energy

# Columns that figures, sweeps and readers of the JSON need.
SCHEMA = {
    "dataset": str,
    "protocol": str,
    "epsilon": float,
    "delta": float,
    "sites": int,
    "samples": int,
    "components": int,
    "intermediate_dim": int,
    "calibration": str,
    "noise": str,
    "truncation": str,
    "repetition": int,
    "seed": int,
    "energy_ratio": float,
    "sigma": float | None,
    "exact_epsilon": float,
    "bytes_sent": int,
    "seconds": float,
}
# Chains are long, and tested where they are made.
QUICK = tuple(key for key in PROTOCOLS if key != "ppca")


@pytest.fixture(scope="module")
def prepared_rows():
    """Return made-up rows with 16 features, and with enough features to use threads."""
    rng = np.random.default_rng(1)

    def prepared(n_features: int):
        scales = np.linspace(3, 0.1, n_features)
        X = rng.standard_normal((900, n_features)) * scales + 0.5
        labels = rng.integers(3, size=900)
        return prepare(
            Dataset(
                name="made-up",
                title="Made up",
                X=X.astype(np.float32),
                labels=labels,
                label_names=("a", "b", "c"),
                feature_names=tuple(f"x{i}" for i in range(n_features)),
                image_shape=None,
                default_components=4,
                provenance="Drawn for a test.",
                is_part=False,
                public_norm_bound=10.0,
            )
        )

    return {n_features: prepared(n_features) for n_features in (16, 300)}


@pytest.fixture(scope="module")
def problem_of(prepared_rows):
    """Return problem sources by number of features."""
    return {
        n_features: lambda key, rows=rows: build_problem(key, rows)
        for n_features, rows in prepared_rows.items()
    }


def numbers(rows):
    return {
        (row["protocol"], row["repetition"]): {k: v for k, v in row.items() if k != "seconds"}
        for row in rows
    }


SPEC = RunSpec.published(dataset="made-up", protocols=QUICK, sites=3, repetitions=2)


def test_rows_follow_the_schema_and_carry_the_whole_spec(problem_of):
    rows = list(run(SPEC, problem_of[16]))
    assert [(r["repetition"], r["protocol"]) for r in rows] == [
        (repetition, key) for repetition in range(2) for key in QUICK
    ]
    carried = {field.name for field in fields(RunSpec)} - {"protocols", "repetitions"}
    for row in rows:
        for name, kind in SCHEMA.items():
            assert isinstance(row[name], kind), name
        assert carried <= set(row)
        assert json.loads(json.dumps(row, allow_nan=True)) == row


def test_ratios_are_shares_of_the_optimum(problem_of):
    rows = list(run(SPEC, problem_of[16]))
    problem = problem_of[16](SPEC.problem_key())
    q0 = captured_energy(problem.exact_components[:4], problem.reference)
    for row in rows:
        assert 0 < row["energy_ratio"] <= 1 + 1e-6
        assert row["energy_ratio"] == pytest.approx(row["energy"] / q0)
        assert row["random_ratio"] == pytest.approx(4 / 16 * problem.reference.trace() / q0)
        if row["protocol"] == "exact":
            assert row["energy_ratio"] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("n_features", [16, 300])
@pytest.mark.parametrize("preparation", ["published", "bounded"])
def test_a_cell_gives_the_same_numbers_alone_and_in_company(problem_of, n_features, preparation):
    spec = replace(SPEC, preparation=preparation)
    together = numbers(run(spec, problem_of[n_features]))
    for key in QUICK:
        alone = numbers(run(replace(spec, protocols=(key,)), problem_of[n_features]))
        assert alone == {cell: row for cell, row in together.items() if cell[0] == key}
    fewer = numbers(run(replace(spec, repetitions=1), problem_of[n_features]))
    assert fewer == {cell: row for cell, row in together.items() if cell[1] == 0}


def test_threads_change_no_number(problem_of, monkeypatch):
    threaded = numbers(run(SPEC, problem_of[300]))
    monkeypatch.setattr("dpcore.pca.draw.PROCESSORS", 1)
    assert numbers(run(SPEC, problem_of[300])) == threaded


def test_draws_share_common_numbers_across_epsilon(problem_of):
    """A larger ε gives the same draw with another scale, so that curves are smooth."""
    sigmas, rows = [], []
    for epsilon in (0.5, 1.0):
        row = next(run(replace(SPEC, protocols=("full",), epsilon=epsilon), problem_of[16]))
        rows.append(row)
        sigmas.append(row["sigma"])
    assert sigmas[0] == pytest.approx(2 * sigmas[1])
    assert rows[0]["energy_ratio"] < rows[1]["energy_ratio"]


def test_people_are_drawn_anew_only_where_the_spec_says_so():
    spec = replace(SPEC, samples=300)
    assert spec.problem_key(0) == spec.problem_key(1)
    again = replace(spec, resample=True)
    assert again.problem_key(0) != again.problem_key(1)
    assert again.problem_key(0) == spec.problem_key(0)


def test_a_larger_sample_holds_the_smaller_one(prepared_rows):
    """Samples are prefixes of one permutation."""
    few, many = (
        set(np.concatenate(sites_of(replace(SPEC, samples=n).problem_key(), prepared_rows[16])))
        for n in (300, 600)
    )
    assert (len(few), len(many)) == (300, 600)
    assert few < many


def test_private_preparation_keeps_the_guarantee_it_states(problem_of):
    spec = replace(SPEC, preparation="bounded", calibration="analytic", protocols=("dpdis",))
    row = next(run(spec, problem_of[16]))
    assert row["exact_epsilon"] <= spec.epsilon
    assert row["mean_share"] == spec.mean_share


def test_bigger_budgets_and_more_people_help(problem_of):
    def mean(**changes):
        spec = replace(SPEC, protocols=("pooled",), repetitions=5, **changes)
        return fmean(row["energy_ratio"] for row in run(spec, problem_of[16]))

    assert mean(epsilon=0.01) < mean(epsilon=1.0) < mean(epsilon=100.0)
    assert mean(epsilon=1.0, truncation="svd") <= mean(epsilon=1.0, truncation="psd") + 0.01


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"components": 17}, "components"),
        ({"intermediate_dim": 17}, "intermediate_dim"),
        ({"samples": 901}, "samples"),
        ({"sites": 451}, "sites"),
        ({"epsilon": 1.5, "calibration": "classic"}, "epsilon"),
        ({"honest_sites": 4}, "honest_sites"),
        ({"protocols": ("best",)}, "protocol"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_drawn(problem_of, changes, parameter):
    with pytest.raises(ParameterError, match=f"^{parameter} must be .+, got ") as caught:
        next(run(replace(SPEC, **changes), problem_of[16]))
    assert caught.value.parameter == parameter


def test_free_energy_on_digits():
    """Better settings at the same guarantee, with the values of a prototype."""
    published = {0.3: 0.24, 1.0: 0.54, 3.0: 0.86}
    better = {0.3: 0.53, 1.0: 0.78, 3.0: 0.93}
    base = RunSpec.published(protocols=("dpdis",), delta=0.01, sites=5, repetitions=5)
    chosen = replace(base, calibration="analytic", noise="isometric", truncation="psd")
    for spec, expected in ((base, published), (chosen, better)):
        for epsilon, value in expected.items():
            rows = run(replace(spec, epsilon=epsilon, components=10, intermediate_dim=20))
            # One draw's standard deviation is below 0.03 at each of these points.
            assert fmean(r["energy_ratio"] for r in rows) == pytest.approx(value, abs=0.05)


def test_ppca_is_a_row_like_any_other(problem_of):
    row = next(run(replace(SPEC, protocols=("ppca",)), problem_of[16]))
    assert row["exact_epsilon"] == SPEC.epsilon
    assert row["sigma"] is None
    assert 0 < row["energy_ratio"] < 1
    with pytest.raises(ParameterError, match="^epsilon must be finite for PPCA"):
        next(run(replace(SPEC, protocols=("ppca",), epsilon=math.inf), problem_of[16]))


def test_what_needs_no_gaussian_noise_runs_where_it_cannot_be_calibrated(problem_of):
    """Pure ε has δ = 0, and the classic formula is refused above ε = 1."""
    for changes in ({"delta": 0.0}, {"epsilon": 2.0, "calibration": "classic"}):
        spec = replace(SPEC, protocols=("ppca", "exact", "random"), **changes)
        assert len(list(run(spec, problem_of[16]))) == 6
