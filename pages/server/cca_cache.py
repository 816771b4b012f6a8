"""Caches of the CCA page: views, their moments, draws, and the people shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dpcore.data import load_dataset
from dpcore.data.two_views import TwoViewDataset
from dpcore.experiments.cca.curves import Row, run_cca_repetition
from dpcore.experiments.cca.evaluation import (
    FoundPairs,
    ProjectedPeople,
    exact_found,
    find_pairs,
    project_people,
)
from dpcore.experiments.cca.spec import CcaProblem, CcaSpec, build_cca_problem
from dpcore.experiments.cca.views import ViewSource
from dpcore.experiments.engine.once_cache import OnceCache
from pages.server import page_lock
from pages.server.result_cache import waited_for

Cell = tuple[ViewSource, CcaSpec, int]


def views(source: ViewSource) -> TwoViewDataset:
    return waited_for(_views, source, saying="Reading the two views …")


def columns(dataset: str) -> tuple[str, ...]:
    """Names of a data set's columns."""
    return _columns(dataset)


def problem(source: ViewSource, spec: CcaSpec) -> CcaProblem:
    views(source)
    if _problems.peek(source, spec.data_side) is None:
        with st.spinner("Computing the joint second moments …"), page_lock.others():
            return _problem(source, spec)
    return _problem(source, spec)


def _problem(source: ViewSource, spec: CcaSpec) -> CcaProblem:
    key = (source, spec.data_side)
    return _problems.get(key, lambda: build_cca_problem(_views(source), spec))


def exact(source: ViewSource, spec: CcaSpec) -> FoundPairs:
    return exact_found(problem(source, spec))


def found(source: ViewSource, spec: CcaSpec, protocol: str) -> list[tuple[FoundPairs, Row]]:
    """Every draw of one protocol, judged, with its row."""
    problem(source, spec)
    alone = replace(spec, protocols=(protocol,), repetitions=1)
    return [_found(source, alone, repetition) for repetition in range(spec.repetitions)]


def people(source: ViewSource, spec: CcaSpec, protocol: str | None) -> ProjectedPeople:
    """People along the first draw's directions of a protocol, or along the exact ones."""
    if protocol is None:
        key = (source, spec.data_side)
        pairs = exact(source, spec)
    else:
        alone = replace(spec, protocols=(protocol,), repetitions=1)
        key = (source, alone)
        pairs = found(source, alone, protocol)[0][0]
    return _people.get(
        key,
        lambda: project_people(_views(source), _problem(source, spec), pairs, seed=spec.seed),
    )


def cells(source: ViewSource, specs: Sequence[CcaSpec]) -> list[Cell]:
    """Draws of the points of a curve. Repetitions are outermost, so that it fills in evenly,
    but for points with data sides of their own, which are finished one after the other."""
    order = sorted(
        (
            (sides.index(spec.data_side), repetition, number)
            for sides in [list(dict.fromkeys(spec.data_side for spec in specs))]
            for number, spec in enumerate(specs)
            for repetition in range(spec.repetitions)
        ),
    )
    return [
        (source, replace(specs[number], repetitions=1), repetition)
        for _, repetition, number in order
    ]


def finished_rows(wanted: Sequence[Cell]) -> tuple[list[Row], list[Cell]]:
    """Rows there already, and the cells still to be computed."""
    there = [(cell, _rows.peek(*cell)) for cell in wanted]
    missing = [cell for cell, rows in there if rows is None]
    return [row for _, rows in there for row in rows or ()], missing


def cell_rows(cell: Cell) -> list[Row]:
    """Rows of one draw."""
    source, spec, _ = cell
    problem(source, spec)
    return _rows(*cell)


def _run_cell(source: ViewSource, spec: CcaSpec, repetition: int) -> list[Row]:
    return run_cca_repetition(spec, _problem(source, spec), repetition)


def _find(source: ViewSource, spec: CcaSpec, repetition: int) -> tuple[FoundPairs, Row]:
    (protocol,) = spec.protocols
    return find_pairs(spec, _problem(source, spec), protocol, repetition)


_views = OnceCache(lambda source: source.load(download=False), keep=4)
_columns = OnceCache(lambda name: load_dataset(name, download=False).feature_names, keep=8)
_problems: OnceCache[CcaProblem] = OnceCache(None, keep=5)
_rows = OnceCache(_run_cell, keep=20_000)
_found = OnceCache(_find, keep=256)
_people: OnceCache[ProjectedPeople] = OnceCache(None, keep=64)
