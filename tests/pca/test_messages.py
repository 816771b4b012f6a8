"""Messages: decoded values equal the sent ones, and foreign bytes are refused."""

from __future__ import annotations

import contextlib
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.pca import Draw, MessageError, SiteMessage, decode_message, encode_message
from dpcore.pca.messages import message_length, transmit
from dpcore.pca.protocols.distributed import dpdis, full
from dpcore.pca.settings import PRECISIONS
from dpcore.spectra import projector_distance
from dpcore.streams import Repetition

DTYPES = [np.float32, np.float64]


def proxy(rng, dtype=np.float64, shape=(12, 5)) -> SiteMessage:
    scales = np.geomspace(1, 1e-3, shape[1])
    return SiteMessage((rng.standard_normal(shape) * scales).astype(dtype), 321, 0.02)


def whole(rng, dtype=np.float64, n_features=12) -> SiteMessage:
    values = rng.standard_normal((n_features, n_features)) * 0.05
    return SiteMessage((values + values.T).astype(dtype), 321, 0.02, whole=True)


def assert_same_frame(message: SiteMessage, expected: SiteMessage) -> None:
    assert (message.n_samples, message.sigma, message.whole) == (
        expected.n_samples,
        expected.sigma,
        expected.whole,
    )
    assert message.values.dtype == expected.values.dtype
    assert message.values.shape == expected.values.shape


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [proxy, whole])
def test_native_messages_come_back_as_they_were(rng, make, dtype):
    message = make(rng, dtype)
    data = encode_message(message)
    decoded = decode_message(data)
    assert_same_frame(decoded, message)
    np.testing.assert_array_equal(decoded.values, message.values)
    length = message_length(*message.values.shape, message.values.itemsize, whole=message.whole)
    assert len(data) == length


# Relative spacing of a precision, halved by rounding to nearest; int8 has 127 levels on each
# side of zero, counted from the largest entry of a column, and a float32 scale.
@pytest.mark.parametrize(("encoding", "error"), [("float64", 0), ("float32", 2**-24),
                                                 ("float16", 2**-11)])  # fmt: skip
@pytest.mark.parametrize("make", [proxy, whole])
def test_precisions_keep_their_digits(rng, make, encoding, error):
    message = make(rng)
    decoded = decode_message(encode_message(message, encoding))
    assert_same_frame(decoded, message)
    gap = np.abs(decoded.values - message.values)
    # Below the normal numbers of float16 the spacing is absolute.
    assert (gap <= np.maximum(error * np.abs(message.values), error and 2.0**-25)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_int8_rounds_each_column_on_a_scale_of_its_own(rng, dtype):
    message = proxy(rng, dtype, shape=(200, 5))
    data = encode_message(message, "int8")
    decoded = decode_message(data)
    assert_same_frame(decoded, message)
    steps = np.abs(message.values).max(axis=0) / 127
    assert (np.abs(decoded.values - message.values) <= steps / 2 * 1.001).all()
    assert len(data) == message_length(200, 5, 1, whole=False) + 5 * 4


def test_a_column_of_zeros_survives_int8(rng):
    values = rng.standard_normal((10, 3))
    values[:, 1] = 0
    decoded = decode_message(encode_message(SiteMessage(values, 5, 0.1), "int8")).values
    assert not decoded[:, 1].any()


def test_what_is_sent_is_what_is_decoded(rng):
    for message, encoding in (
        (proxy(rng), "native"),
        (proxy(rng), "float64"),
        (proxy(rng), "float32"),
        (proxy(rng), "int8"),
        (whole(rng), "float16"),
        (whole(rng), "rounded:0.5"),
    ):
        arrived, length = transmit(message, encoding, rng=np.random.default_rng(5))
        data = encode_message(message, encoding, rng=np.random.default_rng(5))
        assert length == len(data)
        np.testing.assert_array_equal(arrived.values, decode_message(data).values)


@pytest.mark.parametrize(
    ("encoding", "make", "message"),
    [
        ("float8", proxy, "encoding must be native, float64, float32, float16, int8 or rounded:K"),
        ("rounded:", whole, "encoding must be native"),
        ("rounded:-1", whole, "encoding must be native"),
        ("rounded:inf", whole, "encoding must be native"),
        ("rounded:nan", whole, "encoding must be native"),
        ("rounded:1", proxy, "for a proxy"),
        ("int8", whole, "for a whole matrix"),
    ],
)
def test_encodings_that_are_not_for_this_message_are_refused(rng, encoding, make, message):
    with pytest.raises(ParameterError, match=message):
        encode_message(make(rng), encoding, rng=rng)


def test_values_beyond_a_precision_are_refused(rng):
    message = SiteMessage(np.full((3, 2), 1e5), 10, 0.1)
    with pytest.raises(ParameterError, match="wide enough for every value, as 100000"):
        encode_message(message, "float16")


def test_rounding_needs_noise_and_a_stream(rng):
    message = whole(rng)
    with pytest.raises(ParameterError, match="rng must be given"):
        encode_message(message, "rounded:1")
    silent = SiteMessage(message.values, 10, 0.0, whole=True)
    with pytest.raises(ParameterError, match="there is no noise"):
        encode_message(silent, "rounded:1", rng=rng)


@pytest.mark.parametrize("encoding", ["native", "int8"])
@given(data=st.data())
def test_any_damage_to_a_proxy_is_noticed(encoding, data):
    assert_damage_is_noticed(encode_message(proxy(np.random.default_rng(0)), encoding), data)


@given(data=st.data())
def test_any_damage_to_a_rounded_matrix_is_noticed(data):
    rng = np.random.default_rng(0)
    assert_damage_is_noticed(encode_message(whole(rng), "rounded:1", rng=rng), data)


def assert_damage_is_noticed(message: bytes, data) -> None:
    kind = data.draw(st.sampled_from(["cut", "longer", "changed"]), "kind")
    if kind == "cut":
        damaged = message[: data.draw(st.integers(0, len(message) - 1), "length")]
    elif kind == "longer":
        damaged = message + data.draw(st.binary(min_size=1, max_size=9), "more")
    else:
        at = data.draw(st.integers(0, len(message) - 1), "at")
        byte = data.draw(st.integers(1, 255), "change")
        damaged = message[:at] + bytes([message[at] ^ byte]) + message[at + 1 :]
    with pytest.raises(MessageError):
        decode_message(damaged)


@given(body=st.binary(max_size=200))
def test_foreign_bytes_are_refused(body):
    with pytest.raises(MessageError):
        decode_message(body)


@given(data=st.data())
def test_a_checksum_does_not_make_nonsense_a_message(data):
    """Bytes with the right mark and a valid checksum, and arbitrary content."""
    rng = np.random.default_rng(0)
    message = encode_message(whole(rng), "rounded:1", rng=rng)
    at = data.draw(st.integers(4, len(message) - 5), "at")
    body = bytearray(message[:-4])
    body[at] = data.draw(st.integers(0, 255).filter(lambda b: b != body[at]), "byte")
    forged = bytes(body) + struct.pack("<I", zlib.crc32(body))
    # Anything else would be a bug; a change to sigma or n is a message like any other.
    with contextlib.suppress(MessageError):
        decode_message(forged)


def test_another_version_says_so(rng):
    data = bytearray(encode_message(proxy(rng)))
    data[4] = 1
    with pytest.raises(MessageError, match="version 1, this reads version 3"):
        decode_message(bytes(data))


@pytest.mark.parametrize("encoding", PRECISIONS)
def test_the_aggregator_works_on_what_was_decoded(moments, settings_with, encoding):
    settings = settings_with(encoding=encoding)
    subspace = dpdis(Draw(moments, settings, Repetition(4), average=False))
    exact = dpdis(Draw(moments, settings_with(), Repetition(4)))
    same = np.array_equal(subspace.components, exact.components)
    assert same == (encoding == "float64")
    distance = projector_distance(subspace.components, exact.components)
    assert distance < {"float64": 1e-7, "float32": 1e-5, "float16": 1e-2, "int8": 0.2}[encoding]
    lengths = {"float64": 8, "float32": 4, "float16": 2, "int8": 1}
    expected = message_length(12, 6, lengths[encoding], whole=False)
    expected += 6 * 4 if encoding == "int8" else 0
    np.testing.assert_array_equal(subspace.bytes_sent, expected)


def test_full_averages_rounded_messages(moments, settings_with):
    exact = full(Draw(moments, settings_with(), Repetition(4)))
    distances, lengths = [], []
    for step in (0.1, 1.0, 4.0):
        settings = settings_with(encoding=f"rounded:{step}")
        subspace = full(Draw(moments, settings, Repetition(4), proxies=False))
        distances.append(projector_distance(subspace.components, exact.components))
        lengths.append(subspace.bytes_sent.sum())
    assert 0 < distances[0] < distances[1] < distances[2]
    assert lengths[0] > lengths[1] > lengths[2]
    assert lengths[0] < exact.bytes_sent.sum()
