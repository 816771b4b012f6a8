"""Scores of an audit: releases drawn under two neighbours, and a statistic that tells them apart.

Both data sets get the same random numbers, batch by batch (`dpcore.privacy.audit` says why).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.privacy.audit import AuditCase, AuditResult, Sampler, Statistic, judge
from dpcore.privacy.audit_bounds import BATCH

FEWEST_TRIALS = 200
# Releases held in memory at once while a score is learnt.
_TRAINING_BATCH = 2_000


def audit(
    case: AuditCase,
    *,
    n_trials: int | None = None,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> AuditResult:
    """Attack a mechanism.

    n_trials: Releases under each of D and D', at least 200; as many as the case asks for by
        default. Half of them train the score where the case brings none.
    confidence: In [0.5, 1): the chance that a bound is below the true epsilon; at least that for
        the exact ones, about that for `epsilon_gdp`.
    Raises `ParameterError` if `n_trials` or `confidence` is out of range.
    """
    n_trials = case.n_trials if n_trials is None else n_trials
    if not n_trials >= FEWEST_TRIALS:
        raise ParameterError("n_trials", f"at least {FEWEST_TRIALS}", n_trials)
    if not 0.5 <= confidence < 1:
        raise ParameterError("confidence", "in [0.5, 1)", confidence)
    statistic, n_scored = case.statistic, n_trials
    if statistic is None:
        n_scored = n_trials - n_trials // 2
        statistic = learn_discriminant(case, n_trials // 2, rng=rng)
    d, d_prime = paired_scores(case, statistic, n_scored, rng=rng)
    return judge(case, d, d_prime, n_trials=n_trials, confidence=confidence)


def paired_scores(
    case: AuditCase, statistic: Statistic, n_trials: int, *, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Scores of `n_trials` releases under D and of as many under D', each of shape (n_trials,).

    Every `BATCH` of them start from a seed of their own, the same for both data sets.
    """
    batches = []
    for n in _batches(n_trials, BATCH):
        seed = int(rng.integers(2**63))
        batches.append(
            [
                statistic(sampler(np.random.default_rng(seed), n))
                for sampler in (case.sampler_d, case.sampler_d_prime)
            ]
        )
    d, d_prime = (np.concatenate(scores) for scores in zip(*batches, strict=True))
    return d, d_prime


def learn_discriminant(case: AuditCase, n_trials: int, *, rng: np.random.Generator) -> Statistic:
    """A linear score, learnt: entries that differ, weighted by difference over variance.

    Entries are taken as uncorrelated, and those whose difference could be chance among so many
    are left out: worst neighbours move few of them, and the others would drown the score.
    """
    (mean, variance), (mean_prime, variance_prime) = (
        _moments(sampler, n_trials, rng) for sampler in (case.sampler_d, case.sampler_d_prime)
    )
    difference = mean - mean_prime
    pooled = (variance + variance_prime) / 2
    # Entries without noise get a huge weight and not an infinite one.
    pooled = np.maximum(pooled, 1e-20 * max(pooled.max(), np.square(difference).max(), 1e-300))
    evidence = np.abs(difference) * np.sqrt(n_trials / (2 * pooled))
    chance = min(math.sqrt(2 * math.log(evidence.size + 1)), evidence.max())
    weights = np.where(evidence >= chance, difference / pooled, 0.0)
    return lambda releases: releases.reshape(len(releases), -1) @ weights


def _batches(n_trials: int, size: int) -> Iterator[int]:
    while n_trials > 0:
        yield min(n_trials, size)
        n_trials -= size


def _moments(
    sampler: Sampler, n_trials: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of every entry, about the first release to spare digits."""
    batches = (sampler(rng, n).reshape(n, -1) for n in _batches(n_trials, _TRAINING_BATCH))
    first = next(batches)
    origin, total, squares = first[0], np.zeros_like(first[0]), np.zeros_like(first[0])
    for batch in chain((first,), batches):
        releases = batch - origin
        total = total + np.sum(releases, axis=0)
        squares = squares + np.sum(np.square(releases), axis=0)
    mean = total / n_trials
    return origin + mean, np.maximum(squares / n_trials - mean**2, 0.0)
