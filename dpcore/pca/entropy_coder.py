"""Entropy coding of whole numbers: asymmetric numeral systems (Duda 2013, arXiv:1311.2540).

Whole numbers are coded by `constriction` (Bamler 2022, arXiv:2201.01741). The symbol frequencies
are part of the message. They depend on the dither, which saves 5 % of the bytes on MNIST at a step
of one sigma. For the 307,720 numbers of a matrix of noise at D = 784, rounded at up to 1.7 sigma,
the length is within 0.3 % of the entropy. Huffman codes with at least one bit per symbol (zlib)
need 12 to 50 % more.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from constriction import stream

from dpcore.arrays import FloatArray, IntArray

_CODER_HEADER = struct.Struct(
    "<IiHBBI"
)  # count, least, symbols, low bits, contexts, bytes of the table
_MOST_SYMBOLS = 1024
_MOST_WEIGHT = 4095
_MOST_LOW_BITS = 23  # of numbers that fit into 32 bits
MOST_CONTEXTS = 16


class CodingError(ValueError):
    """Error for bytes that no encoder wrote."""


def encode_integers(values: IntArray, side: FloatArray) -> bytes:
    """Code whole numbers whose law depends on side information that the decoder has.

    values: integer array of shape (n,)
    side: shape (n,), in [0, 1). Divided into up to 16 equal bins, each with frequencies of its own.
        The number of bins minimises the total length, including the frequencies.
    """
    least, span = int(values.min()), int(values.max() - values.min())
    # Steps far below the noise give many symbols, whose low bits are almost uniform.
    low_bits = max(0, (span + 1).bit_length() - _MOST_SYMBOLS.bit_length() + 1)
    offsets = values - least
    symbols = (offsets >> low_bits).astype(np.int32)
    weights, table = _best_weights(symbols, side, max(2, int(symbols.max()) + 1))
    contexts = _context_of(side, len(weights))
    coder = stream.stack.AnsCoder()
    # The coder is a stack: the symbol that is decoded first is encoded last.
    if low_bits:
        low = offsets & ((1 << low_bits) - 1)
        coder.encode_reverse(low.astype(np.int32), stream.model.Uniform(1 << low_bits))
    for context in reversed(range(len(weights))):
        of_context = symbols[contexts == context]
        if len(of_context):
            coder.encode_reverse(of_context, _model(weights[context]))
    shape = (len(values), least, weights.shape[1], low_bits, len(weights), len(table))
    words: IntArray = coder.get_compressed()
    return _CODER_HEADER.pack(*shape) + table + words.astype("<u4").tobytes()


def decode_integers(data: bytes, side: FloatArray) -> IntArray:
    """Decode the output of `encode_integers` for the same `side`; int64 array of shape (n,).

    Raises `CodingError` if no encoder wrote these bytes for this `side`.
    """
    try:
        return _decode_integers(data, side)
    except (struct.error, zlib.error, ValueError, IndexError) as error:
        if isinstance(error, CodingError):
            raise
        raise CodingError(f"coded numbers that cannot be read ({error})") from error


def _decode_integers(data: bytes, side: FloatArray) -> IntArray:
    count, least, n_symbols, low_bits, n_contexts, table_length = _CODER_HEADER.unpack_from(data)
    end = _CODER_HEADER.size + table_length
    if count != len(side) or not 1 <= n_contexts <= MOST_CONTEXTS or low_bits > _MOST_LOW_BITS:
        raise CodingError("coded numbers of another count or shape")
    table = zlib.decompressobj().decompress(
        data[_CODER_HEADER.size : end], 2 * n_contexts * n_symbols
    )
    weights = np.frombuffer(table, "<u2").reshape(n_contexts, n_symbols)
    coder = stream.stack.AnsCoder(np.frombuffer(data, "<u4", offset=end).astype(np.uint32))
    contexts = _context_of(side, n_contexts)
    symbols: IntArray = np.zeros(count, dtype=np.int64)
    for context in range(n_contexts):
        is_context = contexts == context
        if is_context.any():
            symbols[is_context] = coder.decode(
                _model(weights[context]), np.count_nonzero(is_context)
            )
    if low_bits:
        symbols <<= low_bits
        symbols |= coder.decode(stream.model.Uniform(1 << low_bits), count)
    if not coder.is_empty():
        raise CodingError("coded numbers that do not end where they should")
    symbols += least
    return symbols


def _best_weights(symbols: IntArray, side: FloatArray, n_symbols: int) -> tuple[IntArray, bytes]:
    """Return symbol weights of each context and their table.

    The number of contexts is the one with the shortest message.
    """
    fine = _context_of(side, MOST_CONTEXTS)
    counts = np.bincount(fine * n_symbols + symbols, minlength=MOST_CONTEXTS * n_symbols)
    counts = counts.reshape(MOST_CONTEXTS, n_symbols)
    candidates = []
    for n_contexts in (1, 2, 4, 8, 16):
        merged = counts.reshape(n_contexts, -1, n_symbols).sum(axis=1)
        largest = np.maximum(merged.max(axis=1, keepdims=True), 1)
        # Rounded up, so that every symbol that occurs has a positive weight.
        weights = -(-merged * _MOST_WEIGHT // largest)
        table = zlib.compress(weights.astype("<u2").tobytes(), 9)
        shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)
        bits = -(merged[merged > 0] * np.log2(shares[merged > 0])).sum()
        candidates.append((bits / 8 + len(table), n_contexts, weights, table))
    _, _, weights, table = min(candidates, key=lambda candidate: candidate[:2])
    return weights, table


def _model(weights: IntArray) -> Any:
    return stream.model.Categorical(weights.astype(np.float64), perfect=False)


def _context_of(side: FloatArray, n_contexts: int) -> IntArray:
    return (side * n_contexts).astype(np.int64)
