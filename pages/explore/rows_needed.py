"""Rows that each site needs to reach a captured energy, at every ε."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from dpcore.data.dataset import RowUnit
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.pca import RunSpec
from dpcore.figures.tradeoffs import rows_needed, rows_needed_figure
from dpcore.params import PEOPLE_PER_SITE
from dpcore.pca.protocols.register import PROTOCOLS
from pages import sweeps
from pages.components import charts, ledger
from pages.number_format import plain
from pages.sidebar import Selection
from pages.sweeps import RowsOfSweeps

_FIGURE_HEIGHT = 420
_NEEDED_FOR = (0.75, 0.9)
_NEEDED_AT = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_NEEDED_RUNS, _LEAST_SAMPLES = 3, 50


def draw_rows_needed(selection: Selection) -> None:
    """Draw the samples that each site needs to reach a captured energy, at every ε."""
    spec, dataset = selection.spec, selection.dataset
    most = dataset.n_samples // spec.sites
    sizes = (*(n for n in PEOPLE_PER_SITE if _LEAST_SAMPLES <= n < most), most)
    # The classic calibration is proven up to ε = 1.
    epsilons = tuple(e for e in _NEEDED_AT if e <= 1 or spec.calibration != "classic")
    lead = replace(spec, protocols=spec.protocols[:1], samples=None, repetitions=_NEEDED_RUNS)
    # Captured energy depends on epsilon and delta only through the noise, so one curve serves all.
    chosen = (Sweep(lead, (("people_per_site", sizes), ("epsilon", epsilons))),)
    sweeps.watch(chosen, partial(_draw_needed, lead, dataset.unit, epsilons, sizes))


def _draw_needed(
    spec: RunSpec,
    unit: RowUnit,
    epsilons: Sequence[float],
    sizes: Sequence[int],
    rows_of_sweeps: RowsOfSweeps,
) -> None:
    rows, key = rows_of_sweeps[0], spec.protocols[0]
    ledger.charge_rows(rows)
    sizes_needed = {
        target: rows_needed(rows, target, sizes, spec.repetitions) for target in _NEEDED_FOR
    }
    least, greatest = (sizes_needed[target] for target in _NEEDED_FOR)
    nearest = min(least, key=lambda epsilon: abs(math.log(epsilon / spec.epsilon)), default=None)
    if nearest is None:
        st.markdown("Waiting for the first runs.")
    else:
        fewer, more = (
            f"more than {sizes[-1]:,}" if size is None else f"{size:,}"
            for size in (least[nearest], greatest[nearest])
        )
        st.markdown(
            f"At ε = {plain(nearest)} **{PROTOCOLS[key].title}** needs **{fewer}** "
            f"{unit.many} per site to capture 75 % of the energy, and **{more}** for 90 %."
        )
    with st.container(height=_FIGURE_HEIGHT, border=False):
        charts.show_figure(
            rows_needed_figure(
                sizes_needed, epsilons, sizes, key=key, many=unit.many, dark=charts.is_dark()
            ),
            key="rows_needed",
            height="stretch",
            alt=f"{unit.many.capitalize()} needed per site against ε, for 75 % and for 90 %.",
        )
    st.caption(f"The smallest of {len(sizes)} sizes from which on the mean reaches the share.")
