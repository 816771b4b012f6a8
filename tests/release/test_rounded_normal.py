"""The sampler of rounded normal numbers, compared to high precision and exact probabilities.

A correct sampler fails a test with probability 1e-9.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.release import normal_sampler as module
from dpcore.release.normal_sampler import DISTANCE, rounded_normal

FALSE_ALARM = 1e-9
LARGE = 67_558_650_598


def _chance_up_to(x: float, sigma: int) -> float:
    """Return P(round(Z) <= x) for an integer x."""
    return stats.norm.cdf((x + 0.5) / sigma)


@pytest.mark.parametrize("sigma", [1, 3, 2**14 + 1, 2**57 - 1])
def test_draws_have_the_rounded_normal_law(sigma):
    n = 100_000
    draws = rounded_normal(n, sigma)
    edges = np.unique(np.rint(np.linspace(-3, 3, 25) * sigma))
    observed = np.histogram(draws, [-np.inf, *(edges + 0.5), np.inf])[0]
    chances = np.diff([0.0, *_chance_up_to(edges, sigma), 1.0])
    assert stats.chisquare(observed, n * chances / chances.sum()).pvalue > FALSE_ALARM


def test_small_numbers_have_their_exact_probabilities():
    n, sigma = 200_000, 2
    draws = rounded_normal(n, sigma)
    values = np.arange(-7, 8)
    observed = [(draws < -7).sum(), *[(draws == v).sum() for v in values], (draws > 7).sum()]
    inner = _chance_up_to(values, sigma) - _chance_up_to(values - 1, sigma)
    chances = np.array([_chance_up_to(-8, sigma), *inner, stats.norm.sf(7.5 / sigma)])
    assert stats.chisquare(observed, n * chances / chances.sum()).pvalue > FALSE_ALARM


def test_the_last_digits_are_uniform():
    """The low bits of a draw are uniform at a large sigma."""
    draws = rounded_normal(100_000, LARGE)
    for digit in range(20):
        ones = int(((draws >> digit) & 1).sum())
        assert stats.binomtest(ones, len(draws), 0.5).pvalue > FALSE_ALARM / 20


@pytest.mark.parametrize("sigma", [3, LARGE])
def test_the_table_is_the_normal_law(sigma):
    """The total variation between the table's cells and the law of |Z| is below 2^-112."""
    cells = module._cells_of(sigma)
    assert cells.cumulative[-1] == 2**128
    with mp.workprec(300):
        width = mp.mpf(1 << cells.width_bits) / (sigma << cells.fraction_bits)
        assert 2**-11 < width <= 2**-10
        assert cells.squared_width == float(width**2)
        ends = [mp.erf(width * k / mp.sqrt(2)) for k in range(len(cells.cumulative) + 1)]
        table = [mp.mpf(count) / 2**128 for count in (0, *cells.cumulative)]
        pairs = zip(np.diff(ends), np.diff(table), strict=True)
        distance = (sum(abs(a - b) for a, b in pairs) + 1 - ends[-1]) / 2
        assert distance < mp.mpf(2) ** -112


def test_the_probability_of_rejection_is_accurate():
    """The relative error of 1 - e^-g in doubles is below 2^-50, as the proof requires.

    Words just below the probability must be rejected, words just above it accepted.
    """
    sigma = 2**30 + 12_345
    cells = module._cells_of(sigma)
    rng = np.random.default_rng(0)
    cell = rng.integers(0, len(cells.cumulative), 300)
    word = rng.integers(0, 2**64, 300, dtype=np.uint64)
    position = module._position(word, cells)
    with mp.workprec(200):
        h2 = mp.mpf(1 << 2 * cells.width_bits) / (sigma << cells.fraction_bits) ** 2
        for c, w, j in zip(cell, word, position, strict=True):
            u = (mp.mpf(int(j)) + 0.5) / (1 << cells.width_bits)
            chance = -mp.expm1(-h2 * (u * int(c) + u * u / 2)) * 2**64
            slack = chance * mp.mpf(2) ** -50 + 1
            below, above = int(chance - slack), int(chance + slack) + 1
            for threshold, is_rejected in ((max(below, 0), True), (above, False)):
                if threshold == 0 and is_rejected:
                    continue
                given = (threshold - is_rejected).to_bytes(8, "little")
                outcome = module._is_rejected(
                    np.array([c]), np.array([w]), cells, lambda n, g=given: g
                )
                assert bool(outcome[0]) is is_rejected


def test_a_word_close_to_the_threshold_is_decided_by_128_bits():
    """If 64 bits do not decide, 128 bits do."""
    sigma = 2**30 + 12_345
    cells, rng = module._cells_of(sigma), np.random.default_rng()
    for cell in rng.integers(0, len(cells.cumulative), 30):
        word = rng.integers(0, 2**64, 1, dtype=np.uint64)
        position = int(module._position(word, cells)[0])
        first, second = divmod(module._chance_of_rejection(int(cell), position, cells), 2**64)
        for bits, is_rejected in ((second - 1, True), (second, False)):
            if not 0 <= bits < 2**64:
                continue
            answers = iter([first, bits])
            outcome = module._is_rejected(
                np.array([cell]), word, cells, lambda n, a=answers: next(a).to_bytes(n, "little")
            )
            assert bool(outcome[0]) is is_rejected and next(answers, None) is None
    # One word each is enough for two thousand words that are not close to the threshold.
    many = rng.integers(0, 2**64, 2000, dtype=np.uint64)
    sizes = []
    module._is_rejected(np.zeros(2000, dtype=int), many, cells,
                        lambda n: sizes.append(n) or os.urandom(n))  # fmt: skip
    assert sizes == [16_000]


def test_the_exact_probability_is_that_of_a_unit():
    """The acceptance of two units has the ratio of their probabilities, to 2^-118."""
    sigma = 2**30 + 12_345
    cells, rng = module._cells_of(sigma), np.random.default_rng()
    with mp.workprec(400):
        root = (sigma << cells.fraction_bits) * mp.sqrt(2)

        def mass(unit: int) -> mp.mpf:
            return mp.erf((unit + 1) / root) - mp.erf(unit / root)

        for cell in rng.integers(0, len(cells.cumulative), 30).tolist():
            first, second = rng.integers(0, 1 << cells.width_bits, 2).tolist()
            start = cell << cells.width_bits
            accepted = [
                2**128 - module._chance_of_rejection(cell, position, cells)
                for position in (first, second)
            ]
            wanted = mass(start + first) / mass(start + second)
            assert abs(mp.mpf(accepted[0]) / accepted[1] / wanted - 1) < mp.mpf(2) ** -118


def test_an_undecided_cell_is_decided_by_128_bits():
    cells = module._cells_of(5)
    # Cells beyond this one have probabilities below 2^-128.
    far = bisect_left(cells.cumulative, 2**128 - 2**30)
    for cell in (0, 700, far):
        first, second = divmod(cells.cumulative[cell], 2**64)
        for bits, expected in ((second, cell + 1), (second - 1, cell)):
            if not 0 <= bits < 2**64:
                continue
            numbers = module._draw_cells(
                np.array([first], dtype=np.uint64), cells, lambda n, b=bits: b.to_bytes(n, "little")
            )
            assert numbers[0] == expected
    last = module._draw_cells(np.array([2**64 - 1], dtype=np.uint64), cells, lambda n: b"\xff" * n)
    assert last[0] == len(cells.cumulative) - 1


def test_entropy_comes_from_the_operating_system(monkeypatch):
    sizes = []
    real = os.urandom

    def counted(n: int) -> bytes:
        sizes.append(n)
        return real(n)

    np.random.seed(0)  # noqa: NPY002, must have no effect
    one = rounded_normal(1000, 2**40, entropy=counted)
    np.random.seed(0)  # noqa: NPY002
    assert (one != rounded_normal(1000, 2**40)).any()
    assert rounded_normal.__kwdefaults__["entropy"] is os.urandom
    assert sum(sizes) >= 24 * 1000


def test_the_distance_of_a_release_of_784_features_is_within_its_bound():
    """A million such releases use 10^-13 of delta at epsilon = 20."""
    distance = (784 * 785 // 2 + 785) * DISTANCE
    assert distance <= 2.0**-91 and 1e6 * (1 + math.exp(20)) * distance < 1.5e-13


@pytest.mark.parametrize("sigma", [0, -1, 2**57])
def test_a_sigma_out_of_range_is_refused(sigma):
    with pytest.raises(ParameterError, match="sigma"):
        rounded_normal(1, sigma)


def test_the_terms_of_the_proof_stay_within_the_bound():
    """Add the terms of the bound on one draw in docs/algorithms/exact-release.md."""
    table = 2.0**-112
    of_the_unit = 2.0**-160
    acceptance = 2 * 2.0**-128 / 0.99
    assert table + of_the_unit + acceptance <= DISTANCE
    # The error of a probability in doubles, in units of 2^-64, is below the threshold.
    assert 0.01 * 2.0**64 * 2.0**-50 + 1 <= module._UNSURE
