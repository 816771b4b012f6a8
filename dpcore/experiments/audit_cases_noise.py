"""Gaussian noise on second moments, and the messages of sites made of it, to be audited."""

from __future__ import annotations

import itertools

import numpy as np

from dpcore.experiments.audit_neighbours import (
    BUDGET,
    DISTRIBUTED,
    N_SAMPLES,
    PROTOCOL_TRIALS,
    TURN,
    along,
    claim,
    worst_second_moments,
)
from dpcore.mechanisms import NOISE_SHAPES, symmetric_gaussian_noise
from dpcore.pca import ReleaseSettings, site_message
from dpcore.pca.guarantees import promised_by_sites
from dpcore.privacy import (
    CALIBRATIONS,
    Adversary,
    PrivacyBudget,
    cape_mu,
    cape_scales,
    gaussian_epsilon,
    gaussian_sigma,
    l2_sensitivity_of_second_moment,
    second_moment_sigma,
)
from dpcore.privacy.audit import AuditCase, Sampler

SECOND_MOMENT = "Second moment"
N_FEATURES = 20


def second_moment_cases() -> tuple[AuditCase, ...]:
    """Every calibration in every shape."""
    return tuple(
        second_moment_case(*kind) for kind in itertools.product(CALIBRATIONS, NOISE_SHAPES)
    )


def message_cases() -> tuple[AuditCase, ...]:
    """What an aggregator reads, before anything is averaged."""
    return (
        site_message_case("svd"),
        site_message_case("psd"),
        cape_case("published"),
        cape_case("compensated"),
    )


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
        family=SECOND_MOMENT,
        epsilon=gaussian_epsilon(budget.delta, sigma, l2_sensitivity_of_second_moment(n_samples)),
        delta=budget.delta,
        sees="the noisy second moment",
        sampler_d=sampler(moment),
        sampler_d_prime=sampler(moment_prime),
        statistic=along(moment - moment_prime),
        is_gaussian=True,
        neighbours=TURN,
    )


def site_message_case(truncation: str, *, n_features: int = 6) -> AuditCase:
    """What a DPdisPCA site really sends, truncation included; scored by P P^T along the change.

    Truncation can only hide, so the bound may stay well below the promise.
    """
    settings = ReleaseSettings(
        BUDGET, n_components=2, intermediate_dim=3, calibration="analytic", truncation=truncation
    )
    moment, moment_prime = worst_second_moments(n_features, N_SAMPLES)
    score = along(moment - moment_prime)

    def sampler(matrix: np.ndarray) -> Sampler:
        def sample(rng: np.random.Generator, n: int) -> np.ndarray:
            return np.stack(
                [site_message(matrix, N_SAMPLES, settings, rng=rng).values for _ in range(n)]
            )

        return sample

    return AuditCase(
        name=f"DPdisPCA site message, {truncation}",
        family=DISTRIBUTED,
        covers="pca.dpdis",
        n_trials=PROTOCOL_TRIALS,
        **claim(promised_by_sites(settings, [N_SAMPLES]), Adversary.AGGREGATOR),
        sees="every site's message",
        sampler_d=sampler(moment),
        sampler_d_prime=sampler(moment_prime),
        statistic=lambda proxies: score(proxies @ proxies.swapaxes(1, 2)),
        is_gaussian=True,
        neighbours=TURN,
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
    score = along(moment - moment_prime)
    return AuditCase(
        name=f"CAPE messages, {masks}, {n_honest} of {n_sites} honest",
        family=DISTRIBUTED,
        covers="pca.cape",
        n_trials=PROTOCOL_TRIALS,
        epsilon=gaussian_epsilon(BUDGET.delta, 1.0, mu),
        delta=BUDGET.delta,
        adversary=Adversary.AGGREGATOR,
        sees="every site's message, and the masks of the sites it colludes with",
        sampler_d=sampler(moment),
        sampler_d_prime=sampler(moment_prime),
        statistic=lambda messages: score(np.tensordot(messages, weights, axes=(1, 0))),
        is_gaussian=True,
        neighbours="One person's row at the first site turns from the first axis to the second.",
    )
