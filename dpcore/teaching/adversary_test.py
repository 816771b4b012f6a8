"""The adversary's test between neighbouring data sets, shown on a line and a circle.

In units of the noise, the release projected on the difference of both answers is N(0, 1) without a
person's row and N(mu, 1) with it. Directions are angles in degrees, in [-90, 90): a direction and
its opposite are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from dpcore.arrays import BoolArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.experiments.engine.spec import Row
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
