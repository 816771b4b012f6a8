"""Ranking of configurations at one epsilon by their own runs, and the cheapest sufficient one."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.decide.ranking import (
    Trusted,
    cost_key,
    list_configurations,
    rank_configurations,
    ranking_points,
    reasons_left_out,
)
from dpcore.experiments.decide.run_statistics import (
    FRESH_RUNS,
    chance_of_mean_above,
    least_share,
    reaches_target,
)
from dpcore.experiments.decide.targets import Recommendation, recommend
from dpcore.experiments.engine.grid import Points
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec, run
from dpcore.pca.protocols.register import PROTOCOLS

# Markov chains take as long as all the others together.
QUICK = tuple(key for key in PROTOCOLS if key != "ppca")
BASE = RunSpec(repetitions=3, preparation="published", calibration="published")


def find_best(*question, **options):
    *_, answer = recommend(*question, **options)
    return answer


def all_rows(base, configurations):
    return [row for points in ranking_points(base, configurations) for row in collect(points).rows]


def test_a_ranking_is_the_direct_runs_at_the_same_seed():
    """The draws of each configuration are those of its spec in a run of its own, in their order."""
    configurations = list_configurations("digits", QUICK)
    ranked = rank_configurations(all_rows(BASE, configurations))
    assert {option.configuration for option in ranked} == set(configurations)
    for option in ranked:
        alone = list(run(option.configuration.spec(BASE)))
        assert option.energies == tuple(row["energy_ratio"] for row in alone)
    means = [option.mean for option in ranked]
    assert means == sorted(means, reverse=True)


def test_every_configuration_keeps_the_requested_guarantee_from_the_first_row_on():
    asked, digits = replace(BASE, delta=1e-5), dataset_status("digits")
    for configuration in list_configurations("digits"):
        spec = configuration.spec(asked)
        assert spec.preparation != "published"
        guarantee = spec.guarantee(configuration.protocol, digits)
        assert guarantee.epsilon <= asked.epsilon and guarantee.delta <= asked.delta
        # SuLQ and MOD-SuLQ add more noise than requested, as published.
        if configuration.protocol not in ("sulq", "modsulq"):
            assert math.isclose(guarantee.epsilon, asked.epsilon, rel_tol=1e-6)


def test_what_has_no_guarantee_or_is_there_twice_is_left_out_with_a_reason():
    reasons = reasons_left_out()
    assert set(reasons) == {"exact", "random", "ag"}
    assert reasons["ag"] == "is the same release as Pooled, trusted"
    protocols = {configuration.protocol for configuration in list_configurations("digits")}
    assert protocols == set(PROTOCOLS) - set(reasons)


def test_public_frequencies_are_for_pictures():
    pictures, table = (
        {configuration.knowledge for configuration in list_configurations(dataset)}
        for dataset in ("digits", "synthetic")
    )
    assert pictures == {"none", "dct:20"}
    assert table == {"none"}


def test_ways_that_cannot_run_are_skipped_with_a_reason():
    few = replace(BASE, components=20)  # of 13 frequencies
    configurations = list_configurations("digits", ("dpdis",))
    skipped = [
        row for points in ranking_points(few, configurations) for row in collect(points).skipped
    ]
    assert {row["knowledge"] for row in skipped} == {"dct:20"}
    assert all("must be" in row["skipped"] for row in skipped)
    assert {
        option.configuration.knowledge
        for option in rank_configurations(all_rows(few, configurations))
    } == {"none"}


def test_no_more_is_sent_than_a_public_subspace_has():
    (spec,) = {
        option.spec(replace(BASE, intermediate_dim=20))
        for option in list_configurations("digits", ("full",))
        if (option.preparation, option.knowledge) == ("sphere", "dct:20")
    }
    assert spec.intermediate_dim == 13


def test_trust_is_read_off_the_register():
    by_trust = {kind: set() for kind in Trusted}
    for option in rank_configurations(
        all_rows(replace(BASE, repetitions=1), list_configurations("digits", QUICK))
    ):
        by_trust[option.trusted].add(option.configuration.protocol)
    assert by_trust == {
        Trusted.NOBODY: {"coded", "dpdis", "full", "local", "sequential"},
        Trusted.OTHER_SITES: {"cape", "securesum"},
        Trusted.HOLDER: {"pooled", "wishart", "sulq", "modsulq"},
    }


GRID, GRID_KEYS = (0.1, 0.5, 1.0, 5.0), ("pooled", "cape", "full", "local")


@pytest.fixture(scope="module")
def all_runs():
    """Return all configurations at each epsilon of a grid, with runs of the search and fresh."""
    runs = {}
    for epsilon in GRID:
        longer = replace(BASE, epsilon=epsilon, repetitions=BASE.repetitions + FRESH_RUNS)
        configurations = list_configurations("digits", GRID_KEYS)
        specs = tuple(configuration.spec(longer) for configuration in configurations)
        runs[epsilon] = rank_configurations(collect(Points(specs)).rows)
    return runs


# Above the public constant of digits (.67), which captures more than some noisy answers.
@pytest.mark.parametrize("target", [0.75, 0.9])
def test_the_cheapest_is_that_of_running_everything(target, all_runs):
    """Over the whole grid: smallest epsilon confirmed by fresh draws, least trust, fewest bytes."""
    answer = find_best(BASE, target, protocols=GRID_KEYS, values=GRID)
    reaching = {}
    for epsilon, ranked in all_runs.items():
        for option in ranked:
            first = replace(option, rows=option.rows[: BASE.repetitions])
            fresh = option.energies[BASE.repetitions :]
            if reaches_target(first.energies, target) and reaches_target(fresh, target):
                reaching.setdefault(option.configuration, (epsilon, *cost_key(first)))
    best, second = sorted(reaching, key=reaching.__getitem__)[:2]
    assert (answer.best.ranked.configuration, answer.best.value) == (best, reaching[best][0])
    assert (answer.runner_up.ranked.configuration, answer.runner_up.value) == (
        second,
        reaching[second][0],
    )
    untrusting = min(
        (cost, configuration) for configuration, cost in reaching.items() if cost[1] ==
        Trusted.NOBODY.rank
    )  # fmt: skip
    assert (answer.without_trust.value, answer.without_trust.ranked.configuration) == (
        untrusting[0][0],
        untrusting[1],
    )


def test_fresh_draws_had_no_part_in_the_search():
    answer = find_best(BASE, 0.75, protocols=("pooled",))
    assert [row["repetition"] for row in answer.fresh] == list(range(3, 13))
    spec = replace(answer.best.spec, repetitions=13)
    assert [row["energy_ratio"] for row in answer.fresh] == [
        row["energy_ratio"] for row in run(spec)
    ][3:]
    assert answer.best.spec.epsilon == answer.best.value
    assert f"takes ε = {answer.best.value:.3g} with Pooled, trusted (sphere)" in answer.sentence


@pytest.mark.parametrize("seed", range(2))
def test_what_fresh_draws_refute_is_not_recommended(seed):
    # One draw a configuration: the luckiest of several is below the target as often as not.
    base = replace(BASE, repetitions=1, seed=seed)
    for target in (0.5, 0.6, 0.7):
        answer = find_best(base, target, protocols=("dpdis",))
        assert sum(row["energy_ratio"] >= target for row in answer.fresh) >= 9


def test_out_of_reach_says_the_most_there_is():
    answer = find_best(BASE, 0.99, protocols=("dpdis", "local"), values=(0.01, 0.02))
    assert answer.best is answer.runner_up is answer.without_trust is None
    assert answer.fresh == ()
    assert "is out of reach: the most is" in answer.sentence


def test_a_search_that_is_stopped_has_no_answer():
    steps = list(recommend(BASE, 0.7, protocols=("pooled",), should_stop=lambda: True))
    assert not any(isinstance(step, Recommendation) for step in steps)


def test_a_question_that_makes_no_sense_is_refused():
    with pytest.raises(ParameterError, match="target must be between"):
        find_best(BASE, 1.5)
    with pytest.raises(ParameterError, match="protocol must be one"):
        find_best(BASE, 0.5, protocols=("exact",))


def test_the_chance_is_that_of_the_posterior():
    """Draws from the posterior itself: s² (n-1) / χ²_{n-1}, then a normal mean around m."""
    values, level, n = (0.71, 0.74, 0.76, 0.78), 0.73, 200_000
    rng = np.random.default_rng(0)
    variance = np.var(values, ddof=1) * 3 / rng.chisquare(3, n)
    means = fmean(values) + np.sqrt(variance / 4) * rng.standard_normal(n)
    # Six standard errors of a share: false alarm below 2e-9.
    assert abs(np.mean(means > level) - chance_of_mean_above(values, level)) < 6 * 0.5 / n**0.5
    assert chance_of_mean_above(values[:1], level) is None
    assert chance_of_mean_above((0.8, 0.8), level) == 1.0
    assert chance_of_mean_above((0.7, 0.7), level) == 0.0
    assert chance_of_mean_above((0.7, 0.7), 0.7) == 0.5


def test_the_least_share_is_the_exact_binomial_limit():
    """This number of successes or more has a probability of one in twenty at the limit."""
    for successes, draws in ((1, 10), (7, 10), (10, 10)):
        p = least_share(successes, draws)
        tail = sum(
            math.comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(successes, draws + 1)
        )
        assert tail == pytest.approx(0.05)
    assert least_share(0, 10) == 0
    with pytest.raises(ParameterError, match="successes must be in"):
        least_share(3, 2)
