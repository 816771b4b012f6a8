"""The trade-off turned round: one curve for every (epsilon, delta), and its map over people."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.sweep import Sweep, collect
from dpcore.experiments.targets import (
    NoiseCurve,
    iso_energy_sweep,
    noise_multiplier,
)

SPEC = RunSpec.published(repetitions=3)
EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0)


def energies(spec, field, value, protocol="dpdis"):
    rows = collect(Sweep(replace(spec, protocols=(protocol,)), ((field, (value,)),))).rows
    return [row["energy_ratio"] for row in rows]


def test_an_iso_energy_map_is_a_sweep_over_both():
    sweep = iso_energy_sweep(SPEC, (1.0, 2.0), (50, 100))
    rows = collect(replace(sweep, base=replace(SPEC, protocols=("pooled",)))).rows
    assert {(row["epsilon"], row["people_per_site"]) for row in rows} == {
        (e, n) for e in (1.0, 2.0) for n in (50, 100)
    }


@pytest.mark.parametrize("protocol", ["dpdis", "pooled", "cape", "full"])
@pytest.mark.parametrize("preparation", ["published", "private"])
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
    here = energies(replace(spec, delta=1e-3), "epsilon", 1.0, protocol)
    there = energies(replace(spec, delta=1e-2), "epsilon", float(other), protocol)
    # Multipliers agree to a step of the grid, 3e-4; energy is smooth in them.
    np.testing.assert_allclose(here, there, atol=3e-3)


def test_the_curve_is_exact_at_its_points_and_close_between():
    spec = replace(SPEC, protocols=("dpdis",))
    fine = tuple(float(e) for e in np.geomspace(0.3, 5, 12))
    curve = NoiseCurve.from_rows(collect(Sweep(spec, (("epsilon", fine),))).rows, "dpdis")
    for epsilon in (fine[0], fine[5]):
        m = noise_multiplier(epsilon, 0.01, "published")
        # At its last point the cubic is evaluated at the far end of an interval.
        expected = energies(spec, "epsilon", epsilon)
        np.testing.assert_allclose(curve.energy(np.array(m)), expected, rtol=1e-14)
    for epsilon, delta in ((0.8, 1e-2), (2.0, 1e-4), (3.0, 1e-3)):
        (mean,) = curve.map((epsilon,), (delta,))[0]
        real = fmean(energies(replace(spec, delta=delta), "epsilon", epsilon))
        assert mean == pytest.approx(real, abs=0.01)


def test_a_curve_says_nothing_beyond_its_ends():
    rows = collect(Sweep(SPEC, (("epsilon", EPSILONS),))).rows
    curve = NoiseCurve.from_rows(rows, "dpdis")
    assert np.isnan(curve.map((100.0,), (0.01,))).all()
    assert not curve.covers(noise_multiplier(100.0, 0.01, "published"))
    assert curve.covers(noise_multiplier(1.0, 0.01, "published"))


@pytest.mark.parametrize(("field", "values"), [("sites", (2, 3)), ("dropped_sites", (0, 1))])
def test_rows_that_are_no_one_curve_are_refused(field, values):
    rows = collect(Sweep(SPEC, (("epsilon", (1.0, 2.0)), (field, values)))).rows
    with pytest.raises(ParameterError, match=f"of one {field}"):
        NoiseCurve.from_rows(rows, "dpdis")
    with pytest.raises(ParameterError, match="two or more points"):
        NoiseCurve.from_rows(collect(Sweep(SPEC)).rows, "dpdis")
