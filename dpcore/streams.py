"""Streams of random numbers: seeded ones keyed by identity, secret ones that nobody can foresee.

A stream's identity is (seed, purpose, further integers such as repetition and site). Two
different identities give independent streams, and one identity gives the same numbers whether
it is drawn alone, inside a sweep, or on another worker. Nothing is ever seeded by adding to a
seed: with such seeds, site 1 of repetition 0 and site 0 of repetition 1 share their noise.

No stream may serve two releases: from A + s E and A + t E anybody can solve for A. What is
released for people takes its root from `root_of_release`, which is another for every epsilon.
The laboratory holds a `Repetition` while epsilon moves, so that curves are smooth. It can, for its
data are public and its seed is shown; such results are no releases that could be added up.

A seed that somebody gives draws from NumPy's PCG64, whose state can be worked out from its draws.
Where nobody gives one, the root is secret and its streams are cryptographic.

NumPy's PCG64 is no cryptographic generator: from some 64 of its outputs its state can be worked out
(Bouillaguet, Martinez & Sauvage 2020), and with it all noise before and after. Whoever knows most
rows of a released matrix knows some of its noise. The words of a secret stream are SHAKE-256
(FIPS 202) of the key, what the stream is for, and a counter: who tells them from chance, or one
from others, breaks the hash. One identity under one key gives the same numbers, as with a seed.

Its numbers are made of words by the inverse of a distribution function wherever there is one, so
that each draw takes as many words, whatever it comes to.
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

# Random streams of which no draw tells another: SHAKE-256 under a key of 256 secret bits.

KEY_BITS = 256

_BLOCK_BYTES = 1 << 16

Size = int | Sequence[int] | None


class SecretRoot(int):
    """A root of streams that nobody has chosen, that is kept nowhere, and that does not print."""

    def __repr__(self) -> str:
        return "<not printed>"

    __str__ = __repr__


def secret_root() -> SecretRoot:
    """256 bits from the operating system."""
    return SecretRoot(secrets.randbits(KEY_BITS))


class SecretStream:
    """What of `numpy.random.Generator` draws noise here, from a cryptographic generator.

    It has the methods that mechanisms call, with their meaning, and no others; other numbers come
    out than of NumPy. It cannot be pickled or printed.

    Parameters
    ----------
    root : SecretRoot
        The key.
    identity : sequence of int
        What the stream is for: two identities give independent streams.
    """

    def __init__(self, root: SecretRoot, identity: Sequence[int] = ()):
        named = ",".join(str(int(each)) for each in identity)
        key = int(root).to_bytes(KEY_BITS // 8, "little")
        self._hash = shake_256(b"dpcore secret stream\0" + key + named.encode() + b"\0")
        self._counter = 0
        self._left = np.empty(0, dtype=np.uint64)
        self._process_id = os.getpid()

    def __reduce__(self) -> Any:
        raise TypeError("a secret stream is not to be saved or sent")

    def words(self, count: int) -> AnyArray:
        """Return independent uniform numbers below 2^64, uint64 of shape (count,).

        Raises `RuntimeError` in a forked process, where parent and child would draw the same noise.
        """
        if os.getpid() != self._process_id:
            raise RuntimeError("a secret stream must be used by the process that made it")
        parts, n_words = [self._left], len(self._left)
        while n_words < count:
            block = self._hash.copy()
            block.update(self._counter.to_bytes(16, "little"))
            self._counter += 1
            parts.append(np.frombuffer(block.digest(_BLOCK_BYTES), dtype="<u8").astype(np.uint64))
            n_words += len(parts[-1])
        together = np.concatenate(parts) if len(parts) > 1 else parts[0]
        self._left = together[count:]
        return together[:count].copy()

    def bytes(self, length: int) -> bytes:
        """So many random bytes."""
        return self.words(-(-length // 8)).tobytes()[:length]

    def random(self, size: Size = None) -> Any:
        """Uniform on [0, 1), in steps of 2^-53."""
        return _of(self.words(_count(size)) >> np.uint64(11), size, lambda w: w * 2.0**-53)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Size = None) -> Any:
        """Uniform on [low, high)."""
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: Size = None, dtype: DTypeLike = np.float64) -> Any:
        """N(0, 1), by the inverse of its distribution function at either end."""
        drawn = _of(self.words(_count(size)), size, lambda w: _signs(w) * -ndtri(_open(w) / 2))
        return drawn if size is None else drawn.astype(dtype, copy=False)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Size = None) -> Any:
        """N(loc, scale^2)."""
        return loc + scale * self.standard_normal(size)

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: Size = None) -> Any:
        """Density proportional to exp(-|x - loc| / scale)."""
        drawn = _of(self.words(_count(size)), size, lambda w: _signs(w) * -np.log(_open(w)))
        return loc + scale * drawn

    def standard_gamma(self, shape: float, size: Size = None) -> Any:
        """Gamma(shape, 1), by the inverse at the end that is nearer."""

        def quantile(words: AnyArray) -> FloatArray:
            half = _open(words) / 2
            upper = (words & np.uint64(1)).astype(bool)
            found: FloatArray = np.where(upper, gammainccinv(shape, half), gammaincinv(shape, half))
            return found

        return _of(self.words(_count(size)), size, quantile)

    def integers(self, high: int, *, size: Size = None, dtype: DTypeLike = np.int64) -> Any:
        """Uniform whole numbers from 0 to high - 1; high is at most 2^64."""
        # Words beyond the last multiple of high are drawn again.
        beyond = (1 << 64) - (1 << 64) % high
        words = self.words(_count(size))
        while beyond < 1 << 64 and (again := np.flatnonzero(words >= np.uint64(beyond))).size:
            words[again] = self.words(again.size)
        if high < 1 << 64:
            words %= np.uint64(high)
        return int(words[0]) if size is None else words.astype(dtype).reshape(size)

    def permutation(self, count: int) -> IntArray:
        """The whole numbers below `count` in random order."""
        return np.argsort(self.words(count), kind="stable")

    def vonmises(self, mu: ArrayLike, kappa: ArrayLike) -> FloatArray:
        """Angles of density proportional to exp(kappa cos(x - mu)), by Best & Fisher (1979)."""
        mu, kappa = np.broadcast_arrays(*np.atleast_1d(mu, kappa))
        # At 0 the proposal below is uniform, as it is next to it.
        k = np.maximum(kappa.ravel(), 1e-12)
        root = np.hypot(1, 2 * k)
        rho = 2 * k / ((root + 1) * (1 + np.sqrt(2 / (1 + root))))
        # Their s less 1, and 1 - cos of the angle: what is small where kappa is large.
        s_above = (1 - rho) ** 2 / (2 * rho)
        angle, left = np.empty(mu.size), np.arange(mu.size)
        while left.size:
            z, s = np.cos(math.pi * self.random(left.size)), s_above[left]
            less = s * (1 - z) / (s + 1 + z)
            y, u = k[left] * (s + less), _open(self.words(left.size))
            is_kept = (y * (2 - y) > u) | (np.log(y / u) + 1 - y >= 0)
            angle[left[is_kept]] = 2 * np.arcsin(np.sqrt(np.clip(less[is_kept] / 2, 0, 1)))
            left = left[~is_kept]
        signed = _signs(self.words(mu.size)) * angle + mu.ravel()
        wrapped: FloatArray = np.remainder(signed + math.pi, 2 * math.pi) - math.pi
        return wrapped.reshape(mu.shape)


def _count(size: Size) -> int:
    return 1 if size is None else math.prod(np.atleast_1d(size).tolist())


def _of(words: AnyArray, size: Size, make: Any) -> Any:
    made = make(words)
    return float(made[0]) if size is None else made.reshape(size)


def _open(words: AnyArray) -> FloatArray:
    """Uniform on (0, 1]: all bits but the last, which is left for a sign."""
    return ((words >> np.uint64(1)) + 0.5) * 2.0**-63


def _signs(words: AnyArray) -> FloatArray:
    return 1.0 - 2.0 * (words & np.uint64(1))


# Random streams keyed by what they are for.


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
    ASSESSMENT = 15  # probes of what is told of a release; they protect nobody
    QUIZ = 16  # in which order a quiz is asked, and its rows are written


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
