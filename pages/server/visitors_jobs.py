"""The jobs of this server, as its visitors start and find them."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from dpcore.data.held_tables import is_held, names_one_gone
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import ProblemSource, Row
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.engine.result_store import Store, cache_folder
from dpcore.experiments.engine.sweep import (
    Event,
    Grid,
    Points,
    RunCost,
    Sweep,
    cost_of_sweeps,
    in_order,
    run_sweep,
)
from dpcore.experiments.engine.work_units import Finished
from dpcore.experiments.pca.problem import Problem, Problems
from dpcore.experiments.pca.spec import ProblemKey, RunSpec
from pages.server import result_cache
from pages.server.background_jobs import Parts, Progress, ShouldStop, View
from pages.server.job_queue import Jobs
from pages.server.memory import ON_TIDYING

Sweeps = tuple[Grid, ...]
SCHEDULER_VARIABLE = "DPCORE_SCHEDULER"
# Pages whose questions are sweeps show the same ones.
SWEEPS = "sweeps"
# Before the name of a figure that fills in without being asked.
_FIGURE = "figure: "
# What jobs compute on, in this server's memory; of a family that is not here, what it gives.
PROBLEMS: dict[str, ProblemSource] = {RunSpec.experiment: result_cache.problems_of_jobs}

JOBS = Jobs(result_cache.JOBS_AT_ONCE)
_costs = OnceCache(cost_of_sweeps, keep=64)
_now: OnceCache[tuple[Row, ...]] = OnceCache(None, keep=256)


def start(page: str, question: Hashable, parts: Callable[[], Parts]) -> View:
    """Begin a page's question for this visitor, or join those who look at it already.

    What the visitor asked the same page before gives way.

    Raises `ParameterError` if too many jobs go on.
    """

    def gives_way(key: Hashable) -> bool:
        other = str(key[0]) if isinstance(key, tuple) else ""
        figures = page.startswith(_FIGURE) and other.startswith(_FIGURE)
        return other == page or (figures and other.partition("_")[0] != page.partition("_")[0])

    return JOBS.start(result_cache.visitor(), _key(page, question), parts, gives_way)


def find(page: str, question: Hashable) -> View | None:
    """This visitor's view of a page's question, going on or ended."""
    return JOBS.find(result_cache.visitor(), _key(page, question))


def goes_on(page: str, question: Hashable) -> bool:
    """Whether anybody's job is at this question."""
    return JOBS.goes_on(_key(page, question))


def _key(page: str, question: Hashable) -> tuple[Hashable, ...]:
    # The same question computed elsewhere, or kept elsewhere, is another job.
    return page, question, scheduler(), cache_folder()


def forget_gone() -> None:
    """Keep nothing of jobs on tables whose sessions have ended."""
    JOBS.forget(names_one_gone)


ON_TIDYING.append(forget_gone)


def scheduler() -> str | None:
    """Address of the Dask cluster that computes sweeps; None for this server's processors.

    A setting of the server and not a control on a page: an address that visitors choose is one
    that they make this server call.
    """
    return os.environ.get(SCHEDULER_VARIABLE) or None


def run_options(family: str = RunSpec.experiment) -> dict[str, Any]:
    """Where jobs of this server run and keep their rows, as `run_sweep` takes it."""
    return {
        "workers": os.cpu_count() or 1,
        "store": Store(),
        "scheduler": scheduler(),
        "problems": PROBLEMS.get(family),
    }


def sweep_part(sweep: Grid) -> Callable[[ShouldStop], Iterator[Event]]:
    """A sweep as a part of a job."""
    options = run_options(sweep.family)
    return lambda stop: run_sweep(sweep, should_stop=stop, **options)


def parts_of_sweeps(sweeps: Sweeps) -> Parts:
    """Sweeps as the parts of a job, one after the other, named by their positions."""
    return {str(number): sweep_part(sweep) for number, sweep in enumerate(sweeps)}


@dataclass(frozen=True)
class SweepProgress:
    """Sweeps at one moment.

    rows: Those that arrived, one tuple a sweep, in the order of its grid.
    skipped: Cells that cannot run, with their reasons.
    done, total: Draws.
    stored: How many of those done were in the store.
    seconds_left: None before the first draw was computed.
    state, sentence: As in `Progress`.
    """

    rows: tuple[tuple[Row, ...], ...]
    skipped: tuple[Row, ...]
    done: int
    total: int
    stored: int
    seconds_left: float | None
    state: str
    sentence: str = ""

    @property
    def goes_on(self) -> bool:
        return self.state in ("waiting", "running")


@dataclass(frozen=True)
class SweepsView:
    """A visitor's view of sweeps; its other methods are those of `View`."""

    sweeps: Sweeps
    view: View
    scheduler: str | None

    def progress(self) -> SweepProgress:
        return _progress_of_sweeps(self.sweeps, self.view.progress())


def find_sweeps(sweeps: Sweeps, page: str = SWEEPS) -> SweepsView | None:
    """This visitor's view of these sweeps, as a page asked for them."""
    view = find(page, sweeps)
    return None if view is None else SweepsView(sweeps, view, scheduler())


def live(name: str, sweeps: Sweeps, *, anew: bool = False) -> SweepsView:
    """This visitor's view of a figure's sweeps, which begin by themselves, but for one stopped.

    Figures that another page was filling in give way; those of a page begin with one word.

    anew: Go on with what was stopped.
    Raises `ParameterError` if too many jobs go on.
    """
    page = _FIGURE + name
    view = find(page, sweeps)
    if view is None or anew or view.progress().state == "unseen":
        view = start(page, sweeps, lambda: parts_of_sweeps(sweeps))
    return SweepsView(sweeps, view, scheduler())


def rows_now(grid: Sweep | Points, *, keep: bool = True) -> tuple[Row, ...]:
    """Rows that a page cannot go on without; a counting bar appears if they take a moment.

    keep: On disk; what visitors type in is not.
    Raises `ParameterError` if one of its settings cannot run.
    """
    if (found := _now.peek(grid)) is not None:
        return found
    options = run_options(grid.family) | {"workers": 1, "scheduler": None}
    finished: list[Finished] = []
    with result_cache.Counting("draws") as bar:
        for event in run_sweep(grid, **options | ({} if keep else {"store": None})):
            if event.skipped:
                raise ParameterError("settings", "such that they can run", event.skipped[0])
            finished += event.finished
            bar.count(event.done, event.total)
    return _now(grid, make=lambda: in_order(finished))


def cost_of(sweeps: Sweeps) -> RunCost:
    """What these sweeps take."""
    return _costs(sweeps)


def _progress_of_sweeps(sweeps: Sweeps, progress: Progress) -> SweepProgress:
    names = [str(number) for number in range(len(sweeps))]
    latest = [progress.arrived[name][-1] for name in names if progress.arrived.get(name)]
    done, stored = sum(event.done for event in latest), sum(event.stored for event in latest)
    total = cost_of(sweeps).draws
    computed = done - stored
    seconds = sum(event.seconds for event in latest)
    return SweepProgress(
        rows=tuple(progress.rows(name) for name in names),
        skipped=tuple(row for name in names for row in progress.skipped(name)),
        done=done,
        total=total,
        stored=stored,
        seconds_left=seconds / computed * (total - done) if computed else None,
        state=progress.state,
        sentence=progress.sentence,
    )


class ReadingAhead:
    """Reads what a sweep begins with while somebody still looks at its controls."""

    def __init__(self, problems: Problems):
        self._problems = problems
        self._pool = ThreadPoolExecutor(1)
        self._latest: Future[Problem] | None = None

    def begin(self, key: ProblemKey) -> None:
        """Read, unless something is being read: controls move faster than data sets load."""
        idle = self._latest is None or self._latest.done()
        if idle and self._problems.peek(key) is None:
            self._latest = self._pool.submit(self._problems, key)


_READING_AHEAD = ReadingAhead(result_cache.problems)


def read_ahead(sweeps: Sweeps) -> None:
    """Have the data of the first cell that can run in memory by the time Run is pressed."""
    specs = (cell.spec for sweep in sweeps for cell in sweep.cells() if cell.spec is not None)
    first = next(specs, None)
    # What was read last is kept, whoever it was for.
    if isinstance(first, RunSpec) and scheduler() is None and not is_held(first.dataset):
        _READING_AHEAD.begin(first.problem_key())
