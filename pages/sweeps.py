"""Sweeps of experiments as background jobs of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import streamlit as st

from dpcore.cluster import scheduler_of_environment
from dpcore.experiments.engine.grid import Grid, cost_of_sweeps
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.store import Store, cache_folder
from dpcore.experiments.engine.sweep import SweepEvent, in_order, run_sweep
from dpcore.experiments.pca import RunSpec
from pages import background, cached

Sweeps = tuple[Grid, ...]
# Rows of each sweep, in the order of its grid.
RowsOfSweeps = tuple[tuple[Row, ...], ...]
_Result = tuple[int, SweepEvent]


def watch(
    sweeps: Sweeps, draw: Callable[[RowsOfSweeps], None], *, by_button: str = ""
) -> background.Job | None:
    """Run sweeps in the background and draw their rows as they arrive.

    sweeps: Frozen and hashable; they are the identity of the job.
    draw: Draws the rows that have arrived; called with empty tuples at first.
    by_button: Label of a button that starts the job; it starts by itself if the label is empty.
    Returns the job, or None before the button was pressed.
    """
    key = (sweeps, scheduler_of_environment(), str(cache_folder()))
    job = background.find(key)
    if job is None and (by_button or background.was_cancelled(key)):
        nothing: RowsOfSweeps = tuple(() for _ in sweeps)
        if not st.button(by_button or "Run again", type="primary"):
            draw(nothing)
            return None
    job = background.start(key, lambda: _run(sweeps), cost_of_sweeps(sweeps).draws)
    background.watch(job, lambda results: draw(rows_of(results, len(sweeps))), "runs", count_runs)
    return job


def rows_of(results: Sequence[_Result], n_sweeps: int) -> RowsOfSweeps:
    """Return the rows that have arrived, one tuple per sweep."""
    finished: list[list[Any]] = [[] for _ in range(n_sweeps)]
    for number, event in results:
        finished[number] += event.finished
    return tuple(in_order(rows) for rows in finished)


def count_runs(results: Sequence[_Result]) -> int:
    """Return the number of runs in the results of a job."""
    return sum(len(event.finished) for _, event in results)


def _run(sweeps: Iterable[Grid]) -> Iterator[_Result]:
    for number, sweep in enumerate(sweeps):
        problems = cached.problems if sweep.family == RunSpec.experiment else None
        options: dict[str, Any] = {
            "workers": 1,
            "store": Store(),
            "scheduler": scheduler_of_environment(),
        }
        for event in run_sweep(sweep, problems=problems, **options):
            yield number, event
