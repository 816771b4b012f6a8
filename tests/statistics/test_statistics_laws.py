"""The errors of released statistics follow their laws, and the sensitivities hold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from dpcore.statistics import (
    error_law,
    people_needed,
    private_histogram,
    private_mean,
    private_variance,
    replace_one_sensitivity,
)

FALSE_ALARM = 1e-9
MECHANISMS = [("laplace", 0.0), ("gaussian", 1e-5)]


def assert_follows(errors, law):
    """Test a law by Kolmogorov-Smirnov and two moments, with false alarms of at most 1e-9 each.

    KS by the Dvoretzky-Kiefer-Wolfowitz-Massart inequality, P(D > t) <= 2 exp(-2 n t^2), which
    holds for every n. The moments by the normal limit of a mean of n draws (n is thousands), with
    the exact standard errors of the law; 6.5 is beyond its 1e-9 quantile, 6.11, by a margin for
    what the limit misses.
    """
    errors = np.ravel(errors)
    n = len(errors)
    assert stats.kstest(errors, law.cdf).statistic <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * n))
    variance, fourth = law.var(), law.moment(4)
    assert abs(errors.mean()) <= 6.5 * math.sqrt(variance / n)
    assert abs((errors**2).mean() - variance) <= 6.5 * math.sqrt((fourth - variance**2) / n)


@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
@pytest.mark.parametrize("release", [private_mean, private_variance])
def test_error_of_single_releases(release, mechanism, delta):
    rng = np.random.default_rng(11)
    values = rng.uniform(-3, 5, size=40)
    exact = values.mean() if release is private_mean else values.var()
    asked = dict(bounds=(-3, 5), epsilon=0.7, delta=delta, mechanism=mechanism, rng=rng)
    draws = [release(values, **asked) for _ in range(4000)]
    law = error_law(mechanism, draws[0].noise_scale)
    assert_follows([float(draw) - exact for draw in draws], law)


@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
def test_error_of_a_joint_release(mechanism, delta):
    # 20000 columns with ranges of their own are 20000 independent draws of one law.
    rng = np.random.default_rng(12)
    high = rng.uniform(1, 10, size=20000)
    values = rng.random((3, high.size)) * high
    out = private_mean(
        values, bounds=(0, high), epsilon=2.0, delta=delta, mechanism=mechanism, rng=rng
    )
    np.testing.assert_allclose(out.noise_scale / high, out.noise_scale[0] / high[0])
    assert_follows((out.value - values.mean(axis=0)) / out.noise_scale, error_law(mechanism, 1.0))


@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
def test_error_of_counts(mechanism, delta):
    rng = np.random.default_rng(13)
    values = rng.random(500)
    edges = np.linspace(0, 1, 20001)
    out = private_histogram(
        values, edges=edges, epsilon=0.3, delta=delta, mechanism=mechanism, rng=rng
    )
    exact = np.histogram(values, edges)[0]
    assert_follows(out.value - exact, error_law(mechanism, out.noise_scale))


bounded_rows = st.integers(2, 12).flatmap(
    lambda n: st.tuples(
        arrays(float, n, elements=st.floats(-2, 3)), st.integers(0, n - 1), st.floats(-2, 3)
    )
)


@given(bounded_rows)
def test_neighbours_stay_within_the_sensitivity(case):
    values, who, other = case
    neighbour = values.copy()
    neighbour[who] = other
    n = len(values)
    # 1e-12: rounding of sums of at most a dozen numbers of size 3.
    mean, variance = (
        replace_one_sensitivity(name, n, (-2, 3)) + 1e-12 for name in ("mean", "variance")
    )
    assert abs(values.mean() - neighbour.mean()) <= mean
    assert abs(values.var() - neighbour.var()) <= variance
    edges = [-2, -1, 0, 0.5, 3]
    moved = np.histogram(values, edges)[0] - np.histogram(neighbour, edges)[0]
    assert np.abs(moved).sum() <= 2
    assert np.linalg.norm(moved) <= math.sqrt(2) + 1e-12


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_sensitivities_are_attained(n):
    low, high = -2.0, 3.0
    together = np.full(n, low)
    apart = together.copy()
    apart[0] = high
    assert apart.mean() - together.mean() == pytest.approx(
        replace_one_sensitivity("mean", n, (low, high))
    )
    assert apart.var() - together.var() == pytest.approx(
        replace_one_sensitivity("variance", n, (low, high))
    )
    moved = np.histogram(apart, [low, 0, high])[0] - np.histogram(together, [low, 0, high])[0]
    assert np.abs(moved).sum() == 2
    assert replace_one_sensitivity("share", n) == pytest.approx(np.abs(moved).max() / n)


@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
@pytest.mark.parametrize("statistic", ["mean", "variance", "share"])
@given(
    error=st.floats(1e-4, 5.0),
    epsilon=st.floats(0.05, 5.0),
    probability=st.floats(0.05, 0.999),
)
def test_people_needed_is_the_smallest_number(
    statistic, mechanism, delta, error, epsilon, probability
):
    asked = dict(
        statistic=statistic,
        bounds=(0, 4),
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
    )
    n = people_needed(error, probability=probability, **asked)

    def kept(n_people):
        # Scales as the releases themselves report them, on n people.
        values = np.zeros(n_people)
        rng = np.random.default_rng(0)
        budget = dict(epsilon=epsilon, delta=delta, mechanism=mechanism, rng=rng)
        if statistic == "share":
            scale = private_histogram(values, edges=[0, 1, 4], **budget).noise_scale / n_people
        else:
            release = private_mean if statistic == "mean" else private_variance
            scale = release(values, bounds=(0, 4), **budget).noise_scale
        return 2 * error_law(mechanism, scale).cdf(error) - 1 >= probability - 1e-9

    if n > 200_000:
        return
    assert kept(n)
    assert n <= 2 or not kept(n - 1)
