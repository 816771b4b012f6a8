"""Randomised response: its distribution, its guarantee, and an unbiased estimate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.mechanisms import chance_of_truth, estimated_counts, randomised_response

FALSE_ALARM = 1e-9
N = 4_000


@pytest.mark.parametrize("n_choices", [2, 5])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_its_law_is_the_one_that_keeps_the_guarantee_with_nothing_to_spare(n_choices, epsilon):
    rng = np.random.default_rng()
    said = [randomised_response(1, n_choices, epsilon, rng=rng) for _ in range(N)]
    truth = chance_of_truth(n_choices, epsilon)
    other = (1 - truth) / (n_choices - 1)
    # The worst odds of any answer under two truths.
    assert truth / other == pytest.approx(math.exp(epsilon))
    law = np.full(n_choices, other)
    law[1] = truth
    counts = np.bincount(said, minlength=n_choices)
    assert stats.chisquare(counts, N * law).pvalue > FALSE_ALARM


@pytest.mark.parametrize("truths", [[30, 0], [7, 23], [5, 0, 25], [10, 10, 10, 10]])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_estimate_is_unbiased_and_no_wider_than_said(truths, epsilon):
    rng, n_rounds = np.random.default_rng(), 2_000
    truth = chance_of_truth(len(truths), epsilon)
    other = (1 - truth) / (len(truths) - 1)
    laws = np.full((len(truths), len(truths)), other) + (truth - other) * np.eye(len(truths))
    counts = sum(
        rng.multinomial(number, law, size=n_rounds)
        for number, law in zip(truths, laws, strict=True)
    )
    estimates = np.array([estimated_counts(row.tolist(), epsilon)[0] for row in counts])
    deviation = estimated_counts(truths, epsilon)[1]
    assert np.allclose(estimates.sum(axis=1), sum(truths))
    # A mean of n_rounds with at most this deviation each, normal by the central limit.
    reach = stats.norm.isf(FALSE_ALARM / 2 / len(truths)) * deviation / math.sqrt(n_rounds)
    assert np.all(abs(estimates.mean(axis=0) - truths) < reach)
    widest = stats.chi2.isf(FALSE_ALARM, n_rounds - 1) / (n_rounds - 1)
    assert estimates.var(axis=0, ddof=1).max() < 1.2 * widest * deviation**2


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda rng: randomised_response(2, 2, 1.0, rng=rng), "answer"),
        (lambda rng: randomised_response(0, 1, 1.0, rng=rng), "n_choices"),
        (lambda rng: randomised_response(0, 2, -1.0, rng=rng), "epsilon"),
        (lambda rng: randomised_response(0, 2, math.nan, rng=rng), "epsilon"),
        (lambda rng: estimated_counts([1, 2], 0.0), "epsilon"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(call, names):
    with pytest.raises(ParameterError, match=f"^{names} must be"):
        call(np.random.default_rng())
