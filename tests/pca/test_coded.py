"""Coded matrices: decoded values, number of bytes, and errors for damaged bytes."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca import Draw
from dpcore.pca.coded_messages import STEP, decode_site, encode_site, noise_factor
from dpcore.pca.messages import MessageError
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.site import NoisySite
from dpcore.spectra import COLUMNS, picture_basis
from dpcore.streams import Repetition

SHAPE = (6, 7)
PICTURES = (picture_basis(SHAPE), COLUMNS)
SIGMA = 0.01


def site_of(rng, *, dtype=np.float64, sigma_of_average=SIGMA, noise="isometric"):
    at = np.stack(np.indices(SHAPE)).reshape(2, -1).T
    exact = np.exp(-np.linalg.norm(at[:, None] - at, axis=2) / 2) / 42
    drawn = symmetric_gaussian_noise(42, SIGMA, shape=noise, rng=rng)
    return NoisySite((exact + drawn).astype(dtype), 120, SIGMA, noise, sigma_of_average)


def sent(site, bases=PICTURES, seed=3):
    return encode_site(site, bases, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("noise", ["isometric", "triangle"])
@pytest.mark.parametrize("bases", [(), (COLUMNS,)])
def test_entries_of_a_table_arrive_within_half_a_step(rng, bases, noise):
    site = site_of(rng, noise=noise)
    message = decode_site(sent(site, bases))
    step = STEP * SIGMA / (np.sqrt(2) if noise == "isometric" else 1)
    error = message.values - site.noisy
    assert np.abs(error).max() <= step / 2 * (1 + 1e-9)
    np.testing.assert_allclose(error.var(), step**2 / 12, rtol=0.15)
    assert (message.n_samples, message.sigma, message.whole) == (120, SIGMA, True)


def test_all_coefficients_of_pictures_arrive_if_they_are_above_the_noise(rng):
    site = site_of(rng, sigma_of_average=1e-9)
    error = picture_basis(SHAPE).to_basis(decode_site(sent(site)).values - site.noisy)
    assert np.abs(error).max() <= STEP * SIGMA / np.sqrt(2) / 2 * (1 + 1e-6)


def test_fewer_bytes_are_sent_if_there_is_less_signal(rng):
    lengths = [len(sent(site_of(rng, sigma_of_average=each))) for each in (1e-9, 0.003, 1.0)]
    assert lengths[0] > lengths[1] > lengths[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_precision_of_the_site_is_kept(rng, dtype):
    for bases in ((), PICTURES):
        values = decode_site(sent(site_of(rng, dtype=dtype), bases)).values
        assert values.dtype == dtype
        np.testing.assert_allclose(values, values.T, atol=1e-6)


def test_rounding_is_unbiased(rng):
    site = site_of(rng)
    mean = np.mean([decode_site(sent(site, (), seed)).values for seed in range(300)], axis=0)
    assert np.abs(mean - site.noisy).max() < 5 * STEP * SIGMA / np.sqrt(24 * 300)


def test_damaged_bytes_are_refused(rng):
    data = sent(site_of(rng))
    for wrong in (b"", b"DPCA" + data[4:], data[:-1], data[:60], data[:80] + b"\0" + data[81:]):
        with pytest.raises(MessageError):
            decode_site(wrong)


def test_a_matrix_with_no_noise_arrives_as_it_is(rng):
    site = site_of(rng)
    for bases in ((), PICTURES):
        message = decode_site(sent(NoisySite(site.noisy, 120, 0.0), bases))
        np.testing.assert_array_equal(message.values, site.noisy)


def test_noise_far_below_the_values_is_refused(rng):
    with pytest.raises(ParameterError, match="noisy must be below"):
        sent(NoisySite(site_of(rng).noisy, 120, 1e-14), ())


@pytest.mark.parametrize("bases", [(), (COLUMNS,), (picture_basis((3, 4)), COLUMNS)])
def test_the_protocol_reads_the_noise_of_the_other_protocols(moments, settings_with, bases):
    settings = settings_with(
        epsilon=2.0, calibration="analytic", noise="isometric", truncation="psd"
    )
    draw = Draw(moments, replace(settings, bases=bases), Repetition(5))
    coded, full = (PROTOCOLS[key].release(draw) for key in ("coded", "full"))
    assert coded.guarantee == full.guarantee
    np.testing.assert_array_equal(coded.sigma, full.sigma)
    assert (coded.bytes_sent < full.bytes_sent).all()
    assert coded.components.shape == full.components.shape


def test_the_noise_of_the_average_includes_rounding():
    assert noise_factor() == pytest.approx(np.sqrt(1 + STEP**2 / 12))
