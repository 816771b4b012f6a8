"""Integer rows and exact moments: exact bounds, and sensitivities that are attained."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcore.errors import ParameterError
from dpcore.release import integer_moments
from dpcore.release.integer_moments import (
    diagonal_sigma,
    exact_second_moment,
    exact_sum,
    noisy_second_moment,
)
from dpcore.release.integer_rows import GRID, LENGTH, clip_to_grid, scale_to_length

ENTRIES = st.integers(-2 * GRID, 2 * GRID)
ROWS = hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=ENTRIES)


def _length_by_definition(row: list[int], length: int, reach: int) -> list[int]:
    """Scale a row with Python's integers, by the smallest r with r^2 >= squared norm."""
    squared = sum(x * x for x in row)
    root = math.isqrt(squared)
    divisor = max(root + (root * root < squared), reach, 1)
    return [abs(x) * length // divisor * (1 if x > 0 else -1) for x in row]


@given(ROWS, st.sampled_from([0, 1, 777, GRID, 5 * GRID]), st.sampled_from([1, 3, LENGTH, GRID]))
def test_scaled_rows_equal_integer_arithmetic(rows, reach, length):
    got = scale_to_length(rows.astype(float), length, reach)
    expected = [_length_by_definition(row.tolist(), length, reach) for row in rows]
    np.testing.assert_array_equal(got, np.array(expected).reshape(rows.shape))
    assert all(sum(int(y) ** 2 for y in row) <= length**2 for row in got)


def test_lengths_are_bounded_at_ten_thousand_features():
    rng = np.random.default_rng()
    rows = np.rint(rng.uniform(-2 * GRID, 2 * GRID, (5, 10_000)))
    rows[0] = 2 * GRID
    for row in scale_to_length(rows, LENGTH):
        assert sum(int(y) ** 2 for y in row) <= LENGTH**2
        assert np.linalg.norm(row) > 0.997 * LENGTH


@pytest.mark.parametrize("length", [LENGTH, 3 * 777])
def test_rows_are_scaled_in_place(length):
    rows = np.rint(np.random.default_rng().uniform(-GRID, GRID, (5, 9)))
    expected = scale_to_length(rows.copy(), length)
    assert scale_to_length(rows, length, out=rows) is rows and (rows == expected).all()


def test_norms_at_and_next_to_integers():
    """The root of the squared norm is an integer, or close to one."""
    k = np.arange(1, 2**19, 997, dtype=float)
    for rows in (np.stack([k, 0 * k], 1), np.stack([k, 1 + 0 * k], 1)):
        got = scale_to_length(rows, LENGTH)
        expected = [_length_by_definition([int(x) for x in row], LENGTH, 0) for row in rows]
        np.testing.assert_array_equal(got, expected)


@given(st.floats(), st.floats(-1e150, 1e150), st.floats(1e-150, 1e150), st.floats(0, 1))
def test_no_number_leaves_the_grid(value, lower, width, part):
    upper = lower + width
    if lower < upper <= 1e150:
        middle = min(max(lower + part * (upper - lower), lower), upper)
        (got,) = clip_to_grid(np.array([value]), lower, upper, middle)
        assert abs(got) <= GRID and got == int(got)
        if math.isnan(value):
            assert got == 0


def test_ends_of_the_grid():
    values = np.array([-5.0, 0, 4, 10, np.inf, -np.inf, np.nan])
    expected = np.array([-4, -4, 0, 6, 6, -4, 0]) / 6 * GRID
    np.testing.assert_array_equal(clip_to_grid(values, 0, 10, 4), np.rint(expected))


@pytest.mark.parametrize("panel", [1, 3, 1024])
def test_the_second_moment_is_exact_in_any_block(monkeypatch, panel):
    monkeypatch.setattr(integer_moments, "_PANEL", panel)
    rng = np.random.default_rng()
    rows = scale_to_length(np.rint(rng.uniform(-GRID, GRID, (500, 7))), LENGTH)
    whole = rows.astype(object).T @ rows.astype(object)
    monkeypatch.setattr(integer_moments, "_ROWS_AT_ONCE", 64)
    for blocks in ([rows], np.array_split(rows, 9)):
        assert (exact_second_moment(blocks, 7) == whole).all()
    total, n_rows = exact_sum(np.array_split(rows, 4), 7)
    assert n_rows == 500 and (total == rows.astype(object).sum(axis=0)).all()


def test_sums_of_a_block_are_exact_in_doubles():
    assert integer_moments._ROWS_AT_ONCE * LENGTH**2 <= 2**53
    assert integer_moments.MOST_ROWS * LENGTH**2 + 10 * 2**57 < 2**63


def test_a_long_row_and_too_many_rows_are_refused(monkeypatch):
    with pytest.raises(ParameterError, match="rows"):
        exact_second_moment([np.array([[LENGTH, 1.0]])], 2)
    monkeypatch.setattr(integer_moments, "MOST_ROWS", 3)
    with pytest.raises(ParameterError, match="data"):
        exact_sum([np.zeros((2, 1)), np.zeros((2, 1))], 1)


def _squared_whitened(change: np.ndarray) -> float:
    """Return the squared distance in units of sigma, where the diagonal has variance 2."""
    above = change[np.triu_indices(len(change), 1)].astype(float)
    return float(above @ above + (np.diag(change).astype(float) ** 2).sum() / 2)


@settings(max_examples=60)
@given(st.integers(1, 4), st.integers(0, 4), st.data())
def test_the_sensitivity_of_the_second_moment_holds(m, n_others, data):
    shape = hnp.array_shapes(min_dims=1, max_dims=1, min_side=3, max_side=3)
    rows = hnp.arrays(np.int64, shape, elements=ENTRIES)
    draw = [data.draw(rows) for _ in range(m + min(n_others, m))]
    mine, yours = (scale_to_length(np.array(part).reshape(-1, 3).astype(float), LENGTH)
                   for part in (draw[:m], draw[m:]))  # fmt: skip
    change = exact_second_moment([mine], 3) - exact_second_moment([yours], 3)
    assert sum(int(x) ** 2 for x in change.ravel()) <= 2 * (m * LENGTH**2) ** 2
    # mu^2 sigma^2 of `Scales`: m^2 L^4.
    assert _squared_whitened(change) <= (m * LENGTH**2) ** 2 * (1 + 1e-12)


def test_orthogonal_rows_attain_the_sensitivity():
    rows = LENGTH * np.eye(3)
    change = exact_second_moment([rows[:1]] * 2, 3) - exact_second_moment([rows[1:2]] * 2, 3)
    assert sum(int(x) ** 2 for x in change.ravel()) == 2 * (2 * LENGTH**2) ** 2


@settings(max_examples=200)
@given(st.integers(1, 5), st.data())
def test_the_sensitivity_of_sum_and_count_holds(m, data):
    """(a + b)^2 R^2 + (a - b)^2 W^2 <= 4 m^2 R^2, with the count's weight W <= sqrt(3) R."""
    squared_norm = data.draw(st.integers(1, 10**12))
    weight = math.isqrt(3 * squared_norm)
    a, b = data.draw(st.integers(0, m)), data.draw(st.integers(0, m))
    squared_change = (a + b) ** 2 * squared_norm + (a - b) ** 2 * weight**2
    assert squared_change <= 4 * m**2 * squared_norm


def test_noise_is_symmetric_integer_and_wider_on_the_diagonal():
    noise = noisy_second_moment(np.zeros((40, 40), dtype=np.int64), 2**40)
    assert noise.dtype == np.int64 and (noise == noise.T).all()
    assert (noise[np.triu_indices(40)] != 0).all()
    assert diagonal_sigma(2**40) ** 2 >= 2 * 2**80 > (diagonal_sigma(2**40) - 1) ** 2
    for spread, sigma in (
        (noise[np.triu_indices(40, 1)], 2**40),
        (np.diag(noise), diagonal_sigma(2**40)),
    ):
        # Chi-squared within about six standard deviations: false alarm 1e-8.
        n = spread.size
        assert abs(((spread / sigma) ** 2).sum() - n) < 6.5 * math.sqrt(2 * n) + 20


@pytest.mark.parametrize("in_place", [False, True])
def test_every_entry_above_the_diagonal_has_a_draw_of_its_own(monkeypatch, in_place):
    draws = iter(range(1, 100))
    monkeypatch.setattr(integer_moments, "_PANEL", 3)
    monkeypatch.setattr(
        integer_moments,
        "rounded_normal",
        lambda n, _: np.array([next(draws) for _ in range(n)], dtype=int),
    )
    moment = np.full((7, 7), 1000)
    noisy = noisy_second_moment(moment, 1, in_place=in_place)
    assert sorted(noisy[np.triu_indices(7)] - 1000) == list(range(1, 29))
    assert (noisy == noisy.T).all() and (noisy is moment) == in_place == bool((moment > 1000).all())


def test_a_moment_of_one_feature_has_one_entry():
    assert noisy_second_moment(np.zeros((1, 1), dtype=np.int64), 100).shape == (1, 1)
