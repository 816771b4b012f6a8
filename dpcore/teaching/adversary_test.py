"""The adversary's test between neighbouring data sets, shown on a line, a circle and a drawing.

In units of the noise, the release projected on the difference of both answers is N(0, 1) without a
person's row and N(mu, 1) with it. Directions are angles in degrees, in [-90, 90): a direction and
its opposite are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtr, softmax

from dpcore.arrays import BoolArray, FloatArray
from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.experiments.engine.spec import Row
from dpcore.mechanisms.noise import symmetric_gaussian_noise
from dpcore.pca.protocols.protocol import HOLDER, gaussian_guarantee
from dpcore.privacy import (
    Guarantee,
    PrivacyBudget,
    gaussian_posterior,
    gaussian_trade_off,
    guarantee_mu,
    l2_sensitivity_of_second_moment,
    posterior_bounds,
    second_moment_sigma,
    trade_off,
)
from dpcore.spectra import leading_eigenpairs, second_moment

# Densities are drawn this far to either side of both means, where they have vanished.
REACH = 4.0
_N_POINTS = 241
_PRIORS = np.linspace(0.002, 0.998, 250)


def guarantee_of_noise(budget: PrivacyBudget, calibration: str = "analytic") -> Guarantee:
    """Return the guarantee of one noisy second moment, for any number of people."""
    return gaussian_guarantee(
        budget,
        replace(HOLDER, noise_added_by="the holder of the data"),
        l2_sensitivity=l2_sensitivity_of_second_moment(1),
        sigma=second_moment_sigma(budget, 1, calibration=calibration),
        is_calibrated=calibration != "published",
    )


def errors_at(threshold: float, mu: float) -> tuple[float, float]:
    """Return type I and type II error of the test that answers "with" above a threshold.

    threshold: Threshold in units of the noise.
    """
    return float(ndtr(-threshold)), float(ndtr(threshold - mu))


def densities(mu: float) -> dict[str, FloatArray]:
    """Return columns "release", "with_you" and "without_you", each of shape (n_points,)."""
    release = np.linspace(-REACH, mu + REACH, _N_POINTS)
    return {
        "release": release,
        "with_you": _normal_density(release - mu),
        "without_you": _normal_density(release),
    }


def trade_off_rows(guarantee: Guarantee) -> list[Row]:
    """Return curves of type II against type I error: one row per curve, with both as arrays.

    The first curve is the bound of the requested (epsilon, delta); the other is exact for the
    noise.
    """
    # Dense at both ends, where the curves bend.
    type_one = ndtr(np.linspace(-REACH - 2, REACH + 2, _N_POINTS))
    type_one[[0, -1]] = 0.0, 1.0
    requested, mu = _requested_and_mu(guarantee)
    return [
        {"curve": "blind", "type_one": type_one, "type_two": 1 - type_one},
        {
            "curve": "pure",
            "type_one": type_one,
            "type_two": trade_off(type_one, requested.epsilon),
        },
        {
            "curve": "approximate",
            "type_one": type_one,
            "type_two": trade_off(type_one, requested.epsilon, requested.delta),
        },
        {
            "curve": "gaussian",
            "type_one": type_one,
            "type_two": gaussian_trade_off(type_one, mu),
        },
    ]


def belief_columns(guarantee: Guarantee) -> dict[str, FloatArray]:
    """Return the belief after the release as a function of the belief before.

    "least" and "greatest" are the bounds of pure epsilon; "low", "median" and "high" are the 5, 50
    and 95 % quantiles for the noise that was added.
    """
    requested, mu = _requested_and_mu(guarantee)
    bounds = np.array([posterior_bounds(prior, requested.epsilon) for prior in _PRIORS])
    quantiles = np.array(
        [gaussian_posterior(prior, mu, np.array([0.05, 0.5, 0.95])) for prior in _PRIORS]
    )
    return {
        "prior": _PRIORS,
        "least": bounds[:, 0],
        "greatest": bounds[:, 1],
        "low": quantiles[:, 0],
        "median": quantiles[:, 1],
        "high": quantiles[:, 2],
    }


def _requested_and_mu(guarantee: Guarantee) -> tuple[PrivacyBudget, float]:
    mu = guarantee_mu(guarantee)
    if guarantee.requested is None or mu is None:
        raise ParameterError("guarantee", "one of Gaussian noise", guarantee.mechanism)
    return guarantee.requested, mu


def _normal_density(z: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return density


def rounds_of_game(
    mu: float, n_rounds: int, rng: np.random.Generator
) -> tuple[BoolArray, FloatArray]:
    """Return (whether the person is in, release) of each round; a fair coin decides.

    Releases are in units of the noise. The best attacker answers "with" above mu / 2 and is right
    with probability Phi(mu / 2), which is `best_guess`.
    """
    is_in = rng.integers(0, 2, n_rounds).astype(bool)
    return is_in, mu * is_in + rng.normal(size=n_rounds)


N_PEOPLE = 25
ANGLES = np.linspace(-90, 90, 361)
# The others fill this disc almost evenly, so that nothing but the last person picks a direction.
_CROWD_RADIUS = 0.6
_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))


@dataclass(frozen=True)
class Turn:
    """Effect of moving one person in the plane.

    people: shape (n_people - 1, 2). All other people.
    before, after: shape (2,). Position of the person.
    exact_before, exact_after: First direction in degrees, without noise.
    law_before, law_after: shape (n_angles,). Density of the private direction, per degree, at
        `ANGLES`.
    """

    people: FloatArray
    before: FloatArray
    after: FloatArray
    exact_before: float
    exact_after: float
    law_before: FloatArray
    law_after: FloatArray

    @property
    def exact_turn(self) -> float:
        """Degrees between the exact directions, in [0, 90]."""
        turn = abs(self.exact_after - self.exact_before) % 180
        return min(turn, 180 - turn)

    def private_directions(self, count: int) -> FloatArray:
        """Return quantiles, in degrees, of the private direction after the move: shape (count,).

        Equally spaced quantiles show the distribution itself.
        """
        below = np.concatenate(([0.0], np.cumsum(self.law_after[1:] + self.law_after[:-1])))
        quantiles: FloatArray = np.interp(
            (np.arange(count) + 0.5) / count, below / below[-1], ANGLES
        )
        return quantiles

    @property
    def private_shift(self) -> float:
        """Largest change of the probability of any conclusion (total variation)."""
        gap = np.abs(self.law_after - self.law_before)
        return float(np.trapezoid(gap, ANGLES) / 2)


def turn_person(degrees: float, guarantee: Guarantee) -> Turn:
    """Move the last person from the horizontal axis to this angle.

    guarantee: Guarantee of the noise; its sigma is rescaled to this number of people.
    """
    ranks = np.arange(1, N_PEOPLE)
    radii = _CROWD_RADIUS * np.sqrt((ranks - 0.5) / len(ranks))
    people = radii[:, None] * _unit(np.degrees(_GOLDEN_ANGLE * ranks)).T
    before, after = _unit(0.0), _unit(degrees)
    if guarantee.sigma is None or guarantee.l2_sensitivity is None:
        raise ParameterError("guarantee", "one of Gaussian noise", guarantee.mechanism)
    sigma = guarantee.sigma / guarantee.l2_sensitivity * math.sqrt(2) / N_PEOPLE
    moments = [second_moment(np.vstack((people, person))) for person in (before, after)]
    return Turn(
        people,
        before,
        after,
        first_direction(moments[0]),
        first_direction(moments[1]),
        direction_law(moments[0], sigma, ANGLES),
        direction_law(moments[1], sigma, ANGLES),
    )


def first_direction(moment: FloatArray) -> float:
    """Return the angle of the leading eigenvector of a symmetric 2 x 2 matrix, in degrees."""
    return math.degrees(math.atan2(2 * moment[0, 1], moment[0, 0] - moment[1, 1]) / 2)


def direction_law(moment: FloatArray, sigma: float, degrees: FloatArray) -> FloatArray:
    """Return the density, per degree, of the first direction of moment + isometric noise.

    ((A_11 - A_22) / 2, A_12) points at twice the angle of the first direction. Isometric noise
    gives both coordinates the variance sigma^2 / 2, independently, so twice the angle has a
    projected normal distribution (Mardia & Jupp 2000, section 3.5.6).
    """
    mean = np.array([(moment[0, 0] - moment[1, 1]) / 2, moment[0, 1]]) * math.sqrt(2) / sigma
    length = math.hypot(*mean)
    projection = length * np.cos(2 * np.radians(degrees) - math.atan2(mean[1], mean[0]))
    # phi(R) / phi(c) is at most 1, where 1 / phi(c) would overflow.
    weight = np.sqrt(2 * np.pi) * np.exp((projection**2 - length**2) / 2)
    per_radian = (np.exp(-(length**2) / 2) + projection * ndtr(projection) * weight) / np.pi
    per_degree: FloatArray = per_radian * np.pi / 180
    return per_degree


def _unit(degrees: float | FloatArray) -> FloatArray:
    radians = np.radians(degrees)
    return np.array([np.cos(radians), np.sin(radians)])


# One drawn digit as person 10,001 of `mnist-small`: what exact and private PCA show of it.
#
# The seat of person 10,001 holds the drawing or a blank sheet, so that both data sets have the same
# number of people and are neighbours under replace-one. Rows have length 1, a blank sheet 0: the
# second moment moves by x x^T / n, whose Frobenius norm 1 / n is below the sensitivity sqrt(2) / n
# that the noise is calibrated for. The attacker of the game therefore stays below the bound.

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
