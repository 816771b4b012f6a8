"""Caches of the learning pages: people, trained pipelines, finished rows.

As `runs`: keyed by names and numbers, bounded, shared by all sessions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dpcore.data import load_dataset
from dpcore.data.held_out import Halves, load_halves
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.learning.classification_runs import (
    Outcome,
    Row,
    run_pipeline,
    run_repetition,
    total_guarantee,
)
from dpcore.experiments.learning.classification_spec import (
    ClassificationSpec,
    LearningKey,
    LearningProblem,
    build_learning_problem,
    canonical,
)
from dpcore.experiments.learning.statistic_runs import StatisticSpec, error_draws
from dpcore.experiments.teaching.tutorials import Output, run_tutorial
from dpcore.privacy import Guarantee
from pages.server.result_cache import counted_out, waited_for

Cell = tuple[ClassificationSpec, int]


def halves(name: str) -> Halves:
    return waited_for(_halves, name, saying="Reading the data set …")


def problem(key: LearningKey) -> LearningProblem:
    return waited_for(_problems, key, saying="Reading people and computing second moments …")


def columns(name: str) -> tuple[str, ...]:
    """Names of a data set's columns."""
    return waited_for(_columns, name, saying="Reading the data set …")


def column(name: str, index: int) -> np.ndarray:
    """One column of a data set, float64."""
    return waited_for(_column, name, index, saying="Reading the data set …")


def tutorial_outputs(key: str, epsilon: float) -> tuple[Output, ...]:
    return _tutorials(key, epsilon)


def errors_of(identity: tuple, spec: StatisticSpec, draws: int) -> np.ndarray:
    """Errors of many releases of ("typed", numbers …) or (data set, column number)."""
    return _errors(identity, spec, draws)


def cells(specs: Iterable[ClassificationSpec]) -> list[Cell]:
    """The different repetitions of some specs; settings a pipeline does not read are one.

    First repetitions come first, so that a figure that fills in is whole early and gets finer.
    """
    known = [canonical(spec) for spec in specs]
    most = max((spec.repetitions for spec in known), default=0)
    return list(
        dict.fromkeys(
            (replace(spec, repetitions=1), repetition)
            for repetition in range(most)
            for spec in known
            if repetition < spec.repetitions
        )
    )


def cell_row(cell: Cell) -> Row:
    """Row of one repetition."""
    if _rows.peek(*cell) is None:
        problem(cell[0].key())
    return _rows(*cell)


def finished(specs: Iterable[ClassificationSpec]) -> tuple[list[Row], list[Cell]]:
    """Rows there already, and the cells still to be computed."""
    there = [(cell, _rows.peek(*cell)) for cell in cells(specs)]
    missing = [cell for cell, row in there if row is None]
    return [row for _, row in there if row is not None], missing


def rows(specs: Iterable[ClassificationSpec]) -> list[Row]:
    """All rows of some specs; a counting bar appears if it takes longer than a moment."""
    return [cell_row(cell) for cell in counted_out(cells(specs), "draws")]


def outcome(spec: ClassificationSpec) -> Outcome:
    """The first repetition of a pipeline, trained."""
    alone = replace(canonical(spec), repetitions=1)
    problem(alone.key())
    return _outcomes(alone)


def guarantee_of(spec: ClassificationSpec) -> Guarantee:
    """What all private stages of a pipeline promise together."""
    found = outcome(spec)
    return _guarantees(spec, make=lambda: total_guarantee(spec, found))


def _column_of(name: str, index: int) -> np.ndarray:
    return _read_only(load_dataset(name, download=False).X[:, index].astype(np.float64))


def _errors_of(identity: tuple, spec: StatisticSpec, draws: int) -> np.ndarray:
    origin, *rest = identity
    values = np.array(rest) if origin == "typed" else _column(origin, *rest)
    return _read_only(error_draws(values, spec, draws))


def _read_only(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


def _run_cell(spec: ClassificationSpec, repetition: int) -> Row:
    return run_repetition(spec, _problems(spec.key()), repetition)


_halves = OnceCache(load_halves, keep=2)
_problems = OnceCache(lambda key: build_learning_problem(key, _halves), keep=8)
_columns = OnceCache(lambda name: load_dataset(name, download=False).feature_names, keep=8)
_column = OnceCache(_column_of, keep=32)
_tutorials = OnceCache(run_tutorial, keep=64)
_errors = OnceCache(_errors_of, keep=256)
_rows = OnceCache(_run_cell, keep=20_000)
_outcomes = OnceCache(lambda spec: run_pipeline(spec, _problems(spec.key())), keep=48)
_guarantees: OnceCache[Guarantee] = OnceCache(None, keep=256)
