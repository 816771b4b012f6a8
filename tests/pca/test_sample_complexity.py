"""Theorems 3 to 5 of the 2012 paper, and measured sample sizes against them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from dpcore.errors import ParameterError
from dpcore.experiments.central.sample_bounds import (
    gapped_spectrum,
    lower_bound_least_correlation,
    modsulq_necessary_shape,
    ppca_sufficient_samples,
    pure_dp_necessary_samples,
)
from dpcore.experiments.central.sample_sizes import measured_sample_size
from dpcore.mechanisms import sample_vector_bingham


def test_theorem_3_by_hand():
    n = ppca_sufficient_samples(10, 0.5, 0.2, 0.9, leading_eigenvalue=0.4, failure_probability=0.05)
    expected = 10 / (0.5 * 0.1 * 0.2) * (math.log(20) / 10 + math.log(1.6 / (0.19 * 0.2)))
    assert n == pytest.approx(expected)


@pytest.mark.parametrize("n_features", [5, 40])
@pytest.mark.parametrize("correlation", [0.5, 0.9, 0.99])
def test_theorem_3_is_kept(n_features, correlation):
    spectrum = gapped_spectrum(n_features, 0.3)
    n = ppca_sufficient_samples(
        n_features,
        1.0,
        0.3,
        correlation,
        leading_eigenvalue=spectrum[0],
        failure_probability=0.1,
    )
    draws, _ = sample_vector_bingham(n / 2 * spectrum, 2_000, rng=np.random.default_rng(1))
    failures = int((np.abs(draws[:, 0]) < correlation).sum())
    # More failures than this would have probability below 1e-9 at the promised rate.
    assert failures <= stats.binom.isf(1e-9, 2_000, 0.1)


def test_theorem_4_by_hand():
    one_minus_phi = math.exp(-2 * (math.log(8) + math.log(1 + math.exp(12))) / 10)
    assert lower_bound_least_correlation(12) == pytest.approx(1 - one_minus_phi / 16)
    near, nearer = 0.998, 0.99999999
    assert pure_dp_necessary_samples(12, 0.1, 0.25, near) == pytest.approx(12 / (0.25 * 0.1))
    factor = math.sqrt(one_minus_phi / 80) / math.sqrt(1 - nearer)
    assert factor > 1
    assert pure_dp_necessary_samples(12, 0.1, 0.25, nearer) == pytest.approx(
        factor * 12 / (0.25 * 0.1)
    )
    # 1 - phi tends to e^-2 in high dimension, without overflow on the way.
    assert lower_bound_least_correlation(10_000) == pytest.approx(1 - math.exp(-2) / 16, abs=1e-5)


@pytest.mark.parametrize("correlation", [0.995, 0.9999])
def test_the_two_bounds_are_in_order(correlation):
    spectrum = gapped_spectrum(100, 0.4)
    enough = ppca_sufficient_samples(
        100, 1.0, 0.4, correlation, leading_eigenvalue=spectrum[0], failure_probability=0.05
    )
    assert pure_dp_necessary_samples(100, 1.0, 0.4, correlation) < enough


def test_theorem_5_grows_faster_than_the_dimension():
    ratio = modsulq_necessary_shape(400, 1.0, 0.01) / modsulq_necessary_shape(100, 1.0, 0.01)
    assert ratio == pytest.approx(8 * math.sqrt(math.log(40_000) / math.log(10_000)))


def test_measured_ppca_agrees_with_quadrature():
    # If all other eigenvalues are equal, the density of the correlation is
    # t^0 (1 - t^2)^((d - 3) / 2) exp(n epsilon gap t^2 / 2).
    n_features, gap, target = 12, 0.3, 0.8

    def mean_correlation(n):
        def weight(t):
            return (1 - t * t) ** ((n_features - 3) / 2) * math.exp(n * gap / 2 * (t * t - 1))

        return quad(lambda t: t * weight(t), 0, 1)[0] / quad(weight, 0, 1)[0]

    exact = brentq(lambda n: mean_correlation(n) - target, 1, 1e4)
    measured = measured_sample_size(
        "ppca",
        gapped_spectrum(n_features, gap),
        1.0,
        target,
        n_repetitions=20_000,
        relative_precision=1e-3,
        rng=np.random.default_rng(2),
    )
    assert measured.mean_correlation >= target
    slope = (mean_correlation(1.01 * exact) - mean_correlation(exact)) / (0.01 * exact)
    # 6.2 standard errors of the mean, turned into samples, and the width of the search.
    tolerance = 6.2 * measured.standard_error / slope + 2e-3 * exact + 1
    assert measured.n_samples == pytest.approx(exact, abs=tolerance)


def test_measured_growth_with_the_dimension():
    rng = np.random.default_rng(3)
    needed = {
        mechanism: [
            measured_sample_size(
                mechanism,
                gapped_spectrum(d, 0.3),
                1.0,
                0.8,
                delta=0.01,
                n_repetitions=40,
                rng=rng,
            ).n_samples
            for d in (8, 32)
        ]
        for mechanism in ("ppca", "modsulq")
    }
    growth = {name: math.log(large / small, 4) for name, (small, large) in needed.items()}
    # Exponents in d: 1 and 3/2 (and a logarithm); 40 runs tell n to some 5 %, an exponent to 0.06.
    assert growth["ppca"] == pytest.approx(1.0, abs=0.25)
    assert growth["modsulq"] == pytest.approx(1.6, abs=0.25)
    assert all(m > 3 * p for p, m in zip(needed["ppca"], needed["modsulq"], strict=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pure_dp_necessary_samples(12, 1.0, 0.2, 0.9), "correlation must be in"),
        (lambda: pure_dp_necessary_samples(12, 1.0, 0.6, 0.9999), "gap"),
        (lambda: pure_dp_necessary_samples(2, 1.0, 0.2, 0.9999), "n_features must be at least 3"),
        (
            lambda: ppca_sufficient_samples(
                9, 1.0, 0.5, 0.9, leading_eigenvalue=0.4, failure_probability=0.1
            ),
            "gap",
        ),
    ],
)
def test_what_the_theorems_do_not_cover(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanism": "sulq"}, "mechanism"),
        ({"mechanism": "modsulq"}, "delta"),
        ({"eigenvalues": np.array([0.1, 0.3])}, "eigenvalues"),
        ({"correlation": 1.0}, "correlation"),
        ({"eigenvalues": np.array([0.0, 0.0, 0.0])}, "correlation must be within reach"),
    ],
)
def test_what_cannot_be_measured(arguments, message):
    given = {
        "mechanism": "ppca",
        "eigenvalues": gapped_spectrum(5, 0.3),
        "epsilon": 1.0,
        "correlation": 0.9,
    } | arguments
    with pytest.raises(ParameterError, match=message):
        measured_sample_size(**given, rng=np.random.default_rng(4))
