"""Random streams keyed by what they are for.

A stream's identity is (seed, purpose, further integers such as repetition and site). Two
different identities give independent streams, and one identity gives the same numbers whether
it is drawn alone, inside a sweep, or on another worker. Nothing is ever seeded by adding to a
seed: with such seeds, site 1 of repetition 0 and site 0 of repetition 1 share their noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream is drawn for. The numbers are part of every result: never renumber."""

    SAMPLE = 0  # which people take part
    SPLIT = 1  # who is held by which site
    SITE_NOISE = 2  # the noise one site adds
    POOLED_NOISE = 3  # the noise a trusted aggregator adds
    MASK = 4  # zero-sum masks shared by the sites (CAPE)
    PREPARATION = 5  # the private mean
    SUBSPACE = 6  # a random or sampled subspace (random floor, PPCA)
    DATA = 7  # synthetic data
    ROUNDING = 8  # dithered rounding of messages
    TRAINING = 9  # classifiers
    STATISTIC = 10  # mean, variance, histogram
    AUDIT = 11  # attacks on a mechanism


def stream(seed: int, purpose: Purpose, *identity: int) -> np.random.Generator:
    """The generator that belongs to (seed, purpose, *identity).

    Parameters
    ----------
    seed : int
        Non-negative root of all streams of an experiment.
    purpose : Purpose
    *identity : int
        Non-negative integers, for example repetition and site.
    """
    return np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(int(purpose), *map(int, identity)))
    )


@dataclass(frozen=True)
class Repetition:
    """One repetition of an experiment, as a source of its streams."""

    seed: int
    index: int = 0

    def rng(self, purpose: Purpose, *identity: int) -> np.random.Generator:
        return stream(self.seed, purpose, self.index, *identity)
