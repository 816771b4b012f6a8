"""Caches of the central pages: draws, measured sample sizes, watched chains.

As `runs`: keyed by names and numbers, bounded, shared by all sessions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.central import VARIANTS, Batch, central_problem, run_batch
from dpcore.experiments.chain_runs import WatchedChains, watch
from dpcore.experiments.complexity import ComplexitySpec, measure
from dpcore.experiments.problem import Problem
from dpcore.experiments.run import Row
from dpcore.experiments.spec import ProblemKey, RunSpec
from pages.shared.runs import Finished, prepared

# A central spec and the variant to run on it.
Cell = tuple[RunSpec, str]
Measurement = tuple[ComplexitySpec, str, int]


@st.cache_resource(max_entries=4, show_spinner="Computing the second moment …")
def problem(key: ProblemKey) -> Problem:
    return central_problem(key, prepared(key.dataset, key.preparation, key.norm_bound))


@st.cache_resource
def _batches() -> Finished:
    return Finished(max_entries=36)


@st.cache_resource
def _rows() -> Finished:
    return Finished(max_entries=4_000)


@st.cache_resource
def _measured() -> Finished:
    return Finished(max_entries=2_000)


@st.cache_resource(max_entries=24, show_spinner="Running the chains …")
def chains(spec: RunSpec, n_chains: int, n_sweeps: int | None) -> WatchedChains:
    """Chains watched for so many sweeps, or until the diagnostics pass."""
    return watch(spec, problem(spec.problem_key()), n_chains=n_chains, n_sweeps=n_sweeps)


def batch(cell: Cell) -> Batch:
    """Rows of all draws, and the first subspace."""
    spec, variant = cell
    alone = VARIANTS[variant].of(spec)

    def compute() -> Batch:
        found = run_batch(alone, problem(alone.problem_key()))
        label = {"variant": variant, "label": VARIANTS[variant].label}
        return replace(
            found,
            rows=tuple({**row, **label} for row in found.rows),
            subspaces=found.subspaces[:1],
        )

    return _batches().get(cell, compute)


def cell_rows(cell: Cell) -> tuple[Row, ...]:
    """Rows of all draws; none where the variant cannot run with these settings."""

    def compute() -> tuple[Row, ...]:
        try:
            return batch(cell).rows
        except ParameterError:
            return ()

    return _rows().get(cell, compute)


def rows(cells: Sequence[Cell], *, patience: float = 0.6) -> list[Row]:
    """Rows of some cells; a counting bar appears if it takes longer than a moment."""
    started, bar, found = time.monotonic(), None, []
    for number, cell in enumerate(cells, start=1):
        found.extend(cell_rows(cell))
        if bar is None and number < len(cells) and time.monotonic() - started > patience:
            bar = st.empty()
        if bar is not None:
            bar.progress(number / len(cells), f"{number} of {len(cells)} algorithms")
    if bar is not None:
        bar.empty()
    return found


def finished(cells: Sequence[Cell]) -> tuple[list[Row], list[Cell]]:
    """Rows there already, and the cells still to be computed."""
    store = _rows()
    missing = [cell for cell in cells if cell not in store]
    return [row for cell in cells if cell in store for row in cell_rows(cell)], missing


def measured(spec: ComplexitySpec, mechanism: str, n_features: int) -> Row:
    """The measured number of people."""
    key: Measurement = (spec, mechanism, n_features)
    return _measured().get(key, lambda: measure(*key))


def finished_measurements(
    wanted: Sequence[Measurement],
) -> tuple[list[Row], list[Measurement]]:
    """Measurements there already, and those still to be made."""
    store = _measured()
    missing = [key for key in wanted if key not in store]
    return [measured(*key) for key in wanted if key in store], missing


def work(missing: Sequence[object], compute: Callable[[object], object], seconds: float) -> None:
    """Compute one after the other until the time is up, at least one."""
    stop = time.monotonic() + seconds
    for item in missing:
        compute(item)
        if time.monotonic() > stop:
            return
