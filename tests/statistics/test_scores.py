"""Private score plot: sensitivity, law of the noise, guarantees, and use of the picture."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.pca import DistributedPCA, ExponentialPCA
from dpcore.privacy import Adversary, gaussian_epsilon
from dpcore.statistics import bins_of, private_scores, score_limits

BUDGET = dict(epsilon=1.0, delta=1e-5)


def exact_counts(points, groups=None, labels=None):
    return private_scores(
        points,
        limits=(1.0, 0.5),
        epsilon=math.inf,
        bins=4,
        groups=groups,
        labels=labels,
        rng=np.random.default_rng(0),
    ).counts


@given(
    points=arrays(float, (6, 2), elements=st.floats(-1e3, 1e3)),
    moved=arrays(float, 2, elements=st.floats(-1e3, 1e3)),
    groups=arrays(int, 6, elements=st.integers(0, 2)),
    group=st.integers(0, 2),
)
def test_one_person_changes_at_most_two_counts_by_one(points, moved, groups, group):
    other_points, other_groups = points.copy(), groups.copy()
    other_points[0], other_groups[0] = moved, group
    change = exact_counts(points, groups, (0, 1, 2)) - exact_counts(
        other_points, other_groups, (0, 1, 2)
    )
    assert np.abs(change).sum() <= 2 and np.linalg.norm(change) <= math.sqrt(2)


def test_sensitivity_is_attained_and_calibrates_the_noise():
    corner, across = np.full((5, 2), -1.0), np.full((5, 2), -1.0)
    across[0] = 1.0
    change = np.linalg.norm(exact_counts(corner) - exact_counts(across))
    assert change == pytest.approx(math.sqrt(2))
    scores = private_scores(corner, limits=(1, 1), **BUDGET, rng=np.random.default_rng(0))
    assert gaussian_epsilon(1e-5, scores.noise_scale, change) == pytest.approx(1.0, rel=1e-6)
    assert scores.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)
    pure = private_scores(
        corner, limits=(1, 1), epsilon=1.0, mechanism="laplace", rng=np.random.default_rng(0)
    )
    assert (pure.noise_scale, pure.guarantee.delta) == (2.0, 0.0)


@pytest.mark.parametrize("combine", ["noisy", "secure"])
def test_noise_of_sites_follows_its_law_and_no_adversary_learns_more(combine):
    rng = np.random.default_rng(5)
    points = rng.normal(size=(200, 2)) / 4
    draws = [
        private_scores(
            points, limits=(1, 1), **BUDGET, bins=16, sites=np.arange(200) % 5,
            combine=combine, rng=rng,
        )
        for _ in range(20)
    ]  # fmt: skip
    exact = private_scores(points, limits=(1, 1), epsilon=math.inf, bins=16, rng=rng).counts
    errors = np.ravel([scores.counts - exact for scores in draws]) / draws[0].noise_scale
    # Dvoretzky-Kiefer-Wolfowitz-Massart, false alarm 1e-9.
    assert stats.kstest(errors, "norm").statistic <= math.sqrt(math.log(2e9) / (2 * errors.size))
    single = private_scores(points, limits=(1, 1), **BUDGET, rng=rng).noise_scale
    # Four of five honest sites hide a person in a secure sum.
    factor = math.sqrt(5) if combine == "noisy" else math.sqrt(5 / 4)
    assert draws[0].noise_scale == pytest.approx(factor * single)
    guarantee = draws[0].guarantee
    assert {entry.adversary for entry in guarantee.against} == set(Adversary)
    assert all(entry.epsilon <= 1 + 1e-6 for entry in guarantee.against)
    assert guarantee.epsilon == pytest.approx(1, rel=1e-6)


def test_limits_and_bins_depend_on_public_numbers_only():
    rng = np.random.default_rng(1)
    near, far = rng.normal(size=(300, 2)) / 10, rng.normal(size=(300, 2)) * 100
    shapes = [
        private_scores(points, limits=(1, 1), **BUDGET, rng=rng).edges for points in (near, far)
    ]
    np.testing.assert_array_equal(*shapes)
    assert bins_of(10_000, 5.0) > bins_of(500, 5.0) > bins_of(500, 50.0)
    assert score_limits([0.04, 0.0], 2.0) == pytest.approx((0.6, 0.1))
    assert score_limits(None, 2.0) == score_limits([np.nan, np.nan], 2.0) == (2.0, 2.0)


def test_components_without_eigenvalues_have_a_score_plot_within_the_bound():
    """ExponentialPCA has no eigenvalues, and its score plot raised AttributeError."""
    rows = np.random.default_rng(0).normal(size=(50, 4)) / 10
    pca = ExponentialPCA(2, epsilon=1.0, random_state=0).fit(rows)
    released = pca.private_scores(rows, epsilon=1.0, delta=1e-3)
    assert released.edges[0][-1] == pytest.approx(1.0)


def test_people_of_other_groups_are_not_spread_over_the_picture():
    """The density once had the sum of all people, though half of them were in no group."""
    rng = np.random.default_rng(3)
    points, groups = rng.normal(size=(2000, 2)) / 4, np.arange(2000) % 2
    scores = private_scores(
        points, limits=(1, 1), epsilon=2, delta=1e-5, groups=groups, labels=(0,), rng=rng
    )
    noise = scores.noise_scale * scores.counts.size**0.5
    assert abs(scores.density.sum() - 1000) <= 6 * noise < 500


def test_shrinking_comes_closer_to_the_people_than_the_noisy_counts():
    """The post-processed picture has at most half of the squared error of the counts."""
    rng = np.random.default_rng(2)
    points = rng.normal([[-0.4, 0.0]] * 400 + [[0.4, 0.1]] * 400, 0.1)
    exact = private_scores(points, limits=(1, 1), epsilon=math.inf, bins=12, rng=rng).counts
    draws = [
        private_scores(points, limits=(1, 1), epsilon=0.5, delta=1e-5, bins=12, rng=rng)
        for _ in range(10)
    ]
    raw, shrunk = (
        np.mean([np.sum((values(scores) - exact) ** 2) for scores in draws])
        for values in (lambda scores: scores.counts, lambda scores: scores.density)
    )
    assert shrunk < raw / 2
    assert all(scores.density.min() >= 0 for scores in draws)
    assert all(scores.density.sum() == pytest.approx(800) for scores in draws)


def test_diagnoses_are_apart_in_the_picture_of_patients():
    """At epsilon 3 for the picture, the densities of 569 patients overlap by less than half."""
    patients = load_dataset("breast-cancer")
    centre, bound = patients.public_ball
    rows = patients.X - centre
    pca = DistributedPCA(
        2, epsilon=3.0, delta=1e-3, row_norm_bound=bound, protocol="pooled", random_state=0
    ).fit(rows)
    scores = pca.private_scores(
        rows, epsilon=3.0, delta=1e-3, groups=patients.labels, labels=(0, 1)
    )
    shares = scores.density / scores.density.sum(axis=(1, 2), keepdims=True)
    assert np.minimum(*shares).sum() < 0.5
    assert scores.guarantee.epsilon == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize(
    ("changed", "parameter"),
    [
        (dict(scores=[[0.0, math.nan]]), "scores"),
        (dict(scores=[[0.0]]), "scores"),
        (dict(bins=3), "bins"),
        (dict(limits=(0, 1)), "limits"),
        (dict(groups=["a"]), "groups"),
        (dict(labels=("a", "a"), groups=["a", "b"]), "labels"),
        (dict(sites=[0]), "sites"),
        (dict(sites=[0, 1], mechanism="laplace"), "mechanism"),
        (dict(combine="public"), "combine"),
        (dict(delta=0.0), "delta"),
        (dict(epsilon=0.0), "epsilon"),
    ],
)
def test_refusals_name_the_parameter(changed, parameter):
    arguments = dict(
        scores=[[0.0, 0.0], [0.1, 0.1]], limits=(1, 1), **BUDGET, rng=np.random.default_rng(0)
    )
    with pytest.raises(ParameterError) as error:
        private_scores(**(arguments | changed))
    assert error.value.parameter == parameter
