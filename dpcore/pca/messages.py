"""Messages as bytes: what a site really sends is what `encode_message` returns."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from dpcore.pca.site import SiteMessage

MAGIC = b"DPCA"
VERSION = 1
_HEADER = struct.Struct("<4sBBBxIIQd")  # magic, version, form, precision, D, columns, n, sigma
_CHECKSUM = struct.Struct("<I")
_PRECISIONS = {1: np.dtype("<f4"), 2: np.dtype("<f8")}
_CODES = {dtype.newbyteorder("="): code for code, dtype in _PRECISIONS.items()}
_PROXY, _WHOLE = 0, 1


class MessageError(ValueError):
    """Bytes that are no message of ours, or a damaged one."""


def message_length(n_features: int, columns: int, itemsize: int, *, whole: bool) -> int:
    """Length in bytes of an encoded message; a whole symmetric matrix sends one triangle."""
    count = n_features * (n_features + 1) // 2 if whole else n_features * columns
    return _HEADER.size + count * itemsize + _CHECKSUM.size


def encode_message(message: SiteMessage) -> bytes:
    """A message as bytes: header, values at their own precision, checksum."""
    values = message.values
    code = _CODES[values.dtype]
    if message.whole:
        body = values[np.triu_indices(len(values))]
    else:
        body = values
    header = _HEADER.pack(
        MAGIC,
        VERSION,
        _WHOLE if message.whole else _PROXY,
        code,
        values.shape[0],
        values.shape[1],
        message.n_samples,
        message.sigma,
    )
    payload = header + np.ascontiguousarray(body, dtype=_PRECISIONS[code]).tobytes()
    return payload + _CHECKSUM.pack(zlib.crc32(payload))


def decode_message(data: bytes) -> SiteMessage:
    """The message that `encode_message` wrote.

    Raises
    ------
    MessageError
        If the bytes are foreign, of another version, cut short or changed on the way.
    """
    if len(data) < _HEADER.size + _CHECKSUM.size or data[:4] != MAGIC:
        raise MessageError("not a site message: it does not start with the DPCA mark")
    magic, version, form, code, n_features, columns, n_samples, sigma = _HEADER.unpack_from(data)
    if version != VERSION:
        raise MessageError(f"site message of version {version}, this reads version {VERSION}")
    (checksum,) = _CHECKSUM.unpack(data[-_CHECKSUM.size :])
    if zlib.crc32(data[: -_CHECKSUM.size]) != checksum:
        raise MessageError("damaged site message: its checksum does not match its content")
    dtype = _PRECISIONS[code]
    whole = form == _WHOLE
    if len(data) != message_length(n_features, columns, dtype.itemsize, whole=whole):
        raise MessageError("damaged site message: its length does not match its shape")
    body = np.frombuffer(data[_HEADER.size : -_CHECKSUM.size], dtype=dtype)
    if whole:
        values = np.zeros((n_features, n_features), dtype=dtype.newbyteorder("="))
        values[np.triu_indices(n_features)] = body
        values += np.triu(values, 1).T
    else:
        values = body.reshape(n_features, columns).astype(dtype.newbyteorder("="))
    return SiteMessage(values=values, n_samples=n_samples, sigma=sigma, whole=whole)
