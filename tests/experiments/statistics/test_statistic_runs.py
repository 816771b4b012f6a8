"""Statistics as pages show them: parsing, error distributions, bounds, people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.experiments.statistics import (
    KINDS,
    StatisticSpec,
    bound_trade_off,
    data_driven_edges,
    error_density,
    error_draws,
    error_reached,
    numbers_in,
    people_for,
    people_rows,
    release,
    statistic_recipe,
    truth,
    usual_bounds,
)
from dpcore.statistics import error_law

AGES = np.random.default_rng(5).normal(45, 15, 800).clip(1, 99)


@pytest.mark.parametrize("text", ["1, 2.5;3\n4", " 1 2.5 3 4 ", "1,2.5,\t3,4,"])
def test_numbers_are_read_however_they_are_typed(text):
    assert numbers_in(text).tolist() == [1, 2.5, 3, 4]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1, two, 3", "got 'two'"),
        ("", "at least two"),
        ("7", "at least two"),
        ("1, nan", "got 'nan'"),
        ("1, inf", "got 'inf'"),
    ],
)
def test_what_is_no_number_is_named(text, sentence):
    with pytest.raises(ParameterError, match=sentence):
        numbers_in(text)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", KINDS)
def test_live_errors_follow_the_law_that_is_drawn_over_them(kind, mechanism, false_alarm):
    spec = StatisticSpec(kind, 0, 80, 0.7, 1e-3, mechanism, seed=11)
    errors = error_draws(AGES, spec, 400)
    scale = float(release(AGES, spec).noise_scale)
    law = {"laplace": stats.laplace, "gaussian": stats.norm}[mechanism](scale=scale)
    assert stats.kstest(errors, law.cdf).pvalue > false_alarm
    density = error_density(spec, scale)
    assert np.trapezoid(density[:, 1], density[:, 0]) == pytest.approx(0.998, abs=2e-3)
    assert error_reached(spec, scale) == pytest.approx(law.ppf(0.975))


def test_a_draw_is_repeated_by_its_seed():
    spec = StatisticSpec(seed=3)
    assert release(AGES, spec).value == release(AGES, spec).value
    assert release(AGES, spec).value != release(AGES, spec, 1).value
    assert release(AGES, spec).value != release(AGES, StatisticSpec(seed=4)).value


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_no_two_releases_share_their_noise(mechanism, false_alarm):
    """Other columns, statistics, bounds or epsilons: t test of sample correlations over all pairs.

    Under one stream the noise of any two, in units of its scale, was the same number.
    """
    first = StatisticSpec("mean", 0, 100, 1.0, 1e-3, mechanism, seed=9, column="ages")
    changes = [{"epsilon": 2.0}, {"high": 200.0}, {"low": -5.0}, {"column": "heights"}]
    changes += [{"kind": "variance"}, {"kind": "histogram"}, {"kind": "histogram", "bins": 4}]
    changes += [{"delta": 1e-2}] if mechanism == "gaussian" else []
    specs = [first, *(replace(first, **change) for change in changes)]
    values, n = AGES[:50], 600
    noises = []
    for spec in specs:
        released = [release(values, spec, repetition) for repetition in range(n)]
        exact = np.ravel(truth(np.clip(values, spec.low, spec.high), spec))[0]
        errors = np.array([np.ravel(release.value)[0] for release in released]) - exact
        # Through their own law to a normal one, for which Student's is exact.
        noises.append(stats.norm.ppf(error_law(mechanism, released[0].noise_scale).cdf(errors)))
    r = np.corrcoef(noises)[np.triu_indices(len(specs), 1)]
    bound = stats.t.isf(false_alarm / r.size / 2, n - 2)
    assert np.abs(r).max() < bound / np.hypot(bound, np.sqrt(n - 2))
    people = replace(first, column="other")
    assert release(AGES[:50], people).value != release(AGES[:51], people).value


def test_what_a_release_does_not_read_does_not_change_it():
    """The ledger counts these as one release, so they must be one."""
    spec = StatisticSpec(seed=9)
    for other in (replace(spec, delta=1e-4), replace(spec, bins=4)):
        assert release(AGES, other).value == release(AGES, spec).value


@pytest.mark.parametrize("kind", ["mean", "variance"])
def test_wider_bounds_trade_bias_for_noise(kind):
    rows = bound_trade_off(AGES, StatisticSpec(kind, 0, 100, epsilon=0.5))
    bias, noise = ([row[field] for row in rows] for field in ("bias", "noise"))
    assert bias[-1] == 0 and bias[0] > 10 * noise[0]
    assert noise == sorted(noise)
    for row in rows:
        assert row["error"] == pytest.approx(np.hypot(row["bias"], row["noise"]))
    assert any(row["high"] == 100 for row in rows)


@pytest.mark.parametrize("kind", KINDS)
def test_people_needed_fall_with_the_error(kind):
    people = [row["people"] for row in people_rows(StatisticSpec(kind))]
    assert people == sorted(people, reverse=True)
    assert people_for(StatisticSpec("mean"), 1.0) == 300


def test_edges_read_from_the_data_are_somebodys_values():
    spec = StatisticSpec("histogram", bins=7)
    edges = data_driven_edges(AGES, spec)
    assert (edges[0], edges[-1], len(edges)) == (AGES.min(), AGES.max(), 8)
    assert truth(AGES, spec).sum() == len(AGES)
    assert data_driven_edges(np.ones(3), spec)[-1] == 2.0


def test_usual_bounds_come_from_the_encoding():
    assert usual_bounds("digits") == (0.0, 16.0)
    assert usual_bounds("mnist") == (0.0, 1.0)
    assert usual_bounds(None) == (0.0, 100.0)


@pytest.mark.parametrize("origin", [("digits", 28), [1.0, 2.0, 40.0]])
def test_what_is_taken_away_says_the_same(origin, capsys):
    spec = StatisticSpec("variance", 0, 16, epsilon=0.5, seed=4)
    typed = isinstance(origin, list)
    values = np.array(origin) if typed else load_dataset("digits").X[:, 28]
    exec(compile(statistic_recipe(spec, origin).script(), "script", "exec"), {"__name__": "script"})
    assert str(np.round(release(values, spec).value, 6)) in capsys.readouterr().out
    assert '"nbformat": 4' in statistic_recipe(spec, origin).notebook()
