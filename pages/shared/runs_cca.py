"""Caches of the CCA page: views, their moments, draws, and the people shown."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dpcore.data import load_dataset
from dpcore.data.two_views import TwoViewDataset
from dpcore.experiments.cca_curves import Row, run_cca_repetition
from dpcore.experiments.cca_found import (
    FoundPairs,
    ProjectedPeople,
    exact_found,
    find_pairs,
    project_people,
)
from dpcore.experiments.cca_problem import CcaProblem, CcaSpec, build_cca_problem
from dpcore.experiments.cca_views import ViewSource
from pages.shared.runs import Finished

Cell = tuple[ViewSource, CcaSpec, int]


@st.cache_resource(max_entries=4, show_spinner="Reading the two views …")
def views(source: ViewSource) -> TwoViewDataset:
    return source.load(download=False)


@st.cache_data(max_entries=8, show_spinner=False)
def columns(dataset: str) -> tuple[str, ...]:
    """Names of a data set's columns."""
    return load_dataset(dataset, download=False).feature_names


def problem(source: ViewSource, spec: CcaSpec) -> CcaProblem:
    return _problem(source, spec.data_side, spec)


@st.cache_resource(max_entries=5, show_spinner="Computing the joint second moments …")
def _problem(source: ViewSource, data_side: tuple, _spec: CcaSpec) -> CcaProblem:
    return build_cca_problem(views(source), _spec)


@st.cache_resource
def _rows() -> Finished:
    return Finished(max_entries=20_000)


@st.cache_resource
def _found() -> Finished:
    return Finished(max_entries=256)


@st.cache_resource
def _people() -> Finished:
    return Finished(max_entries=64)


def exact(source: ViewSource, spec: CcaSpec) -> FoundPairs:
    return exact_found(problem(source, spec))


def found(source: ViewSource, spec: CcaSpec, protocol: str) -> list[tuple[FoundPairs, Row]]:
    """Every draw of one protocol, judged, with its row."""
    alone = replace(spec, protocols=(protocol,), repetitions=1)
    return [
        _found().get(
            (source, alone, repetition),
            lambda repetition=repetition: find_pairs(
                alone, problem(source, alone), protocol, repetition
            ),
        )
        for repetition in range(spec.repetitions)
    ]


def people(source: ViewSource, spec: CcaSpec, protocol: str | None) -> ProjectedPeople:
    """People along the first draw's directions of a protocol, or along the exact ones."""
    if protocol is None:
        key = (source, spec.data_side)
        pairs = exact(source, spec)
    else:
        alone = replace(spec, protocols=(protocol,), repetitions=1)
        key = (source, alone)
        pairs = found(source, alone, protocol)[0][0]
    return _people().get(
        key,
        lambda: project_people(views(source), problem(source, spec), pairs, seed=spec.seed),
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
    store = _rows()
    rows: list[Row] = []
    missing: list[Cell] = []
    for cell in wanted:
        if cell in store:
            rows.extend(_cell_rows(cell))
        else:
            missing.append(cell)
    return rows, missing


def compute_for(missing: Sequence[Cell], seconds: float) -> None:
    """Compute cells until the time is up, at least one."""
    stop = time.monotonic() + seconds
    for cell in missing:
        _cell_rows(cell)
        if time.monotonic() > stop:
            return


def _cell_rows(cell: Cell) -> list[Row]:
    source, spec, repetition = cell
    return _rows().get(cell, lambda: run_cca_repetition(spec, problem(source, spec), repetition))
