"""Known attacks on samplers of noise: they succeed on floats and fail on integers.

Each attack also runs on a vulnerable sampler, which shows its power. Neighbours differ by one
sensitivity.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np
import pytest
from scipy import stats

from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.release import integer_moments
from dpcore.release.integer_moments import noisy_second_moment, noisy_sum
from dpcore.release.normal_sampler import _cells_of, rounded_normal

FALSE_ALARM = 1e-9
SIGMA = 67_558_650_598
# Change by one person, equal to the noise scale: mu = 1.
CHANGE = SIGMA


def _float_laplace(value: float, u: float, sign: int) -> float:
    return value + sign * math.log(u)


def _is_possible(output: float, value: float) -> bool:
    """Return whether Laplace noise in floats, from u = k / 2^53, can give this output."""
    near = round(math.exp(-abs(output - value)) * 2**53)
    sign = -1 if output > value else 1
    return any(
        _float_laplace(value, k / 2**53, sign) == output
        for k in range(max(near - 12, 1), min(near + 12, 2**53) + 1)
    )


def test_float_laplace_has_gaps_that_tell_neighbours_apart():
    """Mironov (2012): many outputs are possible for one neighbour only."""
    outputs = [
        _float_laplace(0.0, 1 - random.random(), random.choice((1, -1))) for _ in range(1000)
    ]
    outputs = [output for output in outputs if abs(output) < 4]
    assert all(_is_possible(output, 0.0) for output in outputs)
    n_revealing = sum(not _is_possible(output, 1.0) for output in outputs)
    # Two thirds are expected; a half is 11 standard deviations below.
    assert n_revealing > 500


def test_every_output_is_possible_for_both_neighbours():
    """Every output is possible for the neighbour: construct the entropy that gives it."""
    total = np.zeros(2000, dtype=np.int64)
    for change in (CHANGE, -CHANGE, 1):
        needed = noisy_sum(total, SIGMA) - (total + change)
        drawn = rounded_normal(needed.size, SIGMA, entropy=_entropy_that_gives(needed))
        np.testing.assert_array_equal(drawn, needed)


def _entropy_that_gives(noise: np.ndarray) -> Callable[[int], bytes]:
    """Return a source of bytes from which `rounded_normal` draws this noise."""
    cells = _cells_of(SIGMA)
    fine = np.abs(noise) << cells.fraction_bits
    cell = fine >> cells.width_bits
    leading = cells.leading.astype(object)
    first = [(int(leading[c - 1]) if c else 0) // 2 + int(leading[c]) // 2 for c in cell]
    place = (fine - (cell << cells.width_bits)).astype(np.uint64)
    word = (place << np.uint64(64 - cells.width_bits)) | (noise < 0).astype(np.uint64)
    answers = iter((np.array(first, dtype=np.uint64), word, ~np.zeros_like(word)))
    # The last request has no words, because no position is rejected.
    return lambda n_bytes: next(answers).tobytes() if n_bytes else b""


def test_last_digits_of_a_simulation_reveal_the_value():
    """Haney and others (2022): the precision of a float depends on its magnitude.

    Near 1 every output is a multiple of 2^-53, near 0 it is not. Simulations are vulnerable, and
    state no guarantee for releases.
    """
    noise = symmetric_gaussian_noise(1, 1.0, rng=np.random.default_rng(), size=10_000).ravel()

    def n_revealing(value: float) -> int:
        scaled = (value + noise) * 2.0**53
        return int((scaled != np.rint(scaled)).sum())

    assert n_revealing(1.0) == 0
    # A quarter is expected; a fifth is 12 standard deviations below.
    assert n_revealing(0.0) > 2000


@pytest.mark.parametrize("value", [0, CHANGE, 1 << 45])
def test_last_digits_of_a_release_are_uniform(value):
    noisy = noisy_sum(np.full(40_000, value, dtype=np.int64), SIGMA)
    last = np.bincount(noisy & 63, minlength=64)
    assert stats.chisquare(last).pvalue > FALSE_ALARM
    # Shares of outputs that end with k zero bits, each within 6.5 standard deviations.
    zeros = [((noisy & ((1 << k) - 1)) == 0).mean() for k in range(1, 8)]
    np.testing.assert_allclose(zeros, 0.5 ** np.arange(1, 8), atol=6.5 / 2 / math.sqrt(40_000))


def _operations(run: Callable[[], object]) -> list[tuple[str, int]]:
    """Return the lines of this project and this file that Python executes, in order."""
    lines: list[tuple[str, int]] = []

    def look(frame, event, _):
        name = frame.f_code.co_filename
        if "dpcore" not in name and name != __file__:
            return None
        if event == "line":
            lines.append((frame.f_code.co_name, frame.f_lineno))
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        run()
    finally:
        sys.settrace(before)
    return lines


def _redrawn_into_limits(value: float, rng: random.Random) -> float:
    """Draw Laplace noise until the sum is in [0, 1], as bounded mechanisms do."""
    while True:
        noisy = _float_laplace(value, 1 - rng.random(), rng.choice((1, -1)))
        if 0 <= noisy <= 1:
            return noisy


def test_steps_of_a_rejecting_sampler_depend_on_the_value():
    """The number of steps of a vulnerable sampler depends on the value."""

    def steps(value: float) -> int:
        rng = random.Random(1)
        return len(_operations(lambda: [_redrawn_into_limits(value, rng) for _ in range(400)]))

    assert steps(0.0) > 1.1 * steps(0.5)


def test_steps_of_the_sampler_do_not_depend_on_the_data(monkeypatch):
    """Compare executed lines and requested bytes for equal entropy, instead of times.

    The entropy makes the sampler reject some draws, so that it repeats them.
    """
    sizes: list[int] = []
    calls = count()

    def entropy(n_bytes: int) -> bytes:
        sizes.append(n_bytes)
        words = np.random.default_rng(next(calls)).integers(0, 2**64, n_bytes // 8, dtype=np.uint64)
        words[::50] >>= np.uint64(20)
        return words.tobytes()

    monkeypatch.setattr(integer_moments, "rounded_normal", partial(rounded_normal, entropy=entropy))
    rows = np.random.default_rng().integers(-(2**16), 2**16, (40, 12))
    longest = (1 << 27) * rows.T @ rows // np.abs(rows.T @ rows).max()
    _cells_of(SIGMA), _cells_of(integer_moments.diagonal_sigma(SIGMA))

    def steps(moment: np.ndarray) -> tuple[list[tuple[str, int]], list[int]]:
        nonlocal calls
        calls = count()
        sizes.clear()
        lines = _operations(
            lambda: (noisy_sum(moment[0], SIGMA), noisy_second_moment(moment, SIGMA))
        )
        return lines, list(sizes)

    of_zeros, of_rows = steps(np.zeros_like(longest)), steps(longest)
    assert of_zeros == of_rows
    assert len(of_zeros[1]) > 3 * 3
