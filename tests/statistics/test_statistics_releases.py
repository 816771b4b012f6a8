"""Content of a released statistic, and refused arguments."""

import math
import sys

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.privacy import gaussian_epsilon
from dpcore.statistics import (
    clipping_bias,
    error_law,
    people_needed,
    private_histogram,
    private_mean,
    private_variance,
)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_scales_by_hand(rng):
    values = np.linspace(0, 10, 50)
    assert private_mean(values, bounds=(0, 10), epsilon=0.5, rng=rng).noise_scale == 10 / 50 / 0.5
    variance = private_variance(values, bounds=(0, 10), epsilon=0.5, rng=rng)
    assert variance.noise_scale == pytest.approx(100 * 49 / 2500 / 0.5)
    assert private_histogram(values, edges=[0, 5, 10], epsilon=0.5, rng=rng).noise_scale == 4


def test_noise_off_gives_the_clipped_statistic(rng):
    values = np.array([-5.0, 1.0, 2.0, 30.0])
    asked = dict(bounds=(0, 10), epsilon=math.inf, rng=rng)
    mean = private_mean(values, **asked)
    assert float(mean) == 13 / 4
    assert mean.guarantee.mechanism == "none" and not mean.guarantee.is_private
    assert float(private_variance(values, **asked)) == np.var([0, 1, 2, 10])
    counts = private_histogram(values, edges=[0, 2, 10], epsilon=math.inf, rng=rng)
    np.testing.assert_array_equal(counts, [2, 2])


@pytest.mark.parametrize("release", [private_mean, private_variance])
def test_gaussian_columns_compose_exactly(release, rng):
    values = rng.random((30, 4)) * [1, 2, 3, 4]
    out = release(
        values, bounds=(0, [1, 2, 3, 4]), epsilon=3, delta=1e-6, mechanism="gaussian", rng=rng
    )
    assert out.value.shape == out.noise_scale.shape == (4,)
    # Worst case: every column moves by its sensitivity at once.
    joint = np.linalg.norm(out.sensitivity / out.noise_scale)
    assert gaussian_epsilon(1e-6, 1.0, joint) == pytest.approx(3, rel=1e-9)
    assert out.guarantee.keeps_requested
    assert out.guarantee.epsilon == pytest.approx(3, rel=1e-9)
    assert out.guarantee.l2_sensitivity / out.guarantee.sigma == pytest.approx(joint)


def test_laplace_columns_share_the_budget(rng):
    out = private_mean(rng.random((30, 4)), bounds=(0, 1), epsilon=2, delta=1e-3, rng=rng)
    assert np.sum(out.sensitivity / out.noise_scale) == pytest.approx(2)
    assert (out.guarantee.epsilon, out.guarantee.delta) == (2, 0)
    assert "epsilon / 4" in out.guarantee.noise_added_by
    assert any("Mironov" in sentence for sentence in out.guarantee.assumptions)


def test_histogram_of_columns(rng):
    values = rng.random((100, 3)) * [1, 10, 100]
    edges = [np.linspace(0, top, 6) for top in (1, 10, 100)]
    out = private_histogram(values, edges=edges, epsilon=1, rng=rng)
    assert out.value.shape == (3, 5)
    np.testing.assert_allclose(out.noise_scale, 6)
    shared = private_histogram(values, edges=edges[2], epsilon=math.inf, rng=rng)
    np.testing.assert_array_equal(np.asarray(shared)[2], np.histogram(values[:, 2], edges[2])[0])


def test_post_processing_is_asked_for(rng):
    values = np.array([0.0, 1.0])
    asked = dict(bounds=(0, 1), epsilon=0.01)
    means = [
        [float(private_mean(values, **asked, clip_to_range=clip, rng=rng)) for _ in range(50)]
        for clip in (False, True)
    ]
    assert np.max(np.abs(means[0])) > 1
    assert np.min(means[1]) >= 0 and np.max(means[1]) <= 1
    variance = [
        float(private_variance(values, **asked, clip_to_range=True, rng=rng)) for _ in range(50)
    ]
    assert min(variance) >= 0 and max(variance) <= 0.25
    columns = private_mean(
        np.zeros((5, 2)), bounds=(0, [1, 3]), epsilon=0.01, clip_to_range=True, rng=rng
    )
    assert np.all((columns.value >= 0) & (columns.value <= [1, 3]))
    edges = np.linspace(0, 1, 101)
    raw, floored = (
        private_histogram(values, edges=edges, epsilon=0.1, non_negative=floor, rng=rng).value
        for floor in (False, True)
    )
    assert raw.min() < 0 == floored.min()


def test_clipping_bias():
    values = [0.0, 10.0, 50.0]
    assert clipping_bias(values, bounds=(0, 20)) == pytest.approx(-10)
    expected = np.var([0, 10, 20]) - np.var(values)
    assert clipping_bias(values, bounds=(0, 20), statistic="variance") == pytest.approx(expected)


def test_no_noise_needs_nobody():
    assert people_needed(0.1, epsilon=math.inf) == 1
    assert people_needed(0.1, statistic="variance", epsilon=math.inf) == 2


@pytest.mark.parametrize(
    ("changed", "parameter"),
    [
        (dict(values=[]), "values"),
        (dict(values=[1.0, np.nan]), "values"),
        (dict(values=3.0), "values"),
        (dict(bounds=(1, 1)), "bounds"),
        (dict(bounds=(0, np.inf)), "bounds"),
        (dict(bounds=(0, [1, 2])), "bounds"),
        (dict(bounds=3), "bounds"),
        (dict(epsilon=0), "epsilon"),
        (dict(delta=1), "delta"),
        (dict(mechanism="gaussian"), "delta"),
        (dict(mechanism="uniform"), "mechanism"),
    ],
)
@pytest.mark.parametrize("release", [private_mean, private_variance])
def test_refusals(release, changed, parameter, rng):
    asked = dict(values=[0.2, 0.4], bounds=(0, 1), epsilon=1.0, rng=rng) | changed
    with pytest.raises(ParameterError) as caught:
        release(asked.pop("values"), **asked)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    "edges", [[0], ["low", "high"], [0, 0, 1], [1, 0], [[0, 1], [0, 1]], [0, np.inf]]
)
def test_edges_refused(edges, rng):
    with pytest.raises(ParameterError, match="^edges must be"):
        private_histogram([0.2, 0.4], edges=edges, epsilon=1, rng=rng)


@pytest.mark.parametrize("release", [private_mean, private_variance])
@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"values": ["thirty", "forty"]}, "values must be numbers"),
        ({"values": [[1.0, 2.0], [3.0]]}, "values must be numbers"),
        ({"values": [0.5, np.nan]}, "values must be finite, got nan"),
        ({"rng": 20261128}, "rng must be a numpy.random.Generator, got <class 'int'>"),
    ],
)
def test_arguments_of_another_type_are_named_without_their_content(release, changed, sentence, rng):
    arguments = {"values": [0.2, 0.4], "bounds": (0, 1), "epsilon": 1.0, "rng": rng} | changed
    with pytest.raises(ParameterError) as caught:
        release(arguments.pop("values"), **arguments)
    message = str(caught.value)
    assert message.startswith(sentence)
    assert "thirty" not in message and "20261128" not in message


def test_planning_refusals():
    for changed, parameter in [
        (dict(error=0), "error"),
        (dict(probability=1), "probability"),
        (dict(statistic="median"), "statistic"),
    ]:
        asked = dict(error=1.0, epsilon=1.0) | changed
        with pytest.raises(ParameterError, match=f"^{parameter} must be"):
            people_needed(asked.pop("error"), **asked)
    with pytest.raises(ParameterError, match="^scale must be"):
        error_law("laplace", 0)
    with pytest.raises(ParameterError, match="^statistic must be"):
        clipping_bias([1.0], bounds=(0, 1), statistic="median")


@pytest.mark.parametrize("release", [private_mean, private_variance])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_one_person_moves_what_noise_is_added_to_by_the_sensitivity_far_from_0(
    release, columns, rng, monkeypatch
):
    """The rounding of sums of 10^6 numbers near 10^9 exceeds the change of one of them."""
    exact = []

    def watched(name, statistic, *rest, **named):
        exact.append(np.asarray(statistic))
        return release_of(name, statistic, *rest, **named)

    module = sys.modules[release.__module__]
    release_of = module.release
    monkeypatch.setattr(module, "release", watched)
    low, n_samples = 1e9, 10**6
    values = low + rng.random((n_samples, *columns))
    for last in (low, low + 1):
        values[-1] = last
        result = release(values, bounds=(low, low + 1), epsilon=1, rng=rng)
    moved = abs(exact[1] - exact[0])
    assert np.all(moved <= result.sensitivity * (1 + 1e-6))
    if release is private_mean:
        assert np.all(moved >= result.sensitivity * (1 - 1e-6))
        np.testing.assert_allclose(result.value, values.mean(axis=0), atol=1e-4)


@pytest.mark.parametrize("release", [private_mean, private_variance])
@pytest.mark.parametrize(
    "bounds",
    [
        (1.7e18, 1.7e18 + 86400),
        (-1e15, -1e15 + 1),
        (0, 1e-200),
        (1e-180, 2e-180),
        (1e9, [1e9 + 0.1]),
    ],
)
def test_ranges_without_digits_in_double_precision_are_refused(release, bounds, rng):
    """Numbers near 1.7e18 (nanoseconds since 1970) are 256 apart, more than the noise.
    The square of 1e-200 is 0, and so was the noise of a variance."""
    values = np.full((10, 1), bounds[0])
    with pytest.raises(ParameterError, match="bounds must be .* for double precision to hold"):
        release(values, bounds=bounds, epsilon=1.0, rng=rng)
