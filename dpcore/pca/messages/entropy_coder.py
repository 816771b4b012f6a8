"""Entropy coding of whole numbers: interleaved range asymmetric numeral systems (rANS).

Duda (2013, arXiv:1311.2540), in the interleaved form of Giesen (2014, arXiv:1402.3392): many
coders run side by side on every n-th symbol and share one stream of 16-bit words, which here
makes every step a handful of operations on whole arrays. The frequencies of the symbols travel
with them. On the rounded second moments of MNIST the length is within 3 % of the entropy, where
Huffman codes with at least one bit a symbol (zlib) need 12 to 50 % more.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

_HEADER = struct.Struct("<IiHBBHI")  # count, least, symbols, low bits, contexts, lanes, words
_TABLE_LENGTH = struct.Struct("<I")
_SCALE_BITS = 14
_TOTAL = 1 << _SCALE_BITS
_LEAST_STATE = 1 << 16
_MOST_SYMBOLS = 1024
_MOST_LANES = 256
# Symbols a lane has at least, so that its 4 bytes of state weigh little.
_SYMBOLS_A_LANE = 256
MOST_CONTEXTS = 16


class CodingError(ValueError):
    """Bytes that no encoder wrote."""


def encode_integers(values: np.ndarray, side: np.ndarray) -> bytes:
    """Code whole numbers whose law depends on something the decoder knows too.

    Parameters
    ----------
    values : integer array of shape (n,)
    side : ndarray of shape (n,)
        In [0, 1); divided into up to 16 equal bins, each with frequencies of its own. How many
        is chosen so that the frequencies don't cost more than they save.

    Returns
    -------
    bytes
    """
    least, span = int(values.min()), int(values.max() - values.min())
    # Steps far below the noise make many symbols whose low bits are as good as random.
    low_bits = max(0, (span + 1).bit_length() - _MOST_SYMBOLS.bit_length() + 1)
    offsets = (values - least).astype(np.uint32)
    symbols = (offsets >> low_bits).astype(np.int64)
    n_symbols = int(symbols.max()) + 1
    frequencies, table = _best_frequencies(symbols, side, n_symbols)
    contexts = _context_of(side, len(frequencies))
    states, words = _push(symbols, contexts, frequencies)
    header = _HEADER.pack(
        len(values), least, n_symbols, low_bits, len(frequencies), len(states), len(words)
    )
    return b"".join(
        (
            header,
            _TABLE_LENGTH.pack(len(table)),
            table,
            states.astype("<u4").tobytes(),
            words.astype("<u2").tobytes(),
            _packed_low_bits(offsets, low_bits),
        )
    )


def decode_integers(data: bytes, side: np.ndarray) -> np.ndarray:
    """What `encode_integers` coded, given the same `side`; int64 array of shape (n,).

    Raises
    ------
    CodingError
        If no encoder wrote these bytes for this `side`.
    """
    try:
        return _decoded(data, side)
    except (struct.error, zlib.error, ValueError, IndexError) as error:
        if isinstance(error, CodingError):
            raise
        raise CodingError(f"coded numbers that cannot be read ({error})") from error


def _decoded(data: bytes, side: np.ndarray) -> np.ndarray:
    count, least, n_symbols, low_bits, n_contexts, lanes, n_words = _HEADER.unpack_from(data)
    at = _HEADER.size
    (table_length,) = _TABLE_LENGTH.unpack_from(data, at)
    at += _TABLE_LENGTH.size
    if count != len(side) or not 1 <= n_contexts <= MOST_CONTEXTS or not 0 < lanes <= _MOST_LANES:
        raise CodingError("coded numbers of another count or shape")
    coded = data[at : at + table_length]
    table = zlib.decompressobj().decompress(coded, 2 * n_contexts * n_symbols)
    at += table_length
    frequencies = np.frombuffer(table, "<u2").astype(np.int64).reshape(n_contexts, n_symbols)
    if not (frequencies.sum(axis=1) == _TOTAL).all():
        raise CodingError("coded numbers whose frequencies do not add up")
    states = np.frombuffer(data, "<u4", lanes, at).astype(np.uint64)
    at += 4 * lanes
    words = np.frombuffer(data, "<u2", n_words, at).astype(np.uint64)
    at += 2 * n_words
    symbols = _pop(states, words, _context_of(side, n_contexts), frequencies)
    low = _unpacked_low_bits(data[at:], count, low_bits)
    return (symbols << low_bits) + low + least


def _best_frequencies(
    symbols: np.ndarray, side: np.ndarray, n_symbols: int
) -> tuple[np.ndarray, bytes]:
    """Frequencies of each context and their table, for the number of contexts that is shortest."""
    fine = _context_of(side, MOST_CONTEXTS)
    counts = np.bincount(fine * n_symbols + symbols, minlength=MOST_CONTEXTS * n_symbols)
    counts = counts.reshape(MOST_CONTEXTS, n_symbols)
    candidates = []
    for n_contexts in (1, 2, 4, 8, 16):
        merged = counts.reshape(n_contexts, -1, n_symbols).sum(axis=1)
        frequencies = np.stack([_normalised(row) for row in merged])
        table = zlib.compress(frequencies.astype("<u2").tobytes(), 9)
        seen = merged > 0
        bits = (merged[seen] * (_SCALE_BITS - np.log2(frequencies[seen]))).sum()
        candidates.append((bits / 8 + len(table), n_contexts, frequencies, table))
    _, _, frequencies, table = min(candidates, key=lambda candidate: candidate[:2])
    return frequencies, table


def _normalised(counts: np.ndarray) -> np.ndarray:
    """Frequencies that add up to _TOTAL, at least 1 where a symbol occurs."""
    if not counts.any():
        counts = np.eye(1, len(counts), dtype=np.int64)[0]
    frequencies = np.where(counts > 0, np.maximum(1, counts * _TOTAL // counts.sum()), 0)
    while (excess := int(frequencies.sum()) - _TOTAL) != 0:
        # The commonest symbol feels a change least.
        top = int(frequencies.argmax())
        frequencies[top] -= min(excess, int(frequencies[top]) // 2) if excess > 0 else excess
    return frequencies


def _context_of(side: np.ndarray, n_contexts: int) -> np.ndarray:
    return (side * n_contexts).astype(np.int64)


def _push(
    symbols: np.ndarray, contexts: np.ndarray, frequencies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Final states and the words pushed out, in the order in which a decoder wants them."""
    starts = np.cumsum(frequencies, axis=1) - frequencies
    size = frequencies[contexts, symbols].astype(np.uint64)
    start = starts[contexts, symbols].astype(np.uint64)
    lanes = min(_MOST_LANES, max(1, len(symbols) // _SYMBOLS_A_LANE))
    states = np.full(lanes, _LEAST_STATE, dtype=np.uint64)
    limits = size << np.uint64(32 - _SCALE_BITS)
    pushed: list[np.ndarray] = []
    # Last symbol first: a decoder undoes the steps in the opposite order.
    for at in range((len(symbols) - 1) // lanes * lanes, -1, -lanes):
        f, c, limit = size[at : at + lanes], start[at : at + lanes], limits[at : at + lanes]
        x = states[: len(f)]
        full = x >= limit
        pushed.append(x[full] & np.uint64(0xFFFF))
        x = np.where(full, x >> np.uint64(16), x)
        quotient = x // f
        states[: len(f)] = (quotient << np.uint64(_SCALE_BITS)) + (x - quotient * f) + c
    return states, np.concatenate(pushed[::-1])


def _pop(
    states: np.ndarray, words: np.ndarray, contexts: np.ndarray, frequencies: np.ndarray
) -> np.ndarray:
    ends = np.cumsum(frequencies, axis=1)
    symbol_of = np.stack([np.repeat(np.arange(len(row)), row) for row in frequencies]).ravel()
    rows = np.repeat(np.arange(len(frequencies)), _TOTAL)
    size_of = frequencies[rows, symbol_of].astype(np.uint64)
    # What is left of a slot once the start of its symbol is taken off.
    slots = np.tile(np.arange(_TOTAL), len(frequencies))
    rest_of = (slots - ends[rows, symbol_of] + frequencies[rows, symbol_of]).astype(np.uint64)
    first_slot = contexts << _SCALE_BITS
    lanes, read = len(states), 0
    slots_seen = np.empty(len(contexts), dtype=np.int64)
    for at in range(0, len(contexts), lanes):
        x = states[: len(contexts) - at]
        slot = first_slot[at : at + lanes] + (x & np.uint64(_TOTAL - 1)).astype(np.int64)
        slots_seen[at : at + lanes] = slot
        x = size_of[slot] * (x >> np.uint64(_SCALE_BITS)) + rest_of[slot]
        low = x < _LEAST_STATE
        wanted = np.count_nonzero(low)
        x[low] = (x[low] << np.uint64(16)) | words[read : read + wanted]
        read += wanted
        states[: len(x)] = x
    if read != len(words) or not (states == _LEAST_STATE).all():
        raise CodingError("coded numbers that do not end where they should")
    return symbol_of[slots_seen]


def _packed_low_bits(offsets: np.ndarray, low_bits: int) -> bytes:
    planes = [np.packbits((offsets >> bit).astype(np.uint8) & 1) for bit in range(low_bits)]
    return b"".join(plane.tobytes() for plane in planes)


def _unpacked_low_bits(data: bytes, count: int, low_bits: int) -> np.ndarray:
    length = (count + 7) // 8
    if len(data) != low_bits * length:
        raise CodingError("coded numbers followed by something else")
    low = np.zeros(count, dtype=np.int64)
    for bit in range(low_bits):
        plane = np.frombuffer(data, np.uint8, length, bit * length)
        low |= np.unpackbits(plane, count=count).astype(np.int64) << bit
    return low
