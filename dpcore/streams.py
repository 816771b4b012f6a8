"""Streams of random numbers, keyed by identity: seeded ones, and secret cryptographic ones.

The identity of a stream is (seed, purpose, further integers such as repetition and site). Two
different identities give independent streams. One identity gives the same numbers in a single run,
in a sweep and on another worker. Seeds are never derived by addition: with such seeds, site 1 of
repetition 0 and site 0 of repetition 1 would share their noise.

No stream may be used for two releases, since A + s E and A + t E determine A. Real releases take
their root from `root_of_release`, which differs for every epsilon. A simulation keeps one
`Repetition` while epsilon changes, so curves are smooth. This is possible because its data are
public and its seed is displayed; such results are not releases that compose.

A given seed uses NumPy's PCG64. Its state can be computed from about 64 outputs (Bouillaguet,
Martinez & Sauvage 2020), and an adversary who knows most rows knows some of the noise. Without a
seed, the root is secret and its streams are cryptographic: their words are SHAKE-256 (FIPS 202) of
the key, the identity and a counter. Distinguishing them from uniform words breaks the hash. One
identity under one key gives the same numbers, as with a seed.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from hashlib import blake2b, shake_256
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.special import gammainccinv, gammaincinv, ndtri

from dpcore.arrays import AnyArray, FloatArray, IntArray

KEY_BITS = 256

_BLOCK_BYTES = 1 << 16

Size = int | Sequence[int] | None


class SecretRoot(int):
    """Root of secret streams; never stored and not printed."""

    def __repr__(self) -> str:
        return "<not printed>"

    __str__ = __repr__


def secret_root() -> SecretRoot:
    """Return 256 random bits from the operating system."""
    return SecretRoot(secrets.randbits(KEY_BITS))


class SecretStream:
    """Cryptographic generator with the methods of `numpy.random.Generator` that draw noise.

    The distributions are those of NumPy, the numbers are not. Words are converted by inverse
    distribution functions where these exist, so that the number of words per draw does not depend
    on the drawn value. A stream cannot be pickled or printed.

    Parameters
    ----------
    root : SecretRoot
        Key of the stream.
    identity : sequence of int
        Purpose and indices: two identities give independent streams.
    """

    def __init__(self, root: SecretRoot, identity: Sequence[int] = ()):
        name = ",".join(str(int(number)) for number in identity)
        key = int(root).to_bytes(KEY_BITS // 8, "little")
        self._hash = shake_256(b"dpcore secret stream\0" + key + name.encode() + b"\0")
        self._counter = 0
        self._unused = np.empty(0, dtype=np.uint64)
        self._process_id = os.getpid()

    def __reduce__(self) -> Any:
        raise TypeError("a secret stream cannot be saved or sent")

    def words(self, count: int) -> AnyArray:
        """Return independent uniform numbers below 2^64, uint64 of shape (count,).

        Raises `RuntimeError` in a forked process, where parent and child would draw the same noise.
        """
        if os.getpid() != self._process_id:
            raise RuntimeError("a secret stream must be used by the process that made it")
        parts, n_words = [self._unused], len(self._unused)
        while n_words < count:
            block = self._hash.copy()
            block.update(self._counter.to_bytes(16, "little"))
            self._counter += 1
            parts.append(np.frombuffer(block.digest(_BLOCK_BYTES), dtype="<u8").astype(np.uint64))
            n_words += len(parts[-1])
        available = np.concatenate(parts) if len(parts) > 1 else parts[0]
        self._unused = available[count:]
        return available[:count].copy()

    def bytes(self, length: int) -> bytes:
        """Return `length` random bytes."""
        return self.words(-(-length // 8)).tobytes()[:length]

    def random(self, size: Size = None) -> Any:
        """Draw from the uniform distribution on [0, 1), in steps of 2^-53."""
        return _convert(self.words(_count(size)) >> np.uint64(11), size, lambda w: w * 2.0**-53)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Size = None) -> Any:
        """Draw from the uniform distribution on [low, high)."""
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: Size = None, dtype: DTypeLike = np.float64) -> Any:
        """Draw from N(0, 1), by the inverse distribution function at either end."""
        words = self.words(_count(size))
        values = _convert(words, size, lambda w: _signs(w) * -ndtri(_open(w) / 2))
        return values if size is None else values.astype(dtype, copy=False)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Size = None) -> Any:
        """Draw from N(loc, scale^2)."""
        return loc + scale * self.standard_normal(size)

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: Size = None) -> Any:
        """Draw with density proportional to exp(-|x - loc| / scale)."""
        values = _convert(self.words(_count(size)), size, lambda w: _signs(w) * -np.log(_open(w)))
        return loc + scale * values

    def standard_gamma(self, shape: float, size: Size = None) -> Any:
        """Draw from Gamma(shape, 1), by the inverse at the nearer end."""

        def quantile(words: AnyArray) -> FloatArray:
            half = _open(words) / 2
            upper = (words & np.uint64(1)).astype(bool)
            values: FloatArray = np.where(
                upper, gammainccinv(shape, half), gammaincinv(shape, half)
            )
            return values

        return _convert(self.words(_count(size)), size, quantile)

    def integers(self, high: int, *, size: Size = None, dtype: DTypeLike = np.int64) -> Any:
        """Draw uniform integers from 0 to high - 1; high is at most 2^64."""
        # Words from the last multiple of high on are rejected and drawn again.
        limit = (1 << 64) - (1 << 64) % high
        words = self.words(_count(size))
        while limit < 1 << 64 and (again := np.flatnonzero(words >= np.uint64(limit))).size:
            words[again] = self.words(again.size)
        if high < 1 << 64:
            words %= np.uint64(high)
        return int(words[0]) if size is None else words.astype(dtype).reshape(size)

    def permutation(self, count: int) -> IntArray:
        """Return the integers below `count` in random order."""
        return np.argsort(self.words(count), kind="stable")

    def vonmises(self, mu: ArrayLike, kappa: ArrayLike) -> FloatArray:
        """Draw angles with density proportional to exp(kappa cos(x - mu)) (Best & Fisher 1979)."""
        mu, kappa = np.broadcast_arrays(*np.atleast_1d(mu, kappa))
        # The limit replaces kappa = 0, where rho is not defined; the proposal is uniform.
        k = np.maximum(kappa.ravel(), 1e-12)
        root = np.hypot(1, 2 * k)
        rho = 2 * k / ((root + 1) * (1 + np.sqrt(2 / (1 + root))))
        # s - 1 and 1 - cos(angle) are used because both are small for large kappa.
        s_above = (1 - rho) ** 2 / (2 * rho)
        angle, pending = np.empty(mu.size), np.arange(mu.size)
        while pending.size:
            z, s = np.cos(math.pi * self.random(pending.size)), s_above[pending]
            less = s * (1 - z) / (s + 1 + z)
            y, u = k[pending] * (s + less), _open(self.words(pending.size))
            accepted = (y * (2 - y) > u) | (np.log(y / u) + 1 - y >= 0)
            angle[pending[accepted]] = 2 * np.arcsin(np.sqrt(np.clip(less[accepted] / 2, 0, 1)))
            pending = pending[~accepted]
        signed = _signs(self.words(mu.size)) * angle + mu.ravel()
        wrapped: FloatArray = np.remainder(signed + math.pi, 2 * math.pi) - math.pi
        return wrapped.reshape(mu.shape)


def _count(size: Size) -> int:
    return 1 if size is None else math.prod(np.atleast_1d(size).tolist())


def _convert(words: AnyArray, size: Size, function: Any) -> Any:
    values = function(words)
    return float(values[0]) if size is None else values.reshape(size)


def _open(words: AnyArray) -> FloatArray:
    """Return uniform numbers on (0, 1] from all bits except the last, which gives the sign."""
    return ((words >> np.uint64(1)) + 0.5) * 2.0**-63


def _signs(words: AnyArray) -> FloatArray:
    return 1.0 - 2.0 * (words & np.uint64(1))


class Purpose(IntEnum):
    """Purpose of a stream. The numbers are part of every result: never renumber."""

    SAMPLE = 0  # selection of rows
    SPLIT = 1  # assignment of rows to sites
    SITE_NOISE = 2  # noise of one site
    POOLED_NOISE = 3  # noise of a trusted aggregator
    MASK = 4  # zero-sum masks shared by the sites (CAPE)
    PREPARATION = 5  # the private mean
    SUBSPACE = 6  # a random or sampled subspace (random floor, PPCA)
    DATA = 7  # synthetic data
    ROUNDING = 8  # dithered rounding of messages
    TRAINING = 9  # classifiers
    STATISTIC = 10  # mean, variance, histogram
    AUDIT = 11  # attacks on a mechanism
    ORDER = 12  # order of sites in a sequential protocol
    DROP_OUT = 13  # sites that do not answer
    SUMMANDS = 14  # summands of the sites of a secure sum
    ASSESSMENT = 15  # probes of the assessment; no privacy depends on them
    QUIZ = 16  # order of questions and rows in a quiz
    VOTES = 17  # votes of pairs on the centre of the rows


def stream(seed: int, purpose: Purpose, *identity: int) -> np.random.Generator:
    """Return the generator of (seed, purpose, *identity).

    seed: Nonnegative root of all streams of an experiment. A `SecretRoot` gives a cryptographic
        generator (`SecretStream`).
    *identity: Nonnegative integers, for example repetition and site.
    """
    if isinstance(seed, SecretRoot):
        return cast(np.random.Generator, SecretStream(seed, (purpose, *identity)))
    # Equal to SeedSequence(seed, spawn_key=...) in half of its time, which matters for small
    # releases.
    words = _words(int(seed))
    words += [0] * (_POOL - len(words))
    for key in (purpose, *identity):
        words += _words(int(key))
    return np.random.default_rng(np.random.SeedSequence(np.array(words, np.uint32)))


# Number of 32-bit words in the pool of a SeedSequence. A shorter seed is padded before the key.
_POOL = 4


def _words(number: int) -> list[int]:
    words = []
    while number >> 32 > 0:
        words.append(number & 0xFFFFFFFF)
        number >>= 32
    return [*words, number]


# Metadata key of dataclass fields that do not affect the noise, so they are no part of a root.
AFTER_THE_NOISE = "after the noise"


def root_of_release(seed: int, *released_with: object) -> int:
    """Return the root of all streams of one release.

    The root is a hash of the seed and of everything that is released with the noise, so no two
    different releases share a stream. Two calls that are meant to use the same noise must omit the
    values in which they differ. The hash is one-way: the root of one release reveals neither the
    seed nor the root of another release.

    seed: Nonnegative seed; a `SecretRoot` gives a `SecretRoot`.
    *released_with: Public settings, counts and names as numbers, strings, None, or tuples and
        dataclasses of these; never values read from the rows. Equal numbers of different types
        give the same root.

    Returns 256 bits.
    """
    identity = repr((int(seed), [_canonical(part) for part in released_with]))
    root = int.from_bytes(blake2b(identity.encode(), digest_size=32).digest(), "little")
    return SecretRoot(root) if isinstance(seed, SecretRoot) else root


def _canonical(part: object) -> object:
    if is_dataclass(part):
        return [
            (entry.name, _canonical(getattr(part, entry.name)))
            for entry in fields(part)
            if not entry.metadata.get(AFTER_THE_NOISE)
        ]
    if isinstance(part, tuple | list):
        return [_canonical(element) for element in part]
    return float(part).hex() if isinstance(part, Real) else repr(part)


@dataclass(frozen=True)
class Repetition:
    """Source of the streams of one repetition of an experiment.

    A repetition draws the same unit noise at every epsilon.
    """

    seed: int
    index: int = 0

    def rng(self, purpose: Purpose, *identity: int) -> np.random.Generator:
        """Return the generator of a purpose and further identity, such as the site."""
        return stream(self.seed, purpose, self.index, *identity)
