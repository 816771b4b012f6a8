"""The trade-off turned round: searches over real runs, and one curve for every (epsilon, delta)."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.sweep import Sweep, collect
from dpcore.experiments.targets import (
    Answer,
    NoiseCurve,
    Tried,
    iso_energy_sweep,
    noise_multiplier,
    search,
)

SPEC = RunSpec.published(repetitions=3)
EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0)


def find(*question, **options):
    *_, answer = search(*question, **options)
    return answer


def energies(spec, field, value, protocol="dpdis"):
    rows = collect(Sweep(replace(spec, protocols=(protocol,)), ((field, (value,)),))).rows
    return [row["energy_ratio"] for row in rows]


def test_the_answer_is_the_first_of_the_grid_that_reaches_the_target():
    """Against running every value: where energy is monotone, bisection finds the same."""
    grid = tuple(round(0.5 * 1.2**i, 4) for i in range(14))
    for target in (0.4, 0.7, 0.9):
        answer = find(SPEC, "epsilon", target, values=grid)
        means = {e: fmean(energies(SPEC, "epsilon", e)) for e in grid}
        assert answer.value == min(e for e, mean in means.items() if mean >= target)
        assert len(answer.tried) < len(grid)


def test_the_spread_is_what_single_draws_need():
    answer = find(SPEC, "epsilon", 0.7)
    for value, least in ((answer.luckiest, max), (answer.unluckiest, min)):
        assert least(energies(SPEC, "epsilon", value)) >= 0.7
        below = max(t.value for t in answer.tried if t.value < value)
        assert least(energies(SPEC, "epsilon", below)) < 0.7
    assert answer.luckiest <= answer.value <= answer.unluckiest


def test_fewest_people_and_most_sites():
    people = find(replace(SPEC, epsilon=3.0), "people_per_site", 0.7)
    assert fmean(energies(replace(SPEC, epsilon=3.0), "people_per_site", people.value)) >= 0.7
    assert "people per site" in people.sentence
    sites = find(SPEC, "sites", 0.5)
    held = replace(SPEC, sites=1)
    assert fmean(energies(held, "sites", sites.value)) >= 0.5
    assert fmean(energies(held, "sites", sites.value + 1)) < 0.5
    assert f"is kept up to {sites.value} sites" in sites.sentence


def test_every_r_is_run_since_one_decomposition_serves_all():
    answer = find(replace(SPEC, truncation="psd", epsilon=3.0), "intermediate_dim", 0.8)
    reached = [t.value for t in answer.tried if fmean(t.energies) >= 0.8]
    assert answer.value == min(reached)
    assert len(answer.tried) > 20


def test_out_of_reach_says_how_far_one_comes():
    answer = find(SPEC, "people_per_site", 0.95)
    assert answer.value is None
    assert "is out of reach: the most is" in answer.sentence
    assert "359 people per site" in answer.sentence


def test_a_sentence_for_a_slide():
    sentence = find(SPEC, "epsilon", 0.9).sentence
    assert sentence.startswith(
        "90 % of the optimum with DPdisPCA at 5 sites of 359 people, δ = 0.01 takes ε = "
    )


def test_values_that_cannot_run_are_left_out():
    classic = replace(SPEC, calibration="classic")
    answer = find(classic, "epsilon", 0.99)
    assert max(t.value for t in answer.tried) <= 1
    with pytest.raises(ParameterError, match="epsilon must be possible to run"):
        find(classic, "epsilon", 0.5, values=(2.0, 3.0))


def test_a_search_can_be_watched_and_stopped():
    steps = list(search(SPEC, "epsilon", 0.7))
    assert all(isinstance(step, Tried) for step in steps[:-1])
    assert isinstance(steps[-1], Answer)
    asked = []
    stopped = list(search(SPEC, "epsilon", 0.7, should_stop=lambda: bool(asked) or asked.append(1)))
    assert not any(isinstance(step, Answer) for step in stopped)


@pytest.mark.parametrize(
    ("field", "target", "message"),
    [("delta", 0.5, "field must be one of epsilon"), ("epsilon", 1.5, "target must be between")],
)
def test_a_question_that_makes_no_sense_is_refused(field, target, message):
    with pytest.raises(ParameterError, match=message):
        find(SPEC, field, target)


def test_an_iso_energy_map_is_a_sweep_over_both():
    sweep = iso_energy_sweep(SPEC, (1.0, 2.0), (50, 100))
    rows = collect(replace(sweep, base=replace(SPEC, protocols=("pooled",)))).rows
    assert {(row["epsilon"], row["people_per_site"]) for row in rows} == {
        (e, n) for e in (1.0, 2.0) for n in (50, 100)
    }


@pytest.mark.parametrize("protocol", ["dpdis", "pooled", "cape", "full"])
@pytest.mark.parametrize("preparation", ["published", "private"])
@pytest.mark.parametrize("calibration", ["published", "analytic"])
def test_energy_depends_on_epsilon_and_delta_through_the_noise_only(
    protocol, preparation, calibration
):
    """Another (epsilon, delta, calibration) with the same multiplier is the same computation."""
    spec = RunSpec.published(
        protocols=(protocol,), repetitions=2, preparation=preparation, calibration=calibration
    )
    m = noise_multiplier(1.0, 1e-3, calibration)
    other = next(
        e for e in np.geomspace(0.5, 1.5, 4001) if noise_multiplier(e, 1e-2, calibration) <= m
    )
    here = energies(replace(spec, delta=1e-3), "epsilon", 1.0, protocol)
    there = energies(replace(spec, delta=1e-2), "epsilon", float(other), protocol)
    # Multipliers agree to a step of the grid, 3e-4; energy is smooth in them.
    np.testing.assert_allclose(here, there, atol=3e-3)


def test_the_curve_is_exact_at_its_points_and_close_between():
    spec = replace(SPEC, protocols=("dpdis",))
    fine = tuple(float(e) for e in np.geomspace(0.3, 5, 12))
    curve = NoiseCurve.from_rows(collect(Sweep(spec, (("epsilon", fine),))).rows, "dpdis")
    for epsilon in (fine[0], fine[5]):
        m = noise_multiplier(epsilon, 0.01, "published")
        # At its last point the cubic is evaluated at the far end of an interval.
        expected = energies(spec, "epsilon", epsilon)
        np.testing.assert_allclose(curve.energy(np.array(m)), expected, rtol=1e-14)
    for epsilon, delta in ((0.8, 1e-2), (2.0, 1e-4), (3.0, 1e-3)):
        (mean,) = curve.map((epsilon,), (delta,))[0]
        real = fmean(energies(replace(spec, delta=delta), "epsilon", epsilon))
        assert mean == pytest.approx(real, abs=0.01)


def test_a_curve_says_nothing_beyond_its_ends():
    rows = collect(Sweep(SPEC, (("epsilon", EPSILONS),))).rows
    curve = NoiseCurve.from_rows(rows, "dpdis")
    assert np.isnan(curve.map((100.0,), (0.01,))).all()
    assert not curve.covers(noise_multiplier(100.0, 0.01, "published"))
    assert curve.covers(noise_multiplier(1.0, 0.01, "published"))


def test_a_curve_reaches_a_target_where_a_search_does():
    rows = collect(Sweep(SPEC, (("epsilon", tuple(np.geomspace(0.3, 5, 20))),))).rows
    curve = NoiseCurve.from_rows(rows, "dpdis")
    found = find(SPEC, "epsilon", 0.7).value
    below, above = curve.map([found / 1.11, found], [0.01])[0]  # the grid's step
    assert below < 0.7 <= above
    assert curve.map([found], [1e-4])[0, 0] < above
    assert curve.energy(np.array([curve.multipliers[0]])).mean() < 0.999


@pytest.mark.parametrize(("field", "values"), [("sites", (2, 3)), ("dropped_sites", (0, 1))])
def test_rows_that_are_no_one_curve_are_refused(field, values):
    rows = collect(Sweep(SPEC, (("epsilon", (1.0, 2.0)), (field, values)))).rows
    with pytest.raises(ParameterError, match=f"of one {field}"):
        NoiseCurve.from_rows(rows, "dpdis")
    with pytest.raises(ParameterError, match="two or more points"):
        NoiseCurve.from_rows(collect(Sweep(SPEC)).rows, "dpdis")
