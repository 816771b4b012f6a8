"""A study of three sites with four columns, run in this process."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from parties import NAMES

from dpcore.federated.guard import Guard
from dpcore.federated.hub import Hub
from dpcore.federated.plan import StudyPlan
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.project import Project

COLUMNS = tuple(Column(name, -1, 1) for name in "wxyz")


class Clock:
    """Seconds that pass when told to."""

    def __init__(self):
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock():
    return Clock()


@lru_cache
def plan_of(settings: tuple) -> StudyPlan:
    """Calibrated once."""
    values = {"epsilon": 1.0, "delta": 1e-6, "n_components": 2} | dict(settings)
    return StudyPlan("trial", Dictionary(COLUMNS), NAMES, **values)


@pytest.fixture
def plan_with():
    return lambda **settings: plan_of(tuple(settings.items()))


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    return {site: rng.uniform(-1, 1, (40 + 10 * n, 4)) for n, site in enumerate(NAMES)}


@pytest.fixture
def guard_of(rows, tmp_path):
    def make(plan: StudyPlan, site: str, cap=(3.0, 1e-5), **options) -> Guard:
        data = dict(zip("wxyz", rows[site].T, strict=True))
        return Guard(plan, site, data, Project(tmp_path / site, cap), **options)

    return make


@pytest.fixture
def hub_of(clock, tmp_path):
    return lambda plan: Hub(plan, tmp_path / "hub", now=clock)


@pytest.fixture
def joined(hub_of, guard_of):
    """A hub and the guards of all sites, which have joined."""

    def make(plan: StudyPlan):
        hub, guards = hub_of(plan), {site: guard_of(plan, site) for site in plan.sites}
        for site, guard in guards.items():
            hub.join(site, guard.public_key)
        return hub, guards

    return make
