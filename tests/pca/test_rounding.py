"""Distribution of dithered rounding, and its coding as a bijection."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcore.pca import SiteMessage, decode_message, encode_message
from dpcore.pca.entropy_coder import CodingError, decode_integers, encode_integers
from dpcore.pca.messages import decode_rounded, round_and_code
from dpcore.streams import Purpose, Repetition


def rounded(values: np.ndarray, step: float, key: int) -> np.ndarray:
    return decode_rounded(round_and_code(values, step, key), len(values), step, key)


@pytest.mark.parametrize(
    "values",
    [np.zeros, lambda n: np.full(n, 0.5), lambda n: np.full(n, 1e4 / 3), np.arange],
    ids=["zero", "half way", "far out", "every residue"],
)
def test_the_error_is_uniform_whatever_the_value(values, false_alarm):
    """KS against the uniform law on one step; a p-value is below any p with probability p."""
    step, n = 0.7, 40_000
    x = np.asarray(values(n), dtype=float)
    error = rounded(x, step, key=3) - x
    assert np.abs(error).max() <= step / 2 * (1 + 1e-9)
    assert stats.kstest(error / step + 0.5, "uniform").pvalue > false_alarm


def test_rounding_is_unbiased_and_adds_a_twelfth_of_the_squared_step(false_alarm):
    """Moments of a bounded error: mean by Hoeffding, and so its square, in [0, step^2 / 4].

    One value, a third of the way between two steps, where rounding without a dither would always
    err by a third of a step.
    """
    n, step = 200_000, 1.0
    error = rounded(np.full(n, 1 / 3), step, key=11) - 1 / 3
    hoeffding = math.sqrt(math.log(2 / false_alarm) / (2 * n))
    assert abs(error.mean()) < step * hoeffding
    assert abs((error**2).mean() - step**2 / 12) < step**2 / 4 * hoeffding


def test_the_error_does_not_depend_on_the_value(rng, false_alarm):
    """Correlation of independent series is about N(0, 1/n); so is that of their squares."""
    n, step = 100_000, 2.0
    x = rng.standard_normal(n)
    error = rounded(x, step, key=5) - x
    limit = stats.norm.isf(false_alarm / 2) / math.sqrt(n)
    assert abs(np.corrcoef(error, x)[0, 1]) < limit
    assert abs(np.corrcoef(error**2, x**2)[0, 1]) < limit


def test_a_whole_matrix_gets_exactly_this_noise_more(rng, false_alarm):
    """Variance of the errors of a message's entries over the triangle, by Hoeffding."""
    n_features, sigma, steps = 200, 0.01, 1.5
    matrix = rng.standard_normal((n_features, n_features)) * sigma
    matrix += matrix.T
    message = SiteMessage(matrix, 100, sigma, whole=True)
    data = encode_message(message, f"rounded:{steps}", rng=rng)
    error = decode_message(data).values - matrix
    np.testing.assert_array_equal(error, error.T)
    upper = error[np.triu_indices(n_features)]
    hoeffding = math.sqrt(math.log(2 / false_alarm) / (2 * len(upper)))
    step = steps * sigma
    assert abs((upper**2).mean() - step**2 / 12) < step**2 / 4 * hoeffding


def test_no_two_sites_or_repetitions_share_a_dither(rng):
    matrix = np.zeros((30, 30))
    errors = []
    for repetition in (0, 1):
        for site in (0, 1):
            stream = Repetition(0, repetition).rng(Purpose.ROUNDING, site)
            message = SiteMessage(matrix, 100, 1.0, whole=True)
            data = encode_message(message, "rounded:1", rng=stream)
            errors.append(decode_message(data).values[np.triu_indices(30)])
    # Equal uniform draws have probability zero; 465 of them in a row all the more.
    assert not any((a == b).any() for i, a in enumerate(errors) for b in errors[:i])


@given(data=st.data())
def test_any_whole_numbers_come_back(data):
    numbers = st.one_of(
        st.integers(-3, 3), st.integers(-1000, 1000), st.integers(-(2**31), 2**31 - 1)
    )
    values = np.array(data.draw(st.lists(numbers, min_size=1, max_size=600)), dtype=np.int64)
    side = np.random.default_rng(data.draw(st.integers(0, 2**32))).random(len(values))
    np.testing.assert_array_equal(decode_integers(encode_integers(values, side), side), values)


@pytest.mark.parametrize("step", [0.05, 0.5, 1.0, 2.0, 8.0])
def test_the_length_is_close_to_the_entropy(rng, step):
    """Numbers of probability p, given their dither, carry -log2 p bits.

    No code that can be read is shorter by t bits but with probability 2^-t (Kraft), here 2^-40;
    1 % and 150 bytes are for the bins of the dither and the table of frequencies.
    """
    n = 100_000
    x, dither = rng.standard_normal(n), rng.random(n)
    numbers = np.rint(x / step + dither - 0.5).astype(np.int64)
    # The upper tail by the lower one, which does not round to 1.
    far = np.where(numbers > 0, dither - numbers - 1, numbers - dither) * step
    bits = -np.log2(stats.norm.cdf(far + step) - stats.norm.cdf(far)).sum()
    length = len(encode_integers(numbers, dither))
    assert bits / 8 - 5 < length < 1.01 * bits / 8 + 150


def test_a_constant_costs_next_to_nothing():
    side = np.linspace(0, 0.999, 10_000)
    assert len(encode_integers(np.full(10_000, -7), side)) < 250


def test_another_side_or_count_is_refused(rng):
    side = rng.random(1000)
    data = encode_integers(rng.integers(-5, 5, 1000), side)
    with pytest.raises(CodingError):
        decode_integers(data, side[:-1])
    with pytest.raises(CodingError):
        decode_integers(data[:-3], side)
    with pytest.raises(CodingError):
        decode_integers(data + b"more", side)


@given(data=st.data())
def test_no_bytes_do_worse_than_to_be_refused(data):
    """The bytes have their own checksum, because a forger can compute it."""
    side = np.linspace(0, 0.99, 100)
    coded = bytearray(encode_integers(np.arange(100) ** data.draw(st.integers(0, 4)), side))
    for _ in range(data.draw(st.integers(1, 4))):
        coded[data.draw(st.integers(0, len(coded) - 1))] = data.draw(st.integers(0, 255))
    coded = coded[: data.draw(st.integers(0, len(coded)))] + data.draw(st.binary(max_size=8))
    with contextlib.suppress(CodingError):
        assert decode_integers(bytes(coded), side).shape == side.shape
