"""Caches of the CCA page: views, their moments, draws, and the people shown."""

from __future__ import annotations

from dataclasses import replace

from dpcore.data import load_dataset
from dpcore.data.two_views import TwoViewDataset
from dpcore.experiments.cca.evaluation import (
    FoundPairs,
    ProjectedPeople,
    exact_found,
    find_pairs,
    project_people,
)
from dpcore.experiments.cca.runs import CcaRow
from dpcore.experiments.cca.spec import CcaProblem, CcaSpec, build_cca_problem
from dpcore.experiments.cca.views import ViewSource
from dpcore.experiments.engine.once_cache import OnceCache
from pages.server import visitors_jobs
from pages.server.result_cache import waited_for


def views(source: ViewSource) -> TwoViewDataset:
    return waited_for(_views, source, saying="Reading the two views …")


def columns(dataset: str) -> tuple[str, ...]:
    """Names of a data set's columns."""
    return _columns(dataset)


def problem(spec: CcaSpec) -> CcaProblem:
    views(spec.source)
    return waited_for(_problems, spec.problem_key(), saying="Computing the joint second moments …")


def exact(spec: CcaSpec) -> FoundPairs:
    return exact_found(problem(spec))


def found(spec: CcaSpec, protocol: str) -> list[tuple[FoundPairs, CcaRow]]:
    """Every draw of one protocol, judged, with its row."""
    problem(spec)
    alone = replace(spec, protocols=(protocol,), repetitions=1)
    return [_found(alone, repetition) for repetition in range(spec.repetitions)]


def people(spec: CcaSpec, protocol: str | None) -> ProjectedPeople:
    """People along the first draw's directions of a protocol, or along the exact ones."""
    if protocol is None:
        return _people(spec.problem_key(), None)
    return _people(replace(spec, protocols=(protocol,), repetitions=1), protocol)


def _find(spec: CcaSpec, repetition: int) -> tuple[FoundPairs, CcaRow]:
    (protocol,) = spec.protocols
    return find_pairs(spec, _problems(spec.problem_key()), protocol, repetition)


def _project(spec: CcaSpec, protocol: str | None) -> ProjectedPeople:
    pairs = exact(spec) if protocol is None else _found(spec, 0)[0]
    found_in = _problems(spec.problem_key())
    return project_people(_views(spec.source), found_in, pairs, seed=spec.seed)


_views: OnceCache[TwoViewDataset] = OnceCache(lambda source: source.load(download=False), keep=4)
_columns: OnceCache[tuple[str, ...]] = OnceCache(
    lambda name: load_dataset(name, download=False).feature_names, keep=8
)
_problems: OnceCache[CcaProblem] = OnceCache(
    lambda key: build_cca_problem(_views(key.source), key), keep=5
)
_found: OnceCache[tuple[FoundPairs, CcaRow]] = OnceCache(_find, keep=256)
_people: OnceCache[ProjectedPeople] = OnceCache(_project, keep=64)
visitors_jobs.PROBLEMS[CcaSpec.experiment] = _problems
