"""Captured energy of the algorithms along epsilon and along the number of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.central import CentralSpec
from dpcore.experiments.engine.grid import Points
from dpcore.figures.energy import energy_curves
from dpcore.params import EPSILONS
from pages import sweeps
from pages.components import charts, ledger
from pages.explore.comparison.runs import feasible_variants
from pages.sweeps import RowsOfSweeps

_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.01 <= epsilon <= 20)
_SAMPLES = tuple(step * 10**power for power in range(1, 6) for step in (1, 2, 5))
_MAX_SAMPLE_VALUES, _LEAST_SAMPLES = 9, 50


def draw_along_epsilon(spec: CentralSpec, dataset: DatasetStatus, *, with_wishart: bool) -> None:
    """Draw one curve per algorithm along epsilon."""
    specs = [replace(spec, epsilon=epsilon) for epsilon in _EPSILONS]
    ends = _EPSILONS[0], _EPSILONS[-1]
    _draw_curves(specs, dataset, "epsilon", "ε", ends, with_wishart=with_wishart)


def draw_along_samples(spec: CentralSpec, dataset: DatasetStatus, *, with_wishart: bool) -> None:
    """Draw one curve per algorithm along the number of samples."""
    most = dataset.n_samples
    values = [n for n in _SAMPLES if _LEAST_SAMPLES <= n < most][-_MAX_SAMPLE_VALUES:]
    specs = [replace(spec, samples=n) for n in values] + [replace(spec, samples=None)]
    axis, ends = dataset.unit.many, (values[0], most)
    _draw_curves(specs, dataset, "samples", axis, ends, with_wishart=with_wishart)


def _draw_curves(
    specs: Sequence[CentralSpec],
    dataset: DatasetStatus,
    field: str,
    axis: str,
    ends: tuple[float, float],
    *,
    with_wishart: bool,
) -> None:
    if not ledger.may_show_curves(dataset.name):
        return
    points = [feasible_variants(spec, dataset, with_wishart=with_wishart) for spec in specs]
    # PPCA takes longer than the others, so its points come last.
    quick = [spec for point in points for key, spec in point.items() if key != "ppca"]
    slow = [point["ppca"] for point in points if "ppca" in point]

    def draw(results: RowsOfSweeps) -> None:
        rows = [row for rows_of_sweep in results for row in rows_of_sweep]
        with st.container(height=440, border=False):
            if rows:
                figure = energy_curves(
                    rows,
                    field,
                    axis_title=axis,
                    axis_range=ends,
                    dark=charts.is_dark(),
                )
                alt = f"Captured energy of each algorithm along {axis}."
                charts.show_figure(figure, key=f"compare_{field}", alt=alt)

    sweeps.watch((Points(tuple(quick)), Points(tuple(slow))), draw)
