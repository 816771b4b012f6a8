"""Data sets on which mechanisms do worst, and the scores that tell them apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypedDict, TypeVar

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.privacy import Adversary, Guarantee, PrivacyBudget
from dpcore.privacy.audit import AuditCase, Sampler, Statistic
from dpcore.streams import Repetition

Data = TypeVar("Data")

DISTRIBUTED = "Distributed PCA"
N_SAMPLES = 50
BUDGET = PrivacyBudget(1.0, 0.01)
# Of releases that take a quarter of a millisecond each, a run of a whole protocol.
PROTOCOL_TRIALS = 5_000
TURN = "One person's row turns from the first axis to the second."
RESULT_AND_OWN_ROWS = "the result and its own rows"
RESULT_AND_OWN_NOISE = "the result, its own rows and its own noise"
PRIVATE_MEAN = "private mean"
SPHERE = "sphere"


def epsilon_against(guarantee: Guarantee, adversary: Adversary) -> float:
    """What a guarantee says holds against this adversary.

    Where it names none, nobody but the reader of the result is there.
    """
    named = {entry.adversary: entry.epsilon for entry in guarantee.against}
    return named.get(adversary, math.inf) if named else guarantee.epsilon


class Claim(TypedDict):
    """The fields of a case that say against whom it claims what."""

    epsilon: float
    delta: float
    adversary: Adversary
    guarantee: Guarantee


def claim(guarantee: Guarantee, adversary: Adversary = Adversary.OUTSIDER) -> Claim:
    """What this guarantee claims against this adversary."""
    epsilon = epsilon_against(guarantee, adversary)
    return Claim(epsilon=epsilon, delta=guarantee.delta, adversary=adversary, guarantee=guarantee)


class Samplers(TypedDict):
    """The fields of a case that draw releases."""

    sampler_d: Sampler
    sampler_d_prime: Sampler


def under_both(
    draws: Callable[[Data, np.random.Generator, int], FloatArray], data: Data, data_prime: Data
) -> Samplers:
    """Releases of one mechanism on two neighbouring data sets."""
    return Samplers(sampler_d=partial(draws, data), sampler_d_prime=partial(draws, data_prime))


def seen_by(adversary: Adversary, sees: str, case: AuditCase) -> AuditCase:
    """The same attack by somebody else, to whom the guarantee may promise something else."""
    if case.guarantee is None:
        raise ValueError(f"{case.name} comes with no guarantee that names an adversary")
    return replace(case, sees=sees, **claim(case.guarantee, adversary))


def seen_by_a_site(case: AuditCase) -> AuditCase:
    """The same attack by a site that knows no more of the noise than anybody with the result."""
    return seen_by(Adversary.SITE, RESULT_AND_OWN_ROWS, case)


def worst_second_moments(n_features: int, n_samples: int) -> tuple[FloatArray, FloatArray]:
    """X^T X / n of two data sets that attain sqrt(2) / n: e_1 replaced by e_2, all else equal."""
    rest = np.full(n_features, (n_samples - 1) / n_samples / n_features)
    moments = []
    for axis in (0, 1):
        diagonal = rest.copy()
        diagonal[axis] += 1 / n_samples
        moments.append(np.diag(diagonal))
    return moments[0], moments[1]


def among_others(row: FloatArray, *, pairs: int = 8) -> FloatArray:
    """Rows of which `row` is the first, and the others lie evenly along all axes, either way.

    Their mean is zero: a moment centred around it keeps all its directions above the noise.
    """
    axes = np.repeat(np.eye(len(row)), pairs, axis=0)
    return np.vstack([row, axes, -axes])


def along(difference: FloatArray) -> Statistic:
    """Projection on the change: the log-likelihood ratio of isometric noise, up to scale.

    Of triangle noise too where the change lies on the diagonal.
    """
    return lambda releases: releases.reshape(len(releases), -1) @ difference.ravel()


def capped(log_ratio: FloatArray) -> FloatArray:
    """Log-likelihood ratios of a pure promise, which take their largest value often.

    Rounding errors would set equal ones apart, and a threshold between them.
    """
    return np.round(log_ratio, 9)


def laplace_ratio(exact: FloatArray, exact_prime: FloatArray, scale: FloatArray) -> Statistic:
    """Log-likelihood ratio of Laplace noise on each number of a release."""

    def score(releases: FloatArray) -> FloatArray:
        nearer = np.abs(releases - exact_prime) - np.abs(releases - exact)
        return capped(np.sum(nearer / scale, axis=1))

    return score


def one_by_one(release: Callable[[Repetition], FloatArray]) -> Sampler:
    """Releases of a protocol, each a repetition of its own."""
    return lambda rng, n: np.stack(
        [release(Repetition(int(seed))) for seed in rng.integers(2**63, size=n)]
    )
