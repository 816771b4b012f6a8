"""Random streams keyed by what they are for.

A stream's identity is (seed, purpose, further integers such as repetition and site). Two
different identities give independent streams, and one identity gives the same numbers whether
it is drawn alone, inside a sweep, or on another worker. Nothing is ever seeded by adding to a
seed: with such seeds, site 1 of repetition 0 and site 0 of repetition 1 share their noise.

No stream may serve two releases: from A + s E and A + t E anybody can solve for A. What is
released for people takes its root from `root_of_release`, which is another for every epsilon.
The laboratory holds a `Repetition` while epsilon moves, so that curves are smooth. It can, for its
data are public and its seed is shown; such results are no releases that could be added up.

A seed that somebody gives draws from NumPy's PCG64, whose state can be worked out from its draws.
Where nobody gives one, the root is secret and its streams are cryptographic
(`dpcore.secret_streams`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from hashlib import blake2b
from numbers import Real
from typing import cast

import numpy as np

from dpcore.secret_streams import SecretRoot, SecretStream


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
    ORDER = 12  # in which order sites hand on
    DROP_OUT = 13  # which sites never answer
    SUMMANDS = 14  # what the sites of a secure sum add together


def stream(seed: int, purpose: Purpose, *identity: int) -> np.random.Generator:
    """The generator that belongs to (seed, purpose, *identity).

    seed: Non-negative root of all streams of an experiment. Of a `SecretRoot` the generator is a
        cryptographic one, which has the methods that draw noise.
    *identity: Non-negative integers, for example repetition and site.
    """
    if isinstance(seed, SecretRoot):
        return cast(np.random.Generator, SecretStream(seed, (purpose, *identity)))
    # What SeedSequence(seed, spawn_key=...) puts together itself, in twice the time; a release of
    # a few people's rows is not much longer.
    words = _words(int(seed))
    words += [0] * (_POOL - len(words))
    for key in (purpose, *identity):
        words += _words(int(key))
    return np.random.default_rng(np.random.SeedSequence(np.array(words, np.uint32)))


# Words of 32 bits in the pool of a SeedSequence; a shorter seed is filled up before a key follows.
_POOL = 4


def _words(number: int) -> list[int]:
    words = []
    while number >> 32 > 0:
        words.append(number & 0xFFFFFFFF)
        number >>= 32
    return [*words, number]


# Metadata of a dataclass's field that says nothing about the noise of what is released with it.
AFTER_THE_NOISE = "after the noise"


def root_of_release(seed: int, *released_with: object) -> int:
    """The root of all streams of one release.

    A hash of the seed and of everything that is released with the noise, so that no two releases
    share a stream, whatever both are asked for. Where two are meant to read the same noise, what
    they differ in is left out. The hash cannot be undone: whoever learns one release's root, or
    what was drawn from it, is no nearer to the seed or to any other release.

    seed: Non-negative.
    *released_with: numbers, strings, None, tuples and dataclasses of them. Public, all of it:
        settings, counts, names; never anything read from the rows. Equal numbers are one, whatever
        their type.
    Returns: 256 bits; a `SecretRoot` of one.
    """
    identity = repr((int(seed), [_spelled(part) for part in released_with]))
    root = int.from_bytes(blake2b(identity.encode(), digest_size=32).digest(), "little")
    return SecretRoot(root) if isinstance(seed, SecretRoot) else root


def _spelled(part: object) -> object:
    if is_dataclass(part):
        return [
            (each.name, _spelled(getattr(part, each.name)))
            for each in fields(part)
            if not each.metadata.get(AFTER_THE_NOISE)
        ]
    if isinstance(part, tuple | list):
        return [_spelled(each) for each in part]
    return float(part).hex() if isinstance(part, Real) else repr(part)


@dataclass(frozen=True)
class Repetition:
    """One repetition of an experiment, as a source of its streams.

    The same repetition at another epsilon draws the same unit noise.
    """

    seed: int
    index: int = 0

    def rng(self, purpose: Purpose, *identity: int) -> np.random.Generator:
        return stream(self.seed, purpose, self.index, *identity)
