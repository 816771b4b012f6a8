"""A challenge: read a numeral that is rebuilt from private components, against a classifier.

Both see the same pictures, from a large epsilon to a small one. A score is the smallest epsilon
down to which every picture was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray

EPSILONS = (10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)
_N_TESTS = 1000


@dataclass(frozen=True)
class Reading:
    """Answer and accuracy of the classifier on one release.

    answer: Numeral that the classifier gives to the picture in question.
    share: Share of all test pictures that it reads.
    """

    answer: int
    share: float


def choose_pictures(labels: IntArray, rng: np.random.Generator) -> tuple[int, ...]:
    """Return a test row for each of `EPSILONS`; each numeral is equally likely."""
    numerals = np.unique(labels)
    tests = np.arange(1, len(labels), 2)
    return tuple(int(rng.choice(tests[labels[tests] == rng.choice(numerals)])) for _ in EPSILONS)


def read_numerals(
    X: FloatArray, labels: IntArray, components: FloatArray, centre: FloatArray, row: int
) -> Reading:
    """Return the answers of a classifier that was trained on rebuilt pictures of half of the rows.

    A picture gets the numeral of the most similar rebuilt picture among the even rows. The first
    odd rows are the tests. The function reads rows and labels: it is for simulations.

    X: shape (n, n_features)
    labels: shape (n,)
    components: shape (n_components, n_features), of a release.
    centre: shape (n_features,), of the same release.
    row: Number of the picture in question, odd.
    """
    # Distances between rebuilt pictures are distances between their coordinates.
    coordinates = (X - centre) @ components.T
    learned, tests = coordinates[::2], coordinates[[row, *range(1, 2 * _N_TESTS, 2)]]
    squared = np.square(learned).sum(axis=1) - 2 * tests @ learned.T
    answers = labels[::2][squared.argmin(axis=1)]
    share = np.mean(answers[1:] == labels[1 : 2 * _N_TESTS : 2])
    return Reading(int(answers[0]), float(share))


def score(answers: Sequence[int], numerals: Sequence[int]) -> float | None:
    """Return the smallest epsilon down to which all answers are right; None if the first is wrong.

    answers: Answers so far, in the order of `EPSILONS`.
    numerals: True numerals in that order.
    """
    n_right = 0
    for answer, numeral in zip(answers, numerals, strict=False):
        if answer != numeral:
            break
        n_right += 1
    return EPSILONS[n_right - 1] if n_right else None
