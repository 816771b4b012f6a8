"""Where runs get their problems: each data set is read once, and sweeps push nothing out."""

from __future__ import annotations

import copy
import threading
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore.experiments.once_cache import OnceCache
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.problem import Problems, load_prepared

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
    """A seed each, as 2,200 addresses had: 64 problems of 9 MB stayed for good."""
    large = SimpleNamespace(rows=np.zeros(9 * 1024**2, np.uint8))
    monkeypatch.setattr(Problems, "_build", lambda self, key, shelf: copy.deepcopy(large))
    kept = Problems(keep=64, most_bytes=256 * 1024**2)
    seeds = [RunSpec(seed=seed).problem_key() for seed in range(64)]
    for key in seeds:
        kept(key)
    still_there = sum(kept.peek(key) is not None for key in seeds)
    assert 0 < still_there * large.rows.nbytes <= 256 * 1024**2
    assert kept.peek(seeds[-1]) is not None


def test_what_is_being_made_is_waited_for_and_not_made_twice():
    made, may_end = [], threading.Event()

    def make(number):
        made.append(number)
        may_end.wait(10)
        return -number

    latest = OnceCache(make, keep=1)
    threads = [threading.Thread(target=latest, args=(7,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not made:
        pass
    assert (7,) in latest and latest.peek(7) is None
    may_end.set()
    for thread in threads:
        thread.join()
    assert latest.peek(7) == -7 and made == [7]
    assert (8,) not in latest
