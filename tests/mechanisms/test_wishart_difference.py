"""The law of a Wishart difference; no shift changes a density by more than e^epsilon."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.mechanisms import box_laplace_noise, l2_laplace_noise, wishart_difference
from dpcore.pca.assessment import noise_edge
from dpcore.privacy import nuclear_sensitivity_of_moment_and_mean
from dpcore.spectra import SiteRows

N_DRAWS, SCALE = 20_000, 0.7


def survival(*coefficients: float):
    """Return the CDF of a symmetric law with survival function exp(-x) times a polynomial."""

    def cdf(values):
        x = np.abs(values)
        tail = np.exp(-x) * np.polyval(coefficients, x)
        return np.where(values > 0, 1 - tail, tail)

    return cdf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_dimension_is_laplace_noise(false_alarm, dtype):
    noise = wishart_difference(1, SCALE, rng=np.random.default_rng(), dtype=dtype, size=N_DRAWS)
    assert noise.dtype == dtype
    assert stats.kstest(noise.ravel(), stats.laplace(scale=SCALE).cdf).pvalue > false_alarm


def test_energies_along_any_direction_are_two_laplaces_in_three_dimensions(false_alarm):
    """v^T W v is scale / 2 times chi-squared with D + 1 = 4 degrees: Gamma(2)."""
    rng = np.random.default_rng()
    noise = wishart_difference(3, SCALE, rng=rng, size=N_DRAWS)
    np.testing.assert_array_equal(noise, noise.swapaxes(1, 2))
    for _ in range(3):
        v = rng.standard_normal(3)
        energies = np.einsum("i,nij,j->n", v, noise, v) / (v @ v) / SCALE
        assert stats.kstest(energies, survival(1 / 4, 1 / 2)).pvalue > false_alarm / 3


def test_entries_off_the_diagonal_are_three_laplaces_in_two_dimensions(false_alarm):
    """Six products of independent normals: the difference of two Gamma(3)."""
    noise = wishart_difference(2, SCALE, rng=np.random.default_rng(), size=N_DRAWS)
    entries = noise[:, 0, 1] / (SCALE / 2)
    assert stats.kstest(entries, survival(1 / 16, 5 / 16, 1 / 2)).pvalue > false_alarm


def test_large_noise_has_the_spectrum_of_a_free_difference():
    """Its edge is at D scale / 2 times the root of (11 + 5 sqrt(5)) / 2, and its variance
    D^2 scale^2 / 2 (free Poisson laws); both concentrate at rates 1 / D and faster."""
    eigenvalues = np.linalg.eigvalsh(wishart_difference(400, 2 / 400, rng=np.random.default_rng()))
    sigma = 2 / 400 * math.sqrt(401)
    edge = noise_edge(np.array([sigma]), np.ones(1), 400, noise="wishart")
    assert edge == pytest.approx(math.sqrt((11 + 5 * math.sqrt(5)) / 2), rel=0.01)
    assert np.mean(eigenvalues**2) == pytest.approx(2, rel=0.05)
    assert max(eigenvalues) == pytest.approx(edge, rel=0.1)
    assert -min(eigenvalues) == pytest.approx(edge, rel=0.1)


norms, cosines = st.floats(0, 1), st.floats(-1, 1)


@given(
    norms=st.tuples(norms, norms),
    cosine=cosines,
    weight=st.floats(0, 3),
    bound=st.floats(0.1, 10),
    n_samples=st.integers(1, 1000),
)
def test_no_row_moves_the_nuclear_norm_by_more_than_the_sensitivity(
    norms, cosine, weight, bound, n_samples
):
    """Rows of any length at any angle, bordered by the mean; the worst pair attains it."""
    sensitivity = nuclear_sensitivity_of_moment_and_mean(n_samples, bound, weight=weight * bound)

    def moved(p: float, q: float, t: float) -> float:
        z = bound * np.array([p, 0, weight])
        other = bound * np.array([q * t, q * math.sqrt(1 - t * t), weight])
        change = np.outer(z, z) - np.outer(other, other)
        return float(np.abs(np.linalg.eigvalsh(change)).sum()) / n_samples

    assert moved(*norms, cosine) <= sensitivity * (1 + 1e-9)
    assert moved(1, 1, max(-1, -(weight**2))) == pytest.approx(sensitivity, rel=1e-9)


@given(seed=st.integers(0, 2**32 - 1), n_features=st.integers(1, 4), epsilon=st.floats(0.1, 5))
def test_the_shifted_pair_is_at_most_e_to_the_epsilon_less_likely(seed, n_features, epsilon):
    """The step of the proof, with SciPy's density of a Wishart matrix as the oracle."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, n_features))
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    values, vectors = np.linalg.eigh(np.outer(x, x) - np.outer(y, y))
    down, up = ((vectors * np.maximum(sign * values, 0)) @ vectors.T for sign in (1, -1))
    scale = nuclear_sensitivity_of_moment_and_mean(1) / epsilon
    law = stats.wishart(n_features + 1, np.eye(n_features) * scale / 2)
    added, subtracted = np.atleast_3d(law.rvs(2, random_state=rng)).reshape(
        2, n_features, n_features
    )
    lost = (
        law.logpdf(added)
        + law.logpdf(subtracted)
        - law.logpdf(added + down)
        - law.logpdf(subtracted + up)
    )
    assert lost == pytest.approx(np.abs(values).sum() / scale, abs=1e-6)
    assert lost <= epsilon + 1e-6


def test_a_private_vector_has_laplace_noise_of_uniform_direction(false_alarm):
    """Its length is Gamma(D); in three dimensions a coordinate of a direction is uniform."""
    rng = np.random.default_rng()
    noise = np.stack([l2_laplace_noise(3, SCALE, rng=rng) for _ in range(N_DRAWS)])
    lengths = np.linalg.norm(noise, axis=1)
    assert stats.kstest(lengths / SCALE, stats.gamma(3).cdf).pvalue > false_alarm / 4
    for coordinate in (noise / lengths[:, None]).T:
        assert stats.kstest(coordinate, stats.uniform(-1, 2).cdf).pvalue > false_alarm / 4


@pytest.mark.parametrize("half_widths", [[0.3], [1.0, 0.2, 0.5]])
def test_in_a_box_a_private_vector_has_the_law_of_the_k_norm_mechanism(half_widths, false_alarm):
    """The norm of the box is Gamma(D); given it, a point of the surface is as likely as any other:
    a coordinate at an end with chance 1 / D, else uniform. In one dimension: Laplace noise."""
    rng, half_widths = np.random.default_rng(), np.array(half_widths)
    noise = np.stack([box_laplace_noise(half_widths, SCALE, rng=rng) for _ in range(5_000)])
    n_features = len(half_widths)
    norms = np.abs(noise / half_widths).max(axis=1) / SCALE
    assert stats.kstest(norms, stats.gamma(n_features).cdf).pvalue > false_alarm / 8
    if n_features == 1:
        law = stats.laplace(scale=SCALE * half_widths[0])
        assert stats.kstest(noise[:, 0], law.cdf).pvalue > false_alarm / 8
    for place in (noise / (SCALE * half_widths * norms[:, None])).T:
        inside = place[np.abs(place) < 1 - 1e-12]
        at_ends = stats.binomtest(len(place) - len(inside), len(place), 1 / n_features)
        assert at_ends.pvalue > false_alarm / 8
        if len(inside):
            assert stats.kstest(inside, stats.uniform(-1, 2).cdf).pvalue > false_alarm / 8


@given(
    widths=st.lists(st.floats(0.01, 1), min_size=1, max_size=4),
    seed=st.integers(0, 2**32 - 1),
    n_people=st.integers(2, 6),
    epsilon=st.floats(0.1, 5),
)
def test_a_mean_of_rows_in_a_box_is_purely_private(widths, seed, n_people, epsilon):
    """A row moves the mean by at most 2 / n of the half-widths; opposite corners attain that.

    No release is then more than e^epsilon times as likely.
    """
    half_widths = np.array(widths) / np.linalg.norm(widths)
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-2, 2, (n_people, len(widths)))
    other = rows.copy()
    other[0] = 1e3 * rng.standard_normal(len(widths))
    site = (np.arange(n_people),)

    def mean(of):
        return SiteRows.of(of, site, half_widths).means[0]

    def norm(vector):
        return float(np.max(np.abs(vector) / half_widths))

    assert norm(mean(rows) - mean(other)) <= 2 / n_people * (1 + 1e-12)
    rows[0], other[0] = 1e6 * half_widths, -1e6 * half_widths
    moved = mean(rows) - mean(other)
    # A corner of the box may be shortened by the slack of rounding.
    assert norm(moved) == pytest.approx(2 / n_people, rel=1e-9)
    scale = 2 / (n_people * epsilon)
    release = mean(rows) + box_laplace_noise(half_widths, scale, rng=rng)
    lost = (norm(release - mean(other)) - norm(release - mean(rows))) / scale
    assert abs(lost) <= epsilon * (1 + 1e-9)
    beyond = mean(rows) + moved  # where the whole of it is lost
    worst = (norm(beyond - mean(other)) - norm(beyond - mean(rows))) / scale
    assert worst == pytest.approx(epsilon, rel=1e-9)


def test_half_widths_that_are_none_are_named():
    for half_widths, scale, name in (([-1.0], 1.0, "half_widths"), ([math.inf], 1.0, "half_widths"),
                                     ([], 1.0, "n_features"), ([1.0], -1.0, "scale")):  # fmt: skip
        with pytest.raises(ParameterError, match=f"^{name} must be"):
            box_laplace_noise(np.array(half_widths), scale, rng=np.random.default_rng())


@pytest.mark.parametrize("release", [wishart_difference, l2_laplace_noise])
@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"scale": -1.0}, "scale"),
        ({"scale": math.inf}, "scale"),
        ({"scale": math.nan}, "scale"),
        ({"n_features": 0}, "n_features"),
    ],
)
def test_bad_input_names_the_parameter(release, arguments, parameter):
    given = {"n_features": 3, "scale": 1.0} | arguments
    with pytest.raises(ParameterError) as caught:
        release(**given, rng=np.random.default_rng())
    assert caught.value.parameter == parameter
