"""Randomised response: everybody lies by a known chance, and the tally is about right.

Warner (1965) for two answers; Kairouz, Oh & Viswanath (2016) for more. Who answers needs to trust
nobody: the noise is added before anything is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError


def chance_of_truth(n_choices: int, epsilon: float) -> float:
    """How often the true answer is given: e^epsilon / (e^epsilon + n_choices - 1).

    Raises
    ------
    ParameterError
        If there are fewer than 2 choices, or epsilon is negative.
    """
    if n_choices < 2:
        raise ParameterError("n_choices", "at least 2", n_choices)
    if not epsilon >= 0:
        raise ParameterError("epsilon", "at least 0", epsilon)
    return 1 / (1 + (n_choices - 1) * math.exp(-epsilon))


def randomised_response(
    answer: int, n_choices: int, epsilon: float, *, rng: np.random.Generator
) -> int:
    """An answer that may be given to anybody.

    Promise: pure epsilon-DP for whoever answers, against everybody: each of the n_choices answers
    is at most e^epsilon times as likely under one truth as under another.

    Parameters
    ----------
    answer : int
        The truth, from 0 to n_choices - 1.
    n_choices : int
    epsilon : float
    rng : numpy.random.Generator
        Secret, and never used for a second answer in the same state.

    Raises
    ------
    ParameterError
        If the answer is none of the choices, or as in `chance_of_truth`.
    """
    truth = chance_of_truth(n_choices, epsilon)
    if not 0 <= answer < n_choices:
        raise ParameterError("answer", f"from 0 to {n_choices - 1}", answer)
    if rng.random() < truth:
        return answer
    other = int(rng.integers(n_choices - 1))
    return other + (other >= answer)


def estimated_counts(counts: Sequence[int], epsilon: float) -> tuple[FloatArray, float]:
    """Unbiased estimate of how many truths there are of each choice, from what was answered.

    Of the true n_k, E[count_k] = n_k p + (n - n_k) q, with p the chance of the truth and q that of
    each other answer; solved for n_k. It may be negative: cut at 0 it would be biased.

    Parameters
    ----------
    counts : sequence of int
        How often each of the n_choices was answered.
    epsilon : float
        Of each answer.

    Returns
    -------
    estimate : ndarray of shape (n_choices,)
        Adds up to the number of answers.
    deviation : float
        The largest standard deviation that an entry can have, whatever the truths are.

    Raises
    ------
    ParameterError
        If epsilon is 0, where answers say nothing, or as in `chance_of_truth`.
    """
    truth = chance_of_truth(len(counts), epsilon)
    other = (1 - truth) / (len(counts) - 1)
    if truth <= other:
        raise ParameterError("epsilon", "greater than 0", epsilon)
    total = sum(counts)
    estimate = (np.asarray(counts, dtype=float) - total * other) / (truth - other)
    largest = max(truth * (1 - truth), other * (1 - other))
    return estimate, math.sqrt(total * largest) / (truth - other)
