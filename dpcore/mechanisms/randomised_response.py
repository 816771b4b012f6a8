"""Randomised response: each person reports the true answer with a known probability.

Warner (1965) for two answers; Kairouz, Oh & Viswanath (2016) for more. Theorem: with k choices,
reporting the true answer with probability p = e^epsilon / (e^epsilon + k - 1) and every other
answer with probability q = 1 / (e^epsilon + k - 1) is pure epsilon-DP. Proof: each answer has
probability p or q under every truth, and p / q = e^epsilon. `chance_of_truth` returns p, and
`randomised_response` draws the answer. The noise is added before anything is reported, so no
collector has to be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError


def chance_of_truth(n_choices: int, epsilon: float) -> float:
    """Return the probability of the true answer, e^epsilon / (e^epsilon + n_choices - 1).

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
    """Draw the answer to report for a true answer.

    Pure epsilon-DP for the person who answers, against every observer.

    Parameters
    ----------
    answer : int
        True answer, from 0 to n_choices - 1.
    n_choices : int
    epsilon : float
    rng : numpy.random.Generator
        Secret generator. Never use the same state for a second answer.

    Raises
    ------
    ParameterError
        If the answer is out of range; see also `chance_of_truth`.
    """
    truth = chance_of_truth(n_choices, epsilon)
    if not 0 <= answer < n_choices:
        raise ParameterError("answer", f"from 0 to {n_choices - 1}", answer)
    if rng.random() < truth:
        return answer
    other = int(rng.integers(n_choices - 1))
    return other + (other >= answer)


def estimated_counts(counts: Sequence[int], epsilon: float) -> tuple[FloatArray, float]:
    """Estimate the number of true answers of each choice, without bias.

    E[count_k] = n_k p + (n - n_k) q for n_k true answers, with the probabilities p of the true
    answer and q of each other answer. The estimate solves this equation for n_k. It can be
    negative; clipping at 0 would introduce a bias.

    Parameters
    ----------
    counts : sequence of int
        Number of reported answers of each choice.
    epsilon : float
        Epsilon of each answer.

    Returns
    -------
    estimate : ndarray of shape (n_choices,)
        Estimated counts; their sum is the number of answers.
    deviation : float
        Largest standard deviation of an entry for any true answers.

    Raises
    ------
    ParameterError
        If epsilon is 0, because then the answers carry no information; see also
        `chance_of_truth`.
    """
    truth = chance_of_truth(len(counts), epsilon)
    other = (1 - truth) / (len(counts) - 1)
    if truth <= other:
        raise ParameterError("epsilon", "greater than 0", epsilon)
    total = sum(counts)
    estimate = (np.asarray(counts, dtype=float) - total * other) / (truth - other)
    largest = max(truth * (1 - truth), other * (1 - other))
    return estimate, math.sqrt(total * largest) / (truth - other)
