"""The only home of caches: data sets, site moments and finished rows, shared by all sessions.

Everything is keyed by names and numbers, never by arrays, and every cache is bounded.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TypeVar
from uuid import uuid4

import numpy as np
import streamlit as st
from threadpoolctl import threadpool_limits

from dpcore.data import DatasetStatus, Prepared, list_datasets
from dpcore.experiments.problem import Problem, Problems, ProblemSource, load_prepared
from dpcore.experiments.run import Row, draw_subspaces, run_repetition
from dpcore.experiments.spec import ProblemKey, RunSpec
from dpcore.pca import Subspace
from pages.shared import turns as page_turns
from pages.shared.job_turns import Turns

# A job takes every processor, so that a second one makes neither faster. But two at once end no
# later than one after the other, and a short one then need not wait for a long one to end.
JOBS_AT_ONCE = 2
# How long others wait while somebody's numbers are computed.
_FAIR_SECONDS = 0.1
Cell = tuple[RunSpec, int]
T = TypeVar("T")


def one_blas_thread() -> None:
    """One BLAS thread for each session: sessions are the parallelism, and more threads fight."""
    threadpool_limits(limits=1, user_api="blas")


@st.cache_resource
def problems() -> Problems:
    """Data sets and site moments in memory, for pages and for the jobs that run beside them."""
    return Problems(partial(load_prepared, download=False), keep_data=2, keep=6)


@st.cache_resource
def problems_of_jobs() -> ProblemSource:
    """The same for sweeps, which come to more problems than a page may push out."""
    return problems().beside(keep=JOBS_AT_ONCE)


def visitor() -> str:
    """A name for whoever looks at the page, by which jobs know their owner."""
    return st.session_state.setdefault("_visitor", uuid4().hex)


@st.cache_resource
def turns() -> Turns:
    """Who may compute beside the pages."""
    return Turns(JOBS_AT_ONCE)


def prepared(name: str, preparation: str, norm_bound: float | None) -> Prepared:
    """A data set ready for a private algorithm."""
    source, data = problems().prepared, (name, preparation, norm_bound)
    if source.peek(*data) is None:
        with st.spinner("Reading the data set …"):
            return source(*data)
    return source(*data)


def problem(key: ProblemKey) -> Problem:
    """Site moments and exact answer for one key."""
    source = problems()
    if source.peek(key) is None:
        prepared(key.dataset, key.preparation, key.norm_bound)
        with st.spinner("Computing the sites' second moments …"):
            return source(key)
    return source(key)


def feature_names(spec: RunSpec) -> tuple[str, ...]:
    """Names of the columns of a spec's data set."""
    return _prepared_of(spec).feature_names


def statement(spec: RunSpec) -> str:
    """What the preparation did to the rows, in one sentence."""
    return _prepared_of(spec).statement


def person(spec: RunSpec, index: int) -> tuple[np.ndarray, np.ndarray]:
    """One person's row as measured, and as the algorithms see it once centred."""
    data = _prepared_of(spec)
    row = np.asarray(data.X[index], dtype=float)
    centre = problem(spec.problem_key()).centre
    return row * data.scale + data.mean, row - centre


def as_measured(spec: RunSpec, row: np.ndarray) -> np.ndarray:
    """A centred row back in the units it was measured in."""
    data = _prepared_of(spec)
    return (row + problem(spec.problem_key()).centre) * data.scale + data.mean


def _prepared_of(spec: RunSpec) -> Prepared:
    key = spec.problem_key()
    return prepared(key.dataset, key.preparation, key.norm_bound)


class Finished:
    """A bounded store of results that several sessions may ask for at once.

    Whoever asks first computes; whoever asks meanwhile waits for that result instead of
    computing it again.
    """

    def __init__(self, max_entries: int):
        self._max_entries = max_entries
        self._results: OrderedDict[Hashable, Future] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: Hashable) -> bool:
        return self.peek(key) is not None

    def peek(self, key: Hashable) -> object | None:
        """The finished result, or None while there is none."""
        with self._lock:
            future = self._results.get(key)
        return future.result() if future is not None and future.done() else None

    def get(self, key: Hashable, compute: Callable[[], object]) -> object:
        with self._lock:
            future = self._results.get(key)
            mine = future is None
            if mine:
                future = self._results[key] = Future()
                while len(self._results) > self._max_entries:
                    self._results.popitem(last=False)
            else:
                self._results.move_to_end(key)
        if mine:
            try:
                future.set_result(compute())
            except BaseException as error:
                # A failed or interrupted computation must not be handed to the next one asking.
                with self._lock:
                    self._results.pop(key, None)
                future.set_exception(error)
                raise
        return future.result()


@st.cache_resource
def _rows() -> Finished:
    return Finished(max_entries=20_000)


@st.cache_resource
def _whole_curves() -> Finished:
    return Finished(max_entries=128)


@st.cache_resource
def _subspaces() -> Finished:
    return Finished(max_entries=64)


@st.cache_resource
def _shown() -> Finished:
    return Finished(max_entries=512)


def shown(key: Hashable, build: Callable[[], T]) -> T:
    """A figure or picture, to be read and not changed: building costs more than showing."""
    return _shown().get(key, build)


@st.cache_data(ttl=2, show_spinner=False)
def dataset_statuses() -> tuple[DatasetStatus, ...]:
    """Which data sets are ready, looked up at most every other second."""
    return list_datasets()


def cells(spec: RunSpec) -> list[Cell]:
    """The repetitions of a spec, each of which is computed and kept on its own."""
    alone = replace(spec, repetitions=1)
    return [(alone, repetition) for repetition in range(spec.repetitions)]


def cell_rows(cell: Cell) -> list[Row]:
    """Rows of one repetition, one a protocol."""
    spec, repetition = cell
    return _rows().get(
        cell,
        lambda: run_repetition(spec, problem(spec.problem_key(repetition)), repetition),
    )


def rows(spec: RunSpec) -> list[Row]:
    """All rows of a spec; a counting bar appears if it takes longer than a moment."""
    return [row for found in _counted(cells(spec), cell_rows, "draw") for row in found]


def subspaces(spec: RunSpec, repetition: int = 0) -> dict[str, Subspace]:
    """The subspace of each protocol in one repetition."""
    return _subspaces().get(
        (spec, repetition),
        lambda: draw_subspaces(spec, problem(spec.problem_key(repetition)), repetition),
    )


def finished_rows(specs: tuple[RunSpec, ...]) -> tuple[list[Row], list[Cell]]:
    """Rows there already, and the cells still to be computed."""
    # A slider that is moved asks for the same finished curve again and again.
    whole = _whole_curves().peek(specs)
    if whole is not None:
        return whole, []
    store = _rows()
    found: list[Row] = []
    missing: list[Cell] = []
    for cell in (cell for spec in specs for cell in cells(spec)):
        rows_there = store.peek(cell)
        if rows_there is None:
            missing.append(cell)
        else:
            found.extend(rows_there)
    if not missing:
        _whole_curves().get(specs, lambda: found)
    return found, missing


def compute_for(missing: list[Cell], seconds: float) -> int:
    """Compute cells until the time is up, at least one; how many were done."""
    stop = time.monotonic() + seconds
    for done, cell in enumerate(missing, start=1):
        cell_rows(cell)
        if time.monotonic() > stop:
            return done
    return len(missing)


def _counted(items: list, compute: Callable, noun: str, patience: float = 0.6) -> list:
    started = time.monotonic()
    gave_way = started
    bar = None
    results = []
    for number, item in enumerate(items, start=1):
        results.append(compute(item))
        if time.monotonic() - gave_way > _FAIR_SECONDS:
            page_turns.give_way()
            gave_way = time.monotonic()
        if bar is None and number < len(items) and time.monotonic() - started > patience:
            bar = st.empty()
        if bar is not None:
            bar.progress(number / len(items), f"{number} of {len(items)} {noun}s")
    if bar is not None:
        bar.empty()
    return results
