"""Noise on second moments, on messages of sites and on statistics, on their worst neighbours."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.audit.worst_neighbours import (
    BUDGET,
    DISTRIBUTED,
    N_SAMPLES,
    PROTOCOL_TRIALS,
    TURN,
    along,
    claim,
    laplace_ratio,
    under_both,
    worst_second_moments,
)
from dpcore.mechanisms import NOISE_SHAPES, symmetric_gaussian_noise
from dpcore.pca import ReleaseSettings, site_message
from dpcore.pca.protocols.distributed import promised_by_sites
from dpcore.privacy import (
    CALIBRATIONS,
    Adversary,
    PrivacyBudget,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
    second_moment_sigma,
)
from dpcore.privacy.audit import AuditCase
from dpcore.statistics import (
    MECHANISMS,
    PrivateStatistic,
    private_histogram,
    private_mean,
    private_variance,
)

SECOND_MOMENT = "Second moment"
N_FEATURES = 20


def second_moment_cases() -> tuple[AuditCase, ...]:
    """Every calibration in every shape."""
    return tuple(
        second_moment_case(*kind) for kind in itertools.product(CALIBRATIONS, NOISE_SHAPES)
    )


def message_cases() -> tuple[AuditCase, ...]:
    """What an aggregator reads, before anything is averaged."""
    return site_message_case("svd"), site_message_case("psd")


def second_moment_case(
    calibration: str,
    shape: str,
    *,
    budget: PrivacyBudget = BUDGET,
    n_features: int = N_FEATURES,
    n_samples: int = N_SAMPLES,
) -> AuditCase:
    """One site's noisy second moment, judged by its exact epsilon."""
    moment, moment_prime = worst_second_moments(n_features, n_samples)
    sigma = second_moment_sigma(budget, n_samples, calibration=calibration)

    def draws(matrix: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        return matrix + symmetric_gaussian_noise(n_features, sigma, shape=shape, rng=rng, size=n)

    return AuditCase(
        name=f"second moment, {calibration}, {shape}",
        family=SECOND_MOMENT,
        epsilon=gaussian_epsilon(budget.delta, sigma, l2_sensitivity_of_second_moment(n_samples)),
        delta=budget.delta,
        sees="the noisy second moment",
        **under_both(draws, moment, moment_prime),
        statistic=along(moment - moment_prime),
        is_gaussian=True,
        neighbours=TURN,
    )


def site_message_case(truncation: str, *, n_features: int = 6) -> AuditCase:
    """What a DPdisPCA site really sends, truncation included; scored by P P^T along the change.

    Truncation can only hide, so the bound may stay well below the promise.
    """
    settings = ReleaseSettings(
        BUDGET, n_components=2, intermediate_dim=3, noise="triangle", truncation=truncation
    )
    moment, moment_prime = worst_second_moments(n_features, N_SAMPLES)
    score = along(moment - moment_prime)

    def draws(matrix: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        return np.stack(
            [site_message(matrix, N_SAMPLES, settings, rng=rng).values for _ in range(n)]
        )

    return AuditCase(
        name=f"DPdisPCA site message, {truncation}",
        family=DISTRIBUTED,
        covers="pca.dpdis",
        n_trials=PROTOCOL_TRIALS,
        **claim(promised_by_sites(settings, [N_SAMPLES], n_features), Adversary.AGGREGATOR),
        sees="every site's message",
        **under_both(draws, moment, moment_prime),
        statistic=lambda proxies: score(proxies @ proxies.swapaxes(1, 2)),
        is_gaussian=True,
        neighbours=TURN,
    )


FAMILY = "Statistics"
_N = 50
# Outside the bounds [0, 1], so that clipping has its part.
_FAR = 7.0


def statistics_cases() -> tuple[AuditCase, ...]:
    """Every statistic under both kinds of noise; means of several columns too."""
    everybody_low, one_high = np.zeros(_N), np.zeros(_N)
    everybody_low[0], one_high[0] = -_FAR, _FAR
    one_high_in_all, low_in_all = np.zeros((_N, 3)), np.zeros((_N, 3))
    one_high_in_all[0] = _FAR
    mean = partial(private_mean, bounds=(0.0, 1.0))
    variance = partial(private_variance, bounds=(0.0, 1.0))
    histogram = partial(private_histogram, edges=[0.0, 0.25, 0.5, 1.0])
    changes = (
        ("mean", mean, one_high, everybody_low),
        ("mean of three columns", mean, one_high_in_all, low_in_all),
        ("variance", variance, one_high, everybody_low),
        ("histogram", histogram, one_high, everybody_low),
    )
    return tuple(
        statistic_case(f"{name}, {mechanism.capitalize()} noise", function, mechanism, one, other)
        for name, function, one, other in changes
        for mechanism in MECHANISMS
    )


def statistic_case(
    name: str,
    function: partial[PrivateStatistic],
    mechanism: str,
    values: FloatArray,
    values_prime: FloatArray,
) -> AuditCase:
    """One of the three statistics, released by the function that users call."""

    def release(values: FloatArray, epsilon: float, rng: np.random.Generator) -> PrivateStatistic:
        return function(values, epsilon=epsilon, delta=BUDGET.delta, mechanism=mechanism, rng=rng)

    def draws(values: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        return np.stack(
            [np.atleast_1d(release(values, BUDGET.epsilon, rng).value) for _ in range(n)]
        )

    rng = np.random.default_rng(0)
    exact, exact_prime = (
        np.atleast_1d(release(rows, math.inf, rng).value) for rows in (values, values_prime)
    )
    released = release(values, BUDGET.epsilon, rng)
    guarantee = released.guarantee
    is_gaussian = mechanism == "gaussian"
    # One number orders releases as its likelihood ratio does, and makes the better picture.
    projects = is_gaussian or exact.size == 1
    return AuditCase(
        name=name,
        family=FAMILY,
        covers=f"statistics.{function.func.__name__}.{mechanism}",
        **claim(guarantee),
        sees="the released statistic",
        **under_both(draws, values, values_prime),
        statistic=along(exact - exact_prime)
        if projects
        else laplace_ratio(exact, exact_prime, np.atleast_1d(released.noise_scale)),
        is_gaussian=is_gaussian,
        neighbours="One person's value drops from far above the bounds to the lower one; all "
        "others are there.",
    )
