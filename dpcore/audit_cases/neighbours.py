"""Worst neighbouring data sets, scores and claims that audit cases share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypedDict, TypeVar

import numpy as np
from scipy.special import log_ndtr

from dpcore.arrays import FloatArray
from dpcore.privacy import Adversary, Guarantee, PrivacyBudget
from dpcore.privacy.audit import AuditCase, Sampler, Statistic
from dpcore.streams import Repetition

Data = TypeVar("Data")

DISTRIBUTED = "Distributed PCA"
N_SAMPLES = 50
BUDGET = PrivacyBudget(1.0, 0.01)
# A release runs a whole protocol and takes about 0.25 ms.
PROTOCOL_TRIALS = 5_000
TURN = "One person's row turns from the first axis to the second."
RESULT_AND_OWN_ROWS = "the result and its own rows"
RESULT_AND_OWN_NOISE = "the result, its own rows and its own noise"
PRIVATE_MEAN = "private mean"
SPHERE = "sphere"


def epsilon_against(guarantee: Guarantee, adversary: Adversary) -> float:
    """Return the epsilon of a guarantee against this adversary.

    A guarantee that names no adversary holds against the reader of the result.
    """
    named = {entry.adversary: entry.epsilon for entry in guarantee.against}
    return named.get(adversary, math.inf) if named else guarantee.epsilon


class ClaimedGuarantee(TypedDict):
    """Fields of a case that state the claim and the adversary."""

    epsilon: float
    delta: float
    adversary: Adversary
    guarantee: Guarantee


def claim(guarantee: Guarantee, adversary: Adversary = Adversary.OUTSIDER) -> ClaimedGuarantee:
    """Return the claim of a guarantee against an adversary as fields of a case."""
    epsilon = epsilon_against(guarantee, adversary)
    return ClaimedGuarantee(
        epsilon=epsilon, delta=guarantee.delta, adversary=adversary, guarantee=guarantee
    )


class Samplers(TypedDict):
    """Fields of a case that draw releases."""

    sampler_d: Sampler
    sampler_d_prime: Sampler


def make_samplers(
    draws: Callable[[Data, np.random.Generator, int], FloatArray], data: Data, data_prime: Data
) -> Samplers:
    """Return the samplers of one mechanism on two neighbouring data sets."""
    return Samplers(sampler_d=partial(draws, data), sampler_d_prime=partial(draws, data_prime))


def with_adversary(adversary: Adversary, sees: str, case: AuditCase) -> AuditCase:
    """Return the same attack by another adversary, with the claim against that adversary."""
    if case.guarantee is None:
        raise ValueError(f"{case.name} comes with no guarantee that names an adversary")
    return replace(case, sees=sees, **claim(case.guarantee, adversary))


def with_site_adversary(case: AuditCase) -> AuditCase:
    """Return the same attack by a site that adds no noise of its own."""
    return with_adversary(Adversary.SITE, RESULT_AND_OWN_ROWS, case)


def worst_second_moments(n_features: int, n_samples: int) -> tuple[FloatArray, FloatArray]:
    """Return X^T X / n of two data sets that attain sqrt(2) / n: row e_1 is replaced by row e_2."""
    rest = np.full(n_features, (n_samples - 1) / n_samples / n_features)
    moments = []
    for axis in (0, 1):
        diagonal = rest.copy()
        diagonal[axis] += 1 / n_samples
        moments.append(np.diag(diagonal))
    return moments[0], moments[1]


def embed_row(row: FloatArray) -> FloatArray:
    """Return rows of which `row` is the first and the others lie evenly along all axes.

    The other rows have mean zero and keep all directions of the centred moment above the noise.
    """
    axes = np.repeat(np.eye(len(row)), 8, axis=0)
    return np.vstack([row, axes, -axes])


def projection_on(difference: FloatArray) -> Statistic:
    """Return the projection on the difference of two means.

    This is the log-likelihood ratio of isometric noise up to scale, and of triangle noise if the
    difference is diagonal.
    """
    return lambda releases: releases.reshape(len(releases), -1) @ difference.ravel()


def log_ratio_of_rounded(
    values: FloatArray,
    exact: FloatArray,
    exact_prime: FloatArray,
    deviations: FloatArray,
    step: float,
) -> FloatArray:
    """Return the log-likelihood ratios of rounded symmetric matrices whose dither is known.

    A received value v means that the noisy value lies in [v - step / 2, v + step / 2]. Its
    probability under each data set is that of Gaussian noise.

    values: shape (n, n_features, n_features)
    exact, exact_prime: Matrices under D and D', shape of `values` or of one matrix.
    deviations: shape (n_features, n_features). Standard deviation of the noise of each entry.
    step: Step of the rounding; 0 compares the densities of matrices that are not rounded.
    """
    upper = np.triu_indices(len(deviations))
    scales = deviations[upper]

    def log_probability(mean: FloatArray) -> FloatArray:
        # Both ends are mirrored to the lower tail. There, logarithms exist even of probabilities
        # below the smallest double.
        distances = -np.abs((values - mean)[:, *upper])
        if step == 0:
            densities: FloatArray = -((distances / scales) ** 2) / 2
            return densities
        near, far = (distances + step / 2) / scales, (distances - step / 2) / scales
        log_near = log_ndtr(near)
        logs: FloatArray = log_near + np.log1p(-np.exp(log_ndtr(far) - log_near))
        return logs

    ratios: FloatArray = (log_probability(exact) - log_probability(exact_prime)).sum(axis=1)
    return ratios


def round_ratio(log_ratio: FloatArray) -> FloatArray:
    """Round log-likelihood ratios of pure guarantees, which often attain their maximum.

    Rounding errors would separate equal values, and a threshold could lie between them.
    """
    return np.round(log_ratio, 9)


def laplace_ratio(exact: FloatArray, exact_prime: FloatArray, scale: FloatArray) -> Statistic:
    """Return the log-likelihood ratio of Laplace noise on each number of a release."""

    def score(releases: FloatArray) -> FloatArray:
        nearer = np.abs(releases - exact_prime) - np.abs(releases - exact)
        return round_ratio(np.sum((nearer / scale).reshape(len(releases), -1), axis=1))

    return score


def sample_one_by_one(release: Callable[[Repetition], FloatArray]) -> Sampler:
    """Return a sampler that draws each release as a separate repetition."""
    return lambda rng, n: np.stack(
        [release(Repetition(int(seed))) for seed in rng.integers(2**63, size=n)]
    )
