"""Caches of data sets, site moments, finished rows and frames along ε, shared by all sessions.

Everything is keyed by names and numbers, never by arrays, and every cache is bounded. Caches
belong to these modules and not to Streamlit, whose own any visitor can empty for everybody. What
they compute draws nothing on a page: a visitor who leaves is interrupted where something is drawn,
and the others wait for the result.
"""

from __future__ import annotations

import threading
import time
from base64 import b64encode
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial, wraps
from inspect import signature
from typing import Any, ParamSpec, Protocol, TypeVar
from uuid import uuid4

import numpy as np
import streamlit as st
from threadpoolctl import threadpool_limits

from dpcore.arrays import FloatArray
from dpcore.data import DatasetStatus, Prepared, list_datasets
from dpcore.data.dataset import limits_of, read_limits
from dpcore.data.loading import entry_of
from dpcore.experiments.assessments import AssessedRelease, assess_releases
from dpcore.experiments.kept_moments import load_or_compute, with_stored_centres
from dpcore.experiments.once_cache import MOST_BYTES, OnceCache
from dpcore.experiments.pca import PcaRow, RunSpec, draw_subspaces, run_repetitions
from dpcore.experiments.problem import Problem, Problems, load_prepared
from dpcore.experiments.rebuilt_rows import (
    N_EXAMPLES,
    ExampleRows,
    rebuild_rows,
    rebuild_rows_about,
    select_example_rows,
)
from dpcore.experiments.spec import ProblemKey
from dpcore.figures.components import component_sprite
from dpcore.params import EPSILONS
from dpcore.pca import Subspace
from dpcore.pca.draw import THREADED_FROM_FEATURES
from dpcore.pca.site import SiteAtWork
from dpcore.spectra import align_signs
from pages.server import turns
from pages.shell import own_table
from pages.shell.streamlit_internals import DeltaGenerator, is_in_session

# The only home of caches: data sets, site moments and finished rows, shared by all sessions.

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
P = ParamSpec("P")
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
# A class may have a seed each, and a seed is a split of its own: 9 MB for the pictures that pages
# begin with. Whoever walks through addresses makes one after the other.
problems = Problems(
    partial(load_prepared, download=False),
    keep_data=2,
    keep=64,
    most_bytes=256 * 1024**2,
    shelf=load_or_compute,
)
# The same for sweeps, which come to more problems than a page may push out.
problems_of_jobs = problems.for_sweeps(keep=JOBS_AT_ONCE)


_making = threading.local()


def waited_for(cache: Cache[T], *key: Hashable, saying: str) -> T:
    """A result; while one waits for it, words that say for what, if there are any.

    Nothing is said of what a job beside the page waits for, nor inside what is made for others
    too: whoever leaves is interrupted where something is drawn.
    """
    inside = getattr(_making, "result", False)
    if inside or not is_in_session() or cache.peek(*key) is not None:
        return cache(*key)
    with st.spinner(saying) if saying else nullcontext(), turns.others():
        _making.result = True
        try:
            return cache(*key)
        finally:
            _making.result = False


def cached(
    keep: int, *, saying: str = "", most_bytes: int = MOST_BYTES
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function of hashable arguments that remembers its latest results, for all sessions.

    keep, most_bytes: As `OnceCache`.
    saying: What stands on the page while one waits for a result; nothing where that is a moment.
    """

    def remembering(make: Callable[P, T]) -> Callable[P, T]:
        cache: OnceCache[T] = OnceCache(make, keep, most_bytes)
        bind = signature(make).bind

        @wraps(make)
        def found(*key: P.args, **named: P.kwargs) -> T:
            bound = bind(*key, **named)
            bound.apply_defaults()
            return waited_for(cache, *bound.args, saying=saying)

        return found

    return remembering


def visitor() -> str:
    """A name for whoever looks at the page, by which jobs know their owner."""
    name: str = st.session_state.setdefault("_visitor", uuid4().hex)
    return name


def prepared(*data: str | float | None) -> Prepared:
    """A data set ready for a private algorithm; by `ProblemKey.data`."""
    return waited_for(problems.prepared, *data, saying="Reading the data set …")


def problem_of(key: ProblemKey) -> Problem:
    """Site moments and exact answer for one key."""
    saying = "Reading the data set and computing the sites' second moments …"
    return waited_for(problems, key, saying=saying)


def feature_names(spec: RunSpec) -> tuple[str, ...]:
    """Names of the columns of a spec's data set."""
    return problem_of(spec.problem_key()).about.feature_names


def statement(spec: RunSpec) -> str:
    """What was done to the rows before anything else, in one sentence."""
    return problem_of(spec.problem_key()).about.statement


def shown(key: Hashable, build: Callable[[], T]) -> T:
    """A figure or picture, to be read and not changed: building costs more than showing."""
    built: T = _shown(key, make=build)
    return built


def dataset_statuses() -> tuple[DatasetStatus, ...]:
    """Which data sets are ready, looked up at most every other second, and a visitor's own."""
    return _statuses(time.monotonic() // 2) + own_table.statuses()


@cached(1)
def _statuses(_: float) -> tuple[DatasetStatus, ...]:
    return list_datasets()


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
        problem_of(spec.problem_key(repetition))


def rows(spec: RunSpec) -> list[PcaRow]:
    """All rows of a spec; a counting bar appears if it takes longer than a moment."""
    found: list[PcaRow] = []
    for cell in counted_out(cells(spec), "runs"):
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
            takes_long = problem_of(spec.problem_key()).n_features >= THREADED_FROM_FEATURES
            is_late = turns.is_wanted() or time.monotonic() - started > _FIRST_SECONDS
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
    with turns.others(), Counting("sites done") as bar:
        while wait([drawing], _LOOK_SECONDS).not_done:
            bar.count(min(len(done), spec.sites - 1), spec.sites)
    return drawing.result()


def subspaces(spec: RunSpec, repetition: int = 0) -> dict[str, Subspace]:
    """The subspace of each protocol in one repetition."""
    problem_of(spec.problem_key(repetition))
    return _subspaces(of_one_draw(spec), repetition)


def self_assessed(spec: RunSpec) -> dict[str, AssessedRelease]:
    """What the first draw's releases say of themselves, of protocols that can."""
    alone = of_one_draw(spec)
    found, checkpoint = problem_of(spec.problem_key()), turns.checkpoint()
    return _self_assessed(alone, make=partial(assess_releases, alone, found, checkpoint=checkpoint))


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
            turns.give_way()
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
    found = with_stored_centres(found) if keeps else found
    options |= {"watch": keep, "checkpoint": turns.checkpoint()}
    return run_repetitions([spec], found, repetition, **options)[0]


def _draw(spec: RunSpec, repetition: int) -> dict[str, Subspace]:
    found = problems(spec.problem_key(repetition))
    return draw_subspaces([spec], found, repetition, checkpoint=turns.checkpoint())[0]


# What visitors who move sliders fill in minutes; what is let go of is computed anew in as long.
# With less for rows, of which there are most, memory is level sooner.
_MOST_BYTES = 24 * 1024**2
_ROW_BYTES = 8 * 1024**2
_rows = OnceCache(_run_cell, keep=20_000, most_bytes=_ROW_BYTES)
_subspaces = OnceCache(_draw, keep=64, most_bytes=_MOST_BYTES)
_self_assessed: OnceCache[dict[str, AssessedRelease]] = OnceCache(
    None, keep=256, most_bytes=_MOST_BYTES
)
_whole_curves: OnceCache[list[PcaRow]] = OnceCache(None, keep=128, most_bytes=_ROW_BYTES)
_shown: OnceCache[Any] = OnceCache(None, keep=256, most_bytes=_MOST_BYTES)


# What private runs gave along ε, a frame a value: rows, and the components as pictures.

MOST_SHOWN = 10
# Of rebuilt people along ε; as many runs of them are handed over as fit in, and three at least.
_PEOPLE_BYTES, _LEAST_RUNS = 600_000, 3
# Of the features that weigh most in an exact component.
_MOST_FEATURES = 8


@dataclass(frozen=True)
class Pictures:
    """The leading components of one draw, signs aligned to the exact ones.

    cosines: |cosine| of each to the exact one.
    sprite: Base64 of a PNG of all of them; empty for data without pictures.
    loadings: For data without pictures: of each, its entries at `features_of` the exact one.
    """

    cosines: tuple[float, ...]
    sprite: str = ""
    loadings: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Frame:
    """What the runs of one spec have given so far; of the first protocol also its pictures."""

    spec: RunSpec
    rows: list[PcaRow]
    pictures: Pictures

    @property
    def n_draws(self) -> int:
        """How many draws of the noise there are."""
        return len(self.rows) // len(self.spec.protocols)

    def up_to(self, n_draws: int) -> Frame:
        """The same with so many of its draws, unless it is whole."""
        if self.n_draws == self.spec.repetitions:
            return self
        return replace(self, rows=self.rows[: n_draws * len(self.spec.protocols)])


@dataclass(frozen=True)
class PicturedRun:
    """One run at every ε where it is there: ten people rebuilt from its components, as bytes."""

    run: int
    levels: dict[float, bytes]


Missing = Callable[[], object]


def frame(spec: RunSpec, dataset: DatasetStatus, rows: list[PcaRow]) -> Frame:
    """The frame of a spec with these rows, its pictures made where they are not there."""
    return Frame(spec, rows, _pictures_of(spec, dataset.image_shape))


def finished(
    specs: tuple[RunSpec, ...], dataset: DatasetStatus
) -> tuple[list[Frame], list[Missing]]:
    """Frames that have a draw and its pictures, and what is to be done for the others, in order.

    First come the draws of the first spec, the one that somebody looks at; then one draw and the
    pictures of every other, then a second draw of each, and so on. Draws of the others are handed
    over by such rounds: what has not changed is not sent again.
    """
    frames: list[Frame] = []
    missing: list[tuple[int, Missing]] = []
    for spec in specs:
        rows, cells = finished_rows((spec,))
        pictures = _pictures.peek(_lead(spec), dataset.image_shape)
        if rows and pictures is not None:
            frames.append(Frame(spec, rows, pictures))
        if pictures is None:
            missing.append((0, partial(_pictures_of, spec, dataset.image_shape)))
        is_first = spec is specs[0]
        missing += [(0 if is_first else cell[1], partial(cell_rows, cell)) for cell in cells]
        to_come = {run for _, run in cells}
        missing += [
            (run, partial(levels, spec, run))
            for run in range(n_pictured(spec))
            if run not in to_come and _rebuilt.peek(_lead(spec), run) is None
        ]
    by_round = [item for _, item in sorted(missing, key=lambda each: each[0])]
    round_ = min((frame.n_draws for frame in frames), default=0)
    return [frame if frame.spec is specs[0] else frame.up_to(round_) for frame in frames], by_round


def rounds(specs: tuple[RunSpec, ...]) -> list[PicturedRun]:
    """People rebuilt by the first protocol of each spec, as far as its runs are there."""
    found = []
    for run in range(n_pictured(specs[0])):
        drawn = {spec.epsilon: _rebuilt.peek(_lead(spec), run) for spec in specs}
        there = {epsilon: levels for epsilon, levels in sorted(drawn.items()) if levels is not None}
        if there:
            found.append(PicturedRun(run, there))
    return found


def n_pictured(spec: RunSpec) -> int:
    """Of how many runs people are rebuilt."""
    return min(spec.repetitions, _most_pictured(spec))


def _most_pictured(spec: RunSpec) -> int:
    a_run = len(EPSILONS) * N_EXAMPLES * people(spec).columns.size
    return max(_LEAST_RUNS, _PEOPLE_BYTES // a_run)


def people(spec: RunSpec) -> ExampleRows:
    """Those who are rebuilt, of the spec's data set."""
    key = spec.problem_key()
    return _people(key, make=lambda: _chosen(spec))


def true_and_exact(spec: RunSpec) -> tuple[bytes, bytes]:
    """The people as they are, and rebuilt from exact components about the exact mean."""
    shown, problem = people(spec), problem_of(spec.problem_key())
    k = spec.settings(problem.n_features, problem.default_components).n_components
    exact = rebuild_rows_about(shown.rows, problem.exact_components[:k], problem.centre)
    return shown.levels(shown.rows).tobytes(), shown.levels(exact).tobytes()


def exact_pictures(spec: RunSpec, dataset: DatasetStatus) -> Pictures:
    """The exact components, as `Frame` has the private ones."""
    key = spec.problem_key()
    exact = problem_of(key).exact_components
    shown = _lead_components(spec)
    made = partial(_pictured, exact[:shown], exact, dataset.image_shape)
    return _pictures((key, shown), dataset.image_shape, make=made)


def features_of(spec: RunSpec) -> tuple[tuple[str, ...], ...]:
    """Of each exact component the names of the features that weigh most."""
    exact = problem_of(spec.problem_key()).exact_components
    names = feature_names(spec)
    return tuple(
        tuple(names[index] for index in strongest)
        for strongest in _strongest(exact[: _lead_components(spec)])
    )


@lru_cache(maxsize=1024)
def _lead(spec: RunSpec) -> RunSpec:
    """The first protocol alone: its draw is the same, and others need not be made."""
    return replace(spec, protocols=spec.protocols[:1], repetitions=1)


def _lead_components(spec: RunSpec) -> int:
    problem = problem_of(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    return min(MOST_SHOWN, settings.n_components)


def _pictures_of(spec: RunSpec, image_shape: tuple[int, int] | None) -> Pictures:
    lead = _lead(spec)
    there = _pictures.peek(lead, image_shape)
    if there is not None:
        return there
    # The first draw leaves the components that are shown: none is made for them alone.
    first, *_ = cells(spec)
    cell_rows(first)
    private = subspaces(spec)[spec.protocols[0]].components[:MOST_SHOWN]
    exact = problem_of(spec.problem_key()).exact_components
    return _pictures(lead, image_shape, make=lambda: _pictured(private, exact, image_shape))


def _pictured(
    components: FloatArray, exact: FloatArray, image_shape: tuple[int, int] | None
) -> Pictures:
    exact = exact[: len(components)]
    aligned = align_signs(components, exact)
    cosines = tuple(np.abs(np.einsum("kd,kd->k", aligned, exact)).tolist())
    if image_shape is not None:
        sprite = component_sprite(aligned, image_shape)
        return Pictures(cosines, sprite=b64encode(sprite).decode())
    loadings = np.take_along_axis(aligned, _strongest(exact), axis=1)
    return Pictures(cosines, loadings=tuple(map(tuple, loadings.round(3).tolist())))


def _chosen(spec: RunSpec) -> ExampleRows:
    key = spec.problem_key()
    limits = limits_of(read_limits(spec.limits, entry_of(spec.dataset).ranges))
    reference = problem_of(key).reference
    return select_example_rows(problems.prepared(*key.data), limits, np.diag(reference))


def levels(spec: RunSpec, run: int) -> bytes:
    """People rebuilt from one run, made with its components where they are not there any more."""
    lead = _lead(spec)
    found = subspaces(lead, run)[lead.protocols[0]]
    return _rebuilt(lead, run, make=lambda: _drawn(spec, found))


def _see(spec: RunSpec, run: int, found: dict[str, Subspace]) -> None:
    """Rebuild people from a draw while its components are there, if rows are in memory."""
    lead, key = _lead(spec), spec.problem_key()
    if problems.prepared.peek(*key.data) is None or run >= _most_pictured(spec):
        return
    if _rebuilt.peek(lead, run) is None:
        subspace = found[spec.protocols[0]]
        _rebuilt(lead, run, make=lambda: _drawn(spec, subspace))


def _drawn(spec: RunSpec, subspace: Subspace) -> bytes:
    shown = people(spec)
    problem = problem_of(spec.problem_key())
    return shown.levels(rebuild_rows(shown.rows, subspace, problem)).tobytes()


def _strongest(exact: FloatArray) -> np.ndarray:
    return np.argsort(-np.abs(exact), axis=1, kind="stable")[:, :_MOST_FEATURES]


_people: OnceCache[ExampleRows] = OnceCache(None, keep=64, most_bytes=8 * 1024**2)
_rebuilt: OnceCache[bytes] = OnceCache(None, keep=20_000, most_bytes=32 * 1024**2)
each_draw.append(_see)
_pictures: OnceCache[Pictures] = OnceCache(None, keep=1_000, most_bytes=32 * 1024**2)
