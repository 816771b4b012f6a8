"""Gaussian noise on second moments, and the messages of sites made of it, to be audited."""

from __future__ import annotations

import itertools

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
