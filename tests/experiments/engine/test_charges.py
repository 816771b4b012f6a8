"""Charges of each kind of result, and results that are the same draw of noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore.data.synthetic import synthetic_views
from dpcore.experiments.cca import CcaSpec, draw_pairs
from dpcore.experiments.cca.problem import build_cca_problem
from dpcore.experiments.cca.views import CutViews
from dpcore.experiments.central import VARIANTS, central_problem, central_spec, run_batch
from dpcore.experiments.classification import ClassificationSpec, run_pipeline
from dpcore.experiments.classification.problem import local_learning_problem
from dpcore.experiments.classification.spec import (
    EXACT,
    PRIVATE,
    RANDOM,
    RANDOM_PRIVATE,
    SUBSPACE,
    canonical,
)
from dpcore.experiments.classification.stages import stage_guarantees, total_guarantee
from dpcore.experiments.engine.charge_keys import compute_charges
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec, draw_subspaces, run
from dpcore.experiments.pca.problem import load_prepared, local_problem
from dpcore.experiments.statistics import TYPED_NUMBERS, StatisticSpec, release
from dpcore.privacy import Accountant, PrivacyBudget, gaussian_epsilon, gaussian_mu

DELTA = 0.01
SPEC = RunSpec(calibration="analytic", noise="isometric", truncation="psd", repetitions=2)
EVERY = ("dpdis", "full", "local", "pooled", "cape", "ag", "sulq", "modsulq")


def of(spec: RunSpec):
    subspace = draw_subspaces([spec], local_problem(spec.problem_key()), 0)[0]
    guarantees = {key: subspace.guarantee for key, subspace in subspace.items()}
    return spec.charges(guarantees)


def account(*charges) -> Accountant:
    book = Accountant("digits")
    for charge in charges:
        book.charge(charge)
    return book


def keys(charges) -> set[str]:
    return {charge.release.key for charge in charges}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"preparation": "bounded"},
        {"samples": 900, "split": "dirichlet"},
        {"split": "random", "calibration": "published"},
        {"epsilon": 0.01, "calibration": "published", "sites": 4},
        # An exact epsilon of 0, where mu follows from the noise.
        {
            "epsilon": 0.01,
            "calibration": "published",
            "preparation": "bounded",
            "mean_share": 0.5,
        },
    ],
    ids=lambda change: ",".join(change) or "default",
)
def test_rows_cost_what_the_run_behind_them_costs(change):
    spec = replace(SPEC, protocols=EVERY, **change)
    by_run = {charge.release.key: charge for charge in of(spec)}
    by_rows = {charge.release.key: charge for charge in compute_charges(list(run(spec)))}
    assert by_rows.keys() == by_run.keys()
    for key, charge in by_rows.items():
        theirs = by_run[key]
        assert (charge.numbers, charge.algorithms, charge.quantities) == (
            theirs.numbers,
            theirs.algorithms,
            theirs.quantities,
        )
        assert charge.release.mu == pytest.approx(theirs.release.mu, rel=1e-12)
        assert charge.release.partition == theirs.release.partition


def test_a_sweep_over_what_comes_after_the_noise_is_paid_once():
    spec = replace(SPEC, protocols=("dpdis",), repetitions=3)
    sweep = Sweep(spec, (("encoding", ("native", "float16")), ("intermediate_dim", (10, 20, 30))))
    (charge,) = compute_charges(collect(sweep).rows)
    assert charge.draws == 3
    assert account(charge, *of(spec)).n_releases == 3


def test_a_sweep_over_epsilon_pays_for_every_value_and_once_for_that_on_the_screen():
    spec = replace(SPEC, protocols=("dpdis",))
    rows = collect(Sweep(spec, (("epsilon", (0.5, 1.0, 2.0)),))).rows
    book = account(*of(spec), *compute_charges(rows))
    assert book.n_releases == 3 * 2
    mus = [gaussian_mu_of(epsilon) for epsilon in (0.5, 1.0, 2.0) for _ in range(2)]
    expected = gaussian_epsilon(DELTA, 1.0, math.hypot(*mus))
    assert book.total(DELTA) == pytest.approx(expected, rel=1e-6)


def gaussian_mu_of(epsilon: float) -> float:
    return gaussian_mu(PrivacyBudget(epsilon, DELTA))


def test_draws_seen_in_two_places_are_one_each():
    spec = replace(SPEC, protocols=("dpdis",), repetitions=4)
    rows = list(run(spec))
    book = account(*compute_charges(rows[:2]), *compute_charges(rows[1:3]))
    assert book.n_releases == 3
    assert not book.charge(compute_charges(rows[:3])[0])
    assert book.charge(compute_charges(rows)[0])


def test_everybody_is_everybody_however_it_is_said():
    spec = replace(SPEC, protocols=("dpdis", "pooled"))
    assert keys(of(spec)) == keys(of(replace(spec, samples=1797)))
    assert not keys(of(spec)) & keys(of(replace(spec, samples=900)))


def test_a_pooled_moment_does_not_care_how_many_sites_its_people_were_at():
    spec = replace(SPEC, protocols=("pooled",))
    assert keys(of(spec)) == keys(of(replace(spec, sites=7, split="dirichlet")))
    published = replace(spec, preparation="published")
    central = replace(central_spec(published), protocols=("ag",))
    assert keys(of(published)) == keys(of(central))


def test_exact_and_random_components_cost_nothing():
    spec = replace(SPEC, protocols=("exact", "random"))
    assert of(spec) == []
    assert compute_charges(list(run(spec))) == []


def central_rows(variant: str, repetitions: int = 5, **change):
    spec = central_spec(replace(SPEC, samples=400, components=2, repetitions=repetitions, **change))
    spec = VARIANTS[variant].of(spec)
    problem = central_problem(spec.problem_key(), load_prepared("digits", spec.preparation))
    return run_batch(spec, problem).rows


def test_ppca_is_pure_and_counts_the_company_of_its_chains():
    (charge,) = compute_charges(central_rows("ppca"))
    assert (charge.release.mechanism, charge.release.mu) == ("exponential", None)
    assert (charge.release.epsilon, charge.release.delta, charge.draws) == (1.0, 0.0, 5)
    (fewer,) = compute_charges(central_rows("ppca", 3))
    (fewest,) = compute_charges(central_rows("ppca", 2))
    assert fewer.release.key != charge.release.key
    # Four chains run at least: the first three and the first two are of the same four.
    assert fewer.release.key == fewest.release.key


def test_noise_that_delta_alone_would_cover_composes_by_its_sigma():
    (charge,) = compute_charges(central_rows("modsulq"))
    row = central_rows("modsulq")[0]
    assert charge.release.epsilon == 0
    assert charge.release.mu == pytest.approx(math.sqrt(2) / 400 / row["sigma"], rel=1e-12)


AGES = np.arange(100.0)
MEAN = StatisticSpec(low=0.0, high=100.0)


def statistic(spec: StatisticSpec = MEAN, dataset: str | None = "digits", column: int = 0):
    identity = (dataset, column)
    return spec.charge(dataset, identity, "age", release(AGES, spec).guarantee)


def test_a_laplace_mean_is_one_pure_release():
    charge = statistic()
    assert (charge.release.epsilon, charge.release.delta) == (1.0, 0.0)
    assert (charge.release.mechanism, charge.quantities, charge.draws) == ("laplace", ("mean",), 1)
    book = account(charge, statistic())
    assert book.n_releases == 1
    # Kairouz, Oh & Viswanath's worst release at delta = 0.01.
    expected = 1 + math.log(1 - DELTA * (1 + math.exp(-1)))
    assert book.total(DELTA) == pytest.approx(expected, rel=1e-12)


def test_settings_a_statistic_does_not_read_change_nothing():
    assert account(statistic(), statistic(replace(MEAN, delta=1e-5, bins=7))).n_releases == 1
    gaussian = replace(MEAN, mechanism="gaussian")
    assert account(statistic(gaussian), statistic(replace(gaussian, delta=1e-5))).n_releases == 2


def test_pure_and_gaussian_releases_compose_as_google_says():
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    book = account(*of(replace(SPEC, protocols=("dpdis",))), statistic())
    mu = math.sqrt(2) * gaussian_mu_of(1.0)
    grain = {"value_discretization_interval": 1e-5}
    laplace = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(1.0, 0.0), **grain)
    together = pld.from_gaussian_mechanism(1 / mu, **grain).compose(laplace)
    expected = together.get_epsilon_for_delta(DELTA)
    assert book.total(DELTA) == pytest.approx(expected, rel=1e-3)
    totals = [row["total_epsilon"] for row in book.rows(DELTA)]
    assert totals == sorted(totals)
    assert totals[-1] == pytest.approx(expected, rel=1e-3)


PIPELINE = ClassificationSpec(repetitions=3, components=5, centring_share=0.0)


def pipeline(spec: ClassificationSpec):
    spec = canonical(spec)
    stages = stage_guarantees(spec, local_learning_problem(spec.problem_key()))
    return spec.charges(stages)


def test_both_stages_of_a_private_classifier_are_paid():
    pca, training = pipeline(PIPELINE)
    assert (pca.quantities, training.quantities) == (("components",), ("classifier",))
    assert pca.release.epsilon == pytest.approx(0.3, rel=1e-6)
    assert pca.release.mu is not None
    assert (training.release.epsilon, training.release.delta) == (0.7, 0.0)
    assert pca.draws == training.draws == 3


@pytest.mark.parametrize("centring_share", [0.0, 0.2, None])
@pytest.mark.parametrize("protocol", ["ag", "dpdis", "ppca"])
def test_one_draw_costs_what_its_card_says(protocol, centring_share):
    spec = replace(
        PIPELINE, protocol=protocol, centring_share=centring_share, components=1, repetitions=1
    )
    book = account(*pipeline(spec))
    outcome = run_pipeline(spec, local_learning_problem(spec.problem_key()))
    together = total_guarantee(spec, outcome.guarantees)
    assert book.n_releases == len(outcome.guarantees)
    assert book.total(together.delta) == pytest.approx(together.epsilon, rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "paid"),
    [
        (EXACT, []),
        (RANDOM, []),
        (SUBSPACE, [1.0]),
        (RANDOM_PRIVATE, [1.0]),
        (PRIVATE, [0.3, 0.7]),
    ],
)
def test_each_pipeline_pays_for_what_it_keeps_private(kind, paid):
    charges = pipeline(replace(PIPELINE, pipeline=kind))
    assert [charge.release.epsilon for charge in charges] == pytest.approx(paid, rel=1e-6)


def test_what_the_playground_shows_is_of_other_people_than_those_who_learn():
    assert not keys(pipeline(PIPELINE)) & keys(of(replace(SPEC, protocols=("ag",))))


VIEWS = synthetic_views(300, 4, 4, 2, 0.5, rng=np.random.default_rng(0))
SOURCE = CutViews("digits")
PAIRS = CcaSpec(
    protocols=("pooled", "dpdis", "full", "local", "cape"), sites=3, components=2, repetitions=2
)


def pairs(spec: CcaSpec = PAIRS, source=SOURCE):
    problem = build_cca_problem(VIEWS, spec.problem_key())
    guarantees = {key: draw_pairs(spec, problem, key, 0).guarantee for key in spec.protocols}
    return replace(spec, source=source).charges(guarantees)


def test_protocols_that_read_the_same_joint_moments_share_a_payment():
    charges = pairs(replace(PAIRS, preparation="bounded"))
    assert [charge.draws for charge in charges] == [2, 2, 2]
    assert charges[1].algorithms == ("CCA: Proxies", "CCA: Full moments", "CCA: One site alone")
    # On the sphere a single site centres by its own mean, which gives another moment.
    alone = pairs()[2]
    assert pairs()[1].algorithms == ("CCA: Proxies", "CCA: Full moments")
    assert alone.algorithms == ("CCA: One site alone",)
    assert all(charge.quantities == ("canonical pairs",) for charge in charges)
    assert all(charge.release.dataset == "digits" for charge in charges)


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({"epsilon": 2.0}, True),
        ({"noise": "triangle"}, True),
        ({"sites": 3}, True),
        ({"intermediate_dim": 12}, False),
        ({"protocols": ("pooled",)}, False),
        ({"seed": 1}, False),
    ],
)
def test_noise_that_is_held_while_something_moves_is_owned_up_to(change, holds):
    spec = replace(SPEC, protocols=("dpdis",))
    book = account(*of(spec))
    assert not book.holds_noise()
    for charge in of(replace(spec, **change)):
        book.charge(charge)
    assert book.holds_noise() == holds


def test_typed_numbers_of_one_length_hold_their_noise_and_columns_do_not():
    spec = StatisticSpec(low=0.0, high=10.0, column="typed")
    book = Accountant(TYPED_NUMBERS)
    for numbers in ((1.0, 2.0, 3.0), (1.0, 2.0, 9.0)):
        guarantee = release(np.array(numbers), spec).guarantee
        book.charge(spec.charge(None, ("typed", *numbers), "the numbers", guarantee))
    assert book.holds_noise()
    errors = [
        release(np.array(numbers), spec).value - np.mean(numbers)
        for numbers in ((1.0, 2.0, 3.0), (1.0, 2.0, 9.0))
    ]
    assert errors[0] == pytest.approx(errors[1])
    columns = Accountant("digits")
    for column in (3, 4):
        of_column = replace(spec, column=f"digits/{column}")
        columns.charge(of_column.charge("digits", ("digits", column), "pixel", guarantee))
    assert not columns.holds_noise()
