"""Streams differ by their identity and by nothing else."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.pca import AnalyzeGaussPCA, ReleaseSettings
from dpcore.privacy import PrivacyBudget
from dpcore.streams import Purpose, root_of_release, stream

IDENTITIES = [
    (seed, purpose, *rest)
    for seed, purpose in itertools.product((0, 1, 2), Purpose)
    for rest in ((), (0,), (1,), (0, 0), (0, 1), (1, 0))
]


def test_one_identity_gives_the_same_numbers_wherever_it_is_drawn():
    alone = stream(5, Purpose.SITE_NOISE, 2, 3).standard_normal(10)
    for site in range(3):
        stream(5, Purpose.SITE_NOISE, 2, site).standard_normal(1000)
    np.testing.assert_array_equal(stream(5, Purpose.SITE_NOISE, 2, 3).standard_normal(10), alone)


@given(st.integers(0, 2**300), st.lists(st.integers(0, 2**40), max_size=3))
def test_it_is_the_stream_that_numpy_spawns(seed, identity):
    spawned = np.random.SeedSequence(seed, spawn_key=(Purpose.MASK, *identity))
    drawn = stream(seed, Purpose.MASK, *identity).integers(2**63, size=2)
    np.testing.assert_array_equal(drawn, np.random.default_rng(spawned).integers(2**63, size=2))


def test_no_two_identities_share_a_stream():
    first = {stream(*identity).integers(2**63) for identity in IDENTITIES}
    assert len(first) == len(IDENTITIES)


def test_neighbouring_streams_are_uncorrelated():
    """t law of a sample correlation; false-alarm probability 1e-9 over all pairs."""
    n = 2000
    draws = np.array(
        [stream(0, Purpose.SITE_NOISE, r, s).standard_normal(n) for r in range(8) for s in range(8)]
    )
    r = np.corrcoef(draws)[np.triu_indices(len(draws), 1)]
    bound = stats.t.isf(1e-9 / r.size / 2, n - 2)
    assert np.abs(r * np.sqrt((n - 2) / (1 - r**2))).max() < bound


def test_purposes_are_never_renumbered():
    """Numbers are part of every published result."""
    assert [(p.name, int(p)) for p in Purpose][:12] == [
        ("SAMPLE", 0),
        ("SPLIT", 1),
        ("SITE_NOISE", 2),
        ("POOLED_NOISE", 3),
        ("MASK", 4),
        ("PREPARATION", 5),
        ("SUBSPACE", 6),
        ("DATA", 7),
        ("ROUNDING", 8),
        ("TRAINING", 9),
        ("STATISTIC", 10),
        ("AUDIT", 11),
    ]


def test_a_root_is_of_everything_released_with_it_and_of_no_type_or_process():
    settings = ReleaseSettings(PrivacyBudget(1.0, 0.01), 2, 3)
    root = root_of_release(7, "pooled", settings, [3, 4])
    # The root is the same on every machine; Python's own hash of a string differs per process.
    assert hex(root_of_release(7, "pooled", 0.5, [3, 4]))[:18] == "0xe70b67787e10f715"
    same = replace(settings, budget=PrivacyBudget(np.float64(1), 0.01), n_components=np.int64(2))
    assert root_of_release(np.int64(7), "pooled", same, (np.int64(3), 4.0)) == root
    others = [
        root_of_release(8, "pooled", settings, [3, 4]),
        root_of_release(7, "sites", settings, [3, 4]),
        root_of_release(7, "pooled", replace(settings, budget=PrivacyBudget(2.0, 0.01)), [3, 4]),
        root_of_release(7, "pooled", replace(settings, mean_share=0.1), [3, 4]),
        root_of_release(7, "pooled", settings, [4, 3]),
        root_of_release(7, "pooled", settings, [[3], [4]]),
        root_of_release(7, "pooled", settings, 3, 4),
        root_of_release(7, "pooled", settings, ["3", "4"]),
        root_of_release(7, "pooled", settings, [3, 4], None),
    ]
    assert len({root, *others}) == len(others) + 1


def test_errors_survive_a_worker():
    error = pickle.loads(pickle.dumps(ParameterError("epsilon", "greater than 0", -1.0)))
    assert str(error) == "epsilon must be greater than 0, got -1.0"
    assert error.parameter == "epsilon"


def test_a_fit_without_a_seed_asks_numpy_for_no_generator(monkeypatch):
    """PCG64's state can be computed from its outputs, and with it the remaining noise."""

    def refused(*_):
        raise AssertionError("a generator of NumPy's")

    monkeypatch.setattr(np.random, "default_rng", refused)
    AnalyzeGaussPCA(1).fit(np.eye(4))
