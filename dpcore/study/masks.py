"""Masks that each pair of sites agrees on and that cancel in the sum (Bonawitz and others 2017).

Each site has an X25519 key. A pair's shared secret and the name of what is masked give, by
HKDF-SHA256, the key of a ChaCha20 stream of numbers modulo 2^64, which the site that comes first in
the roster adds and the other takes off. To whoever lacks one of a site's keys with somebody honest,
its message is uniform.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpcore.arrays import AnyArray, IntArray
from dpcore.releases.exact import rounded_normal


def public_key(own: X25519PrivateKey) -> str:
    """The public half, as it is written in a request."""
    return own.public_key().public_bytes_raw().hex()


def masked(
    numbers: IntArray,
    own: X25519PrivateKey,
    site: str,
    roster: Sequence[str],
    keys: Mapping[str, str],
    purpose: str,
    sigma: int | None = None,
) -> IntArray:
    """Numbers modulo 2^64 under the masks that a site shares with every other of a roster.

    Without a sigma a mask is uniform. With one it is a rounded Gaussian, as CAPE has it: what S
    sites share in pairs has the variance (S - 1) sigma^2 at each and sums to zero.

    numbers: ndarray of int64
    site: Whose key that is; in the roster.
    keys: Public keys of the roster.
    purpose: What is masked: of one purpose a pair has one mask, so it must never serve two
        messages.
    Raises `ValueError` if a public key is one that nothing secret can be agreed on with.
    """
    total: AnyArray = numbers.astype(np.int64).view(np.uint64).copy()
    place = list(roster).index(site)
    for other_place, other in enumerate(roster):
        if other_place == place:
            continue
        names = sorted((site, other), key=list(roster).index)
        info = "\0".join((purpose, *names)).encode()
        stream = _Stream(_agreed(own, keys[other], info))
        if sigma is None:
            mask = np.frombuffer(stream(8 * total.size), dtype="<u8").astype(np.uint64)
        else:
            mask = rounded_normal(total.size, sigma, entropy=stream).view(np.uint64)
        mask = mask.reshape(total.shape)
        total = total + mask if place < other_place else total - mask
    signed: IntArray = total.view(np.int64)
    return signed


def added_up(messages: Sequence[IntArray]) -> IntArray:
    """The sum modulo 2^64, between -2^63 and 2^63."""
    total = np.zeros(messages[0].shape, dtype=np.uint64)
    for message in messages:
        total += np.ascontiguousarray(message, np.int64).view(np.uint64)
    signed: IntArray = total.view(np.int64)
    return signed


def _agreed(own: X25519PrivateKey, other: str, info: bytes) -> bytes:
    secret = own.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(other)))
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)


class _Stream:
    """The bytes of a ChaCha20 stream, from its beginning on."""

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()

    def __call__(self, n_bytes: int) -> bytes:
        return self._encryptor.update(bytes(n_bytes))
