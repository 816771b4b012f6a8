"""Pipelines: held-out rows, total cost of the stages, and repeatable rows."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpcore.data.row_bounds import MODES
from dpcore.data.splits import load_halves
from dpcore.errors import ParameterError
from dpcore.experiments.classification import (
    ClassificationSpec,
    centre_rows,
    classification_recipe,
    confusion_matrix,
    mistakes,
    run_pipeline,
)
from dpcore.experiments.classification.problem import local_learning_problem
from dpcore.experiments.classification.spec import (
    CENTRED_NORM_BOUND,
    EXACT,
    PIPELINES,
    RANDOM,
    RANDOM_PRIVATE,
    SUBSPACE,
    canonical,
    stage_budgets,
)
from dpcore.experiments.classification.stages import (
    CENTRING,
    PCA,
    TRAINING,
    total_guarantee,
    with_centring_share,
)
from dpcore.experiments.engine.grid import Points
from dpcore.experiments.engine.sweep import collect
from dpcore.pca.settings import best_mean_share
from dpcore.privacy import PrivacyBudget, gaussian_mu, gaussian_sigma

ZERO_OR_ONE = ClassificationSpec(classes=(0, 1), repetitions=3)


def run(spec: ClassificationSpec) -> tuple[dict, ...]:
    return collect(Points((spec,))).rows


def mean_error(spec: ClassificationSpec) -> float:
    return fmean(row["test_error"] for row in run(canonical(spec)))


class TestHeldOut:
    def test_digits_are_parted_once_for_good(self):
        halves, again = load_halves("digits"), load_halves("digits")
        assert len(halves.X) + len(halves.test_X) == 1797
        assert len(halves.test_X) == round(0.25 * 1797)
        np.testing.assert_array_equal(halves.test_X, again.test_X)
        learners = {row.tobytes() for row in halves.X}
        assert not any(row.tobytes() in learners for row in halves.test_X)
        assert np.linalg.norm(halves.X, axis=1).max() <= 1

    def test_labels_are_needed(self):
        with pytest.raises(ParameterError, match="dataset must be one with labels"):
            load_halves("synthetic-2012")

    def test_mnist_tests_on_its_official_half(self, datasets_home):
        halves = load_halves("mnist", datasets_home)
        assert halves.X.shape == (60_000, 784) and halves.test_X.shape == (10_000, 784)
        assert np.bincount(halves.test_labels).tolist()[:3] == [980, 1135, 1032]
        assert "official test half" in halves.statement

    def test_columns_that_spell_out_the_label_are_left_out(self, datasets_home):
        halves = load_halves("localization", datasets_home)
        assert halves.X.shape[1] == len(halves.feature_names) == 33
        assert "11 of the source's 44 columns" in halves.statement


class TestBudget:
    @given(
        epsilon=st.floats(0.02, 20),
        delta=st.sampled_from([1e-2, 1e-5, 1e-9]),
        pca=st.floats(0.01, 0.5),
        centring=st.floats(0.01, 0.4),
    )
    @settings(max_examples=60, deadline=None)
    def test_mean_and_components_are_one_gaussian_release(self, epsilon, delta, pca, centring):
        spec = ClassificationSpec(
            epsilon=epsilon, delta=delta, pca_share=pca, centring_share=centring
        )
        mean_mu, budget = stage_budgets(spec)
        pca_mu = 1 / gaussian_sigma(budget, 1.0)
        together = gaussian_mu(PrivacyBudget((pca + centring) * epsilon, delta))
        assert math.hypot(mean_mu, pca_mu) == pytest.approx(together, rel=1e-5)
        assert math.hypot(mean_mu, pca_mu) <= together * (1 + 1e-9)
        assert mean_mu**2 / pca_mu**2 == pytest.approx(centring / pca, rel=1e-4)

    @pytest.mark.parametrize("classes", [(0, 1), ()])
    @pytest.mark.parametrize("centring", [0.0, 0.2])
    @pytest.mark.parametrize("epsilon", [0.1, 2.0])
    def test_everything_together_keeps_what_was_asked(self, epsilon, centring, classes):
        spec = replace(ZERO_OR_ONE, epsilon=epsilon, centring_share=centring, classes=classes)
        outcome = run_pipeline(spec, local_learning_problem(spec.problem_key()))
        total = total_guarantee(spec, outcome.guarantees)
        assert total.keeps_requested
        assert total.epsilon > 0.5 * epsilon
        assert outcome.guarantees[TRAINING].epsilon == pytest.approx(spec.training_share * epsilon)
        assert (CENTRING in outcome.guarantees) == (centring > 0)

    @pytest.mark.parametrize("preparation", MODES)
    @pytest.mark.parametrize("epsilon", [0.1, 2.0])
    def test_the_rule_takes_the_mean_out_of_what_the_pca_has(self, preparation, epsilon):
        spec = replace(ZERO_OR_ONE, epsilon=epsilon, preparation=preparation)
        problem = local_learning_problem(spec.problem_key())
        settled = with_centring_share(spec, problem)
        both = gaussian_mu(PrivacyBudget(spec.pca_share * epsilon, spec.delta))
        share = best_mean_share(math.sqrt(64) / len(problem.X) / both)
        # With 266 people a private mean is worth its cost only at the larger budget.
        assert (share > 0) == (epsilon == 2.0)
        bought = share if preparation in ("sphere", "bounded") else 0.0
        assert settled.centring_share == pytest.approx(bought * spec.pca_share)
        assert settled.training_share == pytest.approx(spec.training_share)
        outcome = run_pipeline(spec, problem)
        assert (CENTRING in outcome.guarantees) == outcome.origin.any() == (bought > 0)
        assert total_guarantee(spec, outcome.guarantees).keeps_requested
        rows = centre_rows(
            problem.X, outcome.origin, outcome.row_norm_bound, on_sphere=spec.on_sphere
        )
        seen = rows @ outcome.components.T
        assert np.linalg.norm(seen, axis=1).max() <= outcome.row_norm_bound

    def test_published_reads_those_who_learn_and_nobody_else(self):
        halves = load_halves("digits", mode="published")
        np.testing.assert_allclose(halves.X.mean(axis=0), 0, atol=1e-15)
        assert np.linalg.norm(halves.X, axis=1).max() == pytest.approx(1)
        assert abs(halves.test_X.mean(axis=0)).max() > 1e-3
        assert np.linalg.norm(halves.test_X, axis=1).max() <= 1

    def test_training_in_a_random_subspace_is_pure(self):
        spec = canonical(replace(ZERO_OR_ONE, pipeline=RANDOM_PRIVATE))
        outcome = run_pipeline(spec, local_learning_problem(spec.problem_key()))
        assert list(outcome.guarantees) == [TRAINING]
        total = total_guarantee(spec, outcome.guarantees)
        assert (total.epsilon, total.delta) == (spec.epsilon, 0.0)

    @pytest.mark.parametrize("pipeline", [EXACT, SUBSPACE, RANDOM])
    def test_training_without_noise_has_no_guarantee(self, pipeline):
        spec = canonical(replace(ZERO_OR_ONE, pipeline=pipeline))
        outcome = run_pipeline(spec, local_learning_problem(spec.problem_key()))
        assert TRAINING not in outcome.guarantees
        assert not total_guarantee(spec, outcome.guarantees).is_private

    def test_a_private_subspace_takes_all_of_epsilon(self):
        spec = canonical(replace(ZERO_OR_ONE, pipeline=SUBSPACE, centring_share=0.0))
        outcome = run_pipeline(spec, local_learning_problem(spec.problem_key()))
        assert outcome.guarantees[PCA].epsilon == pytest.approx(spec.epsilon, rel=1e-6)

    def test_each_of_ten_classes_costs_a_tenth(self):
        spec = replace(ZERO_OR_ONE, classes=())
        outcome = run_pipeline(spec, local_learning_problem(spec.problem_key()))
        assert outcome.model.perturbation_.epsilon == pytest.approx(spec.training_share / 10)


class TestCentring:
    @pytest.mark.parametrize(("bound", "on_sphere"), [(CENTRED_NORM_BOUND, False), (1.0, True)])
    def test_replacing_a_row_changes_one_bounded_row(self, rng, bound, on_sphere):
        X = rng.standard_normal((50, 8))
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
        origin, other = rng.normal(0, 0.2, 8), X.copy()
        other[7] = -X[7]
        bounded = [centre_rows(rows, origin, bound, on_sphere=on_sphere) for rows in (X, other)]
        changed = np.flatnonzero((bounded[0] != bounded[1]).any(axis=1))
        assert changed.tolist() == [7]
        assert np.linalg.norm(bounded[0], axis=1).max() <= bound

    def test_noise_on_the_mean_has_its_law(self, false_alarm):
        spec = replace(ZERO_OR_ONE, centring_share=0.3)
        problem = local_learning_problem(spec.problem_key())
        exact = problem.moments.means[0]
        origins = [run_pipeline(spec, problem, number).origin for number in range(20)]
        errors = np.concatenate([origin - exact for origin in origins])
        mean_mu, _ = stage_budgets(spec)
        squares = np.sum((errors / (2 / len(problem.X) / mean_mu)) ** 2)
        # Sum of 1280 squared standard normals: both tails of the chi-square law.
        low, high = stats.chi2(len(errors)).ppf([false_alarm / 2, 1 - false_alarm / 2])
        assert low < squares < high

    def test_every_site_adds_its_own(self):
        spec = replace(ZERO_OR_ONE, centring_share=0.3, protocol="full", sites=4)
        outcome = run_pipeline(spec, local_learning_problem(spec.problem_key()))
        guarantee = outcome.guarantees[CENTRING]
        assert guarantee.noise_added_by.startswith("every site")
        problem = local_learning_problem(spec.problem_key())
        assert guarantee.l2_sensitivity == 2 / problem.moments.n_samples.min()


class TestRows:
    @pytest.mark.parametrize("pipeline", PIPELINES)
    def test_a_row_is_the_same_alone_and_again(self, pipeline):
        spec = canonical(replace(ZERO_OR_ONE, pipeline=pipeline, repetitions=2))
        rows = [row | {"seconds": 0} for row in run(spec)]
        assert rows == [row | {"seconds": 0} for row in run(spec)]
        assert rows[0]["test_error"] >= 0
        assert rows[0]["classes"] == "0 against 1"

    def test_settings_a_pipeline_does_not_read_do_not_matter(self):
        for pipeline in (EXACT, RANDOM):
            one = canonical(replace(ZERO_OR_ONE, pipeline=pipeline, epsilon=0.1, pca_share=0.6))
            assert one == canonical(replace(ZERO_OR_ONE, pipeline=pipeline, protocol="full"))
        subspace = replace(ZERO_OR_ONE, pipeline=SUBSPACE)
        assert canonical(subspace) == canonical(replace(subspace, pca_share=0.7))

    def test_a_large_epsilon_comes_to_the_exact_answer(self):
        spec = replace(ZERO_OR_ONE, classes=(3, 8), epsilon=1e5)
        assert mean_error(spec) == pytest.approx(
            mean_error(replace(spec, pipeline=EXACT)), abs=0.03
        )

    def test_noise_costs_and_components_help(self):
        spec = replace(ZERO_OR_ONE, classes=(3, 8), epsilon=10.0, repetitions=10)
        exact, random = (
            mean_error(replace(spec, pipeline=pipeline)) for pipeline in (EXACT, RANDOM)
        )
        assert exact < random
        strict = mean_error(replace(spec, epsilon=0.05))
        assert mean_error(spec) < strict
        assert strict == pytest.approx(0.5, abs=0.15)

    def test_no_share_for_pca_is_a_random_subspace(self):
        problem = local_learning_problem(ZERO_OR_ONE.problem_key())
        nothing = run_pipeline(replace(ZERO_OR_ONE, pca_share=0.0), problem)
        random = run_pipeline(canonical(replace(ZERO_OR_ONE, pipeline=RANDOM_PRIVATE)), problem)
        np.testing.assert_array_equal(nothing.components, random.components)
        assert nothing.test_error == random.test_error

    def test_a_smaller_sample_is_part_of_a_larger_one(self):
        small, large = (
            local_learning_problem(replace(ZERO_OR_ONE, samples=n).problem_key()) for n in (50, 100)
        )
        larger = {row.tobytes() for row in large.X}
        assert len(small.X) == 50
        assert all(row.tobytes() in larger for row in small.X)

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"pipeline": "both"}, "pipeline must be one of"),
            ({"pca_share": 1.0}, "leave a share for training"),
            ({"pca_share": 1.5}, r"pca_share must be in \[0, 1\]"),
            ({"protocol": "exact"}, "one with a guarantee"),
            ({"protocol": "magic"}, "protocol must be one of"),
            ({"classes": (1, 1)}, "at most two different"),
            ({"centring_share": 0.1, "calibration": "published"}, "analytic where rows"),
            ({"centring_share": 0.1, "preparation": "none"}, "unless preparation is sphere"),
            ({"preparation": "polar"}, "preparation must be one of sphere, bounded"),
        ],
    )
    def test_what_cannot_be_is_refused(self, changes, sentence):
        with pytest.raises(ParameterError, match=sentence):
            replace(ZERO_OR_ONE, **changes)

    def test_people_and_classes_that_are_not_there(self):
        with pytest.raises(ParameterError, match="samples must be at most"):
            local_learning_problem(replace(ZERO_OR_ONE, samples=5000).problem_key())
        with pytest.raises(ParameterError, match="classes must be below 10"):
            local_learning_problem(replace(ZERO_OR_ONE, classes=(12,)).problem_key())


class TestViews:
    def test_counts_add_up(self):
        spec = canonical(replace(ZERO_OR_ONE, classes=(), pipeline=EXACT))
        problem = local_learning_problem(spec.problem_key())
        outcome = run_pipeline(spec, problem)
        counts = confusion_matrix(outcome, problem)
        assert counts.shape == (10, 10)
        np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(problem.test_y))
        wrong = mistakes(outcome, problem, 1000)
        assert len(wrong) == counts.sum() - counts.trace()
        assert outcome.test_error == pytest.approx(len(wrong) / counts.sum())

    def test_what_is_taken_away_says_the_same(self, capsys):
        spec = replace(ZERO_OR_ONE, repetitions=2, epsilon=5.0)
        exec(
            compile(classification_recipe(spec).script(), "script", "exec"), {"__name__": "script"}
        )
        assert f"{mean_error(spec):.4f}" in capsys.readouterr().out
        assert '"nbformat": 4' in classification_recipe(spec).notebook()
