"""Pairwise masks of the secure sum (Bonawitz and others 2017).

Each site has an X25519 key. The shared secret of a pair of sites and the purpose of a message
give, by HKDF-SHA256, the key of a ChaCha20 stream of numbers modulo 2^64. The site that comes first
in the roster adds the stream, the other site subtracts it, so that all masks cancel in the sum. A
message is uniform for every adversary that lacks one of the secrets that its site shares with an
honest site.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpcore.arrays import AnyArray, IntArray

_KEY_DIGITS = 64


def public_key_of(private_key: X25519PrivateKey) -> str:
    """Return the public key as 64 hexadecimal digits."""
    return private_key.public_key().public_bytes_raw().hex()


def is_public_key(value: Any) -> bool:
    """Return whether a value has the form of a public key."""
    is_text = isinstance(value, str) and len(value) == _KEY_DIGITS
    return is_text and set(value) <= set("0123456789abcdef")


def add_masks(
    numbers: IntArray,
    private_key: X25519PrivateKey,
    site: str,
    public_keys: Mapping[str, str],
    roster: Sequence[str],
    purpose: str,
) -> IntArray:
    """Add the masks that a site shares with every other site of a roster.

    numbers: ndarray of int64
    site: Owner of the private key, a member of the roster.
    public_keys: Public keys of the roster.
    purpose: Identifier of the message. Two messages must never share a purpose, because a pair of
        sites has one mask per purpose.

    Raises `ValueError` if no secret can be agreed on with a public key.
    """
    total: AnyArray = numbers.astype(np.int64).view(np.uint64).copy()
    position = list(roster).index(site)
    for other_position, other in enumerate(roster):
        if other_position == position:
            continue
        first, second = (site, other) if position < other_position else (other, site)
        info = f"{purpose}\0{first}\0{second}".encode()
        mask = _stream(_shared_secret(private_key, public_keys[other], info), total.size)
        mask = mask.reshape(total.shape)
        total = total + mask if site == first else total - mask
    signed: IntArray = total.view(np.int64)
    return signed


def sum_of_masked(messages: Sequence[IntArray]) -> IntArray:
    """Return the sum modulo 2^64 as signed 64-bit integers."""
    total = np.zeros(messages[0].shape, dtype=np.uint64)
    for message in messages:
        total += np.ascontiguousarray(message, np.int64).view(np.uint64)
    signed: IntArray = total.view(np.int64)
    return signed


def _shared_secret(private_key: X25519PrivateKey, public_key: str, info: bytes) -> bytes:
    secret = private_key.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(public_key)))
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)


def _stream(key: bytes, size: int) -> AnyArray:
    """Return the first numbers of a ChaCha20 stream."""
    encryptor = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    stream = encryptor.update(bytes(8 * size))
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64)
