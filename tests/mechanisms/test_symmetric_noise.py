"""The distribution of the noise: of every entry, and the correlation of every pair.

Each test may cry wolf with probability 1e-9 for a correct sampler, whatever the seed: that
chance is divided among the comparisons it makes (union bound) and turned into a tolerance.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.mechanisms import NOISE_SHAPES, symmetric_gaussian_noise

FALSE_ALARM = 1e-9
N_DRAWS, N_FEATURES, SIGMA = 20_000, 4, 0.7
UPPER = np.triu_indices(N_FEATURES)


@pytest.fixture(params=[(s, d) for s in NOISE_SHAPES for d in (np.float64, np.float32)])
def sample(request):
    shape, dtype = request.param
    noise = symmetric_gaussian_noise(
        N_FEATURES, SIGMA, shape=shape, rng=np.random.default_rng(), dtype=dtype, size=N_DRAWS
    )
    assert noise.shape == (N_DRAWS, N_FEATURES, N_FEATURES)
    assert noise.dtype == dtype
    np.testing.assert_array_equal(noise, noise.swapaxes(1, 2))
    scales = np.full((N_FEATURES, N_FEATURES), SIGMA)
    if shape == "isometric":
        scales /= math.sqrt(2.0)
        np.fill_diagonal(scales, SIGMA)
    return noise[:, *UPPER].astype(float) / scales[UPPER]


def test_every_entry_is_normal_with_its_scale(sample):
    threshold = FALSE_ALARM / sample.shape[1]
    for entry in sample.T:
        assert stats.kstest(entry, "norm").pvalue > threshold


def test_variances(sample):
    """Sums of squares of n standard normals are chi-squared with n degrees of freedom."""
    tail = FALSE_ALARM / sample.shape[1] / 2
    low, high = stats.chi2.ppf(tail, N_DRAWS), stats.chi2.isf(tail, N_DRAWS)
    sums = (sample**2).sum(axis=0)
    assert (sums > low).all() and (sums < high).all()


def test_upper_triangle_is_uncorrelated(sample):
    """r sqrt((n - 2) / (1 - r^2)) of two independent normal samples is t with n - 2 degrees."""
    r = np.corrcoef(sample.T)[np.triu_indices(sample.shape[1], 1)]
    bound = stats.t.isf(FALSE_ALARM / r.size / 2, N_DRAWS - 2)
    assert np.abs(r * np.sqrt((N_DRAWS - 2) / (1 - r**2))).max() < bound


def test_isometric_noise_has_the_law_of_a_symmetrised_full_matrix():
    """Its squared Frobenius norm over sigma^2 is chi-squared with D (D + 1) / 2 degrees."""
    noise = symmetric_gaussian_noise(
        N_FEATURES, SIGMA, shape="isometric", rng=np.random.default_rng(), size=N_DRAWS
    )
    energy = (noise**2).sum(axis=(1, 2)) / SIGMA**2
    law = stats.chi2(N_FEATURES * (N_FEATURES + 1) // 2)
    assert stats.kstest(energy, law.cdf).pvalue > FALSE_ALARM


def test_settings_share_their_random_numbers():
    def draw(sigma, shape):
        return symmetric_gaussian_noise(5, sigma, shape=shape, rng=np.random.default_rng(7))

    np.testing.assert_allclose(draw(3.0, "triangle"), 3 * draw(1.0, "triangle"))
    ratio = draw(1.0, "triangle") / draw(1.0, "isometric")
    expected = np.full((5, 5), math.sqrt(2.0))
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(ratio, expected)


def test_no_noise():
    for shape in NOISE_SHAPES:
        noise = symmetric_gaussian_noise(3, 0.0, shape=shape, rng=np.random.default_rng())
        np.testing.assert_array_equal(noise, np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"sigma": -1.0}, "sigma"),
        ({"sigma": math.inf}, "sigma"),
        ({"sigma": math.nan}, "sigma"),
        ({"shape": "square"}, "noise"),
        ({"n_features": 0}, "n_features"),
    ],
)
def test_bad_input_names_the_parameter(arguments, parameter):
    given = {"n_features": 3, "sigma": 1.0} | arguments
    with pytest.raises(ParameterError) as caught:
        symmetric_gaussian_noise(**given, rng=np.random.default_rng())
    assert caught.value.parameter == parameter
