"""What the learning pages share: people, trained pipelines, rows.

Keyed by names and numbers, bounded, shared by all sessions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dpcore.data import load_dataset
from dpcore.data.held_out import Halves
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.engine.sweep import Points
from dpcore.experiments.learning.classification_promises import total_guarantee
from dpcore.experiments.learning.classification_runs import Outcome, run_pipeline
from dpcore.experiments.learning.classification_spec import (
    ClassificationSpec,
    LearningKey,
    LearningProblem,
    canonical,
    local_halves,
    local_learning_problem,
)
from dpcore.experiments.learning.statistic_runs import ErrorsSpec, local_values
from dpcore.experiments.learning.statistic_spec import StatisticSpec
from dpcore.experiments.teaching.tutorials import Output, run_tutorial
from dpcore.privacy import Guarantee
from pages.server import visitors_jobs
from pages.server.result_cache import waited_for


def halves(name: str, preparation: str = "bounded") -> Halves:
    return waited_for(local_halves, name, preparation, saying="Reading the data set …")


def problem(key: LearningKey) -> LearningProblem:
    saying = "Reading people and computing second moments …"
    return waited_for(local_learning_problem, key, saying=saying)


def columns(name: str) -> tuple[str, ...]:
    """Names of a data set's columns."""
    return waited_for(_columns, name, saying="Reading the data set …")


def column(name: str, index: int) -> np.ndarray:
    """One column of a data set, float64."""
    return waited_for(local_values, (name, index), saying="Reading the data set …")


def tutorial_outputs(key: str, epsilon: float) -> tuple[Output, ...]:
    return _tutorials(key, epsilon)


def errors_of(origin: tuple[Any, ...], spec: StatisticSpec, draws: int) -> np.ndarray:
    """Errors of many releases of ("typed", numbers …) or (data set, column number)."""
    asked = ErrorsSpec(spec, origin, draws)
    (row,) = visitors_jobs.rows_now(Points((asked,)), keep=asked.dataset is not None)
    return np.array(row["errors"])


def different(specs: Iterable[ClassificationSpec]) -> Points:
    """The different ones of some specs; settings that a pipeline does not read are one."""
    return Points(tuple(dict.fromkeys(map(canonical, specs))))


def rows(specs: Iterable[ClassificationSpec]) -> tuple[Row, ...]:
    """All rows of some specs; a counting bar appears if it takes longer than a moment."""
    points = different(specs)
    for key in dict.fromkeys(spec.key() for spec in points.specs):
        problem(key)
    return visitors_jobs.rows_now(points)


def outcome(spec: ClassificationSpec) -> Outcome:
    """The first repetition of a pipeline, trained."""
    alone = replace(canonical(spec), repetitions=1)
    problem(alone.key())
    return _outcomes(alone)


def guarantee_of(spec: ClassificationSpec) -> Guarantee:
    """What all private stages of a pipeline promise together."""
    found = outcome(spec)
    return _guarantees(spec, make=lambda: total_guarantee(spec, found.guarantees))


_columns = OnceCache(lambda name: load_dataset(name, download=False).feature_names, keep=8)
_tutorials = OnceCache(run_tutorial, keep=64)
_outcomes = OnceCache(lambda spec: run_pipeline(spec, local_learning_problem(spec.key())), keep=48)
_guarantees: OnceCache[Guarantee] = OnceCache(None, keep=256)
