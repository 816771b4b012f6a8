"""Sources of problems: each data set is read once, and sweeps displace no cached problem."""

from __future__ import annotations

import copy
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.problem import Problems, load_prepared

KEYS = [RunSpec(sites=sites, reference="all").problem_key() for sites in (2, 3, 4)]


@pytest.fixture
def read() -> Counter:
    return Counter()


@pytest.fixture
def problems(read) -> Problems:
    def load(*data):
        read[data] += 1
        return load_prepared(*data)

    return Problems(load, keep=2)


def test_what_is_kept_for_pages_has_a_bound_in_bytes(monkeypatch):
    """2,200 addresses with different seeds once kept 64 problems of 9 MB."""
    large = SimpleNamespace(rows=np.zeros(9 * 1024**2, np.uint8))
    monkeypatch.setattr(Problems, "_compute", lambda self, key, source: copy.deepcopy(large))
    kept = Problems(keep=64, most_bytes=256 * 1024**2)
    seeds = [RunSpec(seed=seed).problem_key() for seed in range(64)]
    for key in seeds:
        kept(key)
    still_there = sum(kept.peek(key) is not None for key in seeds)
    assert 0 < still_there * large.rows.nbytes <= 256 * 1024**2
    assert kept.peek(seeds[-1]) is not None
