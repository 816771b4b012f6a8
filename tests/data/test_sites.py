from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcore.data import draw_people, split_sites
from dpcore.errors import ParameterError
from dpcore.streams import Purpose, stream

# Every random law below is wrong in one test out of 1e9.
FALSE_ALARM = 1e-9


def _rng(seed: int = 0) -> np.random.Generator:
    return stream(seed, Purpose.SPLIT)


def _is_partition(sites, n_samples: int) -> bool:
    return np.array_equal(np.sort(np.concatenate(sites)), np.arange(n_samples))


@given(st.integers(2, 300), st.integers(0, 2**32), st.data())
def test_equal_sites_share_everybody_out(n_samples, seed, data):
    n_sites = data.draw(st.integers(1, n_samples // 2))
    sites = split_sites(n_samples, n_sites, rng=_rng(seed))
    sizes = [len(site) for site in sites]
    assert len(sites) == n_sites
    assert _is_partition(sites, n_samples)
    assert max(sizes) - min(sizes) <= 1
    assert all(np.all(np.diff(site) > 0) for site in sites)


@given(
    st.integers(1, 6), st.integers(1, 12), st.integers(0, 2**32), st.floats(1e-6, 1e6), st.data()
)
def test_sites_skewed_by_label_share_everybody_out(n_labels, n_sites, seed, concentration, data):
    n_samples = data.draw(st.integers(2 * n_sites, 200))
    labels = stream(seed, Purpose.DATA).integers(n_labels, size=n_samples)
    sites = split_sites(
        n_samples,
        n_sites,
        how="dirichlet",
        labels=labels,
        concentration=concentration,
        rng=_rng(seed),
    )
    sizes = [len(site) for site in sites]
    assert _is_partition(sites, n_samples)
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 2


@given(st.lists(st.integers(2, 30), min_size=1, max_size=8), st.integers(0, 50))
def test_given_sizes_are_kept_and_the_rest_take_no_part(sizes, spare):
    n_samples = sum(sizes) + spare
    sites = split_sites(n_samples, len(sizes), how="sizes", sizes=sizes, rng=_rng())
    assert [len(site) for site in sites] == sizes
    everybody = np.concatenate(sites)
    assert len(np.unique(everybody)) == sum(sizes)
    assert everybody.min() >= 0 and everybody.max() < n_samples


def test_random_sites_place_people_uniformly_and_independently():
    n_samples, n_sites = 40_000, 8
    sites = split_sites(n_samples, n_sites, how="random", rng=_rng())
    assert _is_partition(sites, n_samples)
    place = np.empty(n_samples, dtype=int)
    for number, site in enumerate(sites):
        place[site] = number
    # Pearson's statistic over the pairs (place of person i, place of person i + 1), on disjoint
    # pairs: uniform over n_sites^2 cells if placement is uniform and independent.
    pairs = np.bincount(place[0::2] * n_sites + place[1::2], minlength=n_sites**2)
    assert stats.chisquare(pairs).pvalue > FALSE_ALARM


def test_equal_sites_are_a_random_choice_of_people():
    # The first site's people are a uniform subset: their mean position has the mean (n - 1) / 2
    # and the variance of sampling without replacement; 6.2 deviations is 1e-9, two-sided.
    n_samples, n_sites = 10_000, 4
    site = split_sites(n_samples, n_sites, rng=_rng())[0]
    n = len(site)
    variance = (n_samples**2 - 1) / 12 / n * (n_samples - n) / (n_samples - 1)
    limit = stats.norm.isf(FALSE_ALARM / 2)
    assert abs(site.mean() - (n_samples - 1) / 2) < limit * np.sqrt(variance)


def _label_shares(sites, labels, n_labels):
    return np.array([np.bincount(labels[s], minlength=n_labels) / len(s) for s in sites])


def test_concentration_sets_how_much_sites_differ():
    labels = np.repeat(np.arange(10), 1_000)
    spread = []
    for concentration in (0.05, 1.0, 1e4):
        sites = split_sites(
            10_000, 20, how="dirichlet", labels=labels, concentration=concentration, rng=_rng()
        )
        spread.append(_label_shares(sites, labels, 10).max(axis=1).mean())
    assert spread[0] > 0.6 > spread[1] > 0.15
    # If mixes are equal, a share is a mean of 500 indicators of probability 0.1, deviation 0.0134.
    assert spread[2] < 0.1 + 4 * 0.0134


def test_a_label_mix_has_the_dirichlet_law():
    # The population is large, so the first site in turn draws freely. With two labels of equal
    # share its count is beta-binomial. Each of two sites is first half of the time and otherwise
    # holds the complement, which has the same law here.
    n_samples, repetitions, concentration = 400, 4_000, 2.0
    labels = np.arange(n_samples) % 2
    counts = np.array(
        [
            labels[
                split_sites(
                    n_samples,
                    2,
                    how="dirichlet",
                    labels=labels,
                    concentration=concentration,
                    rng=_rng(seed),
                )[0]
            ].sum()
            for seed in range(repetitions)
        ]
    )
    law = stats.betabinom(n_samples // 2, concentration, concentration)
    edges = np.append(-0.5, law.ppf(np.linspace(0.05, 0.95, 19)) + 0.5)
    expected = np.diff(np.append(law.cdf(edges), 1.0)) * repetitions
    observed = np.histogram(counts, np.append(edges, np.inf))[0]
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


def test_one_stream_gives_one_split():
    first, again = (split_sites(500, 7, rng=_rng(3)) for _ in range(2))
    other = split_sites(500, 7, rng=_rng(4))
    assert all(map(np.array_equal, first, again))
    assert not all(map(np.array_equal, first, other))


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        (dict(n_sites=51), "n_sites"),
        (dict(n_sites=0), "n_sites"),
        (dict(n_sites=2.0), "n_sites"),
        (dict(how="alphabetical"), "how"),
        (dict(how="sizes"), "sizes"),
        (dict(how="sizes", sizes=[50]), "sizes"),
        (dict(how="sizes", sizes=[99, 1]), "sizes"),
        (dict(how="sizes", sizes=[60, 41]), "sizes"),
        (dict(how="sizes", sizes=[50.5, 20.0]), "sizes"),
        (dict(how="random", n_sites=50), "n_sites"),
        (dict(how="dirichlet", concentration=1.0), "labels"),
        (dict(how="dirichlet", concentration=1.0, labels=np.zeros(99, int)), "labels"),
        (dict(how="dirichlet", labels=np.zeros(100, int)), "concentration"),
        (dict(how="dirichlet", labels=np.zeros(100, int), concentration=0.0), "concentration"),
        (dict(how="dirichlet", labels=np.zeros(100, int), concentration=np.nan), "concentration"),
    ],
)
def test_impossible_splits_are_refused_by_name(arguments, parameter):
    with pytest.raises(ParameterError) as caught:
        split_sites(100, **{"n_sites": 2, **arguments}, rng=_rng())
    assert caught.value.parameter == parameter


def test_people_are_drawn_once_each():
    people = draw_people(100, 40, rng=stream(0, Purpose.SAMPLE))
    assert len(np.unique(people)) == 40 and np.all(np.diff(people) > 0)
    assert np.array_equal(draw_people(9, 9, rng=stream(0, Purpose.SAMPLE)), np.arange(9))
    with pytest.raises(ParameterError, match=r"n_samples must be in \[1, 100\], got 101"):
        draw_people(100, 101, rng=stream(0, Purpose.SAMPLE))
