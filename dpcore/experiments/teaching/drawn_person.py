"""One drawn digit as person 10,001 of `mnist-small`: what exact and private PCA show of it.

The seat of person 10,001 holds the drawing or a blank sheet, so that both data sets have the same
number of people and are neighbours under replace-one. Rows have length 1, a blank sheet 0: the
second moment moves by x x^T / n, whose Frobenius norm 1 / n is below the sensitivity sqrt(2) / n
that the noise is calibrated for. The attacker of the game therefore stays below the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtr

from dpcore.arrays import BoolArray, FloatArray
from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.experiments.teaching.adversary_test import promise
from dpcore.mechanisms.noise import symmetric_gaussian_noise
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.spectra import leading_eigenpairs, second_moment

DATASET = "mnist-small"
WIDTH = 14
N_COMPONENTS = 10
_N_RUNS = 8
_PEN = 0.9
# Strokes on a sheet of 14 x 14, (across, down): digits for whoever does not draw.
_STROKES: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "2": (((4, 4.5), (5, 3), (7, 2.3), (9, 3), (9.5, 5), (8, 7.5), (4, 11), (10, 11)),),
    "4": (((7.5, 2.5), (3.5, 8), (10.5, 8)), ((8.3, 5), (8.3, 11.5))),
    "5": (
        ((9.5, 2.5), (5, 2.5), (4.5, 6.5), (7.5, 6), (9.5, 8), (8.5, 10.5), (6, 11.3), (4, 10.3)),
    ),
    "7": (((3.8, 3), (10, 3), (6.5, 11.3)),),
    "8": (
        ((7, 6.5), (4.8, 4.6), (7, 2.5), (9.2, 4.6), (7, 6.5), (4.4, 9), (7, 11.5), (9.6, 9),
         (7, 6.5)),
    ),
}  # fmt: skip


def drawn_digits() -> dict[str, FloatArray]:
    """Ink in [0, 1] of a few digits by their name, each of shape (196,)."""
    return {name: _ink(strokes) for name, strokes in _STROKES.items()}


def _ink(strokes: Sequence[Sequence[tuple[float, float]]]) -> FloatArray:
    down, across = np.mgrid[0:WIDTH, 0:WIDTH] + 0.5
    pixels = np.stack([across.ravel(), down.ravel()], axis=1)
    nearest = np.full(len(pixels), np.inf)
    for stroke in strokes:
        points = np.asarray(stroke, dtype=float)
        for start, end in pairwise(points):
            along = np.clip(
                (pixels - start) @ (end - start) / ((end - start) @ (end - start)), 0, 1
            )
            away = np.linalg.norm(pixels - start - along[:, None] * (end - start), axis=1)
            nearest = np.minimum(nearest, away)
    return np.clip(1.5 - nearest / _PEN, 0, 1)


def row_of(ink: FloatArray) -> FloatArray:
    """The drawing as a row of length 1, of shape (196,).

    Raises `ParameterError` unless it is 196 finite numbers from 0 to 1, one of them above 0.
    """
    row = np.asarray(ink, dtype=float)
    if row.shape != (WIDTH**2,) or not np.isfinite(row).all() or row.min() < 0 or row.max() > 1:
        raise ParameterError("drawing", f"{WIDTH**2} numbers from 0 to 1", "something else")
    length = float(np.linalg.norm(row))
    if length == 0:
        raise ParameterError("drawing", "a sheet with ink on it", "a blank one")
    return row / length


@cache
def _others() -> tuple[int, FloatArray]:
    """How many other people there are, and the sum of the outer products of their rows."""
    rows = load_dataset(DATASET).X.astype(float)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return len(rows), second_moment(rows) * len(rows)


def promise_to_all(budget: PrivacyBudget) -> Guarantee:
    """What one noisy second moment of all people and the seat promises each of them."""
    of_one, n_people = promise(budget), _others()[0] + 1
    sigma, change = _noise(of_one)
    # Sensitivity and noise both go with 1 / n, so that the promise stays as it is.
    return replace(of_one, sigma=sigma / n_people, l2_sensitivity=change / n_people)


def _noise(guarantee: Guarantee) -> tuple[float, float]:
    """Standard deviation of the noise, and the sensitivity that it is calibrated for."""
    if guarantee.sigma is None or guarantee.l2_sensitivity is None:
        raise ParameterError("mechanism", "gaussian", guarantee.mechanism)
    return guarantee.sigma, guarantee.l2_sensitivity


@dataclass(frozen=True, eq=False)
class DrawnPerson:
    """What results show of one drawing.

    n_people: With the seat of the drawing.
    exact_turn: Degrees by which the exact first direction turns for the drawing.
    private_turn: Degrees between private first directions of two runs without it; the median.
    residual_without, residual_with: Share of the drawing that the exact components leave out.
    exact_trace, private_trace: shape (196,). The pattern that one gets by subtracting the result
        without the drawing from the result with it.
    exact_cosine, private_cosine: Of these patterns with the drawing; 1 is the drawing itself.
    """

    n_people: int
    exact_turn: float
    private_turn: float
    residual_without: float
    residual_with: float
    exact_trace: FloatArray
    private_trace: FloatArray
    exact_cosine: float
    private_cosine: float


def seat_person(row: FloatArray, guarantee: Guarantee, rng: np.random.Generator) -> DrawnPerson:
    """Exact and private PCA with the drawing in its seat and with a blank sheet there."""
    n_others, total = _others()
    n_people = n_others + 1
    without, with_her = total / n_people, (total + np.outer(row, row)) / n_people
    sigma = _noise(guarantee)[0]

    def private(moment: FloatArray) -> FloatArray:
        noise = symmetric_gaussian_noise(len(row), sigma, shape="isometric", rng=rng)
        return np.asarray(moment + noise)

    before, after = (leading_eigenpairs(moment, N_COMPONENTS) for moment in (without, with_her))
    runs = [leading_eigenpairs(private(without), N_COMPONENTS) for _ in range(_N_RUNS)]
    exact_trace = _trace(before, after, row)
    private_trace = _trace(runs[0], leading_eigenpairs(private(with_her), N_COMPONENTS), row)
    turns = [_angle(a[1][0], b[1][0]) for a, b in pairwise(runs)]
    return DrawnPerson(
        n_people,
        _angle(before[1][0], after[1][0]),
        float(np.median(turns)),
        _residual(before[1], row),
        _residual(after[1], row),
        exact_trace,
        private_trace,
        float(exact_trace @ row),
        float(private_trace @ row),
    )


@dataclass(frozen=True, eq=False)
class Rounds:
    """Releases with a coin that decides whether the drawing is in.

    is_in: shape (n_rounds,)
    leanings: shape (n_rounds,). x^T (release - moment without) x n: 0 and 1 on average without the
        drawing and with it. Nothing else of a release tells the two apart, so that the best
        attacker accuses above 1/2.
    pictures: shape (n_pictures, 196). (release - moment without) x n of the first rounds.
    best_here: The best attacker's chance of being right for this drawing and a blank sheet.
    """

    is_in: BoolArray
    leanings: FloatArray
    pictures: FloatArray
    best_here: float


def play_rounds(
    row: FloatArray,
    guarantee: Guarantee,
    n_rounds: int,
    n_pictures: int,
    rng: np.random.Generator,
) -> Rounds:
    """Private second moments, each with fresh noise, as the attacker of the game looks at them."""
    n_people = _others()[0] + 1
    sigma = _noise(guarantee)[0]
    is_in = rng.integers(0, 2, n_rounds).astype(bool)
    seen = np.stack(
        [
            n_people * symmetric_gaussian_noise(len(row), sigma, shape="isometric", rng=rng) @ row
            + here * row
            for here in is_in
        ]
    )
    best = float(ndtr(1 / (2 * n_people * sigma)))
    return Rounds(is_in, seen @ row, seen[:n_pictures], best)


def _angle(one: FloatArray, other: FloatArray) -> float:
    # By the sine: the cosine of a tiny angle is 1 to the last digit.
    turned = other if one @ other >= 0 else -other
    return math.degrees(2 * math.asin(min(1.0, float(np.linalg.norm(one - turned)) / 2)))


def _residual(components: FloatArray, row: FloatArray) -> float:
    return 1 - float(((components @ row) ** 2).sum())


def _trace(
    before: tuple[FloatArray, FloatArray], after: tuple[FloatArray, FloatArray], row: FloatArray
) -> FloatArray:
    """The strongest pattern of the difference of two results, with the drawing's sign."""
    old, new = ((vectors.T * values) @ vectors for values, vectors in (before, after))
    values, vectors = np.linalg.eigh(new - old)
    found = vectors[:, np.argmax(np.abs(values))]
    return np.asarray(found if found @ row >= 0 else -found)
