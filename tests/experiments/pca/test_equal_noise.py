"""Captured energy depends on epsilon, delta and calibration only through the noise scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec
from dpcore.privacy import PrivacyBudget, second_moment_sigma

SPEC = RunSpec.published(repetitions=3)


def noise_multiplier(epsilon: float, delta: float, calibration: str) -> float:
    return second_moment_sigma(PrivacyBudget(epsilon, delta), 1, calibration=calibration)


def energies(spec, field, value, protocol="dpdis"):
    rows = collect(Sweep(replace(spec, protocols=(protocol,)), ((field, (value,)),))).rows
    return [row["energy_ratio"] for row in rows]


@pytest.mark.parametrize("protocol", ["dpdis", "pooled", "cape", "full"])
@pytest.mark.parametrize("preparation", ["published", "bounded"])
@pytest.mark.parametrize("calibration", ["published", "analytic"])
def test_energy_depends_on_epsilon_and_delta_through_the_noise_only(
    protocol, preparation, calibration
):
    """Another (epsilon, delta, calibration) with the same multiplier is the same computation."""
    spec = RunSpec.published(
        protocols=(protocol,), repetitions=2, preparation=preparation, calibration=calibration
    )
    m = noise_multiplier(1.0, 1e-3, calibration)
    other = next(
        e for e in np.geomspace(0.5, 1.5, 4001) if noise_multiplier(e, 1e-2, calibration) <= m
    )
    at_small_delta = energies(replace(spec, delta=1e-3), "epsilon", 1.0, protocol)
    at_large_delta = energies(replace(spec, delta=1e-2), "epsilon", float(other), protocol)
    # Multipliers agree to a step of the grid, 3e-4; energy is smooth in them.
    np.testing.assert_allclose(at_small_delta, at_large_delta, atol=3e-3)
