"""A federated analysis of four sites with four columns, run in this process."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from parties import NAMES, LocalSites

from dpcore.federated.guard import Guard
from dpcore.federated.plan import FederatedPlan
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.project import Project

COLUMNS = tuple(Column(name, -1, 1) for name in "wxyz")


@lru_cache
def plan_of(settings: tuple) -> FederatedPlan:
    """Return a plan, calibrated once per settings."""
    values = {"epsilon": 1.0, "delta": 1e-6, "n_components": 2} | dict(settings)
    return FederatedPlan("trial", Dictionary(COLUMNS), NAMES, **values)


@pytest.fixture
def plan_with():
    return lambda **settings: plan_of(tuple(settings.items()))


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    return {site: rng.uniform(-1, 1, (40 + 10 * n, 4)) for n, site in enumerate(NAMES)}


@pytest.fixture
def guard_of(rows, tmp_path):
    def make(plan: FederatedPlan, site: str, cap=(3.0, 1e-5), **options) -> Guard:
        data = dict(zip("wxyz", rows[site].T, strict=True))
        return Guard(plan, site, data, Project(tmp_path / site, cap), **options)

    return make


@pytest.fixture
def sites_of(guard_of, tmp_path):
    """Return the guards of a plan behind an exchange without a network."""

    def make(plan: FederatedPlan) -> LocalSites:
        (tmp_path / "aggregator").mkdir(exist_ok=True)
        guards = {site: guard_of(plan, site) for site in plan.sites}
        return LocalSites(plan, guards, tmp_path / "aggregator")

    return make
