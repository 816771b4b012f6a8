"""The floor: the captured energy of a pipeline that is fed noise and no data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, ttest_1samp

from dpcore.experiments.central import central_problem, central_spec, run_batch
from dpcore.experiments.floor import FLOOR_RUNS, compute_floors, random_ratio, remove_data
from dpcore.experiments.pca import RunSpec, floor_of, run, run_repetitions
from dpcore.experiments.problem import Problems, load_prepared, local_problem
from dpcore.pca.protocols.register import PROTOCOLS

BUNDLED = ("mnist-small", "digits", "breast-cancer", "synthetic", "synthetic-2012")
AT_SITES = tuple(key for key, each in PROTOCOLS.items() if each.has_sites)
CENTRAL = tuple(
    key for key, each in PROTOCOLS.items() if not each.has_sites and each.noise is not None
)
N_RUNS = 12
# One comparison per data set, denoising and protocol, each at the same share of a false-alarm
# probability of 1 % for all of them together.
LEVEL = 0.01 / (2 * len(BUNDLED) * (len(AT_SITES) + len(CENTRAL)))
NO_SIGNAL = {"epsilon": 1e-6, "delta": 1e-9, "samples": 500, "repetitions": N_RUNS, "seed": 5}


def p_value(ratios: list[float], floor) -> float:
    if len(floor.runs) == 1:
        return float(ttest_1samp(ratios, floor.mean).pvalue)
    return float(mannwhitneyu(ratios, floor.runs).pvalue)


@pytest.mark.parametrize("denoise", ["none", "auto"])
@pytest.mark.parametrize("dataset", BUNDLED)
def test_without_signal_protocols_at_sites_capture_their_floor(dataset, denoise):
    spec = RunSpec(dataset=dataset, protocols=AT_SITES, denoise=denoise, sites=4, **NO_SIGNAL)
    ratios: dict[str, list[float]] = {}
    for row in run(spec):
        ratios.setdefault(row["protocol"], []).append(row["energy_ratio"])
    floors = floor_of(spec, n_runs=2 * N_RUNS)
    assert {key: p for key in AT_SITES if (p := p_value(ratios[key], floors[key])) < LEVEL} == {}


@pytest.mark.parametrize("denoise", ["none", "auto"])
@pytest.mark.parametrize("dataset", BUNDLED)
def test_without_signal_central_algorithms_capture_their_floor(dataset, denoise):
    asked = RunSpec(dataset=dataset, denoise=denoise, components=3, **NO_SIGNAL)
    spec = central_spec(asked)
    key = spec.problem_key()
    problem = central_problem(key, load_prepared(*key.data))
    found = {}
    for name in CENTRAL:
        own = replace(spec, protocols=(name,))
        ratios = [row["energy_ratio"] for row in run_batch(own, problem).rows]
        settings = own.settings(problem.n_features, problem.default_components)
        (floors,) = compute_floors([name], [settings], problem, own.seed, n_runs=2 * N_RUNS)
        found[name] = p_value(ratios, floors[name])
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


def test_denoised_pictures_have_a_floor_above_a_random_subspace():
    spec = RunSpec(dataset="mnist-small", protocols=("local",), components=20, delta=1e-5)
    floor = floor_of(spec, n_runs=30)["local"]
    problem = local_problem(spec.problem_key())
    plain = floor_of(replace(spec, denoise="none"), n_runs=30)["local"]
    assert plain.mean == pytest.approx(random_ratio(problem, 20), rel=0.05)
    assert floor.mean > 1.4 * plain.mean


def test_rows_contain_the_mean_floor_of_their_spec():
    spec = RunSpec(dataset="digits", protocols=("dpdis", "local"), repetitions=2)
    rows = list(run(spec))
    floors = floor_of(spec)
    assert all(row["floor"] == floors[row["protocol"]].mean for row in rows)
    assert {len(floor.runs) for floor in floors.values()} == {FLOOR_RUNS}


def test_a_floor_depends_neither_on_the_other_protocols_nor_on_the_other_specs():
    spec = RunSpec(dataset="digits", protocols=("dpdis", "pooled"), repetitions=1)
    together = floor_of(spec, Problems())["pooled"]
    assert floor_of(replace(spec, protocols=("pooled",)), Problems())["pooled"] == together
    problem, specs = Problems()(spec.problem_key()), (replace(spec, components=3), spec)
    _, rows = run_repetitions(specs, problem, 0)
    found = next(row for row in rows if row["protocol"] == "pooled")
    assert found["floor"] == together.mean


@pytest.mark.parametrize("preparation", ["sphere", "none", "published"])
@pytest.mark.parametrize("field", ["epsilon", "calibration"])
def test_floors_that_are_shared_by_budgets_do_not_depend_on_them(preparation, field, monkeypatch):
    """The scale of the noise changes no component where nothing else is in the matrix."""
    spec = RunSpec(dataset="digits", protocols=AT_SITES, preparation=preparation, delta=1e-5)
    other = replace(spec, **{field: {"epsilon": 0.01, "calibration": "published"}[field]})
    if field == "calibration":
        other, spec = (replace(each, denoise="columns") for each in (other, spec))
    floors = [floor_of(each, Problems()) for each in (spec, other)]
    monkeypatch.setattr("dpcore.experiments.floor._with_any_budget", lambda settings, _: settings)
    for shared, each in zip(floors, (spec, other), strict=True):
        own = floor_of(each, Problems())
        for key in AT_SITES:
            np.testing.assert_allclose(shared[key].runs, own[key].runs, rtol=1e-3)


def test_the_floor_of_a_subtracted_mean_depends_on_epsilon():
    spec = RunSpec(dataset="digits", protocols=("local",), preparation="bounded", mean_share=0.1)
    assert floor_of(replace(spec, epsilon=0.01)) != floor_of(spec)


@pytest.mark.parametrize("preparation", ["sphere", "bounded", "published"])
def test_no_row_is_read_for_a_floor(preparation):
    problem = local_problem(RunSpec(dataset="digits", preparation=preparation).problem_key())
    empty = remove_data(problem.moments)
    assert not empty.means.any()
    if preparation == "sphere":
        assert not empty.moment_around(np.ones(empty.n_features), 0).any()
        with pytest.raises(RuntimeError, match="reads no rows"):
            _ = empty.rows
    else:
        assert not empty.second_moments.any()


def test_without_noise_the_floor_is_a_random_subspace():
    spec = RunSpec(dataset="digits", protocols=("pooled",), epsilon=float("inf"))
    problem = local_problem(spec.problem_key())
    assert floor_of(spec)["pooled"].runs == (random_ratio(problem, 10),)
