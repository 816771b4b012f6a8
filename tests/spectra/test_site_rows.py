"""Rows at length 1 around a centre: their lengths, and the effect of one row on the moment."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from threading import Event

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from dpcore.errors import ParameterError
from dpcore.privacy import l2_sensitivity_of_second_moment, l2_sensitivity_on_sphere
from dpcore.spectra import SiteRows, site_moments
from dpcore.spectra import site_rows as module

N, D = 5, 3
ENTRIES = st.floats(-(2.0**50), 2.0**50, width=32, allow_subnormal=False)
TABLES = arrays(np.float32, (N + 1, D), elements=ENTRIES)
CENTRES = arrays(np.float64, D, elements=st.floats(-1, 1, allow_subnormal=False))


# The whole row, and two views of it, as CCA reads them: of the same weight or of any other.
TWO_VIEWS = [((slice(2), w**0.5), (slice(2, None), (1 - w) ** 0.5)) for w in (0.5, 0.1)]
PARTS = st.sampled_from([module.WHOLE, *TWO_VIEWS])


def one_site(rows, parts=module.WHOLE):
    return SiteRows.of(rows, (np.arange(len(rows)),), parts=parts)


def squared_length(row):
    return sum(Fraction(float(entry)) ** 2 for entry in row)


@given(rows=TABLES, centre=CENTRES, parts=PARTS, dtype=st.sampled_from([np.float32, np.float64]))
def test_no_row_is_longer_than_one_in_exact_arithmetic(rows, centre, parts, dtype):
    directions = module.directions(rows.astype(dtype), centre.astype(dtype), parts)
    assert np.isfinite(directions).all()
    for row in directions:
        assert squared_length(row) <= 1
        for columns, length in parts:
            squared = squared_length(row[columns])
            assert squared == 0 or abs(squared - length**2) < 100 * np.finfo(dtype).eps


@given(rows=TABLES, centre=CENTRES, parts=PARTS)
def test_one_person_moves_the_moment_by_no_more_than_the_sensitivity(rows, centre, parts):
    rows = rows.astype(np.float64)
    moments = [
        one_site(rows[[*range(N - 1), last]], parts).moment_around(centre) for last in (N - 1, N)
    ]
    rounding = 1e-14
    change = float(np.linalg.norm(moments[0] - moments[1]))
    assert change <= l2_sensitivity_of_second_moment(N) + rounding


def test_a_worst_pair_attains_the_sensitivity_of_moment_and_mean_at_once():
    """All other rows are e2, so x = e1 and -e1 are at right angles around their mean."""
    n, weight = 10**6, 0.7
    others = np.tile(np.eye(2)[1], (n - 1, 1))
    first, second = (
        one_site(np.vstack([others, row])) for row in (np.array([[1.0, 0]]), np.array([[-1.0, 0]]))
    )
    centre = first.means[0]
    moved = np.linalg.norm(first.moment_around(centre) - second.moment_around(centre))
    mean_moved = np.linalg.norm(first.means[0] - second.means[0])
    together = math.hypot(moved, weight * mean_moved)
    sensitivity = l2_sensitivity_on_sphere(n, weight=weight)
    assert sensitivity * (1 - 1e-4) < together <= sensitivity * (1 + 1e-9)


def test_a_view_that_turns_around_attains_the_sensitivity_of_both_views():
    """Seen in the first view only: it turns around the mean, while the second, away from its own
    mean, stays where it is; the first views of all others are at the mean."""
    n, weight = 10**4, 0.7
    others = np.tile([0.0, 0.0, 1.0], (n - 1, 1))
    first, second = (
        one_site(np.vstack([others, [[x, 0.0, 0.0]]]), TWO_VIEWS[0]) for x in (1.0, -1.0)
    )
    centre = (first.means[0] + second.means[0]) / 2
    moved = np.linalg.norm(first.moment_around(centre) - second.moment_around(centre))
    mean_moved = np.linalg.norm(first.means[0] - second.means[0])
    together = math.hypot(moved, weight * mean_moved)
    sensitivity = l2_sensitivity_on_sphere(n, weight=weight)
    assert sensitivity * (1 - 1e-9) < together <= sensitivity * (1 + 1e-9)


def test_the_moment_is_that_of_rows_divided_by_their_distance():
    rng = np.random.default_rng(5)
    rows, centre = rng.normal(0.3, 1, (7000, 4)), np.full(4, 0.2)
    sites = (np.arange(0, 7000, 2), np.arange(1, 7000, 2))
    shifted = rows - centre
    shifted /= np.linalg.norm(shifted, axis=1, keepdims=True)
    site_rows = SiteRows.of(rows, sites)
    expected = site_moments(shifted, sites)
    for site in (0, 1):
        np.testing.assert_allclose(
            site_rows.moment_around(centre, site), expected.second_moments[site], atol=1e-12
        )
    np.testing.assert_allclose(site_rows.moment_around(centre), expected.pooled(), atol=1e-12)
    np.testing.assert_array_equal(
        site_rows.moment_around(centre, threads=1), site_rows.moment_around(centre, threads=7)
    )
    np.testing.assert_array_equal(
        site_rows.at([1]).moment_around(centre), site_rows.moment_around(centre, 1)
    )


def wide(n_rows: int, n_features: int) -> np.ndarray:
    """Return float32 rows that become whole numbers: all alike, one direction, a few, or any."""
    rng = np.random.default_rng()
    rows = rng.normal(size=(n_rows, n_features))
    rows[: n_rows // 4] = 1
    rows[n_rows // 4 : n_rows // 2, 1:] = 0
    rows[n_rows // 2 : n_rows // 2 + 9] = np.eye(n_features)[:9]
    return rows.astype(np.float32)


@pytest.mark.parametrize("n_features", [256, 1000])
def test_wide_rows_are_whole_numbers_of_bounded_length(n_features):
    directions = module.directions(wide(400, n_features), np.zeros(n_features, np.float32))
    whole = module._round_to_integers(directions.copy()).astype(np.int64)
    assert ((whole**2).sum(axis=1) <= module._INTEGER_LENGTH**2).all()
    assert np.abs(whole / module._INTEGER_LENGTH - directions).max() < 0.04


def test_products_of_wide_rows_are_exact_in_whatever_precision_they_are_taken():
    """Float32 cannot represent the sums of a block of the first rows, which are all alike."""
    directions = module.directions(wide(8192, 300), np.zeros(300, np.float32))
    whole = module._round_to_integers(directions)
    for rows in (whole, whole[-2048:]):
        # Whole numbers below 2^53 are exact in float64; int64 has no fast product.
        exact = rows.astype(np.float64).T @ rows
        some = rows[:, ::37].astype(np.int64).T @ rows[:, :9].astype(np.int64)
        np.testing.assert_array_equal(exact[::37, :9], some)
        np.testing.assert_array_equal(module._integer_product(rows), exact)
    in_float32 = whole.T @ whole
    assert in_float32.diagonal().max() > module._EXACT_LIMIT
    n_rows = len(whole)
    around = one_site(wide(n_rows, 300)).moment_around(np.zeros(300))
    assert (around * n_rows * module._INTEGER_LENGTH**2 % 1 == 0).all()


def test_the_public_total_of_wide_rows_includes_their_rounding():
    """A total of 1 left the share of a Fashion-MNIST release outside 67 of 100 of its intervals."""
    n_features = 300
    rows = np.random.default_rng().normal(size=(3000, n_features)).astype(np.float32)
    held, centre = one_site(rows), np.full(n_features, 0.01)
    assert held.moment_around(centre).trace() == pytest.approx(held.total_around(centre), abs=5e-4)
    assert held.total_around(centre) < 1


def test_replacing_one_wide_row_moves_the_moment_by_its_sensitivity_at_most():
    """The two rows with the largest distance, in exact numbers, for any other rows."""
    n_rows, n_features = 4000, 256
    for _ in range(5):
        rows = wide(n_rows, n_features)
        moments = []
        for row in np.eye(n_features, dtype=np.float32)[:2]:
            rows[-1] = row
            moments.append(one_site(rows).moment_around(np.zeros(n_features)))
        change = float(np.linalg.norm(moments[0] - moments[1]))
        assert change <= l2_sensitivity_of_second_moment(n_rows)


def test_a_moment_is_left_between_two_blocks():
    rows = SiteRows.of(np.ones((3 * module.BLOCK_ROWS, 2)), (np.arange(3 * module.BLOCK_ROWS),))
    asked: list[None] = []

    def ask():
        asked.append(None)
        if len(asked) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rows.moment_around(np.zeros(2), threads=1, checkpoint=ask)
    assert len(asked) == 2


def test_means_are_of_rows_shortened_to_the_bound():
    rows = np.array([[3.0, 4.0], [0.0, 0.5], [0.0, 0.0], [1.0, 0.0]])
    site_rows = SiteRows.of(rows, (np.array([0, 1]), np.array([2, 3])))
    np.testing.assert_allclose(site_rows.means, [[0.3, 0.65], [0.5, 0.0]], rtol=1e-12)
    np.testing.assert_array_equal(site_rows.unscaled_moments.second_moments[0], rows.T @ rows / 4)


def test_nobody_waits_for_the_moments_of_another_table(monkeypatch):
    """Python 3.11 has one lock for a cached property of all instances."""
    entered, may_end = Event(), Event()

    def slow(rows, sites, **how):
        if len(rows) > 2:
            entered.set()
            assert may_end.wait(30)
        return site_moments(rows, sites, **how)

    monkeypatch.setattr(module, "site_moments", slow)
    large = one_site(np.ones((3, 2)))
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(lambda: large.unscaled_moments)
        assert entered.wait(30)
        small = pool.submit(lambda: one_site(np.eye(2)).unscaled_moments)
        try:
            np.testing.assert_array_equal(small.result(10).pooled(), np.eye(2) / 2)
        finally:
            may_end.set()
    assert waiting.result() is large.unscaled_moments


def test_a_row_that_is_the_centre_counts_as_nothing():
    rows = np.array([[0.25, 0.5], [0.25, 1.5]])
    np.testing.assert_allclose(
        one_site(rows).moment_around(rows[0]), np.diag([0.0, 0.5]), rtol=1e-12, atol=1e-30
    )
    seen_once = one_site(np.array([[1.0, 2, 0.5], [1, 3, 2]]), TWO_VIEWS[0]).moment_around(
        np.array([1.0, 2, 1])
    )
    np.testing.assert_allclose(seen_once.diagonal(), [0, 0.25, 0.5], rtol=1e-12)
    np.testing.assert_array_equal(
        one_site(np.ones((3, 2))).moment_around(np.ones(2)), np.zeros((2, 2))
    )


@pytest.mark.parametrize("sites", [[[0]], [[0, 1], [1, 2]], [[0, 9]]])
def test_sites_are_checked_as_for_moments(sites):
    with pytest.raises(ParameterError, match="sites"):
        SiteRows.of(np.eye(3), [np.array(site) for site in sites])
