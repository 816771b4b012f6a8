"""Denoised protocols: the place of the step, its inputs, and unchanged guarantees and bytes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.pca import AnalyzeGaussPCA, DistributedPCA, Draw, site_message
from dpcore.pca import draw as draw_of_sites
from dpcore.pca import site as at_site
from dpcore.pca.protocols import first_site, pooled_release
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import bases_to_denoise_in, noise_of
from dpcore.pca.site import NoisySite
from dpcore.spectra import (
    COLUMNS,
    COLUMNS_WHERE_BETTER,
    SiteRows,
    Spectrum,
    cosine_basis,
    denoise,
    leading_eigenpairs,
    picture_basis,
    uncentred_picture_basis,
)
from dpcore.streams import Purpose, Repetition

BASES = (cosine_basis((3, 4)), COLUMNS)
AT_SITES = ("dpdis", "sequential")
ON_SUMS = ("full", "pooled", "cape", "securesum", "ag", "sulq", "modsulq", "local")
UNTOUCHED = ("exact", "random", "wishart")


@pytest.fixture
def settings(settings_with):
    return settings_with(
        epsilon=0.5, calibration="analytic", noise="isometric", truncation="psd", bases=BASES
    )


def drawn(key, moments, settings, seed=7):
    entry = PROTOCOLS[key]
    return Draw(
        moments,
        settings,
        Repetition(seed),
        proxies=entry.wants_proxies,
        average=entry.wants_average,
    )


@pytest.mark.parametrize("key", [*AT_SITES, *ON_SUMS, *UNTOUCHED])
def test_promise_noise_and_bytes_are_those_without(moments, settings, key):
    with_it = PROTOCOLS[key].release(drawn(key, moments, settings))
    without = PROTOCOLS[key].release(drawn(key, moments, replace(settings, bases=())))
    assert with_it.guarantee == without.guarantee
    assert with_it.n_rounds == without.n_rounds
    np.testing.assert_array_equal(with_it.sigma, without.sigma)
    np.testing.assert_array_equal(with_it.bytes_sent, without.bytes_sent)
    is_other = not np.array_equal(with_it.components, without.components)
    assert is_other == (key not in UNTOUCHED)


@pytest.mark.parametrize("key", ON_SUMS)
def test_a_noisy_matrix_of_all_rows_is_denoised_once(moments, settings, key):
    """Denoising uses the sigma of the noise in the matrix, and reads the matrix only."""
    average = PROTOCOLS[key].average(drawn(key, moments, settings))
    noise = average.noise or settings.noise
    answer = denoise(average.spectrum.matrix, average.remaining_sigma, bases=BASES, noise=noise)
    expected = Spectrum(answer).leading(4)[1]
    subspace = PROTOCOLS[key].release(drawn(key, moments, settings)).components
    np.testing.assert_array_equal(subspace, expected)


def test_a_site_denoises_its_own_matrix_before_its_cut(moments, settings):
    noisy = NoisySite(moments.second_moments[0] + 0.01 * np.eye(12), 120, 0.03, "isometric")
    answer = denoise(noisy.noisy, 0.03, bases=BASES)
    values, vectors = leading_eigenpairs(answer, 6)
    expected = vectors.T * np.sqrt(np.maximum(values, 0))
    np.testing.assert_array_equal(noisy.proxy(6, "value", BASES).values, expected)
    # Shorter ones are views of it, and those that are not denoised are others.
    shorter = noisy.proxy(4, "value", BASES).values
    np.testing.assert_array_equal(shorter, expected[:, :4])
    assert np.may_share_memory(shorter, noisy.proxy(6, "value", BASES).values)
    assert not np.allclose(noisy.proxy(6, "value").values, expected)


def test_what_a_site_sends_alone_is_what_a_draw_has_it_send(moments, settings):
    draw = drawn("dpdis", moments, settings)
    for site, received in enumerate(draw.proxies().proxies):
        rng = draw.repetition.rng(Purpose.SITE_NOISE, site)
        n_samples = int(moments.n_samples[site])
        alone = site_message(moments.second_moments[site], n_samples, settings, rng=rng)
        np.testing.assert_array_equal(received.T, alone.values)


def test_a_whole_matrix_travels_as_the_noise_left_it(moments, settings):
    """A whole matrix is denoised only after the average."""
    with_it, without = (
        drawn("full", moments, changed).whole_matrices().average.matrix
        for changed in (settings, replace(settings, bases=()))
    )
    np.testing.assert_array_equal(with_it, without)


@pytest.mark.parametrize("key", [*AT_SITES, "full", "pooled", "cape", "securesum", "local"])
def test_after_the_noise_nothing_exact_is_read(monkeypatch, rows, labels, settings, key):
    """Other rows under the same noisy means and matrices give the same release to the last digit.

    A denoiser that reads an exact diagonal, an exact mean or another site's rows fails here.
    """
    held = [np.flatnonzero(labels == number) for number in range(3)]
    settings = replace(settings, on_sphere=True, mean_share=0.1)

    def of_noise_alone(exact, noise):
        return noise + np.diag(np.linspace(1, 0.1, len(noise))).astype(noise.dtype)

    def mean_of_noise_alone(mean, sigma, *, rng):
        return 0.1 + sigma * rng.standard_normal(len(mean))

    for module in (at_site, pooled_release):
        monkeypatch.setattr(module, "add_noise", of_noise_alone)
    for module in (draw_of_sites, first_site, pooled_release):
        monkeypatch.setattr(module, "noisy_mean", mean_of_noise_alone)
    released = [
        PROTOCOLS[key].release(drawn(key, SiteRows.of(data, held, image_shape=(3, 4)), settings))
        for data in (rows, -0.5 * rows[::-1] ** 2)
    ]
    np.testing.assert_array_equal(released[0].components, released[1].components)
    np.testing.assert_array_equal(released[0].eigenvalues, released[1].eigenvalues)
    np.testing.assert_array_equal(released[0].centre, released[1].centre)


@pytest.mark.parametrize("key", [*AT_SITES, *ON_SUMS])
def test_several_settings_on_one_draw_are_each_alone(moments, settings, key):
    several = [settings, replace(settings, bases=()), replace(settings, bases=(COLUMNS,))]
    several += [replace(changed, intermediate_dim=5, n_components=3) for changed in several]
    draws = drawn(key, moments, several[0]).draws_with(several)
    for draw, changed in zip(draws, several, strict=True):
        together = PROTOCOLS[key].release(draw)
        alone = PROTOCOLS[key].release(drawn(key, moments, changed))
        np.testing.assert_array_equal(together.components, alone.components)


def test_bases_come_after_the_noise(settings):
    assert noise_of(settings) == noise_of(replace(settings, bases=()))


def test_the_choice_of_bases():
    pictures, as_printed = (3, 4), {"truncation": "svd"}
    assert bases_to_denoise_in("auto") == (COLUMNS_WHERE_BETTER,)
    assert bases_to_denoise_in("auto", pictures) == (picture_basis(pictures), COLUMNS)
    assert bases_to_denoise_in("cosines", pictures) == (cosine_basis(pictures), COLUMNS)
    assert bases_to_denoise_in("columns", pictures, **as_printed) == (COLUMNS,)
    assert bases_to_denoise_in("none", pictures) == ()
    for printed in ({"calibration": "published"}, {"noise": "triangle"}, as_printed):
        assert bases_to_denoise_in("auto", pictures, **printed) == ()
    for wrong in ("wavelets", "cosines"):
        with pytest.raises(ParameterError) as raised:
            bases_to_denoise_in(wrong)
        assert raised.value.parameter == "denoise"


@pytest.mark.parametrize("shape", ["isometric", "triangle"])
def test_a_spectrum_denoises_once(rng, shape):
    matrix = rng.normal(size=(6, 6))
    spectrum = Spectrum(matrix + matrix.T)
    first = spectrum.denoised(0.5, bases=(COLUMNS,), noise=shape)
    assert spectrum.denoised(0.5, bases=(COLUMNS,), noise=shape) is first
    assert spectrum.denoised(0.4, bases=(COLUMNS,), noise=shape) is not first
    assert spectrum.denoised(0.5, bases=(), noise=shape) is spectrum
    assert spectrum.denoised(0.0, bases=(COLUMNS,), noise=shape) is spectrum


def test_estimators_take_a_choice_a_basis_or_several(rows, labels):
    def components(**changes):
        pca = DistributedPCA(3, epsilon=0.5, random_state=1, **changes)
        return pca.fit(rows, sites=labels).components_

    pictures = [cosine_basis((3, 4)), COLUMNS]
    none, columns = components(denoise="none"), components(denoise="columns")
    np.testing.assert_array_equal(components(denoise="auto"), components())
    np.testing.assert_array_equal(columns, components(denoise=COLUMNS))
    np.testing.assert_array_equal(none, components(denoise=()))
    different = (none, columns, components(denoise=pictures))
    assert all(not np.array_equal(one, other) for one, other in combinations(different, 2))
    central = AnalyzeGaussPCA(3, epsilon=0.5, random_state=1).fit(rows)
    low, high = central.explained_variance_interval_
    assert ((low <= central.explained_variance_) & (central.explained_variance_ <= high)).all()
    with pytest.raises(ParameterError, match="denoise must be one of"):
        components(denoise="wavelets")


@pytest.mark.parametrize("key", ["dpdis", "pooled", "full", "local"])
def test_pictures_on_the_sphere_need_a_released_mean_for_the_whole_prior(rng, settings, key):
    pictures = rng.random((40, 12))
    pictures /= np.linalg.norm(pictures, axis=1, keepdims=True)
    rows = SiteRows.of(
        pictures, tuple(np.array_split(np.arange(40), 4)), np.ones(12), image_shape=(3, 4)
    )
    released = {}
    for share in (0.0, 0.2):
        whole = replace(settings, on_sphere=True, mean_share=share)
        for basis in (picture_basis((3, 4)), uncentred_picture_basis((3, 4))):
            chosen = replace(whole, bases=(basis, COLUMNS))
            subspace = PROTOCOLS[key].release(drawn(key, rows, chosen))
            released[share, basis.is_centred] = subspace.components
    np.testing.assert_array_equal(released[0.0, True], released[0.0, False])
    assert not np.array_equal(released[0.2, True], released[0.2, False])
