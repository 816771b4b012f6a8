"""One drawn digit as person 10,001 of `mnist-small`, in exact and private PCA.

The seat of person 10,001 holds the drawing or a blank sheet, so that both data sets have the same
number of people and are neighbours under replace-one. Rows have length 1, a blank sheet 0: the
second moment moves by x x^T / n, whose Frobenius norm 1 / n is below the sensitivity sqrt(2) / n
that the noise is calibrated for. The attacker of the game therefore stays below the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtr, softmax

from dpcore.arrays import BoolArray, FloatArray
from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import symmetric_gaussian_noise
from dpcore.privacy import (
    Guarantee,
    PrivacyBudget,
)
from dpcore.spectra import leading_eigenpairs, second_moment
from dpcore.teaching.adversary_test import guarantee_of_noise

DATASET = "mnist-small"
WIDTH = 14
N_COMPONENTS = 10
N_CANDIDATES = 10
_N_RUNS = 51
_PEN = 0.9
# Strokes on a sheet of 14 x 14, (across, down): examples for visitors who do not draw.
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
    """Return ink in [0, 1] of a few digits by name, each of shape (196,)."""
    return {name: _ink(strokes) for name, strokes in _STROKES.items()}


def _ink(strokes: Sequence[Sequence[tuple[float, float]]]) -> FloatArray:
    down, across = np.mgrid[0:WIDTH, 0:WIDTH] + 0.5
    pixels = np.stack([across.ravel(), down.ravel()], axis=1)
    nearest = np.full(len(pixels), np.inf)
    for stroke in strokes:
        points = np.asarray(stroke, dtype=float)
        for start, end in pairwise(points):
            position = np.clip(
                (pixels - start) @ (end - start) / ((end - start) @ (end - start)), 0, 1
            )
            distance = np.linalg.norm(pixels - start - position[:, None] * (end - start), axis=1)
            nearest = np.minimum(nearest, distance)
    return np.clip(1.5 - nearest / _PEN, 0, 1)


def row_of(ink: FloatArray) -> FloatArray:
    """Return a drawing as a row of length 1, of shape (196,).

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
def _other_people() -> tuple[int, FloatArray]:
    """Return the number of other people and the sum of the outer products of their rows."""
    rows = load_dataset(DATASET).X.astype(float)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return len(rows), second_moment(rows) * len(rows)


def guarantee_with_drawing(budget: PrivacyBudget) -> Guarantee:
    """Return the guarantee of one noisy second moment that includes the drawing."""
    of_one, n_people = guarantee_of_noise(budget), _other_people()[0] + 1
    sigma, change = _noise(of_one)
    # Sensitivity and noise are both proportional to 1 / n, so the guarantee does not change.
    return replace(of_one, sigma=sigma / n_people, l2_sensitivity=change / n_people)


def _noise(guarantee: Guarantee) -> tuple[float, float]:
    """Return the standard deviation of the noise and the sensitivity that it is calibrated for."""
    if guarantee.sigma is None or guarantee.l2_sensitivity is None:
        raise ParameterError("mechanism", "gaussian", guarantee.mechanism)
    return guarantee.sigma, guarantee.l2_sensitivity


@dataclass(frozen=True, eq=False)
class DrawnPerson:
    """Evidence of one drawing in exact results.

    n_people: Number of rows, the drawing included.
    exact_trace: shape (196,). Leading pattern of the exact result with the drawing minus the exact
        result without it.
    exact_cosine: Cosine of this pattern with the drawing.
    """

    n_people: int
    exact_trace: FloatArray
    exact_cosine: float


def seat_person(row: FloatArray) -> DrawnPerson:
    """Run exact PCA with the drawing in its seat and with a blank sheet there."""
    n_others, total = _other_people()
    n_people = n_others + 1
    without, with_her = total / n_people, (total + np.outer(row, row)) / n_people
    before, after = (leading_eigenpairs(moment, N_COMPONENTS) for moment in (without, with_her))
    trace = _trace(before, after, row)
    return DrawnPerson(n_people, trace, float(trace @ row))


@dataclass(frozen=True, eq=False)
class Guess:
    """Posterior of an attacker who knows all other rows and ten candidates for the seat.

    beliefs: shape (N_CANDIDATES,). Probability of each candidate after one private result; each
        had the same before. The drawing is the first.
    candidates: shape (N_CANDIDATES, 196). Rows of length 1.
    """

    beliefs: FloatArray
    candidates: FloatArray

    @property
    def belief(self) -> float:
        """Probability of the drawing."""
        return float(self.beliefs[0])


def guess_drawing(row: FloatArray, guarantee: Guarantee, rng: np.random.Generator) -> Guess:
    """Attack one private result with the drawing in the seat.

    The result is the one with the median belief of several, so that it is typical and no lucky draw
    of the noise.

    The attacker sees M = n (release - moment of the others) = x x^T + n E. For isometric noise the
    logarithm of the likelihood of a candidate c of length 1 is c^T M c / (n sigma)^2 up to a
    constant, because its density depends on the Frobenius norm only.
    """
    n_people = _other_people()[0] + 1
    scale = n_people * _noise(guarantee)[0]
    candidates = np.vstack((row, _pictures()))
    beliefs = []
    for _ in range(_N_RUNS):
        noise = symmetric_gaussian_noise(len(row), scale, shape="isometric", rng=rng)
        noisy = np.outer(row, row) + noise
        beliefs.append(softmax(((candidates @ noisy) * candidates).sum(axis=1) / scale**2))
    typical = sorted(beliefs, key=lambda belief: float(belief[0]))[_N_RUNS // 2]
    return Guess(typical, candidates)


@cache
def _pictures() -> FloatArray:
    """Return the other candidates, of length 1: evenly spaced rows of the data set."""
    rows = load_dataset(DATASET).X
    chosen = rows[np.linspace(0, len(rows) - 1, N_CANDIDATES - 1).astype(int)].astype(float)
    return np.asarray(chosen / np.linalg.norm(chosen, axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Rounds:
    """Releases of a game in which a coin decides whether the data contain the drawing.

    is_in: shape (n_rounds,)
    leanings: shape (n_rounds,). x^T (release - moment without) x n: on average 0 without the
        drawing and 1 with it. It is a sufficient statistic, so the best attacker answers "with"
        above 1/2.
    pictures: shape (n_pictures, 196). (release - moment without) x n of the first rounds.
    best_rate: Probability that the best attacker is right, for this drawing and a blank sheet.
    """

    is_in: BoolArray
    leanings: FloatArray
    pictures: FloatArray
    best_rate: float


def play_rounds(
    row: FloatArray,
    guarantee: Guarantee,
    n_rounds: int,
    n_pictures: int,
    rng: np.random.Generator,
) -> Rounds:
    """Draw private second moments, each with fresh noise, and project them for the attacker."""
    n_people = _other_people()[0] + 1
    sigma = _noise(guarantee)[0]
    is_in = rng.integers(0, 2, n_rounds).astype(bool)
    pictures = np.stack(
        [
            n_people * symmetric_gaussian_noise(len(row), sigma, shape="isometric", rng=rng) @ row
            + mask * row
            for mask in is_in
        ]
    )
    best = float(ndtr(1 / (2 * n_people * sigma)))
    return Rounds(is_in, pictures @ row, pictures[:n_pictures], best)


def _trace(
    before: tuple[FloatArray, FloatArray], after: tuple[FloatArray, FloatArray], row: FloatArray
) -> FloatArray:
    """Return the strongest pattern of the difference of two results, with the drawing's sign."""
    of_before, of_after = ((vectors.T * values) @ vectors for values, vectors in (before, after))
    values, vectors = np.linalg.eigh(of_after - of_before)
    direction = vectors[:, np.argmax(np.abs(values))]
    return np.asarray(direction if direction @ row >= 0 else -direction)
