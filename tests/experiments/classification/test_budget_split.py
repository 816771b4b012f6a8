"""Splits of a budget: the shares add up, and the best split is distinguished from ties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.experiments.classification import ClassificationSpec
from dpcore.experiments.classification.budget_split import SHARES, best_split, specs_by_share
from dpcore.experiments.classification.problem import people_steps


def rows_of(errors: dict[float, list[float]]) -> list[dict]:
    return [
        {"pca_share": share, "test_error": error}
        for share, values in errors.items()
        for error in values
    ]


def test_two_parts_are_all_of_it():
    specs = specs_by_share(ClassificationSpec(epsilon=2.0))
    assert [spec.pca_share for spec in specs] == list(SHARES)
    assert all(spec.pca_share + spec.training_share == pytest.approx(1) for spec in specs)


def test_the_best_and_what_cannot_be_told_from_it():
    best = best_split(
        rows_of({0.0: [0.5, 0.6, 0.55], 0.3: [0.2, 0.3, 0.25], 0.6: [0.21, 0.28, 0.27]})
    )
    assert best.share == 0.3
    assert best.error == pytest.approx(0.25)
    assert best.close_shares == (0.6,)


def test_one_draw_tells_nothing_apart():
    assert best_split(rows_of({0.0: [0.5], 0.3: [0.2]})).close_shares == (0.0,)


@given(st.integers(40, 10**6))
def test_steps_end_with_everybody(n_samples):
    steps = people_steps(n_samples)
    assert steps[-1] == n_samples
    assert list(steps) == sorted(set(steps))
    assert min(steps) >= 20
