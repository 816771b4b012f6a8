"""What sites say that cut what they sent: the divergence is exact, the estimate without bias."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca import assessment
from dpcore.pca.aggregator import Inbox, add_up
from dpcore.pca.assessment import answer, assess, assess_cut, inverse_gaps
from dpcore.pca.site import NoisySite
from dpcore.spectra import Spectrum, captured_energy

D, K, R, DRAWS = 14, 2, 4, 150
WEIGHTS = np.array([0.5, 0.3, 0.2])


def average_of(sites):
    box = Inbox(WEIGHTS)
    for site in sites:
        box.receive(site.proxy(R, "value"))
    add_up([box])
    return box.average


@pytest.mark.parametrize("n_positive", [R + 3, 2])
def test_the_divergence_is_that_of_finite_differences(rng, monkeypatch, n_positive):
    monkeypatch.setattr("dpcore.pca.assessment._SMOOTHED", 0.0)
    monkeypatch.setattr(assessment, "_NEGLIGIBLE", 0.0)
    shift = np.diag(np.arange(D) - (D - n_positive) + 0.5)
    first, *others = (shift + symmetric_gaussian_noise(D, 0.1, rng=rng) for _ in WEIGHTS)

    def projector(matrix):
        sites = [NoisySite(each, 10, 0.1) for each in (matrix, *others)]
        vectors = average_of(sites).leading(K)[1]
        return vectors.T @ vectors

    divergence, h = 0.0, 1e-5
    for a in range(D):
        for b in range(a + 1):
            basis = np.zeros((D, D))
            basis[a, b] = basis[b, a] = 1 if a == b else math.sqrt(0.5)
            moved = projector(first + h * basis) - projector(first - h * basis)
            divergence += (basis * moved).sum() / (2 * h)
    site = NoisySite(first, 10, 0.1)
    values, vectors = average_of([site, *(NoisySite(each, 10, 0.1) for each in others)]).leading(D)
    said = answer(
        site,
        WEIGHTS[0],
        intermediate_dim=R,
        vectors=vectors,
        inverse=inverse_gaps(np.maximum(values, 0), 0.1)[:K],
    )
    noisy = WEIGHTS[0] * np.einsum("kd,de,ke->k", vectors[:K], first, vectors[:K])
    taken_off = (noisy - said.energies).sum()
    assert taken_off == pytest.approx(WEIGHTS[0] * 0.1**2 * divergence, rel=1e-5)


@pytest.mark.parametrize("strength", [4.0, 0.5])
def test_the_estimate_has_no_bias_and_its_interval_holds(rng, false_alarm, strength):
    sigmas = 0.1 / np.sqrt(WEIGHTS)
    tail = np.full(D - K, 0.02)
    exact = np.diag([strength, strength / 2, *tail])
    errors, held, each_held, flattered = [], 0, np.zeros(K), []
    for _ in range(DRAWS):
        sites = [
            NoisySite(exact + symmetric_gaussian_noise(D, s, shape="isometric", rng=rng), 10, s)
            for s in sigmas
        ]
        average = average_of(sites)
        left = float(np.linalg.norm(WEIGHTS * sigmas))
        own = assess_cut(
            average, K, zip(sites, WEIGHTS, strict=True), intermediate_dim=R, sigma_left=left
        )
        values, components = average.leading(K)
        energy = captured_energy(components, exact)
        error = own.captured.standard_error
        errors.append((own.captured.value - energy) / error)
        flattered.append((values.sum() - energy) / error)
        low, high = own.captured.interval
        held += low <= energy <= high
        low, high = own.explained_variance.interval
        variances = np.einsum("kd,de,ke->k", components, exact, components)
        each_held += (low <= variances) & (variances <= high)
        np.testing.assert_allclose(own.explained_variance.value.sum(), own.captured.value)
        assert own.energy_ratio is None and own.n_above_noise is None
    reach = norm.isf(false_alarm / 2) / math.sqrt(DRAWS)
    assert abs(np.mean(errors)) < 1 / 3 + reach
    assert held >= binom.ppf(false_alarm, DRAWS, 0.88)
    assert each_held.min() >= binom.ppf(false_alarm, DRAWS, 0.85)
    if strength < 1:
        assert np.mean(flattered) > 1


def test_without_a_cut_it_is_the_estimate_of_the_whole(rng):
    """One site that sends every direction sends its whole matrix, if that is positive."""
    matrix = np.diag(np.arange(1.0, D + 1)) + symmetric_gaussian_noise(
        D, 0.05, shape="isometric", rng=rng
    )
    site = NoisySite(matrix, 10, 0.05)
    own = assess_cut(Spectrum(matrix), K, [(site, 1.0)], intermediate_dim=D, sigma_left=0.05)
    whole = assess(Spectrum(matrix), K, sigma=0.05, noise="isometric")
    for name in ("explained_variance", "explained_variance_ratio", "captured", "total"):
        said, oracle = getattr(own, name), getattr(whole, name)
        np.testing.assert_allclose(said.value, oracle.value, rtol=1e-9)
        np.testing.assert_allclose(said.standard_error, oracle.standard_error, rtol=1e-9)
