"""The adversary's test between two neighbouring data sets, as tables for a page.

In units of the noise, the release along the line between the two answers is N(0, 1) under D',
with another row in the place of yours, and N(mu, 1) under D, with your row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from dpcore.arrays import BoolArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row
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
