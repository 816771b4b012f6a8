"""Caches of the central pages: draws, watched chains.

As `runs`: keyed by names and numbers, bounded, shared by all sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpcore.errors import ParameterError
from dpcore.experiments.central.chain_runs import WatchedChains, watch
from dpcore.experiments.central.runs import VARIANTS, Batch, central_problem, run_batch
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.pca.problem import Problem
from dpcore.experiments.pca.spec import ProblemKey, RunSpec
from pages.server import result_cache

# A central spec and the variant to run on it.
Cell = tuple[RunSpec, str]


def problem(key: ProblemKey) -> Problem:
    saying = "Reading the data set and computing its second moment …"
    return result_cache.waited_for(_problems, key, saying=saying)


def chains(spec: RunSpec, n_chains: int, n_sweeps: int | None) -> WatchedChains:
    """Chains watched for so many sweeps, or until the diagnostics pass."""
    problem(spec.problem_key())
    return result_cache.waited_for(_chains, spec, n_chains, n_sweeps, saying="Running the chains …")


def batch(cell: Cell) -> Batch:
    """Rows of all draws, and the first subspace."""
    _ready(cell)
    return _batches(*cell)


def cell_rows(cell: Cell) -> tuple[Row, ...]:
    """Rows of all draws; none where the variant cannot run with these settings."""
    _ready(cell)
    return _rows(*cell)


def rows(cells: Sequence[Cell]) -> list[Row]:
    """Rows of some cells; a counting bar appears if it takes longer than a moment."""
    return [row for found in result_cache.counting(cells, cell_rows, "algorithms") for row in found]


def finished(cells: Sequence[Cell]) -> tuple[list[Row], list[Cell]]:
    """Rows there already, and the cells still to be computed."""
    there = [(cell, _rows.peek(*cell)) for cell in cells]
    missing = [cell for cell, rows in there if rows is None]
    return [row for _, rows in there for row in rows or ()], missing


def _ready(cell: Cell) -> None:
    """Have what a cell computes on in memory, and say so while it takes a moment."""
    spec, variant = cell
    if _rows.peek(*cell) is None:
        problem(VARIANTS[variant].of(spec).problem_key())


def _run_batch(spec: RunSpec, variant: str) -> Batch:
    alone = VARIANTS[variant].of(spec)
    found = run_batch(alone, _problems(alone.problem_key()))
    label = {"variant": variant, "label": VARIANTS[variant].label}
    return replace(
        found,
        rows=tuple({**row, **label} for row in found.rows),
        subspaces=found.subspaces[:1],
    )


def _run_cell(spec: RunSpec, variant: str) -> tuple[Row, ...]:
    try:
        return _batches(spec, variant).rows
    except ParameterError:
        return ()


def _problem(key: ProblemKey) -> Problem:
    data = result_cache.problems.prepared(key.dataset, key.preparation, key.norm_bound)
    return central_problem(key, data)


def _watch(spec: RunSpec, n_chains: int, n_sweeps: int | None) -> WatchedChains:
    return watch(spec, _problems(spec.problem_key()), n_chains=n_chains, n_sweeps=n_sweeps)


_problems = OnceCache(_problem, keep=4)
_chains = OnceCache(_watch, keep=24)
_batches = OnceCache(_run_batch, keep=36)
_rows = OnceCache(_run_cell, keep=4_000)
