"""Several releases about the same people, to be audited: what the ledger adds up to is the claim.

Every release has noise of its own. The attack weighs them as their joint likelihood ratio does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.audit.pca_cases import rebuilt
from dpcore.experiments.audit.worst_neighbours import (
    BUDGET,
    PROTOCOL_TRIALS,
    TURN,
    along,
    among_others,
    laplace_ratio,
    one_by_one,
)
from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca.protocols.register import protocol
from dpcore.privacy import Guarantee, Ledger, Release
from dpcore.privacy.audit import AuditCase, Sampler
from dpcore.spectra import SiteMoments, site_moments
from dpcore.statistics import PrivateStatistic, private_mean, private_variance
from dpcore.streams import Purpose, Repetition

FAMILY = "Composed releases"
_DATASET = "audit"
_D = 3
_SETTINGS = ReleaseSettings(BUDGET, _D, _D, truncation="svd")
_EVERYTHING = "all results"


def composed_cases() -> tuple[AuditCase, ...]:
    """Gaussian with Gaussian, which add up exactly; with Laplace; and Laplace with Laplace."""
    return (
        components_case("components twice", (1.0, 1.0)),
        components_case("components at two epsilons", (0.5, 1.0)),
        components_and_mean_case(),
        mean_and_variance_case("gaussian"),
        mean_and_variance_case("laplace"),
    )


def components_case(name: str, epsilons: Sequence[float]) -> AuditCase:
    """All components of everybody's rows, once for each epsilon."""
    settings = [replace(_SETTINGS, budget=replace(BUDGET, epsilon=each)) for each in epsilons]
    moments, moments_prime = _worst_moments()

    def sampler(moments: SiteMoments) -> Sampler:
        return one_by_one(
            lambda repetition: np.stack(
                [
                    _components(moments, each, replace(repetition, index=index))[0]
                    for index, each in enumerate(settings)
                ]
            )
        )

    guarantees, sigmas = zip(
        *(_components(moments, each, Repetition(0))[1:] for each in settings), strict=True
    )
    score = along(moments.second_moments[0] - moments_prime.second_moments[0])
    weights = np.array(sigmas) ** -2.0
    return AuditCase(
        name=name,
        family=FAMILY,
        n_trials=PROTOCOL_TRIALS,
        epsilon=_total(guarantees, BUDGET.delta),
        delta=BUDGET.delta,
        sees=_EVERYTHING,
        sampler_d=sampler(moments),
        sampler_d_prime=sampler(moments_prime),
        statistic=lambda releases: score(np.tensordot(releases, weights, axes=(1, 0))),
        is_gaussian=True,
        neighbours=TURN,
    )


def components_and_mean_case() -> AuditCase:
    """All components under Gaussian noise, and one column's mean under Laplace noise.

    The turn moves both as far as one person can: the column's value falls from 1 to 0.
    """
    # The others' lower half lies outside the bounds, so that clipping has its part.
    rows, rows_prime = (among_others(axis) for axis in np.eye(_D)[:2])
    exact, exact_prime = (np.clip(data[:, 0], 0.0, 1.0).mean() for data in (rows, rows_prime))
    moments, moments_prime = _worst_moments()

    def mean(rows: FloatArray, epsilon: float, rng: np.random.Generator) -> PrivateStatistic:
        return private_mean(rows[:, 0], bounds=(0.0, 1.0), epsilon=epsilon, rng=rng)

    def sampler(moments: SiteMoments, rows: FloatArray) -> Sampler:
        def both(repetition: Repetition) -> FloatArray:
            matrix = _components(moments, _SETTINGS, repetition)[0]
            rng = repetition.rng(Purpose.STATISTIC)
            return np.append(matrix.ravel(), mean(rows, BUDGET.epsilon, rng).value)

        return one_by_one(both)

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
        family=FAMILY,
        n_trials=PROTOCOL_TRIALS,
        epsilon=_total((guarantee, released.guarantee), BUDGET.delta),
        delta=BUDGET.delta,
        sees=_EVERYTHING,
        sampler_d=sampler(moments, rows),
        sampler_d_prime=sampler(moments_prime, rows_prime),
        statistic=likelihood_ratio,
        neighbours=TURN,
    )


def mean_and_variance_case(mechanism: str, *, n: int = 50) -> AuditCase:
    """Of one column, each from a stream of its own.

    One person at the upper bound and all others at the lower one: both statistics move as far as
    one person can move them.
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
                mechanism=mechanism,
                rng=repetition.rng(Purpose.STATISTIC, index),
            )
            for index, function in enumerate(functions)
        ]

    def sampler(values: FloatArray) -> Sampler:
        return one_by_one(
            lambda repetition: np.array(
                [float(each) for each in released(values, BUDGET.epsilon, repetition)]
            )
        )

    exact, exact_prime = (
        np.array([float(each) for each in released(data, math.inf, Repetition(0))])
        for data in (values, values_prime)
    )
    drawn = released(values, BUDGET.epsilon, Repetition(0))
    scales = np.array([each.noise_scale for each in drawn])
    is_gaussian = mechanism == "gaussian"
    delta = BUDGET.delta if is_gaussian else 0.0
    return AuditCase(
        name=f"mean and variance, {mechanism.capitalize()} noise",
        family=FAMILY,
        n_trials=PROTOCOL_TRIALS,
        epsilon=_total([each.guarantee for each in drawn], delta),
        delta=delta,
        sees=_EVERYTHING,
        sampler_d=sampler(values),
        sampler_d_prime=sampler(values_prime),
        statistic=along((exact - exact_prime) / scales**2)
        if is_gaussian
        else laplace_ratio(exact, exact_prime, scales),
        is_gaussian=is_gaussian,
        neighbours="One person's value drops from the upper bound to the lower one; all others "
        "are there.",
    )


def _total(guarantees: Sequence[Guarantee], delta: float) -> float:
    """What a ledger says of these releases about one data set, all draws different."""
    ledger = Ledger()
    for index, guarantee in enumerate(guarantees):
        ledger = ledger.add(
            Release.of(guarantee, key=str(index), label=guarantee.mechanism, dataset=_DATASET)
        )
    return ledger.spent_by_person(_DATASET).epsilon(delta)


def _components(
    moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition
) -> tuple[FloatArray, Guarantee, float]:
    """The matrix that a pooled release with K = D gives back, its guarantee and its sigma."""
    released = protocol("pooled").release(
        Draw(moments, settings, repetition, proxies=False, average=False)
    )
    return rebuilt(released), released.guarantee, float(released.sigma[0])


def _worst_moments() -> tuple[SiteMoments, SiteMoments]:
    at_both = (among_others(axis) for axis in np.eye(_D)[:2])
    first, second = (site_moments(rows, (np.arange(len(rows)),)) for rows in at_both)
    return first, second
