"""A decision: options follow from a search, and only fresh runs recommend one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.decide.decision import (
    NAMES,
    PROTOCOL_FOR,
    Option,
    TriedOption,
    asked_spec,
    count_kept_factors,
    count_strong_factors,
    decide,
    epsilon_of_breach,
    recommended,
    share_recognised,
)
from dpcore.experiments.decide.ranking import Trusted, trusted_by
from dpcore.experiments.decide.run_statistics import ENOUGH_RUNS, FRESH_RUNS, SEARCH_RUNS
from dpcore.experiments.pca import RunSpec, draw_subspaces, run
from dpcore.experiments.pca.problem import load_prepared, local_problem
from dpcore.params import DELTAS, largest_delta, usual_delta
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import PrivacyBudget, guarantee_mu
from dpcore.privacy.gaussian import gaussian_mu

N = 1797
SPEC = asked_spec(RunSpec(dataset="digits", components=5), Trusted.HOLDER, N)


def test_options_are_run_anew_with_noise_that_the_search_has_not_met():
    steps = list(decide(SPEC, 0.9))
    tried = [step for step in steps if isinstance(step, TriedOption)]
    options = tuple(step for step in steps if isinstance(step, Option))
    assert tuple(each.name for each in options) == NAMES
    searched = {row["repetition"] for step in tried for row in step.rows}
    assert searched == set(range(SEARCH_RUNS))
    for each in options:
        assert len(each.rows) == FRESH_RUNS and not searched & set(each.runs)
        again = run(replace(each.spec, repetitions=SEARCH_RUNS + FRESH_RUNS))
        assert each.energies == [row["energy_ratio"] for row in again][SEARCH_RUNS:]
    cautious, balanced, detailed = (each.spec.epsilon for each in options)
    assert cautious < balanced < detailed
    reached = {s.epsilon: all(r["energy_ratio"] >= 0.9 for r in s.rows) for s in tried}
    assert reached[balanced] and balanced == min(e for e, has in reached.items() if has)
    best = recommended(options)
    assert best is not None and best.hits >= ENOUGH_RUNS


def _option(name, epsilon, energies):
    rows = tuple({"energy_ratio": e, "repetition": 3 + n} for n, e in enumerate(energies))
    return Option(name, replace(SPEC, epsilon=epsilon), 0.9, rows)


def test_only_what_reached_the_target_is_recommended_and_the_most_private_of_it():
    missed = _option("cautious", 0.1, [0.95] * 8 + [0.89] * 2)
    reached = _option("balanced", 1.0, [0.95] * 9 + [0.8])
    more = _option("detailed", 5.0, [0.99] * 10)
    assert recommended((missed, reached, more)) is reached
    assert recommended((missed,)) is None
    assert (missed.hits, reached.hits, more.hits) == (8, 9, 10)
    assert more.least_share == pytest.approx(0.05 ** (1 / 10))


def test_delta_is_at_most_a_tenth_of_one_in_n():
    for n in (10, 569, 1797, 10_000, 60_000, 10**7):
        assert largest_delta(n) <= 1 / (10 * n) < 10 * largest_delta(n) * (1 + 1e-9)
    with pytest.raises(ParameterError, match="people"):
        largest_delta(10**9)


def test_the_usual_delta_is_a_step_below_a_tenth_of_one_in_n():
    usual = {n: usual_delta(n) for n in (569, 10_000, 10_001, 60_000, 199_523)}
    assert usual == {569: 1e-5, 10_000: 1e-5, 10_001: 1e-6, 60_000: 1e-6, 199_523: 1e-7}
    assert usual_delta(10**9) == min(DELTAS)


@pytest.mark.parametrize("trusted", Trusted)
def test_a_breach_of_trust_leaves_the_noise_of_ones_own_site_or_nothing(trusted):
    spec = asked_spec(RunSpec(dataset="digits"), trusted, N)
    key = PROTOCOL_FOR[trusted]
    assert trusted_by(PROTOCOLS[key]) is trusted
    guarantee = spec.promise(key, dataset_status("digits"))
    left = epsilon_of_breach(guarantee)
    if trusted is Trusted.HOLDER:
        assert math.isinf(left)
    elif trusted is Trusted.NOBODY:
        assert left == pytest.approx(guarantee.epsilon)
    else:
        # The worst adversary lacks the noise of four of five sites; then of one.
        alone = gaussian_mu(PrivacyBudget(left, guarantee.delta))
        assert (alone / guarantee_mu(guarantee)) ** 2 == pytest.approx(4, rel=1e-6)


def test_a_classifier_sees_people_through_the_release_alone():
    rng = np.random.default_rng()
    labels = np.arange(400) % 2
    X = np.zeros((400, 3))
    X[:, 1] = np.where(labels, 0.5, -0.5)
    X[:, 2] = rng.normal(scale=0.01, size=400)
    told, blind = np.eye(3)[1:2], np.eye(3)[2:3]
    assert share_recognised(X, labels, told, np.zeros(3), rng=rng) == 1.0
    assert share_recognised(X, labels, blind, np.zeros(3), rng=rng) < 0.8


def test_a_factor_is_kept_with_its_sign_and_among_the_strongest():
    exact = np.array([[0.7, -0.5, 0.4, 0.3]])
    assert count_kept_factors(-exact, exact, 3) == 3
    assert count_kept_factors(exact * [1, -1, 1, 1], exact, 3) == 2
    assert count_kept_factors(np.array([[0.6, -0.3, 0.2, 0.7]]), exact, 3) == 2


def test_factors_with_almost_no_loading_are_not_counted():
    """Their order is that of the noise, so more ε did not keep more of them."""
    assert count_strong_factors(np.array([[0.87, -0.49, 0.04, 0.01, 0.0]]), 10) == 2
    assert count_strong_factors(np.full((1, 5), 5**-0.5), 10) == 5
    assert count_strong_factors(np.full((1, 5), 5**-0.5), 3) == 3


def test_recognition_of_hard_cases_grows_with_epsilon():
    """Easy rows are recognised at every epsilon, so that all rows together hide the difference."""
    dataset = load_prepared("mnist-small", "sphere")
    shares = []
    for epsilon in (0.02, 0.2, 5.0):
        spec = RunSpec(dataset="mnist-small", protocols=("dpdis",), epsilon=epsilon, delta=1e-5)
        problem = local_problem(spec.problem_key())
        subspace = draw_subspaces([spec], problem, 0)[0]["dpdis"]
        shares.append(
            share_recognised(
                dataset.X,
                dataset.labels,
                subspace.components,
                np.asarray(subspace.centre),
                rng=np.random.default_rng(0),
            )
        )
    # Three standard errors of a difference of two shares of 500 rows.
    assert min(shares[1:]) > shares[0] + 3 * (2 * 0.25 / 500) ** 0.5


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_targets_out_of_range_are_refused(target):
    with pytest.raises(ParameterError, match="target"):
        next(iter(decide(SPEC, target)))
