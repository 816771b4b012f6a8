"""The adversary's test between neighbouring data sets, and one person who moves.

In units of the noise, the release along the line between the two answers is N(0, 1) under D',
with another row in the place of yours, and N(mu, 1) under D, with your row.

One person: how far the first direction turns when they move among a few in the plane, and what
components rebuild of their row.

Directions are angles in degrees, in [-90, 90): a direction and its opposite are one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from dpcore.arrays import BoolArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.experiments.engine import Row
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
from dpcore.spectra import second_moment

# The adversary's test between two neighbouring data sets, as tables for a page.

# Densities are drawn this far to either side of both means, where they have vanished.
REACH = 4.0
_N_POINTS = 241
_PRIORS = np.linspace(0.002, 0.998, 250)


def promise(budget: PrivacyBudget, calibration: str = "analytic") -> Guarantee:
    """What one noisy second moment promises; the number of people cancels out."""
    return gaussian_guarantee(
        budget,
        replace(HOLDER, noise_added_by="whoever holds the data"),
        l2_sensitivity=l2_sensitivity_of_second_moment(1),
        sigma=second_moment_sigma(budget, 1, calibration=calibration),
        is_calibrated=calibration != "published",
    )


def errors_at(threshold: float, mu: float) -> tuple[float, float]:
    """Type I and type II error of the test that cries "D" above a threshold, in units of the
    noise."""
    return float(ndtr(-threshold)), float(ndtr(threshold - mu))


def densities(mu: float) -> dict[str, FloatArray]:
    """Columns "release", "with_you" and "without_you", each of shape (n_points,)."""
    release = np.linspace(-REACH, mu + REACH, _N_POINTS)
    return {
        "release": release,
        "with_you": _normal_density(release - mu),
        "without_you": _normal_density(release),
    }


def trade_off_rows(guarantee: Guarantee) -> list[Row]:
    """Curves of type II against type I error: one row a curve, with both as arrays.

    The promise in words is that of `asked`; the exact curve is that of the noise really added.
    """
    # Dense at both ends, where the curves bend.
    type_one = ndtr(np.linspace(-REACH - 2, REACH + 2, _N_POINTS))
    type_one[[0, -1]] = 0.0, 1.0
    asked, mu = _asked_and_mu(guarantee)
    return [
        {"curve": "blind", "type_one": type_one, "type_two": 1 - type_one},
        {
            "curve": "pure",
            "type_one": type_one,
            "type_two": trade_off(type_one, asked.epsilon),
        },
        {
            "curve": "approximate",
            "type_one": type_one,
            "type_two": trade_off(type_one, asked.epsilon, asked.delta),
        },
        {
            "curve": "gaussian",
            "type_one": type_one,
            "type_two": gaussian_trade_off(type_one, mu),
        },
    ]


def belief_columns(guarantee: Guarantee) -> dict[str, FloatArray]:
    """Belief in the truth after the release against belief before.

    "least" and "greatest" under pure epsilon as asked; "low", "median" and "high" are the 5, 50
    and 95 % quantiles under the noise really added.
    """
    asked, mu = _asked_and_mu(guarantee)
    bounds = np.array([posterior_bounds(prior, asked.epsilon) for prior in _PRIORS])
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


def _asked_and_mu(guarantee: Guarantee) -> tuple[PrivacyBudget, float]:
    mu = guarantee_mu(guarantee)
    if guarantee.asked is None or mu is None:
        raise ParameterError("guarantee", "one of Gaussian noise", guarantee.mechanism)
    return guarantee.asked, mu


def _normal_density(z: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return density


def single_draw(mu: float, *, with_you: bool, rng: np.random.Generator) -> float:
    """One release as an adversary sees it, in units of the noise; she is in or she is not."""
    return mu * with_you + float(rng.normal())


def rounds_of_game(
    mu: float, n_rounds: int, rng: np.random.Generator
) -> tuple[BoolArray, FloatArray]:
    """(whether she is in, release) of each round; a fair coin decides, as in the adversary's test.

    Releases are in units of the noise. The best attacker accuses above mu / 2 and is right with
    probability Phi(mu / 2), which is `best_guess`.
    """
    is_in = rng.integers(0, 2, n_rounds).astype(bool)
    return is_in, mu * is_in + rng.normal(size=n_rounds)


# One person: how far the first direction turns when they move among a few in the plane, and what
# components rebuild of their row.

N_PEOPLE = 25
ANGLES = np.linspace(-90, 90, 361)
# The others fill this disc almost evenly, so that nothing but the last person picks a direction.
_CROWD_RADIUS = 0.6
_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))


@dataclass(frozen=True)
class Turn:
    """What moving one person does.

    people: shape (n_people - 1, 2). The others.
    before, after: shape (2,). The one who moves.
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
        apart = abs(self.exact_after - self.exact_before) % 180
        return min(apart, 180 - apart)

    def private_directions(self, count: int) -> FloatArray:
        """Quantiles, in degrees, of the private direction's law once she has moved: shape (count,).

        A picture of them shows the law itself: equally many lie where it is equally likely.
        """
        below = np.concatenate(([0.0], np.cumsum(self.law_after[1:] + self.law_after[:-1])))
        quantiles: FloatArray = np.interp(
            (np.arange(count) + 0.5) / count, below / below[-1], ANGLES
        )
        return quantiles

    @property
    def private_shift(self) -> float:
        """Total variation: the most by which the chance of any conclusion moves."""
        gap = np.abs(self.law_after - self.law_before)
        return float(np.trapezoid(gap, ANGLES) / 2)


def turned(degrees: float, guarantee: Guarantee) -> Turn:
    """Move the last person from the horizontal axis to this angle.

    guarantee: Of the noise: its sigma is rescaled to this many people.
    """
    ranks = np.arange(1, N_PEOPLE)
    radii = _CROWD_RADIUS * np.sqrt((ranks - 0.5) / len(ranks))
    people = radii[:, None] * _unit(np.degrees(_GOLDEN_ANGLE * ranks)).T
    before, after = _unit(0.0), _unit(degrees)
    if guarantee.sigma is None or guarantee.l2_sensitivity is None:
        raise ParameterError("guarantee", "one of Gaussian noise", guarantee.mechanism)
    sigma = guarantee.sigma / guarantee.l2_sensitivity * math.sqrt(2) / N_PEOPLE
    still, moved = (second_moment(np.vstack((people, person))) for person in (before, after))
    return Turn(
        people,
        before,
        after,
        first_direction(still),
        first_direction(moved),
        direction_law(still, sigma, ANGLES),
        direction_law(moved, sigma, ANGLES),
    )


def first_direction(moment: FloatArray) -> float:
    """Angle of the leading eigenvector of a symmetric 2 x 2 matrix, in degrees."""
    return math.degrees(math.atan2(2 * moment[0, 1], moment[0, 0] - moment[1, 1]) / 2)


def direction_law(moment: FloatArray, sigma: float, degrees: FloatArray) -> FloatArray:
    """Density, per degree, of the first direction of moment + isometric noise.

    ((A_11 - A_22) / 2, A_12) points at twice the angle of the first direction. Isometric noise
    gives both the variance sigma^2 / 2, independently, so twice the angle is a projected normal
    (Mardia & Jupp 2000, section 3.5.6).
    """
    mean = np.array([(moment[0, 0] - moment[1, 1]) / 2, moment[0, 1]]) * math.sqrt(2) / sigma
    length = math.hypot(*mean)
    along = length * np.cos(2 * np.radians(degrees) - math.atan2(mean[1], mean[0]))
    # phi(R) / phi(c) is at most 1, where 1 / phi(c) alone would overflow.
    weight = np.sqrt(2 * np.pi) * np.exp((along**2 - length**2) / 2)
    per_radian = (np.exp(-(length**2) / 2) + along * ndtr(along) * weight) / np.pi
    per_degree: FloatArray = per_radian * np.pi / 180
    return per_degree


def _unit(degrees: float | FloatArray) -> FloatArray:
    radians = np.radians(degrees)
    return np.array([np.cos(radians), np.sin(radians)])


def rebuild(row: FloatArray, components: FloatArray, k: int) -> tuple[FloatArray, float]:
    """Project a centred row on the first k components and back.

    row: shape (n_features,)
    components: shape (at least k, n_features), orthonormal rows
    Returns: (row rebuilt, squared distance from the original as a share of its squared length)
    """
    basis = components[:k]
    rebuilt = (row @ basis.T) @ basis
    length = float(row @ row)
    missed = row - rebuilt
    return rebuilt, float(missed @ missed) / length if length > 0 else 0.0
