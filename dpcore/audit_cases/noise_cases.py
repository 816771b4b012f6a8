"""Audit cases of noisy second moments, site messages, statistics and composed releases.

Each part of a composed release has noise of its own. The claim is the total of an accountant, and
the score is the joint likelihood ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit_cases.neighbours import (
    BUDGET,
    DISTRIBUTED,
    N_SAMPLES,
    PROTOCOL_TRIALS,
    TURN,
    claim,
    embed_row,
    laplace_ratio,
    make_samplers,
    projection_on,
    sample_one_by_one,
    worst_second_moments,
)
from dpcore.audit_cases.protocol_cases import rebuild_matrix
from dpcore.mechanisms import NOISE_SHAPES, symmetric_gaussian_noise
from dpcore.pca import Draw, ReleaseSettings, site_message
from dpcore.pca.protocols.distributed import guarantee_of_sites
from dpcore.pca.protocols.register import protocol
from dpcore.privacy import (
    Accountant,
    Adversary,
    Charge,
    Guarantee,
    PrivacyBudget,
    Release,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
    second_moment_sigma,
)
from dpcore.privacy.audit import AuditCase, Sampler
from dpcore.spectra import SiteMoments, site_moments
from dpcore.statistics import (
    MECHANISMS,
    PrivateScores,
    PrivateStatistic,
    private_histogram,
    private_mean,
    private_scores,
    private_variance,
)
from dpcore.streams import Purpose, Repetition

SECOND_MOMENT = "Second moment"
N_FEATURES = 20


def second_moment_cases() -> tuple[AuditCase, ...]:
    """Return a case of each noise shape."""
    return tuple(second_moment_case("analytic", shape) for shape in NOISE_SHAPES)


def message_cases() -> tuple[AuditCase, ...]:
    """Return the case of a truncated site message, as the aggregator reads it."""
    return (site_message_case("psd"),)


def second_moment_case(
    calibration: str,
    shape: str,
    *,
    budget: PrivacyBudget = BUDGET,
    n_features: int = N_FEATURES,
    n_samples: int = N_SAMPLES,
) -> AuditCase:
    """Return a case of one site's noisy second moment, claiming its exact epsilon."""
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
        **make_samplers(draws, moment, moment_prime),
        statistic=projection_on(moment - moment_prime),
        is_gaussian=True,
        neighbours=TURN,
    )


def site_message_case(truncation: str, *, n_features: int = 6) -> AuditCase:
    """Return a case of a truncated DPdisPCA site message, scored by P P^T along the change.

    Truncation only removes information, so the bound may stay well below the claim.
    """
    settings = ReleaseSettings(
        BUDGET, n_components=2, intermediate_dim=3, noise="triangle", truncation=truncation
    )
    moment, moment_prime = worst_second_moments(n_features, N_SAMPLES)
    score = projection_on(moment - moment_prime)

    def draws(matrix: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        return np.stack(
            [site_message(matrix, N_SAMPLES, settings, rng=rng).values for _ in range(n)]
        )

    return AuditCase(
        name=f"DPdisPCA site message, {truncation}",
        family=DISTRIBUTED,
        covers="pca.dpdis",
        n_trials=PROTOCOL_TRIALS,
        **claim(guarantee_of_sites(settings, [N_SAMPLES], n_features), Adversary.AGGREGATOR),
        sees="every site's message",
        **make_samplers(draws, moment, moment_prime),
        statistic=lambda proxies: score(proxies @ proxies.swapaxes(1, 2)),
        is_gaussian=True,
        neighbours=TURN,
    )


STATISTICS_FAMILY = "Statistics"
_N = 50
# Outside the bounds [0, 1], so that values are clipped.
_OUT_OF_BOUNDS = 7.0


def statistics_cases() -> tuple[AuditCase, ...]:
    """Return cases of every statistic under both kinds of noise, and of a mean of columns."""
    all_low, one_high = np.zeros(_N), np.zeros(_N)
    all_low[0], one_high[0] = -_OUT_OF_BOUNDS, _OUT_OF_BOUNDS
    one_high_in_all, low_in_all = np.zeros((_N, 3)), np.zeros((_N, 3))
    one_high_in_all[0] = _OUT_OF_BOUNDS
    mean = partial(private_mean, bounds=(0.0, 1.0))
    variance = partial(private_variance, bounds=(0.0, 1.0))
    histogram = partial(private_histogram, edges=[0.0, 0.25, 0.5, 1.0])
    all_in_a_corner = np.full((_N, 2), -_OUT_OF_BOUNDS)
    one_across = all_in_a_corner.copy()
    one_across[0] = _OUT_OF_BOUNDS
    # One of two groups, so that the attacked person also changes the group.
    groups = np.repeat(["a", "b"], [_N - 1, 1])
    scores = partial(private_scores, limits=(1.0, 1.0), bins=4, groups=groups, labels=("a", "b"))
    changes = (
        ("mean", mean, one_high, all_low),
        ("mean of three columns", mean, one_high_in_all, low_in_all),
        ("variance", variance, one_high, all_low),
        ("histogram", histogram, one_high, all_low),
        ("score plot", scores, one_across, all_in_a_corner),
    )
    return tuple(
        statistic_case(f"{name}, {mechanism.capitalize()} noise", function, mechanism, one, other)
        for name, function, one, other in changes
        for mechanism in MECHANISMS
    )


def statistic_case(
    name: str,
    function: partial[PrivateStatistic] | partial[PrivateScores],
    mechanism: str,
    values: FloatArray,
    values_prime: FloatArray,
) -> AuditCase:
    """Return a case of one statistic, released by the public function."""

    def release(
        values: FloatArray, epsilon: float, rng: np.random.Generator
    ) -> PrivateStatistic | PrivateScores:
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
    # A single number is a monotone function of its likelihood ratio and is easier to plot.
    projects = is_gaussian or exact.size == 1
    return AuditCase(
        name=name,
        family=STATISTICS_FAMILY,
        covers=f"statistics.{function.func.__name__}.{mechanism}",
        **claim(guarantee),
        sees="the released statistic",
        **make_samplers(draws, values, values_prime),
        statistic=projection_on(exact - exact_prime)
        if projects
        else laplace_ratio(exact, exact_prime, np.atleast_1d(released.noise_scale)),
        is_gaussian=is_gaussian,
        neighbours="One person's value drops from far above the bounds to the lower one; all "
        "others are there.",
    )


COMPOSED_FAMILY = "Composed releases"
_DATASET = "audit"
_COMPOSED_D = 3
_SETTINGS = ReleaseSettings(BUDGET, _COMPOSED_D, _COMPOSED_D, truncation="svd")
_SEES_ALL_RESULTS = "all results"


def composed_cases() -> tuple[AuditCase, ...]:
    """Return compositions of two Gaussian, two Laplace, and a mixed pair of releases."""
    return (
        components_case("components at two epsilons", (0.5, 1.0)),
        components_and_mean_case(),
        mean_and_variance_case(),
    )


def components_case(name: str, epsilons: Sequence[float]) -> AuditCase:
    """Return a case of all components of the pooled rows, released once per epsilon."""
    settings = [replace(_SETTINGS, budget=replace(BUDGET, epsilon=epsilon)) for epsilon in epsilons]
    moments, moments_prime = _worst_moments()

    def sampler(moments: SiteMoments) -> Sampler:
        return sample_one_by_one(
            lambda repetition: np.stack(
                [
                    _components(moments, release_settings, replace(repetition, index=index))[0]
                    for index, release_settings in enumerate(settings)
                ]
            )
        )

    guarantees, sigmas = zip(
        *(
            _components(moments, release_settings, Repetition(0))[1:]
            for release_settings in settings
        ),
        strict=True,
    )
    score = projection_on(moments.second_moments[0] - moments_prime.second_moments[0])
    weights = np.array(sigmas) ** -2.0
    return AuditCase(
        name=name,
        family=COMPOSED_FAMILY,
        n_trials=PROTOCOL_TRIALS,
        epsilon=_total(guarantees, BUDGET.delta),
        delta=BUDGET.delta,
        sees=_SEES_ALL_RESULTS,
        sampler_d=sampler(moments),
        sampler_d_prime=sampler(moments_prime),
        statistic=lambda releases: score(np.tensordot(releases, weights, axes=(1, 0))),
        is_gaussian=True,
        neighbours=TURN,
    )


def components_and_mean_case() -> AuditCase:
    """Return a case of all components with Gaussian noise and one column's mean with Laplace noise.

    The turn attains the sensitivity of both: the value in the column falls from 1 to 0.
    """
    # Half of the other values lie below the bounds and are clipped.
    rows, rows_prime = (embed_row(axis) for axis in np.eye(_COMPOSED_D)[:2])
    exact, exact_prime = (np.clip(data[:, 0], 0.0, 1.0).mean() for data in (rows, rows_prime))
    moments, moments_prime = _worst_moments()

    def mean(rows: FloatArray, epsilon: float, rng: np.random.Generator) -> PrivateStatistic:
        return private_mean(rows[:, 0], bounds=(0.0, 1.0), epsilon=epsilon, rng=rng)

    def sampler(moments: SiteMoments, rows: FloatArray) -> Sampler:
        def both(repetition: Repetition) -> FloatArray:
            matrix = _components(moments, _SETTINGS, repetition)[0]
            rng = repetition.rng(Purpose.STATISTIC)
            return np.append(matrix.ravel(), mean(rows, BUDGET.epsilon, rng).value)

        return sample_one_by_one(both)

    _, guarantee, sigma = _components(moments, _SETTINGS, Repetition(0))
    released = mean(rows, BUDGET.epsilon, np.random.default_rng(0))
    change = (moments.second_moments[0] - moments_prime.second_moments[0]).ravel()
    middle = (moments.second_moments[0] + moments_prime.second_moments[0]).ravel() / 2

    def likelihood_ratio(releases: FloatArray) -> FloatArray:
        matrices, means = releases[:, :-1], releases[:, -1]
        gaussian: FloatArray = (matrices - middle) @ change / sigma**2
        nearer: FloatArray = np.abs(means - exact_prime) - np.abs(means - exact)
        return gaussian + nearer / released.noise_scale

    return AuditCase(
        name="components and a mean, Laplace noise",
        family=COMPOSED_FAMILY,
        n_trials=PROTOCOL_TRIALS,
        epsilon=_total((guarantee, released.guarantee), BUDGET.delta),
        delta=BUDGET.delta,
        sees=_SEES_ALL_RESULTS,
        sampler_d=sampler(moments, rows),
        sampler_d_prime=sampler(moments_prime, rows_prime),
        statistic=likelihood_ratio,
        neighbours=TURN,
    )


def mean_and_variance_case(*, n: int = 50) -> AuditCase:
    """Return a case of the mean and the variance of one column, from separate streams.

    One value is at the upper bound and all others at the lower one. The change attains the
    sensitivity of both statistics.
    """
    values, values_prime = np.zeros(n), np.zeros(n)
    values[0] = 1.0
    functions: tuple[Callable[..., PrivateStatistic], ...] = (private_mean, private_variance)

    def released(
        values: FloatArray, epsilon: float, repetition: Repetition
    ) -> list[PrivateStatistic]:
        return [
            function(
                values,
                bounds=(0.0, 1.0),
                epsilon=epsilon,
                delta=BUDGET.delta,
                mechanism="laplace",
                rng=repetition.rng(Purpose.STATISTIC, index),
            )
            for index, function in enumerate(functions)
        ]

    def sampler(values: FloatArray) -> Sampler:
        return sample_one_by_one(
            lambda repetition: np.array(
                [float(statistic) for statistic in released(values, BUDGET.epsilon, repetition)]
            )
        )

    exact, exact_prime = (
        np.array([float(statistic) for statistic in released(data, math.inf, Repetition(0))])
        for data in (values, values_prime)
    )
    drawn = released(values, BUDGET.epsilon, Repetition(0))
    scales = np.array([statistic.noise_scale for statistic in drawn])
    return AuditCase(
        name="mean and variance, Laplace noise",
        family=COMPOSED_FAMILY,
        n_trials=PROTOCOL_TRIALS,
        epsilon=_total([statistic.guarantee for statistic in drawn], 0.0),
        delta=0.0,
        sees=_SEES_ALL_RESULTS,
        sampler_d=sampler(values),
        sampler_d_prime=sampler(values_prime),
        statistic=laplace_ratio(exact, exact_prime, scales),
        neighbours="One person's value drops from the upper bound to the lower one; all others "
        "are there.",
    )


def _total(guarantees: Sequence[Guarantee], delta: float) -> float:
    """Return the accountant's total of these releases from one data set."""
    accountant = Accountant(_DATASET)
    for index, guarantee in enumerate(guarantees):
        accountant.charge(
            Charge(
                Release.of(guarantee, key=str(index), label=guarantee.mechanism, dataset=_DATASET)
            )
        )
    return accountant.total(delta)


def _components(
    moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition
) -> tuple[FloatArray, Guarantee, float]:
    """Return the matrix that a pooled release with K = D determines, guarantee and sigma."""
    released = protocol("pooled").release(
        Draw(moments, settings, repetition, proxies=False, average=False)
    )
    return rebuild_matrix(released), released.guarantee, float(released.sigma[0])


def _worst_moments() -> tuple[SiteMoments, SiteMoments]:
    at_both = (embed_row(axis) for axis in np.eye(_COMPOSED_D)[:2])
    first, second = (site_moments(rows, (np.arange(len(rows)),)) for rows in at_both)
    return first, second
