"""Coded matrices: decoded values, number of bytes, and the quality of the average."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.pca import Draw
from dpcore.pca.protocols.coded import STEP, decoded_message, noise_factor
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.spectra import COLUMNS, picture_basis
from dpcore.streams import Repetition


@pytest.fixture
def settings(settings_with):
    return settings_with(epsilon=2.0, calibration="analytic", noise="isometric", truncation="psd")


@pytest.mark.parametrize("noise", ["isometric", "triangle"])
def test_entries_arrive_within_half_a_step(moments, settings, noise):
    draw = Draw(moments, replace(settings, noise=noise), Repetition(5))
    error = decoded_message(draw, 0) - draw.noisy_site(0).noisy
    step = STEP * draw.sigma[0] / (np.sqrt(2) if noise == "isometric" else 1)
    assert np.abs(error).max() <= step / 2 * (1 + 1e-9)
    assert error.std() > step / 10


def test_the_noise_of_the_average_includes_rounding():
    assert noise_factor() == pytest.approx(np.sqrt(1 + STEP**2 / 12))


@pytest.mark.parametrize("bases", [(), (COLUMNS,), (picture_basis((3, 4)), COLUMNS)])
def test_the_protocol_reads_the_noise_of_the_other_protocols(moments, settings, bases):
    draw = Draw(moments, replace(settings, bases=bases), Repetition(5))
    coded, full = (PROTOCOLS[key].release(draw) for key in ("coded", "full"))
    assert coded.guarantee == full.guarantee
    np.testing.assert_array_equal(coded.sigma, full.sigma)
    assert (coded.bytes_sent < full.bytes_sent).all()
    assert coded.components.shape == full.components.shape


def test_without_noise_matrices_arrive_as_they_are(moments, settings_with):
    draw = Draw(moments, settings_with(epsilon=np.inf), Repetition(5))
    np.testing.assert_array_equal(decoded_message(draw, 0), draw.noisy_site(0).noisy)
