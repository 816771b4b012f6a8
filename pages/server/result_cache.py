"""The only home of caches: data sets, site moments and finished rows, shared by all sessions.

Everything is keyed by names and numbers, never by arrays, and every cache is bounded. Caches
belong to these modules and not to Streamlit, whose own any visitor can empty for everybody. What
they compute draws nothing on a page: a visitor who leaves is interrupted where something is drawn,
and the others wait for the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Protocol, TypeVar
from uuid import uuid4

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from threadpoolctl import threadpool_limits

from dpcore.data import DatasetStatus, Prepared, list_datasets
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.pca.kept_moments import keeping, kept_or_made
from dpcore.experiments.pca.problem import Problem, Problems, load_prepared
from dpcore.experiments.pca.runs import PcaRow, draw_subspaces, run_repetitions
from dpcore.experiments.pca.self_assessed import Assessed, assessed
from dpcore.experiments.pca.spec import ProblemKey, RunSpec
from dpcore.pca import Subspace
from dpcore.pca.draw import THREADED_FROM_FEATURES
from dpcore.pca.site import SiteAtWork
from pages.server import page_lock, spare_time
from pages.sidebar import own_table

# A job takes every processor, so that a second one makes neither faster. But two at once end no
# later than one after the other, and a short one then need not wait for a long one to end.
JOBS_AT_ONCE = 2
# How long others wait while somebody's numbers are computed.
_FAIR_SECONDS = 0.1
# How long a page computes before it shows what there is, while nobody waits.
_FIRST_SECONDS = 0.5
# How long a page computes before it says how far it is, and how often it looks.
_PATIENCE_SECONDS, _LOOK_SECONDS = 0.3, 0.1
Cell = tuple[RunSpec, int]
Item = TypeVar("Item")
T = TypeVar("T")
Made_co = TypeVar("Made_co", covariant=True)


class Cache(Protocol[Made_co]):
    """A function that remembers, and gives what it has without making it."""

    def __call__(self, *key: Any, **options: Any) -> Made_co: ...

    def peek(self, *key: Any, **options: Any) -> Made_co | None: ...


def one_blas_thread() -> None:
    """One BLAS thread for each session: sessions are the parallelism, and more threads fight."""
    threadpool_limits(limits=1, user_api="blas")


# Called with the spec, the repetition and what the draw found, while its components are there.
each_draw: list[Callable[[RunSpec, int, dict[str, Subspace]], None]] = []
# Data sets and site moments in memory, for pages and for the jobs that run beside them.
# A class may have a seed each, and a seed is a split of its own.
problems = Problems(
    partial(load_prepared, download=False), keep_data=2, keep=64, shelf=kept_or_made
)
# The same for sweeps, which come to more problems than a page may push out.
problems_of_jobs = problems.beside(keep=JOBS_AT_ONCE)


def waited_for(cache: Cache[T], *key: Hashable, saying: str) -> T:
    """A result; while one waits for it, words that say for what."""
    if cache.peek(*key) is None:
        with st.spinner(saying), page_lock.others():
            return cache(*key)
    return cache(*key)


def visitor() -> str:
    """A name for whoever looks at the page, by which jobs know their owner."""
    name: str = st.session_state.setdefault("_visitor", uuid4().hex)
    return name


def prepared(*data: str | float | None) -> Prepared:
    """A data set ready for a private algorithm; by `ProblemKey.data`."""
    return waited_for(problems.prepared, *data, saying="Reading the data set …")


def problem(key: ProblemKey) -> Problem:
    """Site moments and exact answer for one key."""
    saying = "Reading the data set and computing the sites' second moments …"
    return waited_for(problems, key, saying=saying)


def feature_names(spec: RunSpec) -> tuple[str, ...]:
    """Names of the columns of a spec's data set."""
    return problem(spec.problem_key()).about.feature_names


def statement(spec: RunSpec) -> str:
    """What the preparation did to the rows, in one sentence."""
    return problem(spec.problem_key()).about.statement


def shown(key: Hashable, build: Callable[[], T]) -> T:
    """A figure or picture, to be read and not changed: building costs more than showing."""
    built: T = _shown(key, make=build)
    return built


def dataset_statuses() -> tuple[DatasetStatus, ...]:
    """Which data sets are ready, looked up at most every other second, and a visitor's own."""
    return _statuses(time.monotonic() // 2) + own_table.statuses()


def cells(spec: RunSpec) -> list[Cell]:
    """The repetitions of a spec, each of which is computed and kept on its own."""
    alone = of_one_draw(spec)
    return [(alone, repetition) for repetition in range(spec.repetitions)]


# A page asks for the cells of a whole curve several times, and a spec checks itself.
@lru_cache(maxsize=1024)
def of_one_draw(spec: RunSpec) -> RunSpec:
    """The same with a single repetition."""
    return replace(spec, repetitions=1)


def cell_rows(cell: Cell) -> list[PcaRow]:
    """Rows of one repetition, one a protocol."""
    _ready(*cell)
    return _rows(*cell)


def _ready(spec: RunSpec, repetition: int) -> None:
    """Have what a cell computes on in memory, and say so while it takes a moment."""
    if _rows.peek(spec, repetition) is None:
        problem(spec.problem_key(repetition))


def rows(spec: RunSpec) -> list[PcaRow]:
    """All rows of a spec; a counting bar appears if it takes longer than a moment."""
    found: list[PcaRow] = []
    for cell in counted_out(cells(spec), "draws"):
        _ready(*cell)
        found += _rows(*cell)
    return found


def first_rows(spec: RunSpec) -> tuple[list[PcaRow], list[Cell]]:
    """Rows of the draws that are there in a moment, at least of one, and the others still to come.

    While others wait it is one draw, and always of large data: everybody then has an answer soon,
    and not some from all of their draws late.
    """
    found: list[PcaRow] = []
    asked = cells(spec)
    started = time.monotonic()
    for number, cell in enumerate(asked):
        if _rows.peek(*cell) is None:
            takes_long = problem(spec.problem_key()).n_features >= THREADED_FROM_FEATURES
            is_late = page_lock.is_wanted() or time.monotonic() - started > _FIRST_SECONDS
            if number and (takes_long or is_late):
                return found, asked[number:]
            if takes_long:
                found += _counted_out_draw(*cell)
                continue
        _ready(*cell)
        found += _rows(*cell, make=partial(_run_cell, *cell, keeps=not number))
    return found, []


def _counted_out_draw(spec: RunSpec, repetition: int) -> list[PcaRow]:
    """What somebody waits for, its sites counted out.

    The next start has what it needs of the rows, and answers with it at once.
    """
    done: list[SiteAtWork] = []
    make = partial(_run_cell, spec, repetition, keeps=True, each_site=done.append)
    # Whoever leaves meanwhile leaves a draw that is finished all the same.
    beside = ThreadPoolExecutor(1)
    drawing = beside.submit(_rows, spec, repetition, make=make)
    beside.shutdown(wait=False)
    with page_lock.others(), Counting("sites done") as bar:
        while wait([drawing], _LOOK_SECONDS).not_done:
            bar.count(min(len(done), spec.sites - 1), spec.sites)
    return drawing.result()


def subspaces(spec: RunSpec, repetition: int = 0) -> dict[str, Subspace]:
    """The subspace of each protocol in one repetition."""
    problem(spec.problem_key(repetition))
    return _subspaces(of_one_draw(spec), repetition)


def self_assessed(spec: RunSpec) -> dict[str, Assessed]:
    """What the first draw's releases say of themselves, of protocols that can."""
    alone = of_one_draw(spec)
    found, checkpoint = problem(spec.problem_key()), spare_time.checkpoint()
    return _self_assessed(alone, make=partial(assessed, alone, found, checkpoint=checkpoint))


def is_self_assessed(spec: RunSpec) -> bool:
    """Whether that is there already."""
    return _self_assessed.peek(of_one_draw(spec)) is not None


def finished_rows(specs: tuple[RunSpec, ...]) -> tuple[list[PcaRow], list[Cell]]:
    """Rows there already, and the cells still to be computed."""
    # A slider that is moved asks for the same finished curve again and again.
    whole = _whole_curves.peek(specs)
    if whole is not None:
        return whole, []
    found: list[PcaRow] = []
    missing: list[Cell] = []
    for cell in (cell for spec in specs for cell in cells(spec)):
        rows_there = _rows.peek(*cell)
        if rows_there is None:
            missing.append(cell)
        else:
            found.extend(rows_there)
    if not missing:
        _whole_curves(specs, make=lambda: found)
    return found, missing


class Counting:
    """A bar that appears on a page if something takes longer than a moment.

    noun: What is counted.
    """

    def __init__(self, noun: str):
        self._noun = noun
        self._started = self._gave_way = time.monotonic()
        self._bar: DeltaGenerator | None = None
        self._said = -1

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.empty()

    def count(self, done: int, total: int) -> None:
        """Say how far it is, and let others have a turn now and then."""
        now = time.monotonic()
        if now - self._gave_way > _FAIR_SECONDS:
            page_lock.give_way()
            self._gave_way = time.monotonic()
        if self._bar is None and done < total and now - self._started > _PATIENCE_SECONDS:
            self._bar = st.empty()
        if self._bar is not None and done != self._said:  # a browser draws what it is sent
            self._bar.progress(done / total, f"{done} of {total} {self._noun}")
            self._said = done


def counted_out(items: Sequence[Item], noun: str) -> Iterator[Item]:
    """Items one by one; a counting bar appears if what is done with them takes a moment."""
    with Counting(noun) as bar:
        for number, item in enumerate(items, start=1):
            yield item
            bar.count(number, len(items))


def _run_cell(
    spec: RunSpec, repetition: int, *, keeps: bool = False, **options: Any
) -> list[PcaRow]:
    def keep(found: list[dict[str, Subspace]]) -> None:
        if repetition == 0:  # the one that pages show
            _subspaces(spec, repetition, make=lambda: found[0])
        for see in each_draw:
            see(spec, repetition, found[0])

    found = problems(spec.problem_key(repetition))
    found = keeping(found) if keeps else found
    options |= {"watch": keep, "checkpoint": spare_time.checkpoint()}
    return run_repetitions([spec], found, repetition, **options)[0]


def _draw(spec: RunSpec, repetition: int) -> dict[str, Subspace]:
    found = problems(spec.problem_key(repetition))
    return draw_subspaces([spec], found, repetition, checkpoint=spare_time.checkpoint())[0]


# What visitors who move sliders fill in minutes; what is let go of is computed anew in as long.
# With less for rows, of which there are most, memory is level sooner.
_MOST_BYTES = 24 * 1024**2
_ROW_BYTES = 8 * 1024**2
_rows = OnceCache(_run_cell, keep=20_000, most_bytes=_ROW_BYTES)
_subspaces = OnceCache(_draw, keep=64, most_bytes=_MOST_BYTES)
_self_assessed: OnceCache[dict[str, Assessed]] = OnceCache(None, keep=256, most_bytes=_MOST_BYTES)
_whole_curves: OnceCache[list[PcaRow]] = OnceCache(None, keep=128, most_bytes=_ROW_BYTES)
_shown: OnceCache[Any] = OnceCache(None, keep=256, most_bytes=_MOST_BYTES)
_statuses = OnceCache(lambda _: list_datasets(), keep=1)
