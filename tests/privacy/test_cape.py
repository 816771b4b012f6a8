"""CAPE's mu, compared with covariances, and calibrations that keep a guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.privacy import (
    Adversary,
    CapeScales,
    PrivacyBudget,
    cape_mu,
    cape_scales,
    default_honest_sites,
    gaussian_epsilon,
    gaussian_mu,
)

sites = st.integers(1, 12).flatmap(lambda s: st.tuples(st.just(s), st.integers(1, s)))


def told_apart(covariance: np.ndarray, change: np.ndarray) -> float:
    """Return mu of N(0, covariance) and N(change, covariance), infinite without noise."""
    variances, axes = np.linalg.eigh(covariance)
    along = axes.T @ change
    silent = variances <= 1e-9 * variances.max()
    assert np.abs(along[silent]).max(initial=0.0) < 1e-6 * np.linalg.norm(change)
    return float(np.linalg.norm(along[~silent] / np.sqrt(variances[~silent])))


def by_brute_force(n_sites: int, n_honest: int, scales: CapeScales, person: int) -> dict:
    """Return all values that each adversary sees of one entry, linear in standard normals.

    2 S of them: what site s puts into the masks, and its own noise. A coalition is the last
    sites but `person`'s; the result is the average of the messages.
    """
    raw, private = np.hsplit(np.eye(2 * n_sites), 2)
    masks = scales.mask_sigma * (raw - raw.mean(axis=1, keepdims=True))
    noises = scales.noise_sigma * private
    messages = (masks + noises).T
    change = np.eye(n_sites)[person]

    def mu(n_friends: int, *, reads_messages: bool) -> float:
        friends = [s for s in reversed(range(n_sites)) if s != person][:n_friends]
        seen = messages if reads_messages else messages.mean(axis=0, keepdims=True)
        moved = change if reads_messages else change.mean(keepdims=True)
        known = np.vstack([seen, masks.T[friends], noises.T[friends]])
        moved = np.concatenate([moved, np.zeros(2 * len(friends))])
        return told_apart(known @ known.T, moved)

    n_friends = n_sites - n_honest
    mus = {
        Adversary.OUTSIDER: mu(0, reads_messages=False),
        Adversary.AGGREGATOR: mu(n_friends, reads_messages=True),
    }
    if n_sites > 1:
        mus[Adversary.SITE] = mu(max(1, n_friends), reads_messages=False)
    return mus


@pytest.mark.parametrize("n_sites", range(1, 7))
@pytest.mark.parametrize("mask", [0.3, 1.0, 20.0])
def test_every_adversary_by_brute_force(n_sites, mask):
    for n_honest in range(1, n_sites + 1):
        for person in {0, n_sites - 1}:
            scales = CapeScales(mask, 0.7)
            expected = by_brute_force(n_sites, n_honest, scales, person)
            assert cape_mu(1.0, scales, n_sites, n_honest) == pytest.approx(expected, rel=1e-6)


@given(sites, st.sampled_from(["compensated", "wide"]), st.floats(0.01, 100))
def test_calibrated_masks_guarantee_what_a_local_release_does(counts, masks, tau):
    """Equality holds for the worst adversary."""
    n_sites, n_honest = counts
    scales = cape_scales(tau, n_sites, n_honest=n_honest, masks=masks)
    mu = cape_mu(1.0, scales, n_sites, n_honest)
    assert max(mu.values()) == pytest.approx(1 / tau, rel=1e-12)


@pytest.mark.parametrize(("n_sites", "holds"), [(2, 1.586), (3, 1.31), (5, 1.16), (10, 1.073)])
def test_wide_masks_scaled_for_the_aggregator_only_break_a_guarantee_of_one(n_sites, holds):
    """b^2 = tau^2 / S is enough against the aggregator; a site subtracts its own noise."""
    tau = 1 / gaussian_mu(PrivacyBudget(1.0, 0.01))
    for_aggregator_only = CapeScales(math.inf, tau / math.sqrt(n_sites))
    mu = cape_mu(1.0, for_aggregator_only, n_sites, n_sites)
    assert gaussian_epsilon(0.01, 1.0, mu[Adversary.AGGREGATOR]) == pytest.approx(1.0)
    # Three digits as printed, rounded up.
    assert gaussian_epsilon(0.01, 1.0, mu[Adversary.SITE]) == pytest.approx(holds, abs=5e-3)
    kept = cape_scales(tau, n_sites, n_honest=n_sites, masks="wide")
    assert max(cape_mu(1.0, kept, n_sites, n_sites).values()) == pytest.approx(1 / tau)


def test_compensated_for_the_aggregator_only_breaks_it_too():
    """S = H = 2, a and b grown by sqrt(2 S / (S + 1)): against a site, epsilon is 1.31 instead of
    1.
    """
    tau = math.sqrt(4 / 3) / gaussian_mu(PrivacyBudget(1.0, 0.01))
    mu = cape_mu(1.0, CapeScales(tau, tau / math.sqrt(2)), 2, 2)
    assert gaussian_epsilon(0.01, 1.0, mu[Adversary.AGGREGATOR]) == pytest.approx(1.0)
    assert gaussian_epsilon(0.01, 1.0, mu[Adversary.SITE]) == pytest.approx(1.31, abs=5e-3)


@given(st.integers(2, 100))
def test_published_scales_spend_more(n_sites):
    scales = cape_scales(1.0, n_sites)
    assert scales == CapeScales(1.0, 1 / math.sqrt(n_sites))
    mu = cape_mu(1.0, scales, n_sites, n_sites)
    assert mu[Adversary.AGGREGATOR] ** 2 == pytest.approx(2 * n_sites / (n_sites + 1))
    assert mu[Adversary.SITE] ** 2 == pytest.approx(n_sites / (n_sites - 1))
    assert mu[Adversary.OUTSIDER] == pytest.approx(1.0)


def test_wide_masks_leave_the_noise_of_the_sites_counted_on():
    assert cape_scales(4.0, 17, masks="wide") == CapeScales(math.inf, 1.0)
    assert cape_scales(4.0, 17, n_honest=17, masks="wide") == CapeScales(math.inf, 1.0)
    assert cape_scales(4.0, 1, masks="wide") == CapeScales(math.inf, 4.0)
    assert set(cape_mu(1.0, CapeScales(math.inf, 0.0), 3, 2).values()) == {math.inf}


def test_one_site_in_league_is_the_default_and_a_single_site_has_none():
    assert [default_honest_sites(n) for n in (1, 2, 3, 10)] == [1, 1, 2, 9]
    for masks in ("compensated", "wide"):
        assert cape_scales(1.0, 5, masks=masks) == cape_scales(1.0, 5, n_honest=4, masks=masks)
    assert Adversary.SITE not in cape_mu(1.0, CapeScales(1.0, 1.0), 1, 1)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: cape_scales(-1.0, 3), "local_sigma"),
        (lambda: cape_scales(1.0, 0), "n_sites"),
        (lambda: cape_scales(1.0, 3, n_honest=4), "n_honest"),
        (lambda: cape_scales(1.0, 3, masks="x"), "masks"),
        (lambda: cape_mu(0.0, CapeScales(1, 1), 2, 1), "l2_sensitivity"),
        (lambda: cape_mu(1.0, CapeScales(1, 1), 2, 0), "n_honest"),
        (lambda: cape_mu(1.0, CapeScales(1, 1), 2, 3), "n_honest"),
    ],
)
def test_bad_input_names_the_parameter(call, parameter):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.parameter == parameter
