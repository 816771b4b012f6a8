"""Caches of the central pages: draws, watched chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpcore.experiments.central.chain_runs import WatchedChains, watch
from dpcore.experiments.central.runs import (
    Batch,
    CentralRow,
    CentralSpec,
    central_problem,
    central_rows,
    run_batch,
)
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.pca.problem import Problem
from dpcore.experiments.pca.spec import ProblemKey
from pages.server import result_cache, visitors_jobs


def problem(key: ProblemKey) -> Problem:
    saying = "Reading the data set and computing its second moment …"
    return result_cache.waited_for(_problems, key, saying=saying)


def chains(spec: CentralSpec, n_chains: int, n_sweeps: int | None) -> WatchedChains:
    """Chains watched for so many sweeps, or until the diagnostics pass."""
    problem(spec.problem_key())
    return result_cache.waited_for(_chains, spec, n_chains, n_sweeps, saying="Running the chains …")


def batch(spec: CentralSpec) -> Batch:
    """Rows of all draws, and the first subspace."""
    problem(spec.problem_key())
    return _batches(spec)


def rows(specs: Sequence[CentralSpec]) -> list[CentralRow]:
    """Rows of all draws of some specs, counted while one waits for them."""
    return [
        row
        for number, spec in enumerate(specs)
        for row in central_rows(spec, _waited_for(spec, f"{number} of {len(specs)} algorithms …"))
    ]


def _waited_for(spec: CentralSpec, saying: str) -> Batch:
    problem(spec.problem_key())
    return result_cache.waited_for(_batches, spec, saying=saying)


def _run_batch(spec: CentralSpec) -> Batch:
    found = run_batch(spec, _problems(spec.problem_key()))
    return replace(found, subspaces=found.subspaces[:1])


def _problem(key: ProblemKey) -> Problem:
    return central_problem(key, result_cache.problems.prepared(*key.data))


def _watch(spec: CentralSpec, n_chains: int, n_sweeps: int | None) -> WatchedChains:
    return watch(spec, _problems(spec.problem_key()), n_chains=n_chains, n_sweeps=n_sweeps)


_problems = OnceCache(_problem, keep=4)
_chains = OnceCache(_watch, keep=24)
_batches = OnceCache(_run_batch, keep=36)
visitors_jobs.PROBLEMS[CentralSpec.experiment] = _problems
