"""CAPE's mu against the covariance it summarises, and the calibrations that keep a promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.privacy import CapeScales, cape_mu, cape_scales

sites = st.integers(1, 12).flatmap(lambda s: st.tuples(st.just(s), st.integers(1, s)))


@given(sites, st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.1, 10))
def test_mu_is_the_mahalanobis_norm_of_one_persons_change(counts, mask, noise, sensitivity):
    """What the adversary knows is (honest messages, colluders' masks): condition on the latter."""
    n_sites, n_honest = counts
    masks = mask**2 * (np.eye(n_sites) - 1 / n_sites)
    seen, hidden = slice(n_honest, None), slice(0, n_honest)
    conditional = (
        masks[hidden, hidden]
        - masks[hidden, seen] @ np.linalg.pinv(masks[seen, seen]) @ masks[seen, hidden]
        + noise**2 * np.eye(n_honest)
    )
    change = np.zeros(n_honest)
    change[0] = sensitivity
    expected = math.sqrt(change @ np.linalg.solve(conditional, change))
    found = cape_mu(sensitivity, CapeScales(mask, noise), n_honest)
    assert found == pytest.approx(expected, rel=1e-6)


@given(sites, st.sampled_from(["compensated", "wide"]), st.floats(0.01, 100))
def test_calibrated_masks_promise_what_a_local_release_does(counts, masks, tau):
    n_sites, n_honest = counts
    scales = cape_scales(tau, n_sites, n_honest=n_honest, masks=masks)
    assert cape_mu(1.0, scales, n_honest) == pytest.approx(1 / tau, rel=1e-12)


@given(st.integers(1, 100))
def test_published_scales_spend_more(n_sites):
    scales = cape_scales(1.0, n_sites)
    assert scales == CapeScales(1.0, 1 / math.sqrt(n_sites))
    assert cape_mu(1.0, scales, n_sites) ** 2 == pytest.approx(2 * n_sites / (n_sites + 1))


def test_wide_masks_leave_the_pooled_noise():
    assert cape_scales(3.0, 9, masks="wide") == CapeScales(math.inf, 1.0)
    assert cape_mu(1.0, CapeScales(math.inf, 0.0), 3) == math.inf


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: cape_scales(-1.0, 3), "local_sigma"),
        (lambda: cape_scales(1.0, 0), "n_sites"),
        (lambda: cape_scales(1.0, 3, n_honest=4), "n_honest"),
        (lambda: cape_scales(1.0, 3, masks="x"), "masks"),
        (lambda: cape_mu(0.0, CapeScales(1, 1), 1), "l2_sensitivity"),
        (lambda: cape_mu(1.0, CapeScales(1, 1), 0), "n_honest"),
    ],
)
def test_bad_input_names_the_parameter(call, parameter):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.parameter == parameter
