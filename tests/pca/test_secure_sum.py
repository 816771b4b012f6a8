"""Secure sum: pooled noise from sites whose single messages cannot be read, with dropouts."""

from __future__ import annotations

import math
import secrets
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.pca import Draw
from dpcore.pca.protocols.cape import masked_average
from dpcore.pca.protocols.holder import noisy_pool
from dpcore.pca.protocols.secure_sum import BY_SUMMANDS, guarantee_of_summands, secure_sum
from dpcore.privacy import Adversary, gaussian_epsilon
from dpcore.spectra import SiteMoments
from dpcore.streams import Repetition

SIZES = np.array([60, 40, 100, 80, 30, 50])


@pytest.fixture
def settings(settings_with):
    return settings_with(intermediate_dim=4, calibration="analytic", noise="isometric")


def at_sites(n_features: int = 5) -> SiteMoments:
    n = len(SIZES)
    return SiteMoments(np.zeros((n, n_features, n_features)), np.zeros((n, n_features)), SIZES)


@pytest.mark.parametrize("dropped", [0, 1, 3, 5])
@pytest.mark.parametrize("honest", [None, 3, 6])
def test_what_is_left_hides_a_person_from_each_adversary(settings, dropped, honest):
    """The noises that each adversary does not know, added by hand: the worst has the requested
    epsilon.
    """
    settings = replace(settings, dropped_sites=dropped, honest_sites=honest)
    draw = Draw(at_sites(), settings, Repetition(1))
    average, n_there = BY_SUMMANDS.average(draw), len(SIZES) - dropped
    (sigma,) = set(average.sigma)
    counted_on = max(1, (len(SIZES) - 1 if honest is None else honest) - dropped)
    unknown = {Adversary.OUTSIDER: n_there, Adversary.AGGREGATOR: counted_on}
    if n_there > 1:
        unknown[Adversary.SITE] = min(counted_on, n_there - 1)
    moved = math.sqrt(2) * settings.row_norm_bound**2 / draw.n_people
    by_hand = {
        who: gaussian_epsilon(settings.budget.delta, math.sqrt(n) * sigma, moved)
        for who, n in unknown.items()
    }
    assert {entry.adversary: entry.epsilon for entry in average.guarantee.against} == pytest.approx(
        by_hand, rel=1e-9
    )
    assert max(by_hand.values()) == pytest.approx(settings.budget.epsilon, rel=1e-9)
    assert average.guarantee == guarantee_of_summands(settings, draw.n_samples, 5)
    assert average.remaining_sigma == pytest.approx(math.sqrt(n_there) * sigma)


def test_with_everybody_there_it_is_cape_under_masks_without_bound(settings):
    draw = Draw(at_sites(), replace(settings, masks="wide"), Repetition(1))
    ours, theirs, holder = (
        average(draw).remaining_sigma
        for average in (BY_SUMMANDS.average, masked_average, noisy_pool)
    )
    assert ours == pytest.approx(theirs)
    # All but one counted on: 6 noises, of which 5 would do.
    assert ours == pytest.approx(math.sqrt(6 / 5) * holder)


@pytest.mark.parametrize("dropped", [0, 2])
def test_the_noise_in_the_sum_follows_its_law(settings, dropped, false_alarm):
    settings = replace(settings, dropped_sites=dropped, mean_share=0.2)
    draw = Draw(at_sites(300), settings, Repetition(secrets.randbits(60)))
    average = BY_SUMMANDS.average(draw)
    entries = average.spectrum.matrix + np.outer(average.centre, average.centre)
    # Isometric noise has half the variance off the diagonal.
    upper = math.sqrt(2) * entries[np.triu_indices(300, 1)] / average.remaining_sigma
    assert stats.kstest(upper, "norm").pvalue > false_alarm
    weight = average.mean_sigma / average.remaining_sigma
    assert weight == pytest.approx(math.sqrt(2 * 0.8 / 0.2))
    assert stats.kstest(average.centre / average.mean_sigma, "norm").pvalue > false_alarm


def test_more_sites_than_there_are_cannot_be_counted_on(settings):
    with pytest.raises(ParameterError, match="honest_sites"):
        secure_sum(Draw(at_sites(), replace(settings, honest_sites=7), Repetition(0)))


def test_a_message_is_a_key_and_whole_numbers(settings):
    subspace = secure_sum(Draw(at_sites(), replace(settings, dropped_sites=1), Repetition(0)))
    assert subspace.bytes_sent.tolist() == [32 + 8 * 15] * 5 and subspace.n_rounds == 2
