"""Messages as bytes: proxies, and whole matrices in floating point or rounded.

A message is post-processing of the noisy second moment, so its size is free to choose. A proxy may
be sent at a lower precision. A whole matrix is sent as one triangle, and may be rounded to a step
that is a multiple of its noise: the site adds a uniform dither u in [-1/2, 1/2) to x / step, rounds
to a whole number and sends that; the aggregator knows u and subtracts it. The error of an entry is
then uniform on [-step/2, step/2) and independent of x (Schuchman 1964): it is unbiased with
variance step^2 / 12, so a step of one sigma adds 1/12 to the variance of the noise. The whole
numbers are entropy-coded (`dpcore.pca.entropy_coder`).
"""

from __future__ import annotations

import math
import struct
import zlib

import numpy as np

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.entropy_coder import CodingError, decode_integers, encode_integers
from dpcore.pca.settings import NATIVE, PRECISIONS, ROUNDED, rounding_step
from dpcore.pca.site import SiteMessage

MAGIC = b"DPCA"
VERSION = 3
_HEADER = struct.Struct("<4sBBBBIIQd")  # magic, version, form, body, values, D, columns, n, sigma
_CHECKSUM = struct.Struct("<I")
_ROUNDING = struct.Struct("<dQ")  # step, dither key
_PROXY, _WHOLE = 0, 1
_BODIES = {1: "float32", 2: "float64", 3: "float16", 4: "int8", 5: ROUNDED}
_CODES = {name: code for code, name in _BODIES.items()}
_INT8_LARGEST = 127
# Limit of rounded values, which have to fit into 32 bits. A finer step would round almost nothing.
_MOST_STEPS = 2**30
# Limit of D in a header, so that a damaged header does not allocate gigabytes.
_MOST_FEATURES = 20_000


class MessageError(ValueError):
    """Error for bytes that are no message, or a damaged one."""


def check_encoding(encoding: str, *, whole: bool) -> None:
    """Raise `ParameterError` if an encoding is unknown or not for this kind of message."""
    rounded = rounding_step(encoding) is not None
    if rounded and not whole:
        raise ParameterError(
            "encoding",
            f"{NATIVE} or one of {', '.join(PRECISIONS)} for a proxy (rounding is for whole "
            "matrices, whose noise is even)",
            encoding,
        )
    if encoding == "int8" and whole:
        raise ParameterError(
            "encoding", f"{ROUNDED}K for a whole matrix in few bits; int8 is for proxies", encoding
        )


def message_length(n_features: int, columns: int, itemsize: int, *, whole: bool) -> int:
    """Return the length in bytes of a floating-point message.

    A whole matrix is sent as one triangle.
    """
    count = _triangle(n_features) if whole else n_features * columns
    return _HEADER.size + count * itemsize + _CHECKSUM.size


def encode_message(
    message: SiteMessage,
    encoding: str = NATIVE,
    *,
    rng: np.random.Generator | None = None,
) -> bytes:
    """Return a message as bytes: header, body, checksum.

    Parameters
    ----------
    message : SiteMessage
    encoding : str
        "native" keeps the data type of the values. "float64", "float32" and "float16" convert them.
        "int8", for proxies, rounds every column to 255 levels of its own. "rounded:K", for whole
        matrices, rounds with a public dither to a step of K sigma and entropy-codes the whole
        numbers.
    rng : numpy.random.Generator, optional
        Generator of the dither key for "rounded". Public, and different at every site.

    Raises
    ------
    ParameterError
        If the encoding is not for this message, or cannot represent its values.
    """
    check_encoding(encoding, whole=message.whole)
    values = message.values
    body = values[np.triu_indices(len(values))] if message.whole else values
    step = rounding_step(encoding)
    name = values.dtype.name if encoding == NATIVE else encoding
    if step is not None:
        name, payload = ROUNDED, _rounded_body(body, step * message.sigma, rng)
    elif name == "int8":
        payload = _int8_body(body)
    else:
        payload = _float_body(body, name)
    header = _HEADER.pack(
        MAGIC,
        VERSION,
        _WHOLE if message.whole else _PROXY,
        _CODES[name],
        _CODES[values.dtype.name],
        values.shape[0],
        values.shape[1],
        message.n_samples,
        message.sigma,
    )
    data = header + payload
    return data + _CHECKSUM.pack(zlib.crc32(data))


def decode_message(data: bytes) -> SiteMessage:
    """Return the message that `encode_message` wrote, in the data type of the site.

    Raises
    ------
    MessageError
        If the bytes are foreign, of another version, cut short or changed in transit.
    """
    if len(data) < _HEADER.size + _CHECKSUM.size or data[:4] != MAGIC:
        raise MessageError("not a site message: it does not start with the DPCA mark")
    _, version, form, body, kind, n_features, columns, n_samples, sigma = _HEADER.unpack_from(data)
    if version != VERSION:
        raise MessageError(f"site message of version {version}, this reads version {VERSION}")
    (checksum,) = _CHECKSUM.unpack(data[-_CHECKSUM.size :])
    if zlib.crc32(data[: -_CHECKSUM.size]) != checksum:
        raise MessageError("damaged site message: its checksum does not match its content")
    if form not in (_PROXY, _WHOLE) or body not in _BODIES or _BODIES.get(kind) not in PRECISIONS:
        raise MessageError("not a site message this version can read: unknown form or precision")
    if n_features > _MOST_FEATURES or columns > _MOST_FEATURES:
        raise MessageError(f"site message for more than {_MOST_FEATURES} features")
    whole = form == _WHOLE
    shape = (_triangle(n_features),) if whole else (n_features, columns)
    if whole and columns != n_features:
        raise MessageError("damaged site message: a whole matrix that is not square")
    values = _read_body(data[_HEADER.size : -_CHECKSUM.size], _BODIES[body], shape)
    values = values.astype(_BODIES[kind], copy=False)
    return SiteMessage(
        values=symmetric_from(values, n_features) if whole else values,
        n_samples=n_samples,
        sigma=sigma,
        whole=whole,
    )


def transmit(
    message: SiteMessage, encoding: str, *, rng: np.random.Generator | None = None
) -> tuple[SiteMessage, int]:
    """Return the message as the aggregator receives it, and its length in bytes.

    Parameters are those of `encode_message`. The message is not encoded if that would not change
    it.
    """
    values = message.values
    if encoding in (NATIVE, values.dtype.name):
        check_encoding(encoding, whole=message.whole)
        n_features, columns = values.shape
        length = message_length(n_features, columns, values.itemsize, whole=message.whole)
        return message, length
    data = encode_message(message, encoding, rng=rng)
    return decode_message(data), len(data)


def _float_body(values: FloatArray, name: str) -> bytes:
    with np.errstate(over="ignore"):
        converted: FloatArray = values.astype(np.dtype(name).newbyteorder("<"))
    if not np.isfinite(converted).all():
        worst = float(values[~np.isfinite(converted)][0])
        raise ParameterError("encoding", f"wide enough for every value, as {worst:g}", name)
    return converted.tobytes()


def _int8_body(values: FloatArray) -> bytes:
    scales: AnyArray = (np.abs(values).max(axis=0) / _INT8_LARGEST).astype("<f4")
    levels = np.rint(values / np.where(scales > 0, scales, 1))
    clipped: AnyArray = np.clip(levels, -_INT8_LARGEST, _INT8_LARGEST).astype("i1")
    return scales.tobytes() + clipped.tobytes()


def _rounded_body(values: FloatArray, step: float, rng: np.random.Generator | None) -> bytes:
    if rng is None:
        raise ParameterError("rng", "given for dithered rounding", None)
    if not np.abs(values).max() < _MOST_STEPS * step:
        raise ParameterError(
            "encoding", "a precision where sigma is zero or next to it; there is no noise", ROUNDED
        )
    key = int(rng.integers(2**64, dtype=np.uint64))
    return _ROUNDING.pack(step, key) + round_and_code(values.astype(np.float64), step, key)


def round_and_code(values: FloatArray, step: float, dither_key: int) -> bytes:
    """Round values with dither to multiples of a step, and entropy-code them.

    values: shape (n,). At most `_MOST_STEPS` steps from zero.
    step: Greater than 0.
    dither_key: Public, from 0 to 2^64 - 1; independent of the values.
    """
    dither = _dither(len(values), dither_key)
    return encode_integers(np.rint(values / step + (dither - 0.5)).astype(np.int64), dither)


def decode_rounded(data: bytes, count: int, step: float, dither_key: int) -> FloatArray:
    """Return the rounded values without the dither, float64 of shape (count,).

    Raises `CodingError` if the bytes are not from `round_and_code` with this count and key.
    """
    dither = _dither(count, dither_key)
    return step * (decode_integers(data, dither) - (dither - 0.5))


def _dither(count: int, key: int) -> FloatArray:
    # Sites draw their keys from streams of their own, so no two share a dither.
    return np.random.default_rng(np.random.SeedSequence(key)).random(count)


def _read_body(data: bytes, name: str, shape: tuple[int, ...]) -> FloatArray:
    count = math.prod(shape)
    if name == ROUNDED:
        if len(data) < _ROUNDING.size or len(shape) != 1:
            raise MessageError("damaged site message: its length does not match its shape")
        step, key = _ROUNDING.unpack_from(data)
        try:
            return decode_rounded(data[_ROUNDING.size :], count, step, key)
        except CodingError as error:
            raise MessageError(f"damaged site message: {error}") from error
    scale_bytes = 4 * shape[-1] if name == "int8" else 0
    dtype = np.dtype(name).newbyteorder("<")
    if len(data) != scale_bytes + count * dtype.itemsize:
        raise MessageError("damaged site message: its length does not match its shape")
    values: AnyArray = np.frombuffer(data, dtype, offset=scale_bytes).reshape(shape)
    if name == "int8":
        scaled: FloatArray = values * np.frombuffer(data, "<f4", shape[-1])
        return scaled
    return values.astype(dtype.newbyteorder("="))


def symmetric_from(triangle: AnyArray, n_features: int) -> AnyArray:
    """Return the symmetric matrix with this upper triangle, given row by row."""
    values = np.zeros((n_features, n_features), dtype=triangle.dtype)
    upper = np.triu_indices(n_features)
    values[upper] = triangle
    values.T[upper] = triangle
    return values


def _triangle(n_features: int) -> int:
    return n_features * (n_features + 1) // 2
