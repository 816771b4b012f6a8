"""A second identical run of a page takes every result from a cache."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.linalg

from pages.learn import how_it_works
from pages.navigation import ENTRIES
from tests.pages.opening import wait_for_jobs

COMPUTATIONS = (
    *((np.linalg, name) for name in ("eigh", "eigvalsh", "svd", "qr")),
    *((scipy.linalg, name) for name in ("eigh", "eigvalsh", "svd", "qr")),
    *((np.random, name) for name in ("default_rng", "PCG64", "Philox")),
    (how_it_works, "walk"),
)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_second_identical_run_computes_nothing(open_page, monkeypatch, entry):
    """A function between a decorator and its function once took the cache from a page."""
    at = open_page(entry.address, dataset="digits", repetitions="1", components="5")
    wait_for_jobs(at)
    at.run()
    calls: Counter[str] = Counter()

    def counted(name, function):
        def call(*arguments, **named):
            calls[name] += 1
            return function(*arguments, **named)

        return call

    for module, name in COMPUTATIONS:
        label = f"{module.__name__}.{name}"
        monkeypatch.setattr(module, name, counted(label, getattr(module, name)))
    at.run()
    if entry.name == "statistics":  # one number of noise for each statistic, drawn again
        del calls["numpy.random.default_rng"]
    assert not at.exception and not calls
