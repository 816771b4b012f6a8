"""Public limits of columns as text: round trips for all tables, one sentence for invalid text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.data import load_dataset, prepare
from dpcore.data.catalog import CATALOG
from dpcore.data.dataset import ColumnRange, limits_of, read_limits, written_limits
from dpcore.errors import ParameterError

USUAL = (ColumnRange("a"), ColumnRange("b=c: d", 3, 0.0, 1.0), ColumnRange("e", 1, -5.0, 5.0))
_ends = st.one_of(
    st.just((-math.inf, math.inf)),
    st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 10**6)).map(
        lambda pair: (pair[0] / 64, (pair[0] + pair[1]) / 64)
    ),
)


@given(st.tuples(_ends, _ends, _ends))
def test_what_is_written_is_read_again(ends):
    ranges = tuple(
        ColumnRange(column.name, column.n_columns, *pair)
        for column, pair in zip(USUAL, ends, strict=True)
    )
    text = written_limits(ranges, USUAL)
    if text and all(low == high for low, high in ends):
        with pytest.raises(ParameterError, match="apart in one column"):
            read_limits(text, USUAL)
        return
    assert read_limits(text, USUAL) == ranges
    limits = limits_of(ranges)
    assert (limits is None) == any(math.isinf(low) for low, _ in ends)
    if limits is not None:
        np.testing.assert_array_equal(limits[[0, 1, 2, 3, 4]], np.array(ends)[[0, 1, 1, 1, 2]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("z=0:1", "of columns that there are"),
        ("0:1", "of columns that there are"),
        ("a=1", "two numbers"),
        ("a=1:", "two numbers"),
        ("a=x:1", "two numbers"),
        ("a=1:0", "the lower one first"),
        ("a=0:inf", "finite"),
        ("a=0:nan", "finite"),
        ("a=nan:0", "finite"),
        ("a=-1e300:0", "finite"),
        ("a=0:0; b=c: d=1:1; e=2:2", "apart in one column"),
    ],
)
def test_nonsense_is_one_sentence(text, sentence):
    with pytest.raises(ParameterError, match=f"^limits must be {sentence}"):
        read_limits(text, USUAL)


@pytest.mark.parametrize("name", CATALOG)
def test_the_catalogue_s_code_books_say_limits_of_each_column(name):
    entry = CATALOG[name]
    assert sum(column.n_columns for column in entry.ranges) == entry.n_features
    assert len({column.name for column in entry.ranges}) == len(entry.ranges)
    read_limits(written_limits(entry.ranges, entry.ranges), entry.ranges)
    # A column has no limits that the documentation does not give.
    silent = {column.name for column in entry.ranges if not column.is_limited}
    assert {"covtype": "Elevation", "kddcup99": "src_bytes", "localization": "x",
            "census": "instance weight"}.get(name) in {None, *silent}  # fmt: skip


def test_limits_of_somebody_s_own_give_centre_scale_and_clipping():
    dataset = load_dataset("digits", limits="pixels=0:8")
    prepared = prepare(dataset, mode="sphere")
    assert dataset.public_ball[1] == prepared.scale == 32
    np.testing.assert_array_equal(prepared.mean, 4)
    np.testing.assert_allclose(prepared.half_widths, 1 / 8)
    assert np.abs(prepared.X).max() <= 1 / 8
    np.testing.assert_allclose(prepared.X, np.clip(dataset.X - 4, -4, 4) / 32, atol=1e-12)
    # Rows held to a shorter bound lie in its ball rather than in that box.
    assert prepare(dataset, mode="sphere", norm_bound=10).half_widths is None
    # Around zero they are limits all the same.
    shifted = load_dataset("digits", limits="pixels=-8:8")
    assert prepare(shifted, mode="sphere").n_clipped == len(shifted.X)
    assert np.abs(prepare(shifted, mode="sphere").X).max() <= 1 / 8
    # Rows are neither centred nor clipped if the catalogue's bound is smaller.
    wide = prepare(load_dataset("digits", limits="pixels=0:1000"), mode="sphere")
    assert (wide.scale, wide.half_widths) == (128, None)
