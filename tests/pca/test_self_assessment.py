"""Self-assessment of a release: no bias, intervals with coverage, above and below the noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca import AnalyzeGaussPCA, DistributedPCA, Draw, ExponentialPCA, ModSulqPCA, SulqPCA
from dpcore.pca.assessment import ERROR_RATE, NoisyMean, assess, n_above_noise
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.spectra import Spectrum, captured_energy
from dpcore.streams import Repetition

D, K, DRAWS = 20, 3, 150
SIGMA = 0.1
# Strengths of three components: all far above the noise, some, none.
STRENGTHS = {
    "above": (8.0, 6.0, 5.0),
    "two": (6.0, 5.0, 0.4),
    "half": (2.0, 0.6, 0.4),
    "below": (0.2, 0.1, 0.1),
}


def second_moment(strengths, rng):
    basis = np.linalg.qr(rng.standard_normal((D, D)))[0]
    tail = np.full(D - K, 0.02)
    return (basis * np.array([*strengths, *tail])) @ basis.T


def assessed(A, rng, *, noise="isometric", ranking="value", mean_sigma=0.0, sigma=SIGMA):
    """Return the assessment of a release of A, centred around a released `mean`, and the truth."""
    M = A + symmetric_gaussian_noise(D, sigma, shape=noise, rng=rng)
    exact, mean = A, None
    if mean_sigma > 0:
        centre = np.linspace(0, 0.5, D)
        mean = NoisyMean(centre + mean_sigma * rng.standard_normal(D), mean_sigma)
        # A is taken as around zero: what is left of it around the mean may be anything symmetric.
        M, exact = M - np.outer(mean.value, mean.value), A - np.outer(centre, centre)
    assessment = assess(Spectrum(M), K, sigma=sigma, noise=noise, ranking=ranking, mean=mean)
    components = Spectrum(M).leading(K, by=ranking)[1]
    return assessment, captured_energy(components, exact), float(exact.trace()), components


SHAPES = ("isometric", "triangle")
CASES = [
    *((strength, shape, "value", 0.0) for strength in STRENGTHS for shape in SHAPES),
    *((strength, shape, "magnitude", 0.0) for strength in ("half", "below") for shape in SHAPES),
    *((strength, "isometric", "value", 0.1) for strength in ("above", "two")),
]


@pytest.mark.parametrize(("strength", "noise", "ranking", "mean_sigma"), CASES)
def test_the_estimate_has_no_bias_and_its_interval_holds(
    rng, false_alarm, strength, noise, ranking, mean_sigma
):
    A = second_moment(STRENGTHS[strength], rng)
    errors, totals, held = [], [], 0
    for _ in range(DRAWS):
        assessment, energy, total, _ = assessed(
            A, rng, noise=noise, ranking=ranking, mean_sigma=mean_sigma
        )
        errors.append((assessment.captured.value - energy) / assessment.captured.standard_error)
        totals.append((assessment.total.value - total) / assessment.total.standard_error)
        low, high = assessment.captured.interval
        held += low <= energy <= high
        np.testing.assert_allclose(
            assessment.explained_variance.value.sum(), assessment.captured.value
        )
    # Standardised errors have variance 1 or less. What is smoothed where eigenvalues almost meet
    # leaves a third of a standard error of bias at most (measured: 0.25).
    reach = norm.isf(false_alarm / 2) / math.sqrt(DRAWS)
    assert abs(np.mean(errors)) < 1 / 3 + reach
    assert abs(np.mean(totals)) < reach
    # An interval that holds in 88 of 100 falls below this with the chance of a false alarm.
    assert held >= binom.ppf(false_alarm, DRAWS, 0.88)


def test_each_component_has_an_interval_of_its_own(rng, false_alarm):
    A = second_moment(STRENGTHS["half"], rng)
    held = np.zeros(K)
    for _ in range(DRAWS):
        assessment, _, _, components = assessed(A, rng)
        variances = np.einsum("kd,de,ke->k", components, A, components)
        low, high = assessment.explained_variance.interval
        held += (low <= variances) & (variances <= high)
        shares = assessment.explained_variance_ratio
        np.testing.assert_allclose(
            shares.value, assessment.explained_variance.value / assessment.total.value
        )
        assert (shares.interval >= 0).all() and (shares.interval <= 1).all()
    assert held.min() >= binom.ppf(false_alarm, DRAWS, 0.85)


def test_the_ratio_to_the_best_subspace_is_told_where_all_stand_out(rng, false_alarm):
    A = second_moment(STRENGTHS["above"], rng)
    optimum, held = sum(STRENGTHS["above"]), 0
    for _ in range(DRAWS):
        assessment, energy, *_ = assessed(A, rng, sigma=0.3)
        low, high = assessment.energy_ratio.interval
        held += low <= energy / optimum <= high
    assert held >= binom.ppf(false_alarm, DRAWS, 0.85)
    below = assessed(second_moment(STRENGTHS["below"], rng), rng)[0]
    assert below.energy_ratio is None and below.n_above_noise == 0


@pytest.mark.parametrize("noise", ["isometric", "triangle"])
@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("n_features", [1, 2, 5, 40])
def test_too_many_components_stand_out_once_in_a_hundred_at_most(
    rng, false_alarm, noise, rank, n_features
):
    n_draws = 500
    A = np.diag([5.0] * min(rank, n_features) + [0.0] * (n_features - min(rank, n_features)))
    noises = symmetric_gaussian_noise(n_features, SIGMA, shape=noise, rng=rng, size=n_draws)
    counts = [n_above_noise(e, SIGMA, noise=noise) for e in np.linalg.eigvalsh(A + noises)]
    too_many = sum(number > rank for number in counts)
    assert too_many <= binom.isf(false_alarm, n_draws, ERROR_RATE)
    if n_features == 40:
        assert min(counts) == rank


def test_variance_alike_in_every_direction_singles_out_none(rng):
    noise = symmetric_gaussian_noise(40, SIGMA, rng=rng)
    assert n_above_noise(np.linalg.eigvalsh(10 * np.eye(40) + noise), SIGMA, noise="triangle") == 0


def test_without_noise_everything_is_known(rng):
    A = second_moment(STRENGTHS["half"], rng)
    assessment, energy, total, _ = assessed(A, rng, sigma=0.0)
    assert assessment.captured.value == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(assessment.captured.interval, energy)
    assert assessment.captured_share.value == pytest.approx(energy / total)
    assert float(assessment.energy_ratio.value) == pytest.approx(1)


def test_a_total_that_is_lost_in_the_noise_says_nothing(rng):
    assessment = assessed(second_moment(STRENGTHS["below"], rng), rng, sigma=100.0)[0]
    assert np.isnan(assessment.captured_share.value)
    np.testing.assert_array_equal(assessment.captured_share.interval, [0, 1])
    np.testing.assert_array_equal(assessment.explained_variance_ratio.interval, [[0] * K, [1] * K])
    with pytest.raises(ParameterError, match="n_components"):
        assess(Spectrum(np.eye(3)), 4, sigma=1.0, noise="isometric")


def test_nothing_is_said_where_a_mean_was_subtracted_and_nothing_stands_out(rng):
    A = second_moment(STRENGTHS["below"], rng)
    for assessment in (assessed(A, rng, mean_sigma=0.1)[0] for _ in range(20)):
        assert np.isfinite(assessment.captured.value) == (assessment.n_above_noise > 0)
        if assessment.n_above_noise == 0:
            assert np.isnan(assessment.explained_variance.value).all()
            np.testing.assert_array_equal(assessment.captured.interval, [0, np.inf])
            np.testing.assert_array_equal(assessment.captured_share.interval, [0, 1])
            assert np.isfinite(assessment.total.value)
    assert assessment.n_above_noise == 0


TELLING = [key for key, entry in PROTOCOLS.items() if entry.average is not None]


@pytest.mark.parametrize("key", TELLING)
@pytest.mark.parametrize("mean_share", [0.0, 0.2])
def test_every_protocol_tells_of_the_very_release(
    moments, settings_with, key, mean_share, false_alarm
):
    """The average of the estimate is that of the release, and the truth lies in the interval."""
    settings = settings_with(
        50.0, mean_share=mean_share, calibration="analytic", noise="isometric", truncation="psd"
    )
    entry, errors = PROTOCOLS[key], []
    for number in range(30):
        draw = Draw(moments, settings, Repetition(number))
        average = entry.average(draw)
        np.testing.assert_array_equal(
            average.subspace(settings).components, entry.release(draw).components
        )
        there = moments.at((0,)) if entry.reads_first_site_only else moments
        exact, mean = there.pooled(), there.weights @ there.means
        if average.mean_sigma > 0:
            exact = exact - np.outer(mean, mean)
        assessment, components = entry.assess(draw), average.subspace(settings).components
        if assessment is None:
            assert average.from_proxies and average.mean_sigma > 0
            return
        errors.append(
            (assessment.captured.value - captured_energy(components, exact))
            / assessment.captured.standard_error
        )
    reach = norm.isf(false_alarm / 2) / math.sqrt(len(errors))
    assert abs(np.mean(errors)) < 1 / 3 + reach
    assert np.std(errors) > 0.2


def test_those_that_cannot_tell_say_so(moments, settings_with):
    draw = Draw(moments, settings_with(50.0), Repetition(0))
    silent = {key for key, entry in PROTOCOLS.items() if entry.assess(draw) is None}
    others = {"coded", "sequential", "ppca", "wishart", "exact", "random"}
    assert silent == others | {"dpdis"}  # its noise is a triangle here
    for changed, tells in (
        ({}, True),
        ({"truncation": "svd"}, False),
        ({"mean_share": 0.2}, False),
    ):
        settings = settings_with(50.0, noise="isometric", **({"truncation": "psd"} | changed))
        assessment = PROTOCOLS["dpdis"].assess(Draw(moments, settings, Repetition(0)))
        assert (assessment is not None) == tells
    rounded = replace(draw.settings, encoding="rounded:1")
    draw = Draw(moments, rounded, Repetition(0), proxies=False)
    assert PROTOCOLS["full"].assess(draw) is None


@pytest.mark.parametrize(
    "estimator",
    [AnalyzeGaussPCA, SulqPCA, ModSulqPCA, *("full", "local", "pooled", "cape")],
)
def test_estimators_have_what_scikit_learn_calls_it(rows, labels, estimator):
    if isinstance(estimator, str):
        pca = DistributedPCA(4, protocol=estimator, epsilon=50.0, denoise="none", random_state=0)
        pca.fit(rows, sites=labels)
    else:
        pca = estimator(4, epsilon=50.0, random_state=0)
        if hasattr(pca, "denoise"):
            pca.set_params(denoise="none")
        pca.fit(rows)
    low, high = pca.explained_variance_interval_
    assert ((low <= pca.explained_variance_) | (low == 0)).all() and (low < high).all()
    assert pca.explained_variance_ratio_.shape == (4,)
    assert pca.explained_variance_ratio_interval_.shape == (2, 4)
    assert 0 <= pca.suggested_n_components_ <= 4
    # Noisy eigenvalues flatter, where not denoised: their excess is what the noise has chosen.
    assert pca.explained_variance_.sum() < pca.eigenvalues_.sum() + 2 * np.max(pca.noise_scale_)


@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (ExponentialPCA(1), "it releases only a subspace"),
        (DistributedPCA(2, protocol="sequential"), "each site cuts what it receives"),
        (DistributedPCA(2, protocol="wishart"), "for noise that is not Gaussian"),
        (
            DistributedPCA(2, truncation="svd"),
            "cut messages can be assessed only with isometric noise",
        ),
    ],
)
def test_estimators_that_cannot_tell_say_why(rows, estimator, why):
    estimator.set_params(random_state=0).fit(rows)
    told = ("explained_variance_", "explained_variance_interval_", "explained_variance_ratio_",
            "explained_variance_ratio_interval_", "suggested_n_components_")  # fmt: skip
    for name in told:
        assert not hasattr(estimator, name)
        with pytest.raises(AttributeError, match=f"has no assessment: .*{why}"):
            getattr(estimator, name)


def test_after_a_cut_it_is_told_how_good_but_not_how_many_stand_out(rows, labels):
    pca = DistributedPCA(2, protocol="dpdis", epsilon=50.0, random_state=0).fit(rows, sites=labels)
    low, high = pca.explained_variance_interval_
    assert (low <= pca.explained_variance_).all() and (pca.explained_variance_ <= high).all()
    assert not hasattr(pca, "suggested_n_components_")
