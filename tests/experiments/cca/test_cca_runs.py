"""Sources of views by name, results of a draw, projected people, and scripts that repeat a run."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dpcore.errors import ParameterError
from dpcore.experiments.cca import CcaSpec
from dpcore.experiments.cca.evaluation import draw_pairs, evaluate_exact_pairs, project_people
from dpcore.experiments.cca.problem import build_cca_problem
from dpcore.experiments.cca.summaries import (
    cca_recipe,
    mean_captured,
)
from dpcore.experiments.cca.views import COLUMN_HALVES, CutViews, SyntheticViews, cut_from_text

SPEC = CcaSpec.published(protocols=("pooled", "full"), sites=3, noise="isometric", repetitions=2)


@cache
def digits():
    views = CutViews().load()
    return views, build_cca_problem(views, SPEC.problem_key())


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("halves-left-right", "halves-left-right"),
        ("fou, kar", ("fou", "kar")),
        ("0-3,7:4-6", ((0, 1, 2, 3, 7), (4, 5, 6))),
    ],
)
def test_cuts_as_people_write_them(text, cut):
    assert cut_from_text(text) == cut


@pytest.mark.parametrize("text", ["1-:2", "a:b", "1:2:3", ":", "fou,kar,pix"])
def test_cuts_that_are_none(text):
    with pytest.raises(ParameterError, match="views must be"):
        cut_from_text(text)


def test_halves_of_the_columns_and_synthetic_rows_that_repeat():
    views = CutViews("digits", COLUMN_HALVES).load()
    assert (views.n_x, views.n_y) == (32, 32)
    source = SyntheticViews(people=100, columns=8, shared=2)
    assert np.array_equal(source.load().X, source.load().X)


def test_a_draw_is_the_row_and_the_directions_of_the_run():
    _views, problem = digits()
    for row in SPEC.rows(problem, 1):
        pairs, again = draw_pairs(SPEC, problem, row["protocol"], 1)
        assert again | {"seconds": row["seconds"]} == row
        assert_allclose(pairs.measured.sum() / problem.exact.sum(), row["correlation_share"])
        for agreement in (pairs.x_agreement, pairs.y_agreement):
            assert ((agreement >= 0) & (agreement <= 1)).all()
        assert (pairs.measured <= problem.exact + 1e-12).all()


def test_without_noise_a_draw_is_the_exact_answer_turned_the_same_way():
    _views, problem = digits()
    pairs, _ = draw_pairs(replace(SPEC, epsilon=np.inf), problem, "pooled", 0)
    exact = evaluate_exact_pairs(problem)
    # Site moments are of rows in double precision here, centred again by the pooled mean.
    assert_allclose(pairs.x_agreement, 1, atol=1e-6)
    assert_allclose(pairs.x_pattern, exact.x_pattern, atol=1e-6 * np.abs(exact.x_pattern).max())
    assert_allclose(pairs.y_pattern, exact.y_pattern, atol=1e-6 * np.abs(exact.y_pattern).max())


def test_people_along_exact_directions_are_as_correlated_as_the_pairs_say():
    views, problem = digits()
    people = project_people(views, problem, evaluate_exact_pairs(problem), seed=0)
    correlations = [
        np.corrcoef(people.x_scores[:, k], people.y_scores[:, k])[0, 1] for k in range(3)
    ]
    assert_allclose(correlations, problem.exact, atol=1e-8)
    assert_allclose(people.x_scores.std(axis=0), 1)
    assert 0 < people.nmi < 1 < people.calinski_harabasz


def test_people_without_labels_are_shown_and_not_scored():
    views, problem = digits()
    people = project_people(
        replace(views, labels=None), problem, evaluate_exact_pairs(problem), seed=0
    )
    assert people.labels is people.nmi is people.calinski_harabasz is None


def test_skewed_sites_hold_everybody_once_and_change_nothing_pooled():
    views, problem = digits()
    skewed = build_cca_problem(
        views, replace(SPEC, split="dirichlet", concentration=0.1).problem_key()
    )
    assert skewed.moments.n_samples.sum() == views.n_samples
    assert_allclose(skewed.moments.pooled(), problem.moments.pooled(), atol=1e-12)
    assert not np.allclose(skewed.moments.second_moments, problem.moments.second_moments)


@pytest.mark.parametrize(
    "source", [CutViews("digits", ((0, 1, 2, 3), (4, 5, 6))), SyntheticViews(people=500, columns=6)]
)
def test_a_script_gives_the_numbers_of_the_run(source):
    spec = replace(SPEC, source=source, protocols=("dpdis",), floor=1e-3, repetitions=2)
    problem = build_cca_problem(source.load(), spec.problem_key())
    rows = [row for r in range(2) for row in spec.rows(problem, r)]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(cca_recipe(spec).script(), "script", "exec"), {})
    assert f"dpdis    {mean_captured(rows, 'dpdis'):.4f}" in printed.getvalue()
