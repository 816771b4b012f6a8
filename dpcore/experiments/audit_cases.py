"""The mechanisms of this house on their worst neighbours, ready to be audited.

Sound cases claim what they hold exactly; the museum's claim more. A new mechanism is one function
here that returns an `AuditCase`, and one entry in `audit_cases`.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from dpcore.cca.release import constant_coordinate, joint_moment_sigma
from dpcore.mechanisms import NOISE_SHAPES, symmetric_gaussian_noise
from dpcore.mechanisms.flawed import flawed_cases
from dpcore.pca import ReleaseSettings, site_message
from dpcore.privacy import (
    CALIBRATIONS,
    PrivacyBudget,
    cape_mu,
    cape_scales,
    gaussian_epsilon,
    gaussian_sigma,
    l2_sensitivity_of_second_moment,
    second_moment_sigma,
)
from dpcore.privacy.audit import AuditCase, Sampler, Statistic

N_FEATURES, N_SAMPLES = 20, 50
BUDGET = PrivacyBudget(1.0, 0.01)
_TURN = "One person's row turns from the first axis to the second."


def audit_cases(*, include_flawed: bool = True) -> tuple[AuditCase, ...]:
    """Every mechanism that can be audited: the sound ones first, then the museum."""
    second_moments = (
        second_moment_case(calibration, shape)
        for calibration, shape in itertools.product(CALIBRATIONS, NOISE_SHAPES)
    )
    sound = (
        *second_moments,
        site_message_case("svd"),
        site_message_case("psd"),
        cape_case("published"),
        cape_case("compensated"),
        joint_moment_case(),
        laplace_mean_case(),
        gaussian_histogram_case(),
    )
    return sound + (flawed_cases() if include_flawed else ())


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

    def sampler(matrix: np.ndarray) -> Sampler:
        return lambda rng, n: (
            matrix + symmetric_gaussian_noise(n_features, sigma, shape=shape, rng=rng, size=n)
        )

    return AuditCase(
        name=f"second moment, {calibration}, {shape}",
        epsilon=gaussian_epsilon(budget.delta, sigma, l2_sensitivity_of_second_moment(n_samples)),
        delta=budget.delta,
        sampler_d=sampler(moment),
        sampler_d_prime=sampler(moment_prime),
        statistic=_along(moment - moment_prime),
        is_gaussian=True,
        neighbours=_TURN,
    )


def site_message_case(truncation: str, *, n_features: int = 6) -> AuditCase:
    """What a DPdisPCA site really sends, truncation included; scored by P P^T along the change.

    Truncation can only hide, so the bound may stay well below the promise.
    """
    settings = ReleaseSettings(
        BUDGET, n_components=2, intermediate_dim=3, calibration="analytic", truncation=truncation
    )
    moment, moment_prime = worst_second_moments(n_features, N_SAMPLES)
    along = _along(moment - moment_prime)

    def sampler(matrix: np.ndarray) -> Sampler:
        def sample(rng: np.random.Generator, n: int) -> np.ndarray:
            return np.stack(
                [site_message(matrix, N_SAMPLES, settings, rng=rng).values for _ in range(n)]
            )

        return sample

    return AuditCase(
        name=f"DPdisPCA site message, {truncation}",
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        sampler_d=sampler(moment),
        sampler_d_prime=sampler(moment_prime),
        statistic=lambda proxies: along(proxies @ proxies.swapaxes(1, 2)),
        is_gaussian=True,
        neighbours=_TURN,
    )


def cape_case(masks: str, *, n_sites: int = 4, n_honest: int = 3) -> AuditCase:
    """All of CAPE's messages, before an aggregator in league with all but `n_honest` sites.

    The adversary knows the colluders' masks, so the sum of the honest ones, which is minus
    theirs: the honest noise is what is left, with the covariance `dpcore.privacy.cape` states.
    """
    moment, moment_prime = worst_second_moments(N_FEATURES // 4, N_SAMPLES)
    sensitivity = l2_sensitivity_of_second_moment(N_SAMPLES)
    scales = cape_scales(
        gaussian_sigma(BUDGET, sensitivity), n_sites, n_honest=n_honest, masks=masks
    )
    mu = cape_mu(sensitivity, scales, n_honest)
    others = np.zeros((n_honest - 1, *moment.shape))

    def sampler(first_site: np.ndarray) -> Sampler:
        def sample(rng: np.random.Generator, n: int) -> np.ndarray:
            def noise(n_parties: int, sigma: float) -> np.ndarray:
                draws = symmetric_gaussian_noise(len(moment), sigma, rng=rng, size=n * n_parties)
                return draws.reshape(n, n_parties, *moment.shape)

            mask = noise(n_sites, scales.mask_sigma)
            mask -= mask.mean(axis=1, keepdims=True)
            known = mask[:, n_honest:].sum(axis=1, keepdims=True) / n_honest
            honest = np.concatenate((first_site[None], others))
            return honest + mask[:, :n_honest] + known + noise(n_honest, scales.noise_sigma)

        return sample

    # The inverse covariance of the honest noise applied to a change at the first site.
    across = scales.mask_sigma**2 + scales.noise_sigma**2
    weights = np.full(n_honest, (scales.noise_sigma**-2 - 1 / across) / n_honest)
    weights[0] += 1 / across
    along = _along(moment - moment_prime)
    return AuditCase(
        name=f"CAPE messages, {masks}, {n_honest} of {n_sites} honest",
        epsilon=gaussian_epsilon(BUDGET.delta, 1.0, mu),
        delta=BUDGET.delta,
        sampler_d=sampler(moment),
        sampler_d_prime=sampler(moment_prime),
        statistic=lambda messages: along(np.tensordot(messages, weights, axes=(1, 0))),
        is_gaussian=True,
        neighbours="One person's row at the first site turns from the first axis to the second.",
    )


def joint_moment_case(*, mean_share: float = 0.1, n_features: int = 6) -> AuditCase:
    """CCA's one release: the joint moment of rows [x y] that carry a constant for the mean.

    Rows [u, k] and [v, k] are orthogonal, so attain the sensitivity, where u.v = -k^2.
    """
    constant = constant_coordinate(mean_share)
    bound = math.hypot(1.0, constant)
    sigma = joint_moment_sigma(BUDGET, N_SAMPLES, calibration="analytic", row_norm_bound=bound)
    rows = np.zeros((2, n_features + 1))
    rows[:, -1] = constant
    rows[0, 0] = 1.0
    rows[1, :2] = -(constant**2), math.sqrt(1 - constant**4)
    moments = np.einsum("ri,rj->rij", rows, rows) / N_SAMPLES

    def sampler(moment: np.ndarray) -> Sampler:
        size = len(moment)
        return lambda rng, n: (
            moment + symmetric_gaussian_noise(size, sigma, shape="isometric", rng=rng, size=n)
        )

    return AuditCase(
        name="CCA joint moment with a private mean",
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        sampler_d=sampler(moments[0]),
        sampler_d_prime=sampler(moments[1]),
        statistic=_along(moments[0] - moments[1]),
        is_gaussian=True,
        neighbours="One person's joined row turns to where the two lifted rows are orthogonal.",
    )


def laplace_mean_case(epsilon: float = 1.0) -> AuditCase:
    """The mean of values in [0, 1] with Laplace noise of scale 1 / (n epsilon): pure epsilon."""
    scale = 1 / (N_SAMPLES * epsilon)
    return AuditCase(
        name="mean, Laplace noise",
        epsilon=epsilon,
        delta=0.0,
        sampler_d=lambda rng, n: 1 / N_SAMPLES + rng.laplace(0.0, scale, n),
        sampler_d_prime=lambda rng, n: rng.laplace(0.0, scale, n),
        statistic=lambda means: means,
        neighbours="One person's value changes from 1 to 0; all others are 0.",
    )


def gaussian_histogram_case(n_bins: int = 8) -> AuditCase:
    """Counts in public bins with Gaussian noise: replace-one moves two of them by one."""
    sigma = gaussian_sigma(BUDGET, math.sqrt(2.0))
    counts = np.full(n_bins, 5.0)
    change = np.zeros(n_bins)
    change[:2] = 1.0, -1.0
    return AuditCase(
        name="histogram, Gaussian noise",
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        sampler_d=lambda rng, n: counts + change + sigma * rng.standard_normal((n, n_bins)),
        sampler_d_prime=lambda rng, n: counts + sigma * rng.standard_normal((n, n_bins)),
        statistic=_along(change),
        is_gaussian=True,
        neighbours="One person moves from the first bin to the second.",
    )


def worst_second_moments(n_features: int, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """X^T X / n of two data sets that attain sqrt(2) / n: e_1 replaced by e_2, all else equal."""
    rest = np.full(n_features, (n_samples - 1) / n_samples / n_features)
    moments = []
    for axis in (0, 1):
        diagonal = rest.copy()
        diagonal[axis] += 1 / n_samples
        moments.append(np.diag(diagonal))
    return moments[0], moments[1]


def _along(difference: np.ndarray) -> Statistic:
    """Projection on the change: the log-likelihood ratio of isometric noise, up to scale.

    Of triangle noise too where the change lies on the diagonal.
    """
    return lambda releases: releases.reshape(len(releases), -1) @ difference.ravel()
