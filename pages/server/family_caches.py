"""Caches of CCA, central algorithms, classification, statistics and published panels.

What the learning pages share: people, trained pipelines, rows.

Keyed by names and numbers, bounded, shared by all sessions.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcore.arrays import IntArray
from dpcore.data import load_dataset
from dpcore.data.splits import Halves
from dpcore.data.two_views import TwoViewDataset
from dpcore.experiments import central_runs
from dpcore.experiments.cca_runs import (
    CcaProblem,
    CcaRow,
    CcaSpec,
    FoundPairs,
    ProjectedPeople,
    ViewSource,
    build_cca_problem,
    exact_found,
    find_pairs,
    project_people,
)
from dpcore.experiments.central_runs import Batch, CentralRow, CentralSpec, WatchedChains, watch
from dpcore.experiments.classification_runs import (
    ClassificationSpec,
    LearningKey,
    LearningProblem,
    Outcome,
    canonical,
    local_halves,
    local_learning_problem,
    run_pipeline,
    total_guarantee,
)
from dpcore.experiments.engine import Row
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.problem import Problem
from dpcore.experiments.rebuilt_rows import rebuild_rows_about
from dpcore.experiments.spec import ProblemKey
from dpcore.experiments.statistic_runs import ErrorsSpec, StatisticSpec, local_values
from dpcore.experiments.store import Store, cache_folder
from dpcore.experiments.sweep import Points
from dpcore.figures.components import matrix_png
from dpcore.papers import dpdispca
from dpcore.papers.dpdispca import PanelState, PaperFigure, panel_state
from dpcore.privacy import Guarantee
from dpcore.teaching.algorithm1 import Walk, walk
from dpcore.teaching.tutorials import Output, run_tutorial
from pages.server import background_jobs, caches
from pages.server.caches import cached, waited_for
from pages.shell.parameters import PANEL_DRAWS

# What pages of other families share: CCA, central algorithms, the walk, published panels.


@cached(4, saying="Reading the two views …")
def views(source: ViewSource) -> TwoViewDataset:
    return source.load(download=False)


@cached(8, saying="Reading the data set …")
def columns(dataset: str) -> tuple[str, ...]:
    """Names of a data set's columns."""
    return load_dataset(dataset, download=False).feature_names


def cca_problem(spec: CcaSpec) -> CcaProblem:
    views(spec.source)
    return _cca_problem(spec.problem_key())


@cached(5, saying="Computing the joint second moments …")
def _cca_problem(key: CcaSpec) -> CcaProblem:
    return build_cca_problem(views(key.source), key)


def exact_pairs(spec: CcaSpec) -> FoundPairs:
    return exact_found(cca_problem(spec))


def found_pairs(spec: CcaSpec, protocol: str) -> list[tuple[FoundPairs, CcaRow]]:
    """Every draw of one protocol, judged, with its row."""
    cca_problem(spec)
    alone = replace(spec, protocols=(protocol,), repetitions=1)
    return [_found_pairs(alone, repetition) for repetition in range(spec.repetitions)]


@cached(256)
def _found_pairs(spec: CcaSpec, repetition: int) -> tuple[FoundPairs, CcaRow]:
    (protocol,) = spec.protocols
    return find_pairs(spec, cca_problem(spec), protocol, repetition)


def people(spec: CcaSpec, protocol: str | None) -> ProjectedPeople:
    """People along the first draw's directions of a protocol, or along the exact ones."""
    alone = spec if protocol is None else replace(spec, protocols=(protocol,), repetitions=1)
    return _people(spec.problem_key() if protocol is None else alone, protocol)


@cached(64)
def _people(spec: CcaSpec, protocol: str | None) -> ProjectedPeople:
    pairs = exact_pairs(spec) if protocol is None else _found_pairs(spec, 0)[0]
    return project_people(views(spec.source), cca_problem(spec), pairs, seed=spec.seed)


@cached(4, saying="Reading the data set and computing its second moment …")
def central_problem(key: ProblemKey) -> Problem:
    return central_runs.central_problem(key, caches.problems.prepared(*key.data))


@cached(24, saying="Running the chains …")
def chains(spec: CentralSpec, n_chains: int, n_sweeps: int | None) -> WatchedChains:
    """Chains watched for so many sweeps, or until the diagnostics pass."""
    problem = central_problem(spec.problem_key())
    return watch(spec, problem, n_chains=n_chains, n_sweeps=n_sweeps)


@cached(36, saying="Running the algorithm …")
def batch(spec: CentralSpec) -> Batch:
    """Rows of all draws, and the first subspace."""
    found = central_runs.run_batch(spec, central_problem(spec.problem_key()))
    return replace(found, subspaces=found.subspaces[:1])


def central_rows(specs: Sequence[CentralSpec]) -> list[CentralRow]:
    """Rows of all draws of some specs, counted while one waits for them."""
    return [
        row
        for spec in caches.counted_out(specs, "algorithms")
        for row in central_runs.central_rows(spec, batch(spec))
    ]


background_jobs.PROBLEMS |= {
    CcaSpec.experiment: _cca_problem,
    CentralSpec.experiment: central_problem,
}


@cached(4, saying="Running Algorithm 1 …")
def steps(spec: RunSpec, site: int) -> Walk:
    """The walk through Algorithm 1, kept for whoever steps back and forth."""
    return walk(spec, caches.problem_of(spec.problem_key()), site)


@dataclass(frozen=True)
class StepPictures:
    """What a step of the walk looks like.

    matrices: Base64 of a PNG of each of its panels.
    people: (n_people, n_columns) uint8, as `ShownPeople.levels`: rebuilt from its directions.
    """

    matrices: tuple[str, ...]
    people: IntArray


@cached(12, saying="Drawing the steps …")
def step_pictures(spec: RunSpec, site: int) -> tuple[StepPictures, ...]:
    """The pictures of all steps."""
    walked, shown = steps(spec, site), caches.people(spec)
    centre = np.zeros(shown.rows.shape[1]) if walked.centre is None else walked.centre
    return tuple(
        StepPictures(
            tuple(
                b64encode(matrix_png(panel.matrix, panel.limit)).decode() for panel in step.panels
            ),
            shown.levels(rebuild_rows_about(shown.rows, step.directions, centre)),
        )
        for step in walked.steps
    )


def panel_states() -> tuple[PanelState, ...]:
    """Every published panel with the rows kept on disk, whoever computed them."""
    folder = str(cache_folder())
    # Runs of this visitor change the stamp; those of others are seen within a minute.
    minute = time.monotonic() // 60
    return tuple(
        _state(figure, folder, (minute, *_stamp(figure))) for figure in dpdispca.FIGURES.values()
    )


def _stamp(figure: PaperFigure) -> tuple[int, ...]:
    jobs = (
        background_jobs.find_sweeps((figure.varied(repetitions=n).sweep,))
        for n in PANEL_DRAWS.values()
    )
    return tuple(0 if job is None else job.progress().done for job in jobs)


@cached(64)
def _state(figure: PaperFigure, folder: str, stamp: tuple[float, ...]) -> PanelState:  # noqa: ARG001
    return panel_state(figure, Store(folder))


# What the learning pages share: people, trained pipelines, rows.


def halves(name: str, mode: str = "bounded") -> Halves:
    return waited_for(local_halves, name, mode, saying="Reading the data set …")


def problem(key: LearningKey) -> LearningProblem:
    saying = "Reading people and computing second moments …"
    return waited_for(local_learning_problem, key, saying=saying)


def column(name: str, index: int) -> np.ndarray:
    """One column of a data set, float64."""
    return waited_for(local_values, (name, index), saying="Reading the data set …")


@cached(64)
def tutorial_outputs(key: str, epsilon: float) -> tuple[Output, ...]:
    return run_tutorial(key, epsilon)


def errors_of(origin: tuple[Any, ...], spec: StatisticSpec, draws: int) -> np.ndarray:
    """Errors of many releases of ("typed", numbers …) or (data set, column number)."""
    asked = ErrorsSpec(spec, origin, draws)
    (row,) = background_jobs.rows_now(Points((asked,)), keep=asked.dataset is not None)
    return np.array(row["errors"])


def different(specs: Iterable[ClassificationSpec]) -> Points:
    """The different ones of some specs; settings that a pipeline does not read are one."""
    return Points(tuple(dict.fromkeys(map(canonical, specs))))


def rows(specs: Iterable[ClassificationSpec]) -> tuple[Row, ...]:
    """All rows of some specs; a counting bar appears if it takes longer than a moment."""
    points = different(specs)
    for key in dict.fromkeys(spec.key() for spec in points.specs):
        problem(key)
    return background_jobs.rows_now(points)


def outcome(spec: ClassificationSpec) -> Outcome:
    """The first repetition of a pipeline, trained."""
    alone = replace(canonical(spec), repetitions=1)
    problem(alone.key())
    return _outcome(alone)


@cached(48)
def _outcome(spec: ClassificationSpec) -> Outcome:
    return run_pipeline(spec, problem(spec.key()))


@cached(256)
def guarantee_of(spec: ClassificationSpec) -> Guarantee:
    """What all private stages of a pipeline promise together."""
    return total_guarantee(spec, outcome(spec).guarantees)
