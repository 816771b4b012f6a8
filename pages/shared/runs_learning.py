"""Caches of the learning pages: people, trained pipelines, finished rows.

As `runs`: keyed by names and numbers, bounded, shared by all sessions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import streamlit as st

from dpcore.data import load_dataset
from dpcore.data.held_out import Halves, load_halves
from dpcore.experiments.classification_runs import (
    Outcome,
    Row,
    run_pipeline,
    run_repetition,
    total_guarantee,
)
from dpcore.experiments.learning import (
    ClassificationSpec,
    LearningKey,
    LearningProblem,
    build_learning_problem,
    canonical,
)
from dpcore.experiments.statistic_runs import StatisticSpec, error_draws
from dpcore.experiments.tutorials import Output, run_tutorial
from dpcore.privacy import Guarantee
from pages.shared.runs import Finished

Cell = tuple[ClassificationSpec, int]


@st.cache_resource(max_entries=2, show_spinner="Reading the data set …")
def halves(name: str) -> Halves:
    return load_halves(name)


@st.cache_resource(max_entries=8, show_spinner="Computing second moments …")
def problem(key: LearningKey) -> LearningProblem:
    return build_learning_problem(key, halves)


@st.cache_resource(max_entries=8, show_spinner="Reading the data set …")
def columns(name: str) -> tuple[str, ...]:
    """Names of a data set's columns."""
    return load_dataset(name, download=False).feature_names


@st.cache_resource(max_entries=32, show_spinner="Reading the data set …")
def column(name: str, index: int) -> np.ndarray:
    """One column of a data set, float64."""
    values = load_dataset(name, download=False).X[:, index].astype(np.float64)
    values.flags.writeable = False
    return values


@st.cache_resource(max_entries=64, show_spinner=False)
def tutorial_outputs(key: str, epsilon: float) -> tuple[Output, ...]:
    return run_tutorial(key, epsilon)


@st.cache_data(max_entries=256, show_spinner=False)
def errors_of(identity: tuple, spec: StatisticSpec, draws: int) -> np.ndarray:
    """Errors of many releases of ("typed", numbers …) or (data set, column number)."""
    origin, *rest = identity
    values = np.array(rest) if origin == "typed" else column(origin, *rest)
    return error_draws(values, spec, draws)


@st.cache_resource
def _rows() -> Finished:
    return Finished(max_entries=20_000)


@st.cache_resource
def _outcomes() -> Finished:
    return Finished(max_entries=48)


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
    spec, repetition = cell
    return _rows().get(cell, lambda: run_repetition(spec, problem(spec.key()), repetition))


def finished(specs: Iterable[ClassificationSpec]) -> tuple[list[Row], list[Cell]]:
    """Rows there already, and the cells still to be computed."""
    store = _rows()
    found: list[Row] = []
    missing: list[Cell] = []
    for cell in cells(specs):
        if cell in store:
            found.append(cell_row(cell))
        else:
            missing.append(cell)
    return found, missing


def compute_for(missing: list[Cell], seconds: float) -> None:
    """Compute cells until the time is up, at least one."""
    stop = time.monotonic() + seconds
    for cell in missing:
        cell_row(cell)
        if time.monotonic() > stop:
            return


def rows(specs: Iterable[ClassificationSpec], *, patience: float = 0.6) -> list[Row]:
    """All rows of some specs; a counting bar appears if it takes longer than a moment."""
    wanted = cells(specs)
    started, bar, found = time.monotonic(), None, []
    for number, cell in enumerate(wanted, start=1):
        found.append(cell_row(cell))
        if bar is None and number < len(wanted) and time.monotonic() - started > patience:
            bar = st.empty()
        if bar is not None:
            bar.progress(number / len(wanted), f"{number} of {len(wanted)} draws")
    if bar is not None:
        bar.empty()
    return found


def outcome(spec: ClassificationSpec) -> Outcome:
    """The first repetition of a pipeline, trained."""
    alone = replace(canonical(spec), repetitions=1)
    return _outcomes().get(alone, lambda: run_pipeline(alone, problem(alone.key())))


@st.cache_data(max_entries=256, show_spinner=False)
def guarantee_of(spec: ClassificationSpec) -> Guarantee:
    """What all private stages of a pipeline promise together."""
    return total_guarantee(spec, outcome(spec))
